/** The list of columns: which are shown, pinned, and in which order. */
import { button, fill, h, iconButton } from "../dom";
import { count } from "../format";
import type { Arrangement } from "./arrangement";

/** Columns listed at a time. */
const LISTED = 200;

export class ColumnsList {
  readonly element = h("div", { class: "popover columns-list", role: "dialog", "aria-label": "Columns to show", hidden: true });
  readonly opener: HTMLButtonElement;
  private readonly filter = h("input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column" });
  private readonly items = h("ul");

  constructor(private readonly arrangement: Arrangement) {
    this.opener = button("Columns", () => this.toggle(), { "aria-expanded": "false", "aria-haspopup": "dialog" });
    this.filter.addEventListener("input", () => this.draw());
    fill(
      this.element,
      this.filter,
      h(
        "div",
        { class: "buttons" },
        button("Show all", () => this.change(() => arrangement.showAll()), { class: "small" }),
        button("Done", () => this.close(), { class: "small" }),
      ),
      this.items,
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.close();
      this.opener.focus();
    });
    document.addEventListener("pointerdown", (event) => {
      const target = event.target as Node;
      if (!this.element.hidden && !this.element.contains(target) && !this.opener.contains(target)) this.close();
    });
  }

  private toggle(): void {
    if (!this.element.hidden) return this.close();
    this.element.hidden = false;
    this.opener.setAttribute("aria-expanded", "true");
    this.draw();
    this.filter.focus();
  }

  private close(): void {
    this.element.hidden = true;
    this.opener.setAttribute("aria-expanded", "false");
  }

  /** Changes the arrangement and keeps the focus where it was. */
  private change(act: () => void): void {
    const label = document.activeElement?.getAttribute("aria-label");
    act();
    this.draw();
    if (label) this.element.querySelector<HTMLElement>(`[aria-label="${CSS.escape(label)}"]`)?.focus();
  }

  private draw(): void {
    const wanted = this.filter.value.toLowerCase();
    const all = this.arrangement
      .all()
      .filter(({ index }) => this.arrangement.columns[index]!.name.toLowerCase().includes(wanted));
    fill(
      this.items,
      ...all.slice(0, LISTED).map(({ index, shown, pinned }) => {
        const { name } = this.arrangement.columns[index]!;
        const box = h("input", { type: "checkbox", checked: shown, "aria-label": `Show ${name}` });
        box.addEventListener("change", () => this.change(() => this.arrangement.show(index, box.checked)));
        return h(
          "li",
          {},
          h("label", {}, box, h("span", { class: "clip" }, name)),
          button("Only", () => this.change(() => this.arrangement.showOnly(index)), {
            class: "link",
            "aria-label": `Show only ${name}`,
          }),
          iconButton("pin", `Keep ${name} at the left`, () => this.change(() => this.arrangement.pin(index, !pinned)), {
            "aria-pressed": String(pinned),
          }),
          iconButton("up", `Move ${name} left`, () => this.change(() => this.arrangement.moveBy(index, -1))),
          iconButton("down", `Move ${name} right`, () => this.change(() => this.arrangement.moveBy(index, 1))),
        );
      }),
      all.length > LISTED && h("li", { class: "quiet" }, `${count(all.length - LISTED)} more: find one by its name`),
      all.length === 0 && h("li", { class: "quiet" }, "No column has such a name."),
    );
  }
}
