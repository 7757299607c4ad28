/** The pane with the whole value of a cell, and the rest of its row. */
import { copyText } from "../clipboard";
import { button, fill, h, iconButton } from "../dom";
import { count, plural } from "../format";
import { parseJson, type Json } from "../json-text";
import { copied, fromHex, full, kindOf, plain, shown } from "../values";
import type { Placed } from "./arrangement";

/** Characters and bytes that are shown of one value. */
const MOST = 100_000;
const MOST_BYTES = 4096;
/** Values of a list that are shown. */
const MOST_ITEMS = 1000;
/** Columns of the row that are listed. */
export const LISTED = 200;

export class DetailPane {
  readonly element = h("aside", { class: "detail", "aria-label": "Value", hidden: true });

  constructor(private readonly closed: () => void) {
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  close(): void {
    const within = this.element.contains(document.activeElement);
    this.element.hidden = true;
    if (within) this.closed();
  }

  /** Shows a cell; `others` are the columns of its row, `value` gives their cells. */
  show(
    number: number,
    column: Placed,
    others: Placed[],
    value: (column: Placed) => string | undefined,
    choose: (column: Placed) => void,
  ): void {
    this.element.hidden = false;
    const cell = value(column);
    fill(
      this.element,
      h(
        "div",
        { class: "detail-head" },
        h("h2", {}, column.name),
        iconButton("close", "Close the value", () => this.close()),
      ),
      h("p", { class: "quiet" }, `Row ${count(number)}, ${column.type}`),
      cell === undefined ? h("p", { class: "quiet" }, "Reading") : this.value(cell, column.type),
      h("h3", {}, "The row"),
      h(
        "dl",
        { class: "detail-row" },
        ...others.slice(0, LISTED).map((other) => {
          const text = value(other);
          const seen = text === undefined ? { text: "", look: "waiting" } : shown(text, other.type);
          return h(
            "div",
            {},
            h(
              "dt",
              {},
              button(other.name, () => choose(other), { class: "link" }),
            ),
            h("dd", { class: seen.look }, seen.text),
          );
        }),
      ),
    );
  }

  private value(cell: string, type: string): HTMLElement {
    const kind = kindOf(type);
    const copy = iconButton("copy", "Copy the value", () => void copyText(copied(cell)));
    const text = full(cell, type);
    if (cell === "null") return h("p", { class: "null" }, "null");
    if (kind === "bytes") return h("div", {}, ...this.bytes(fromHex(plain(cell))), copy);
    if (kind === "nested" || /^[[{]/.test(cell))
      return h("div", {}, h("div", { class: "tree" }, this.tree(parseJson(cell), undefined, 0)), copy);
    const facts = kind === "text" ? plural(text.length, "character") : kind === "time" ? moment(text) : "";
    return h(
      "div",
      {},
      h("pre", { class: "value", tabindex: 0 }, text.length > MOST ? `${text.slice(0, MOST)}\u2026` : text),
      h("p", { class: "quiet" }, facts),
      copy,
    );
  }

  private bytes(data: Uint8Array): HTMLElement[] {
    const lines: string[] = [];
    const end = Math.min(MOST_BYTES, data.length);
    for (let at = 0; at < end; at += 8) {
      const part = [...data.subarray(at, Math.min(end, at + 8))];
      const digits = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
      const signs = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "\u00b7")).join("");
      lines.push(`${at.toString(16).padStart(4, "0")}  ${digits.padEnd(23)}  ${signs}`);
    }
    const more = data.length > end ? `, the first ${count(end)} are shown` : "";
    return [
      h("pre", { class: "value", tabindex: 0 }, lines.join("\n")),
      h("p", { class: "quiet" }, plural(data.length, "byte") + more),
    ];
  }

  private tree(value: Json, name: string | undefined, depth: number): HTMLElement {
    const label = name === undefined ? undefined : h("span", { class: "tree-name" }, name);
    if (value.kind !== "array" && value.kind !== "object") {
      const text = value.kind === "string" ? JSON.stringify(value.text) : value.text;
      return h("div", { class: "tree-leaf" }, label, h("span", { class: value.kind === "null" ? "null" : "" }, text));
    }
    const items: [string, Json][] = value.kind === "array" ? value.items.map((item, i) => [String(i), item]) : value.entries;
    const size = value.kind === "array" ? plural(items.length, "item") : plural(items.length, "field");
    const details = h(
      "details",
      { open: depth < 2 && items.length <= 50 },
      h("summary", {}, label, h("span", { class: "quiet" }, size)),
    );
    const open = (): void => {
      if (!details.open || details.childElementCount > 1) return;
      details.append(...items.slice(0, MOST_ITEMS).map(([key, item]) => this.tree(item, key, depth + 1)));
      if (items.length > MOST_ITEMS) details.append(h("p", { class: "quiet" }, `${count(items.length - MOST_ITEMS)} more`));
    };
    details.addEventListener("toggle", open);
    open();
    return details;
  }
}

/** What a time with a zone is on this machine's clock. */
function moment(text: string): string {
  if (!/(Z|[+-]\d\d:\d\d)$/.test(text)) return "no time zone";
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "" : `here: ${date.toLocaleString()}`;
}
