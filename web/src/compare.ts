/** Two files side by side, and where their values differ. */
import { button, fill, h } from "./dom";
import { bytes, count, plural } from "./format";
import { sentence } from "./problem";
import { ReaderError, type CellDifference, type Difference, type Inspection, type Traffic } from "./reader/contract";
import type { Session } from "./session";
import type { Links, View } from "./view";
import { Work } from "./work";

export class CompareView implements View {
  readonly element = h("div", { class: "compare page-pad" });
  private readonly choice = h("select", { "aria-label": "File to compare with" });
  private readonly key = h("input", {
    type: "text",
    placeholder: "row number",
    "aria-label": "Key columns, separated by commas",
    spellcheck: "false",
  });
  private readonly result = h("div", { class: "compare-result" });
  private readonly empty = h(
    "p",
    { class: "quiet" },
    "Open a second file to compare it with this one: drop it on the page, or press o.",
  );
  private readonly work = new Work();
  private others: Session[] = [];

  constructor(
    private readonly session: Session,
    private readonly sessions: () => Session[],
    private readonly links: Links,
  ) {
    const form = h(
      "form",
      { class: "toolbar" },
      h("label", {}, "Compare with ", this.choice),
      h("label", {}, "Match rows by ", this.key),
      h("button", { type: "submit", class: "primary" }, "Compare"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.compare();
    });
    fill(this.element, form, this.empty, this.work.element, this.result);
  }

  shown(): void {
    const chosen = this.others[Number(this.choice.value)];
    this.others = this.sessions().filter((other) => other !== this.session);
    fill(this.choice, ...this.others.map((other, i) => h("option", { value: i, selected: other === chosen }, other.name)));
    this.empty.hidden = this.others.length > 0;
    this.choice.form!.hidden = this.others.length === 0;
  }

  private async compare(): Promise<void> {
    const other = this.others[Number(this.choice.value)];
    if (!other) return;
    fill(this.result);
    if (this.session.reader.inspection.sample) {
      const whole = button("Read the whole file", () => void this.session.reopen(true));
      fill(
        this.result,
        h("p", {}, "Only the start of this file was read. Read it whole to compare it."),
        h("div", { class: "buttons" }, whole),
      );
      return;
    }
    const key = this.key.value
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean);
    const difference = await this.work.run(`Comparing with ${other.name}`, async (options) => {
      await other.open();
      if (other.state === "open" && other.reader.inspection.sample) await other.reopen(true);
      if (other.problem) throw new ReaderError(other.problem);
      return this.session.reader.diff(other.reader, key.length > 0 ? { key } : {}, options);
    });
    if (difference)
      fill(
        this.result,
        ...this.draw(difference.value, difference.traffic, this.session.reader.inspection, other.reader.inspection),
      );
  }

  private draw(difference: Difference, traffic: Traffic, left: Inspection, right: Inspection): HTMLElement[] {
    const read =
      traffic.bytes === 0
        ? "All that was needed of both files was at hand."
        : `Read ${bytes(traffic.bytes)} of both files in ${plural(traffic.requests, "request")}.`;
    return [
      h(
        "div",
        {},
        h("p", { class: difference.equal ? "verdict good" : "verdict bad" }, verdict(difference)),
        h("p", { class: "quiet" }, read),
      ),
      ...(difference.by_key ? [this.byKey(difference.by_key)] : []),
      ...(difference.first.length > 0 ? [this.cells(difference.first)] : []),
      h(
        "section",
        { class: "card" },
        h("h2", {}, "Side by side"),
        this.sides(left, right),
        ...difference.schema.map((line) => h("p", {}, sentence(line))),
      ),
    ];
  }

  private sides(left: Inspection, right: Inspection): HTMLElement {
    const names = [...new Set([...left.columns, ...right.columns].map((column) => column.name))];
    const type = (side: Inspection, name: string): string =>
      side.columns.find((column) => column.name === name)?.type ?? "\u2013";
    const line = (name: string, a: string, b: string): HTMLElement =>
      h("tr", { class: a === b ? "" : "differs" }, h("th", { scope: "row" }, name), h("td", {}, a), h("td", {}, b));
    return h(
      "div",
      { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Side by side" },
      h(
        "table",
        { class: "sides" },
        h("thead", {}, h("tr", {}, h("th", {}), h("th", { scope: "col" }, left.file), h("th", { scope: "col" }, right.file))),
        h(
          "tbody",
          {},
          line("Format", left.format, right.format),
          line("Rows", count(left.rows), count(right.rows)),
          line("Size", bytes(left.bytes), bytes(right.bytes)),
          ...names.slice(0, 500).map((name) => line(name, type(left, name), type(right, name))),
        ),
      ),
    );
  }

  private byKey(by: NonNullable<Difference["by_key"]>): HTMLElement {
    const fact = (name: string, value: number): HTMLElement => h("div", {}, h("dt", {}, name), h("dd", {}, count(value)));
    return h(
      "section",
      { class: "card" },
      h("h2", {}, `Rows matched by ${by.columns.join(", ")}`),
      h(
        "dl",
        { class: "facts" },
        fact("Added", by.added),
        fact("Removed", by.removed),
        fact("Changed", by.changed),
        fact("Unchanged", by.unchanged),
      ),
    );
  }

  private cells(cells: CellDifference[]): HTMLElement {
    const value = (text: string | null): HTMLElement => {
      const look = text === null ? "value null" : text === "" ? "value empty" : "value";
      return h("td", { class: look, title: text ?? "null" }, text === "" ? "empty" : (text ?? "null"));
    };
    return h(
      "section",
      { class: "card" },
      h("h2", {}, "First differences"),
      h(
        "div",
        { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "First differences" },
        h(
          "table",
          { class: "sides" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col", class: "number" }, "Row"),
              h("th", { scope: "col" }, "Column"),
              h("th", { scope: "col" }, "This file"),
              h("th", { scope: "col" }, "The other"),
            ),
          ),
          h(
            "tbody",
            {},
            ...cells.map((cell) =>
              h(
                "tr",
                {},
                h(
                  "td",
                  { class: "number" },
                  button(count(cell.row), () => this.links.showRow(cell.row), { class: "link", title: "Show this row" }),
                ),
                h("th", { scope: "row" }, cell.column),
                value(cell.left),
                value(cell.right),
              ),
            ),
          ),
        ),
      ),
    );
  }
}

function verdict(difference: Difference): string {
  if (difference.equal) return "Equal: every value matches.";
  const rows = `${difference.stopped ? "at least " : ""}${plural(difference.differing_rows, "row")}`;
  if (difference.differing_rows > 0) return `Different: ${rows} of ${count(difference.compared_rows)} compared.`;
  return "Different.";
}
