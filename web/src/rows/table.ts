/** A grid with its pane of details: rows of a file or of a query's result. */
import { asTable, copyText } from "../clipboard";
import { h } from "../dom";
import { plural } from "../format";
import type { Column } from "../reader/contract";
import { copied } from "../values";
import { afterQuiet } from "../work";
import { Arrangement, type Placed } from "./arrangement";
import { DetailPane, LISTED } from "./detail";
import { Grid } from "./grid";
import type { RowSource } from "./source";

/** Rows that are copied at most. */
const COPIED = 100_000;

export class Table {
  readonly arrangement: Arrangement;
  readonly grid: Grid;
  readonly element: HTMLElement;
  private readonly detail = new DetailPane(() => this.grid.element.focus());
  private row = 0;
  private column?: Placed;

  /** `say` is told what was copied or went wrong. */
  constructor(
    columns: Column[],
    source: RowSource,
    private readonly say: (text: string) => void,
  ) {
    this.arrangement = new Arrangement(columns);
    this.grid = new Grid(this.arrangement, source, {
      chosen: (row, column, open) => {
        this.row = row;
        this.column = column;
        if (open || this.detail.isOpen) this.showDetail();
      },
      copy: () => void this.copy(),
    });
    this.element = h("div", { class: "table" }, this.grid.element, this.detail.element);
    this.grid.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.detail.isOpen) this.detail.close();
    });
    this.listen(source);
  }

  /** Shows other rows. */
  use(source: RowSource): void {
    this.grid.source.stop();
    if (this.detail.isOpen) this.detail.close();
    this.listen(source);
    this.grid.source = source;
  }

  private listen(source: RowSource): void {
    source.changed = () => {
      this.grid.redraw();
      if (this.detail.isOpen) this.showDetail();
    };
  }

  private showDetail(): void {
    const { column, row, grid } = this;
    if (!column) return;
    this.completeSoon();
    this.detail.show(
      grid.source.number(row),
      column,
      grid.columns,
      (other) => grid.source.cell(row, other.index),
      (other) =>
        grid.selection.choose(
          row,
          grid.columns.findIndex(({ index }) => index === other.index),
        ),
    );
  }

  /** Reads the rest of the row once the choice has settled. */
  private readonly completeSoon = afterQuiet(200, () => {
    const columns = this.grid.columns.slice(0, LISTED).map(({ index }) => index);
    if (this.detail.isOpen)
      this.grid.source.readRest(this.row, columns).catch((error: unknown) => this.grid.source.failed(error));
  });

  async copy(): Promise<void> {
    const { box } = this.grid.selection;
    if (!box) return this.say("Choose a cell first.");
    const columns = this.grid.columns.slice(box.left, box.right + 1);
    const last = Math.min(box.bottom + 1, box.top + COPIED);
    try {
      const cells = await this.grid.source.read(
        box.top,
        last,
        columns.map(({ index }) => index),
      );
      const single = cells.length === 1 && columns.length === 1;
      const rows = cells.map((row) => row.map(copied));
      await copyText(
        single ? (rows[0]?.[0] ?? "") : asTable(cells.length > 1 ? [columns.map(({ name }) => name), ...rows] : rows),
      );
      this.say(single ? "Copied the value." : `Copied ${plural(cells.length, "row")} of ${plural(columns.length, "column")}.`);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }
}
