/** Where the grid has its rows from: the file by number, or those that meet a condition. Only what is seen is read. */
import { isAbort } from "../problem";
import type { Session } from "../session";

export interface RowSource {
  /** How many rows there are, as far as is known. */
  readonly total: number;
  /** A cell as JSON text, or undefined while it is not known. */
  cell(row: number, column: number): string | undefined;
  /** The number of a row in the file. */
  number(row: number): number;
  /** Asks for rows `first` to `last` (exclusive) of columns; `changed` is called when they are there. */
  want(first: number, last: number, columns: number[]): void;
  /** Reads the cells of one row that are not known yet. */
  readRest(row: number, columns: number[]): Promise<void>;
  /** Cells for copying, whether they were seen or not. */
  read(first: number, last: number, columns: number[]): Promise<string[][]>;
  changed: () => void;
  failed: (error: unknown) => void;
  stop(): void;
}

/** Rows that are read together. */
const BLOCK = 64;
/** Blocks that are kept. */
const KEPT = 400;

/** All rows of a file, by number. */
export class FileRows implements RowSource {
  changed = (): void => {};
  failed = (_: unknown): void => {};
  private readonly blocks = new Map<number, Map<number, string[]>>();
  /** Cells beside the blocks: of one row that is looked at as a whole. */
  private single: { row: number; cells: Map<number, string> } = { row: -1, cells: new Map() };
  private wanted?: { first: number; last: number; columns: number[] };
  private fetching?: { first: number; last: number; control: AbortController };
  private timer?: ReturnType<typeof setTimeout> | undefined;

  readonly total: number;

  constructor(private readonly session: Session) {
    const { rows, columns } = session.reader.inspection;
    this.total = columns.length > 0 ? rows : 0;
  }

  cell(row: number, column: number): string | undefined {
    const block = Math.floor(row / BLOCK);
    const known = this.blocks.get(block)?.get(column)?.[row - block * BLOCK];
    return known ?? (this.single.row === row ? this.single.cells.get(column) : undefined);
  }

  async readRest(row: number, columns: number[]): Promise<void> {
    const missing = columns.filter((column) => this.cell(row, column) === undefined);
    if (missing.length === 0 || this.session.state !== "open") return;
    const [cells = []] = await this.read(row, row + 1, missing);
    this.single = { row, cells: new Map(missing.map((column, i) => [column, cells[i] ?? "null"])) };
    this.changed();
  }

  number(row: number): number {
    return row;
  }

  want(first: number, last: number, columns: number[]): void {
    if (this.session.state !== "open") return;
    this.wanted = { first: Math.max(0, first), last: Math.min(this.total, last), columns };
    const { fetching } = this;
    if (fetching) {
      if (fetching.last <= this.wanted.first || fetching.first >= this.wanted.last) fetching.control.abort();
      return;
    }
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.fetch();
    }, 30);
  }

  async read(first: number, last: number, columns: number[]): Promise<string[][]> {
    const answer = this.session.reader.rows({ columns, start: first, count: last - first });
    return (await this.session.ask(`Rows ${first} to ${last}`, answer)).cells;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.wanted = undefined;
    this.fetching?.control.abort();
  }

  /** The blocks of what is wanted that lack a column, from the first to the last of them, and these columns. */
  private missing(): { first: number; last: number; columns: number[] } | undefined {
    if (!this.wanted) return undefined;
    const { first, last, columns } = this.wanted;
    const lacking = new Set<number>();
    const blocks: number[] = [];
    for (let block = Math.floor(first / BLOCK); block * BLOCK < last; block++) {
      const known = this.blocks.get(block);
      const here = columns.filter((column) => !known?.has(column));
      if (here.length === 0) continue;
      blocks.push(block);
      for (const column of here) lacking.add(column);
    }
    if (blocks.length === 0) return undefined;
    const end = Math.min(this.total, (blocks[blocks.length - 1]! + 1) * BLOCK);
    return { first: blocks[0]! * BLOCK, last: end, columns: columns.filter((column) => lacking.has(column)) };
  }

  private async fetch(): Promise<void> {
    for (let next = this.missing(); next; next = this.missing()) {
      const control = new AbortController();
      this.fetching = { ...next, control };
      const { first, last, columns } = next;
      try {
        const answer = this.session.reader.rows({ columns, start: first, count: last - first }, { signal: control.signal });
        const rows = await this.session.ask(`Rows ${first} to ${last - 1}`, answer);
        this.keep(first, last, columns, rows.cells);
        this.changed();
      } catch (error) {
        if (!isAbort(error) && !control.signal.aborted) {
          this.wanted = undefined;
          this.failed(error);
        }
      } finally {
        this.fetching = undefined;
      }
    }
  }

  private keep(first: number, last: number, columns: number[], cells: string[][]): void {
    for (let start = first; start < last; start += BLOCK) {
      const block = start / BLOCK;
      const known = this.blocks.get(block) ?? new Map<number, string[]>();
      const rows = cells.slice(start - first, start - first + BLOCK);
      columns.forEach((column, i) =>
        known.set(
          column,
          rows.map((row) => row[i] ?? "null"),
        ),
      );
      this.blocks.delete(block);
      this.blocks.set(block, known);
    }
    for (const block of this.blocks.keys()) {
      if (this.blocks.size <= KEPT) break;
      this.blocks.delete(block);
    }
  }
}

