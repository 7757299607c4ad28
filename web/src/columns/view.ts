/** Statistics of every column: what the file knows, from a sample, or from all rows. */
import { button, fill, h } from "../dom";
import { count } from "../format";
import { css, columnColour } from "../palette";
import { problemCard, problemOf } from "../problem";
import type { Column, ColumnStatistics } from "../reader/contract";
import type { Session } from "../session";
import type { View } from "../view";
import { Work } from "../work";
import { histogram, topValues } from "./chart";
import { facts } from "./facts";

const SAMPLE = 10_000;
/** Columns of one page. */
const PAGE = 48;

export class ColumnsView implements View {
  readonly element = h("div", { class: "columns-view" });
  private readonly cards = h("div", { class: "cards" });
  private readonly source = h("span", { class: "quiet", role: "status" });
  private readonly filter = h("input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column" });
  private readonly pages = h("div", { class: "buttons" });
  private readonly work = new Work();
  private readonly fromFile = new Map<number, ColumnStatistics>();
  private readonly fromRows = new Map<number, ColumnStatistics>();
  private page = 0;
  private asked = false;

  constructor(private readonly session: Session) {
    this.filter.addEventListener("input", () => {
      this.page = 0;
      this.draw();
    });
    const { rows } = session.reader.inspection;
    fill(
      this.element,
      h(
        "div",
        { class: "toolbar" },
        this.filter,
        rows > SAMPLE &&
          button(
            `Sample ${count(SAMPLE)} rows`,
            () => void this.run(`${count(SAMPLE)} rows spread over the file`, { sample: SAMPLE }),
          ),
        button("All rows", () => void this.run("all rows", {}), { title: "Reads every row" }),
        this.source,
        this.pages,
      ),
      this.work.element,
      this.cards,
    );
    this.draw();
  }

  shown(): void {
    if (this.asked) return;
    this.asked = true;
    void this.metadata();
  }

  /** Brings a column into view. */
  focusOn(column: number): void {
    this.filter.value = "";
    this.page = Math.floor(column / PAGE);
    this.draw();
    const card = this.element.querySelector<HTMLElement>(`[data-column="${column}"]`);
    card?.scrollIntoView({ block: "center" });
    card?.focus({ preventScroll: true });
  }

  /** What the file says about its columns without being read. */
  private async metadata(): Promise<void> {
    fill(this.source, "From the file's own statistics");
    try {
      const answer = this.session.reader.statistics({ metadata: true });
      const list = await this.session.ask("Statistics the file has", answer);
      list.forEach((statistics, i) => this.fromFile.set(i, statistics));
      this.draw();
    } catch (error) {
      fill(this.work.element, problemCard(problemOf(error), "The statistics of this file cannot be read"));
    }
  }

  private async run(what: string, how: { sample?: number }): Promise<void> {
    const columns = this.visible();
    const value = await this.work.run(`Reading ${what}`, (options) =>
      this.session.ask(`Statistics of ${what}`, this.session.reader.statistics({ columns, ...how }, options)),
    );
    if (!value) return;
    value.forEach((statistics, i) => this.fromRows.set(columns[i]!, statistics));
    this.draw();
    fill(this.source, `From ${what}`);
  }

  private matching(): number[] {
    const wanted = this.filter.value.toLowerCase();
    return this.session.reader.inspection.columns.flatMap(({ name }, i) => (name.toLowerCase().includes(wanted) ? [i] : []));
  }

  private visible(): number[] {
    return this.matching().slice(this.page * PAGE, (this.page + 1) * PAGE);
  }

  private draw(): void {
    const { columns } = this.session.reader.inspection;
    const matching = this.matching();
    fill(
      this.cards,
      ...this.visible().map((index) => this.card(index, columns[index]!)),
      matching.length === 0 && h("p", { class: "quiet" }, "No column has such a name."),
    );
    const last = Math.ceil(matching.length / PAGE) - 1;
    const turn = (by: number): void => {
      this.page += by;
      this.draw();
    };
    fill(
      this.pages,
      ...(last > 0
        ? [
            button("Previous", () => turn(-1), { class: "small", disabled: this.page === 0 }),
            h("span", { class: "quiet" }, `Page ${this.page + 1} of ${last + 1}`),
            button("Next", () => turn(1), { class: "small", disabled: this.page >= last }),
          ]
        : []),
    );
  }

  private card(index: number, column: Column): HTMLElement {
    const { rows } = this.session.reader.inspection;
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = css(columnColour(index));
    const statistics = this.fromRows.get(index) ?? this.fromFile.get(index);
    const picture = statistics && (histogram(statistics) ?? topValues(statistics));
    return h(
      "section",
      { class: "card column-card", "data-column": index, tabindex: -1, "aria-label": column.name },
      h(
        "h2",
        {},
        swatch,
        h("span", { class: "clip", title: column.name }, column.name),
        h("span", { class: "quiet clip type", title: column.type }, column.type),
      ),
      h(
        "div",
        { class: "picture" },
        picture ??
          h(
            "p",
            { class: "quiet" },
            statistics ? "Sample rows or read all of them to see how values are spread." : "No statistics yet.",
          ),
      ),
      h("dl", { class: "facts tight" }, ...facts(column.type, rows, this.fromFile.get(index), this.fromRows.get(index))),
    );
  }
}
