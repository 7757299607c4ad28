/** The header of the grid: names and types; dragged to reorder, at the edge to resize. */
import { h } from "../dom";
import { isRight } from "../values";
import type { Arrangement, Placed } from "./arrangement";

/** Header cells of the columns that are drawn. */
export function header(columns: Placed[], all: Placed[], numberWidth: number, arrangement: Arrangement): HTMLElement[] {
  const corner = h("div", { class: "grid-number", role: "columnheader", "aria-label": "Row number" });
  corner.style.width = `${numberWidth}px`;
  let at = numberWidth;
  return [
    corner,
    ...columns.map((column) => {
      const cell = headerCell(column, all.indexOf(column), all, arrangement);
      if (!column.pinned && column.left > at) cell.style.marginLeft = `${column.left - at}px`;
      at = column.left + column.width;
      return cell;
    }),
  ];
}

function headerCell(column: Placed, position: number, all: Placed[], arrangement: Arrangement): HTMLElement {
  const edge = h("div", { class: "grid-edge", "aria-hidden": "true" });
  const cell = h(
    "div",
    {
      class: `grid-title${column.pinned ? " pinned" : ""}${isRight(column.type) ? " number" : ""}`,
      role: "columnheader",
      "aria-colindex": position + 2,
      title: `${column.name}: ${column.type}`,
    },
    h("span", { class: "grid-name" }, column.name),
    h("span", { class: "grid-type" }, column.type),
    edge,
  );
  cell.style.width = `${column.width}px`;
  if (column.pinned) cell.style.left = `${column.left}px`;
  follow(edge, (by) => arrangement.resize(column.index, column.width + by));
  edge.addEventListener("dblclick", () => arrangement.resize(column.index, Math.max(80, column.name.length * 9 + 32)));
  let target: Placed | undefined;
  follow(
    cell,
    (by) => {
      const middle = column.left + column.width / 2 + by;
      target = all.find((other) => middle >= other.left && middle < other.left + other.width) ?? target;
      cell.classList.toggle("dragged", Math.abs(by) > 4);
      cell.style.translate = Math.abs(by) > 4 ? `${by}px` : "";
    },
    () => {
      cell.style.translate = "";
      cell.classList.remove("dragged");
      if (target && target !== column) arrangement.moveTo(column.index, target.index);
    },
  );
  return cell;
}

/** Reports how far the pointer was dragged from where it was pressed. */
function follow(element: HTMLElement, moved: (by: number) => void, done = (): void => {}): void {
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    event.preventDefault();
    event.stopPropagation();
    const start = event.clientX;
    const move = (now: PointerEvent): void => moved(now.clientX - start);
    document.addEventListener("pointermove", move);
    document.addEventListener(
      "pointerup",
      () => {
        document.removeEventListener("pointermove", move);
        done();
      },
      { once: true },
    );
  });
}
