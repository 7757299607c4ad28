/** What the page asks of a file, and what it is told. The JSON of the command is the model: what `inspect --layout --json`,
 *  `verify --json` and `stats --json` print is what the members of the same name hold. */

/** A half-open range of bytes or rows. */
export interface Range {
  start: number;
  end: number;
}

/** Where a file is. */
export type Source =
  | { kind: "file"; name: string; file: Blob }
  | { kind: "url"; name: string; url: string };

/** One piece of a file: every byte belongs to exactly one of a layout. */
export interface Region {
  range: Range;
  kind: "header" | "metadata" | "data" | "padding" | "gap";
  name: string;
  /** Index into `Inspection.columns`. */
  column?: number;
  encoding?: string;
  /** How many bytes it stands for once decoded. */
  raw_bytes?: number;
  /** Smaller pieces inside of it, in file order. Bytes between them belong to the region itself. */
  parts?: Region[];
}

export interface Column {
  name: string;
  type: string;
  nullable: boolean;
  stored_bytes?: number;
  raw_bytes?: number;
  encoding?: string;
}

/** A column by its name, by the path to a part of it (`a.b`), or by its position. Names may repeat, positions never do. */
export type ColumnName = string | number;

/** `colkit inspect --layout --json`. What opening a file tells (`Reader.inspection`) lacks the layout and the bytes of columns;
 *  `Reader.layout()` brings them. */
export interface Inspection {
  file: string;
  format: string;
  properties: Record<string, string>;
  bytes: number;
  rows: number;
  columns: Column[];
  other_bytes?: number;
  gap_bytes?: number;
  layout?: { size: number; regions: Region[] };
  /** Only the first so many bytes of a long text were read, and `rows` are those in them. `open` with `whole` reads all. */
  sample?: { bytes: number };
}

/** What an answer cost: what was asked of the file or server. */
export interface Traffic {
  requests: number;
  bytes: number;
  /** Bytes that were at hand from earlier answers. */
  cached: number;
  /** What was looked at, whether read or at hand: sorted, without overlaps. */
  ranges: Range[];
}

/** Rows of a table. A cell is the JSON text of its value, as `colkit cat --as ndjson` prints it: `"a"`, `12`, `null`, `{"x":1}`. */
export interface Rows {
  columns: string[];
  /** The number of each row in the file. */
  numbers: number[];
  /** `cells[row][column]`. */
  cells: string[][];
}

/** The rows that meet a condition, as far as they were looked for. */
export interface Found extends Rows {
  /** The first row not looked at, or undefined when all were. */
  next?: number;
}

/** What went wrong, in the words of the command. */
export interface Problem {
  class: string;
  code: string;
  message: string;
  file?: string;
  offset?: number;
  part?: string;
  hint?: string;
}

/** `colkit verify --json`. */
export interface Verification {
  valid: boolean;
  file: string;
  format: string | null;
  bytes: number;
  rows: number | null;
  columns: number | null;
  checked: string[];
  /** `none`, `parts` or `all`, and that in words; null if it did not come to that. */
  checksums: string | null;
  coverage: string | null;
  errors: Problem[];
  findings: { part: string; message: string }[];
}

/** A member of `columns` of `colkit stats --json`. What the type does not have, or what was not asked for, is left out. */
export interface ColumnStatistics {
  name: string;
  type: string;
  /** Rows that were looked at. */
  rows: number;
  nulls?: number;
  nan?: number;
  min?: unknown;
  max?: unknown;
  mean?: unknown;
  std?: number;
  distinct?: { exact: boolean; value: number; standard_error?: number };
  /** `p25`, `p50`, `p75`, `p95`. */
  quantiles?: { exact: boolean } & Record<string, unknown>;
  top?: { exact: boolean; values: { value: unknown; count: number }[] };
  lengths?: { shortest: number; longest: number; mean: number };
  /** How values are spread from `min` to `max`, which is cut into equal parts. */
  histogram?: { exact: boolean; counts: number[] };
}

/** `colkit diff --json`. */
export interface Difference {
  left: string;
  right: string;
  equal: boolean;
  schema: string[];
  row_counts: [number, number];
  compared_columns: number;
  compared_rows: number;
  differing_rows: number;
  stopped: boolean;
  first: CellDifference[];
  by_key?: {
    columns: string[];
    added: number;
    removed: number;
    changed: number;
    unchanged: number;
    first_added: Record<string, string | null>[];
    first_removed: Record<string, string | null>[];
  };
}

/** One value that differs; null is null. */
export interface CellDifference {
  row: number;
  key?: Record<string, string | null>;
  column: string;
  left: string | null;
  right: string | null;
}

/** A file that was made, and what the user should know about it. */
export interface Exported {
  blob: Blob;
  rows: number;
  notes: string[];
}

/** How much of a long piece of work is done, between 0 and 1. */
export type Progress = (fraction: number) => void;

/** Aborting rejects with the reason of the signal, as fetch does. */
export interface Options {
  signal?: AbortSignal;
  progress?: Progress;
}

export interface OpenOptions extends Options {
  /** Reads a long text to its end, rather than its start alone. */
  whole?: boolean;
}

export type ExportFormat = "csv" | "ndjson" | "parquet" | "lance";

/** An answer, and what it cost. */
export type Answer<T> = Promise<{ value: T; traffic: Traffic }>;

/** What every failure is thrown as, but for an abort. */
export class ReaderError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
    this.name = "ReaderError";
  }
}

/** One open file. Every failure is thrown as a `ReaderError` with a `Problem`. Calls may overlap. */
export interface Reader {
  /** What the file is, without its layout. */
  readonly inspection: Inspection;
  /** What opening it cost. */
  readonly opening: Traffic;
  /** The byte map, and what each column takes. */
  layout(options?: Options): Answer<Inspection>;
  /** Rows by their numbers, reading no more than `take` would. Rows beyond the end are left out. */
  rows(request: { columns?: ColumnName[]; start: number; count: number }, options?: Options): Answer<Rows>;
  /** The first `limit` rows from `start` on that meet a condition in the language of `--where`. */
  find(request: { columns?: ColumnName[]; where: string; start: number; limit: number }, options?: Options): Answer<Found>;
  /** How many rows meet a condition. */
  count(request: { where: string }, options?: Options): Answer<number>;
  /** Nothing if the condition can be asked of this file, else why not and where (an offset into the text). */
  check(where: string): Promise<{ message: string; at?: number } | undefined>;
  /** Statistics of columns: of all rows, of about `sample` rows spread over the file, or what the file knows without being read
   *  (`metadata`, or a `sample` of 0; then there is no condition). Whole numbers beyond 2^53 come as texts. */
  statistics(request: { columns?: ColumnName[]; where?: string; sample?: number; metadata?: boolean }, options?: Options): Answer<ColumnStatistics[]>;
  verify(options?: Options): Answer<Verification>;
  bytes(range: Range): Answer<Uint8Array>;
  /** A file with the chosen columns and rows. */
  export(
    request: { format: ExportFormat; columns?: ColumnName[]; where?: string; rows?: Range },
    options?: Options,
  ): Answer<Exported>;
  /** What differs between this file and another: what `colkit diff --json` prints. */
  diff(other: Reader, request?: { key?: ColumnName[] }, options?: Options): Answer<Difference>;
  close(): void;
}

/** Opens a file, whatever its format. */
export type Open = (source: Source, options?: OpenOptions) => Promise<Reader>;
