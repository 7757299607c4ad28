/** SQL over the served files: an editor with history, the result, and how it was found. */
import { button, fill, h } from "../dom";
import { bytes, percent, plural } from "../format";
import { problemCard, problemOf } from "../problem";
import { ReaderError } from "../reader/contract";
import { FileRows } from "../rows/source";
import { Table } from "../rows/table";
import { plan, query, type Plan, type Served } from "../served";
import { Session } from "../session";
import { Work } from "../work";
import { forgetAll, history, remember } from "./history";

export class SqlView {
  readonly title = "SQL";
  readonly element = h("div", { class: "sql" });
  private readonly editor = h("textarea", {
    class: "editor",
    rows: 6,
    spellcheck: "false",
    autocapitalize: "off",
    "aria-label": "SQL query",
  });
  private readonly past = h("select", { "aria-label": "Earlier queries" });
  private readonly line = h("p", { class: "quiet sql-line", role: "status" });
  private readonly result = h("div", { class: "sql-result" });
  private readonly planBox = h("details", { class: "plan" }, h("summary", {}, "Plan and bytes per table"));
  private readonly work = new Work();
  private session?: Session;

  constructor(served: Served) {
    const first = served.tables[0];
    this.editor.value = first ? `select * from ${quoted(first)} limit 100` : "select 1";
    this.editor.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.run();
    });
    this.past.addEventListener("change", () => {
      if (this.past.value !== "") this.editor.value = history()[Number(this.past.value)] ?? this.editor.value;
      this.past.value = "";
      this.editor.focus();
    });
    fill(
      this.element,
      h(
        "div",
        { class: "sql-editor" },
        this.editor,
        h(
          "div",
          { class: "toolbar" },
          button("Run", () => void this.run(), { class: "primary", title: "Run (Ctrl+Enter)" }),
          button("Plan", () => void this.explain(), { title: "Show how the query would be run" }),
          this.past,
          button(
            "Forget",
            () => {
              forgetAll();
              this.drawPast();
            },
            { title: "Forget earlier queries" },
          ),
          h("span", { class: "quiet tables" }, `Tables: ${served.tables.map(quoted).join(", ")}`),
        ),
      ),
      this.work.element,
      this.line,
      this.planBox,
      this.result,
    );
    this.planBox.hidden = true;
    this.drawPast();
  }

  shown(): void {
    this.editor.focus();
  }

  private drawPast(): void {
    const past = history();
    this.past.disabled = past.length === 0;
    fill(
      this.past,
      h("option", { value: "" }, past.length > 0 ? "Earlier queries" : "No earlier queries"),
      ...past.map((text, i) => h("option", { value: i }, text.replace(/\s+/g, " ").slice(0, 80))),
    );
  }

  private async run(): Promise<void> {
    const text = this.editor.value.trim();
    if (text === "") return;
    remember(text);
    this.drawPast();
    const started = performance.now();
    const session = await this.work.run("Running the query", async ({ signal }) => {
      const blob = await query(text, signal);
      const opened = new Session({ kind: "file", name: "result.arrow", file: blob });
      await opened.open();
      if (opened.problem) throw new ReaderError(opened.problem);
      return opened;
    });
    if (!session) return;
    this.session?.close();
    this.session = session;
    const { inspection } = session.reader;
    const seconds = ((performance.now() - started) / 1000).toFixed(2);
    fill(this.line, `${plural(inspection.rows, "row")}, ${plural(inspection.columns.length, "column")}, ${seconds} s`);
    const table = new Table(inspection.columns, new FileRows(session), (said) => fill(this.line, said));
    table.arrangement.changed = () => table.grid.arrange();
    table.grid.say(inspection.rows === 0 ? "The result has no rows." : "");
    fill(this.result, table.element);
    try {
      this.drawPlan(await plan(text), this.planBox.open);
    } catch {
      this.planBox.hidden = true;
    }
  }

  private async explain(): Promise<void> {
    try {
      this.drawPlan(await plan(this.editor.value.trim()), true);
    } catch (error) {
      fill(this.work.element, problemCard(problemOf(error), "There is no plan for this query"));
    }
  }

  private drawPlan(answer: Plan, open: boolean): void {
    const lines = answer.tables.map(({ name, bytes: read, total }) => {
      const text = read === null ? `${bytes(total)} in all` : `${bytes(read)} of ${bytes(total)}, ${percent(read, total)}`;
      const line = h("li", {}, h("span", { class: "clip" }, name), h("span", { class: "number quiet" }, text));
      line.style.setProperty("--width", String(read === null ? 0 : Math.min(1, read / Math.max(1, total))));
      return line;
    });
    this.planBox.hidden = false;
    this.planBox.open = open;
    const total = answer.tables.reduce((sum, table) => sum + (table.bytes ?? 0), 0);
    const ran = answer.tables.some((table) => table.bytes !== null);
    fill(
      this.planBox,
      h("summary", {}, ran ? `Plan: this answer read ${bytes(total)} of ${plural(answer.tables.length, "table")}` : "Plan"),
      h("ul", { class: "top-values", "aria-label": "Bytes read per table" }, ...lines),
      h("pre", { class: "value", tabindex: 0 }, answer.plan),
    );
  }
}

/** A name as SQL spells it. */
function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replace(/"/g, '""')}"`;
}
