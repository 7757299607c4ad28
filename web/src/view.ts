/** What every view of a file is. */

export interface View {
  readonly element: HTMLElement;
  /** Called each time the view comes to the front, when it has its size. */
  shown?(): void;
}

/** What a view may ask the shell to do with its file. */
export interface Links {
  /** Shows a range of bytes on the byte map. */
  showBytes(start: number, end: number): void;
  showRow(row: number): void;
  showColumn(column: number): void;
}

export const VIEWS = ["overview", "rows", "columns", "bytes", "compare"] as const;
export type ViewName = (typeof VIEWS)[number];

export const VIEW_TITLES: Record<ViewName, string> = {
  overview: "Overview",
  rows: "Rows",
  columns: "Columns",
  bytes: "Bytes",
  compare: "Compare",
};
