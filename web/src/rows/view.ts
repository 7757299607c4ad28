/** The rows of a file: a grid, a condition, columns to show, a row to go to, saving. */
import { button, fill, h } from "../dom";
import { count, percent, plural } from "../format";
import { problemCard, problemOf, sentence } from "../problem";
import type { Session } from "../session";
import type { View } from "../view";
import { Work } from "../work";
import { ColumnsList } from "./columns-list";
import { ConditionBox } from "./condition";
import { exportDialog } from "./export";
import { FileRows, FoundRows, type RowSource } from "./source";
import { Table } from "./table";

export class RowsView implements View {
  readonly element = h("div", { class: "rows" });
  private readonly condition: ConditionBox;
  private readonly table: Table;
  private readonly jump = h("input", {
    type: "text",
    inputmode: "numeric",
    class: "jump",
    placeholder: "Row",
    "aria-label": "Go to row",
    title: "Go to row (g)",
  });
  private readonly summary = h("span", { class: "summary", role: "status" });
  private readonly trouble = h("div");
  private readonly work = new Work();
  private where = "";
  private known = 0;

  constructor(private readonly session: Session) {
    const { columns } = session.reader.inspection;
    const source = this.listen(new FileRows(session));
    this.table = new Table(columns, source, (text) => fill(this.summary, text));
    this.condition = new ConditionBox(session, (where) => this.apply(where));
    const list = new ColumnsList(this.table.arrangement);
    this.table.arrangement.changed = () => this.arranged();
    const jumpForm = h("form", { class: "inline" }, this.jump);
    jumpForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.jumpTo();
    });
    this.jump.addEventListener("input", () => this.jump.setCustomValidity(""));
    fill(
      this.element,
      h(
        "div",
        { class: "toolbar rows-toolbar" },
        this.condition.element,
        h("div", { class: "popover-place" }, list.opener, list.element),
        jumpForm,
        button("Copy", () => void this.table.copy(), { title: "Copy the selected cells (Ctrl+C)" }),
        button("Save as", () => exportDialog(session, this.table.arrangement.shown(), this.where), {
          title: "Save as CSV, NDJSON, Parquet or Lance",
        }),
      ),
      h("div", { class: "rows-line" }, this.condition.error, this.summary, this.work.element),
      this.trouble,
      this.table.element,
    );
    this.summarize();
  }

  shown(): void {
    this.table.grid.redraw();
  }

  focusCondition(): void {
    this.condition.input.focus();
  }

  focusJump(): void {
    this.jump.focus();
    this.jump.select();
  }

  /** Shows a row of the file by its number. */
  goTo(row: number): void {
    if (this.where !== "") {
      this.condition.value = "";
      this.apply("");
    }
    this.table.grid.goTo(row);
    this.table.grid.element.focus();
  }

  private jumpTo(): void {
    const { total } = this.table.grid.source;
    const row = Number(this.jump.value.replace(/[,_\s]/g, ""));
    const valid = this.jump.value.trim() !== "" && Number.isInteger(row) && row >= 0 && row < total;
    this.jump.setCustomValidity(valid ? "" : total === 0 ? "There are no rows." : `Give a number from 0 to ${count(total - 1)}.`);
    if (!this.jump.form!.reportValidity()) return;
    this.table.grid.goTo(row);
    this.table.grid.element.focus();
  }

  private arranged(): void {
    const { source } = this.table.grid;
    if (source instanceof FoundRows && !source.has(this.table.arrangement.shown())) this.apply(this.where);
    this.table.grid.arrange();
    this.summarize();
  }

  private listen<T extends RowSource>(source: T): T {
    source.failed = (error) => {
      const problem = problemOf(error);
      if (problem.class === "request" && this.where !== "") this.condition.fail(problem.message);
      else fill(this.trouble, h("div", { class: "page-pad" }, problemCard(problem, "These rows cannot be read")));
      this.summarize();
    };
    return source;
  }

  private apply(where: string): void {
    this.where = where;
    this.work.stop();
    fill(this.trouble);
    if (where === "") {
      this.table.use(this.listen(new FileRows(this.session)));
      this.summarize();
      return;
    }
    const source = this.listen(new FoundRows(this.session, where, this.table.arrangement.shown()));
    this.table.use(source);
    const redraw = source.changed;
    this.known = -1;
    source.changed = () => {
      if (source.total !== this.known) this.table.grid.resized();
      this.known = source.total;
      redraw();
      this.summarize();
    };
    void source.look();
  }

  private summarize(): void {
    const { source } = this.table.grid;
    const all = this.session.reader.inspection.columns.length;
    const shown = this.table.arrangement.shown().length;
    const columns = shown === all ? plural(all, "column") : `${count(shown)} of ${plural(all, "column")}`;
    if (!(source instanceof FoundRows)) {
      this.table.grid.say(
        all === 0
          ? "This file holds no table, so there are no rows to show."
          : source.total === 0
            ? "This table has no rows."
            : "",
      );
      fill(this.summary, `${plural(source.total, "row")}, ${columns}`);
      return;
    }
    const found = plural(source.total, "row");
    const state = source.complete
      ? `${found} found`
      : source.looking
        ? `${found} so far, looked at ${percent(source.looked, 1)}`
        : `First ${found} found`;
    const nothing = source.total === 0 && !source.looking && !source.broken;
    this.table.grid.say(nothing ? "No row meets the condition." : "");
    fill(
      this.summary,
      `${state}, ${columns} `,
      !source.complete && !source.looking && button("Count all", () => void this.countAll(), { class: "small" }),
      button(
        "Clear",
        () => {
          this.condition.value = "";
          this.apply("");
        },
        { class: "small" },
      ),
    );
  }

  private async countAll(): Promise<void> {
    const { where } = this;
    const total = await this.work.run("Counting", (options) =>
      this.session.ask("Counting", this.session.reader.count({ where }, options)),
    );
    if (total !== undefined && where === this.where)
      fill(this.work.element, h("span", {}, sentence(`${plural(total, "row")} in all`)));
  }
}
