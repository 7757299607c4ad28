/** A grid of cells that draws only what is seen. */
import { fill, freshId, h } from "../dom";
import { count } from "../format";
import { shown } from "../values";
import type { Arrangement, Placed } from "./arrangement";
import { header } from "./header";
import { Scroll } from "./scroll";
import { Selection } from "./selection";
import type { RowSource } from "./source";

export const ROW = 28;
const HEAD = 48;
/** Rows and pixels beyond what is seen that are drawn. */
const MORE_ROWS = 2;
const MORE_PIXELS = 200;

export interface GridEvents {
  /** A cell was chosen; `open` if its whole value is to be shown. */
  chosen(row: number, column: Placed, open: boolean): void;
  copy(): void;
}

export class Grid {
  readonly element = h("div", { class: "grid", tabindex: 0, role: "grid", "aria-label": "Rows", "aria-multiselectable": "true" });
  readonly selection: Selection;
  private readonly sizer = h("div", { class: "grid-sizer", role: "presentation" });
  private readonly layer = h("div", { class: "grid-layer", role: "presentation" });
  private readonly head = h("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
  private readonly body = h("div", { class: "grid-body", role: "presentation" });
  private readonly message = h("div", { class: "grid-message", hidden: true });
  private readonly scroll: Scroll;
  private readonly cellId = freshId("cell");
  private placed: Placed[] = [];
  private numberWidth = 64;
  private drawnColumns = "";
  private frame = 0;

  constructor(
    private readonly arrangement: Arrangement,
    private rowSource: RowSource,
    private readonly events: GridEvents,
  ) {
    this.layer.append(this.head, this.body);
    this.sizer.append(this.layer);
    this.element.append(this.sizer, this.message);
    this.scroll = new Scroll(this.element, this.sizer, () => this.redraw());
    this.selection = new Selection(this.element, {
      rows: () => this.rowSource.total,
      columns: () => this.placed.length,
      page: () => Math.max(1, Math.floor((this.scroll.page - HEAD) / ROW) - 1),
      moved: (open) => this.selectionMoved(open),
      copy: () => this.events.copy(),
    });
    this.body.addEventListener("pointerdown", (event) => this.pressed(event));
    this.body.addEventListener("dblclick", () => this.selectionMoved(true));
    new ResizeObserver(() => this.resized()).observe(this.element);
    this.arrange();
  }

  get source(): RowSource {
    return this.rowSource;
  }

  set source(source: RowSource) {
    this.rowSource = source;
    this.selection.clear();
    this.scroll.top = 0;
    this.resized();
  }

  /** Columns as they are placed now. */
  get columns(): Placed[] {
    return this.placed;
  }

  /** Shows a line instead of rows. */
  say(text: string): void {
    this.message.hidden = text === "";
    fill(this.message, text);
  }

  /** Takes over the order and width of columns. */
  arrange(): void {
    this.numberWidth = Math.max(48, String(count(this.rowSource.number(Math.max(0, this.rowSource.total - 1)))).length * 8 + 20);
    this.placed = this.arrangement.placed(this.numberWidth);
    const last = this.placed[this.placed.length - 1];
    this.sizer.style.width = `${last ? last.left + last.width : this.numberWidth}px`;
    this.element.setAttribute("aria-colcount", String(this.placed.length + 1));
    this.drawnColumns = "";
    this.redraw();
  }

  /** The number of rows may have changed. */
  resized(): void {
    const { total } = this.rowSource;
    this.element.setAttribute("aria-rowcount", String(total + 1));
    this.scroll.resize(total * ROW + HEAD);
    this.arrange();
  }

  /** Brings a row into view and chooses its cell. */
  goTo(row: number): void {
    const to = Math.max(0, Math.min(this.rowSource.total - 1, row));
    this.scroll.go(to * ROW - this.scroll.page / 3);
    this.selection.choose(to, this.selection.active?.column ?? 0);
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { clientHeight: height, clientWidth: width, scrollLeft } = this.element;
    if (height === 0) return;
    this.layer.style.height = `${height}px`;
    const columns = this.placed.filter(
      ({ pinned, left, width: w }) => pinned || (left + w > scrollLeft - MORE_PIXELS && left < scrollLeft + width + MORE_PIXELS),
    );
    const drawn = columns.map(({ index, left, width: w, pinned }) => `${index}:${left}:${w}:${pinned}`).join();
    if (drawn !== this.drawnColumns) {
      fill(this.head, ...header(columns, this.placed, this.numberWidth, this.arrangement));
      this.drawnColumns = drawn;
    }
    const first = Math.max(0, Math.floor(this.scroll.top / ROW));
    const last = Math.min(this.rowSource.total, Math.ceil((this.scroll.top + height - HEAD) / ROW));
    this.rowSource.want(
      first,
      last,
      columns.map(({ index }) => index),
    );
    const rows: HTMLElement[] = [];
    for (let row = Math.max(0, first - MORE_ROWS); row < Math.min(this.rowSource.total, last + MORE_ROWS); row++)
      rows.push(this.row(row, columns));
    this.body.replaceChildren(...rows);
    const { active } = this.selection;
    if (active && active.row >= first && active.row <= last) this.element.setAttribute("aria-activedescendant", this.cellId);
    else this.element.removeAttribute("aria-activedescendant");
  }

  private row(row: number, columns: Placed[]): HTMLElement {
    const number = h("div", { class: "grid-number", role: "rowheader" }, count(this.rowSource.number(row)));
    number.style.width = `${this.numberWidth}px`;
    const element = h("div", { class: row % 2 ? "grid-row odd" : "grid-row", role: "row", "aria-rowindex": row + 2 }, number);
    element.style.top = `${row * ROW - this.scroll.top}px`;
    let at = this.numberWidth;
    for (const column of columns) {
      const cell = this.cell(row, column);
      if (!column.pinned && column.left > at) cell.style.marginLeft = `${column.left - at}px`;
      at = column.left + column.width;
      element.append(cell);
    }
    return element;
  }

  private cell(row: number, column: Placed): HTMLElement {
    const position = this.placed.indexOf(column);
    const text = this.rowSource.cell(row, column.index);
    const value = text === undefined ? { text: "", look: "waiting" } : shown(text, column.type);
    const { active } = this.selection;
    const isActive = active?.row === row && active.column === position;
    const looks = [
      "grid-cell",
      value.look,
      column.pinned && "pinned",
      this.selection.has(row, position) && "selected",
      isActive && "active",
    ];
    const cell = h(
      "div",
      {
        class: looks.filter(Boolean).join(" "),
        role: "gridcell",
        "aria-colindex": position + 2,
        "data-row": row,
        "data-column": position,
        id: isActive && this.cellId,
        "aria-selected": this.selection.has(row, position) && "true",
      },
      value.text,
    );
    cell.style.width = `${column.width}px`;
    if (column.pinned) cell.style.left = `${column.left}px`;
    return cell;
  }

  private pressed(event: PointerEvent): void {
    const cell = (event.target as Element).closest<HTMLElement>(".grid-cell");
    if (!cell || event.button !== 0) return;
    this.element.focus({ preventScroll: true });
    const [row, column] = [Number(cell.dataset.row), Number(cell.dataset.column)];
    this.selection.choose(row, column, event.shiftKey);
    const move = (moved: PointerEvent): void => {
      const over = document.elementFromPoint(moved.clientX, moved.clientY)?.closest<HTMLElement>(".grid-cell");
      if (over && this.body.contains(over)) this.selection.choose(Number(over.dataset.row), Number(over.dataset.column), true);
    };
    const done = (): void => document.removeEventListener("pointermove", move);
    if (event.pointerType === "mouse") {
      document.addEventListener("pointermove", move);
      document.addEventListener("pointerup", done, { once: true });
    }
    event.preventDefault();
  }

  /** Keeps the active cell in view. */
  private selectionMoved(open: boolean): void {
    const { active } = this.selection;
    if (active) {
      const top = active.row * ROW;
      const room = this.scroll.page - HEAD - ROW - 16;
      if (top < this.scroll.top) this.scroll.go(top);
      else if (top > this.scroll.top + room) this.scroll.go(top - room);
      const column = this.placed[active.column];
      if (column && !column.pinned) this.scrollTo(column);
      if (column) this.events.chosen(active.row, column, open);
    }
    this.redraw();
  }

  private scrollTo(column: Placed): void {
    const pinned = this.placed.filter((other) => other.pinned).reduce((sum, other) => sum + other.width, this.numberWidth);
    const { scrollLeft, clientWidth } = this.element;
    if (column.left < scrollLeft + pinned) this.element.scrollLeft = column.left - pinned;
    else if (column.left + column.width > scrollLeft + clientWidth)
      this.element.scrollLeft = Math.min(column.left - pinned, column.left + column.width - clientWidth);
  }
}
