/** The columns of a file with their types and sizes, sortable. */
import { button, fill, h } from "../dom";
import { bytes, count, percent } from "../format";
import { css, columnColour } from "../palette";
import type { Column, Inspection } from "../reader/contract";

interface Line extends Column {
  index: number;
}

interface Heading {
  title: string;
  number?: boolean;
  by: (line: Line) => string | number;
}

const HEADINGS: Heading[] = [
  { title: "#", number: true, by: (line) => line.index },
  { title: "Column", by: (line) => line.name.toLowerCase() },
  { title: "Type", by: (line) => line.type },
  { title: "Stored", number: true, by: (line) => line.stored_bytes ?? 0 },
  { title: "Share", number: true, by: (line) => line.stored_bytes ?? 0 },
  { title: "Raw", number: true, by: (line) => line.raw_bytes ?? 0 },
  { title: "Ratio", number: true, by: (line) => ratio(line) },
  { title: "Encoding", by: (line) => line.encoding ?? "" },
];

/** Lines that are shown at first; a table may have thousands of columns. */
const AT_FIRST = 200;

function ratio(column: Column): number {
  return column.stored_bytes && column.raw_bytes ? column.raw_bytes / column.stored_bytes : 0;
}

export function columnsTable(inspection: Inspection, choose: (column: number) => void): HTMLElement {
  let sorted = 0;
  let down = false;
  let limit = AT_FIRST;
  const lines: Line[] = inspection.columns.map((column, index) => ({ ...column, index }));
  const sized = lines.some((line) => line.stored_bytes);
  const head = h("thead");
  const body = h("tbody");
  const more = h("p", { class: "quiet" });

  const sizes = (line: Line): HTMLElement[] => {
    const cell = (text: string): HTMLElement => h("td", { class: "number" }, text);
    if (!sized || line.stored_bytes === undefined) return [cell("\u2013"), cell("\u2013"), cell("\u2013"), cell("\u2013")];
    const share = h("td", { class: "number share" }, percent(line.stored_bytes, inspection.bytes));
    share.style.setProperty("--share", String(line.stored_bytes / Math.max(1, inspection.bytes)));
    const times = ratio(line);
    return [
      cell(bytes(line.stored_bytes)),
      share,
      cell(line.raw_bytes === undefined ? "\u2013" : bytes(line.raw_bytes)),
      cell(times ? `${times.toFixed(times < 10 ? 2 : 1)}\u00d7` : "\u2013"),
    ];
  };

  const row = (line: Line): HTMLElement => {
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = css(columnColour(line.index));
    return h(
      "tr",
      {},
      h("td", { class: "number quiet" }, count(line.index)),
      h(
        "th",
        { scope: "row" },
        swatch,
        button(line.name === "" ? "(no name)" : line.name, () => choose(line.index), {
          class: "link",
          title: `Statistics of ${line.name}`,
        }),
      ),
      h("td", {}, line.type, line.nullable && h("span", { class: "quiet" }, " or null")),
      ...sizes(line),
      h("td", { class: "encoding", title: line.encoding }, line.encoding ?? "\u2013"),
    );
  };

  const draw = (): void => {
    fill(
      head,
      h(
        "tr",
        {},
        ...HEADINGS.map((heading, i) => {
          const order = i === sorted ? (down ? "descending" : "ascending") : "none";
          const sort = button(heading.title, () => {
            down = i === sorted ? !down : heading.number === true && i > 0;
            sorted = i;
            draw();
            head.querySelectorAll("button")[i]?.focus();
          });
          return h("th", { scope: "col", class: heading.number ? "number" : "", "aria-sort": order }, sort);
        }),
      ),
    );
    const by = HEADINGS[sorted]!.by;
    const order = [...lines].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return (x < y ? -1 : x > y ? 1 : a.index - b.index) * (down ? -1 : 1);
    });
    fill(body, ...order.slice(0, limit).map(row));
    fill(
      more,
      lines.length > limit &&
        button(`Show all ${count(lines.length)} columns`, () => {
          limit = lines.length;
          draw();
        }),
    );
  };
  draw();
  return h(
    "div",
    {},
    h(
      "div",
      { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Columns" },
      h("table", { class: "columns-table" }, head, body),
    ),
    more,
  );
}