/** Rows that are looked for at a time. */
const FOUND = 200;
/** Rows that are kept of those that meet a condition. */
export const MOST_FOUND = 100_000;

/** Rows that meet a condition, looked for as the grid comes near the last one that was found. */
export class FoundRows implements RowSource {
  changed = (): void => {};
  failed = (_: unknown): void => {};
  /** How much of the file was looked at, of 1. */
  looked = 0;
  looking = false;
  broken = false;
  private readonly numbers: number[] = [];
  private readonly cells: string[][] = [];
  private next: number | undefined = 0;
  private readonly control = new AbortController();

  constructor(
    private readonly session: Session,
    readonly where: string,
    private readonly columns: number[],
  ) {}

  get total(): number {
    return this.cells.length;
  }

  get complete(): boolean {
    return this.next === undefined;
  }

  cell(row: number, column: number): string | undefined {
    return this.cells[row]?.[this.columns.indexOf(column)];
  }

  number(row: number): number {
    return this.numbers[row] ?? row;
  }

  has(columns: number[]): boolean {
    return columns.every((column) => this.columns.includes(column));
  }

  want(_first: number, last: number): void {
    if (this.session.state === "open" && last + 20 >= this.total) void this.look();
  }

  async readRest(): Promise<void> {}

  async read(first: number, last: number, columns: number[]): Promise<string[][]> {
    return this.cells.slice(first, last).map((row) => columns.map((column) => row[this.columns.indexOf(column)] ?? "null"));
  }

  stop(): void {
    this.control.abort();
  }

  /** Looks for more rows. */
  async look(): Promise<void> {
    if (this.looking || this.next === undefined || this.total >= MOST_FOUND || this.control.signal.aborted) return;
    this.looking = true;
    this.changed();
    const start = this.next;
    const rows = Math.max(1, this.session.reader.inspection.rows);
    try {
      const progress = (fraction: number): void => {
        this.looked = (start + fraction * (rows - start)) / rows;
        this.changed();
      };
      const answer = this.session.reader.find(
        { columns: this.columns, where: this.where, start, limit: FOUND },
        { signal: this.control.signal, progress },
      );
      const found = await this.session.ask("The condition", answer);
      this.numbers.push(...found.numbers);
      this.cells.push(...found.cells);
      this.next = found.next;
      this.looked = found.next === undefined ? 1 : found.next / rows;
    } catch (error) {
      this.next = undefined;
      this.broken = true;
      if (!isAbort(error) && !this.control.signal.aborted) this.failed(error);
    }
    this.looking = false;
    if (this.control.signal.aborted) return;
    this.changed();
    if (this.total === 0) void this.look();
  }
}
