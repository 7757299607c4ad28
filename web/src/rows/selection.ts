/** The active cell of a grid, and the rectangle that is selected. */

export interface Cell {
  row: number;
  column: number;
}

export interface SelectionHost {
  rows(): number;
  columns(): number;
  /** Rows of one page. */
  page(): number;
  moved(open: boolean): void;
  copy(): void;
}

export class Selection {
  active?: Cell;
  private anchor?: Cell;

  constructor(
    element: HTMLElement,
    private readonly host: SelectionHost,
  ) {
    element.addEventListener("keydown", (event) => this.key(event));
  }

  clear(): void {
    this.active = undefined;
    this.anchor = undefined;
  }

  choose(row: number, column: number, extend = false): void {
    this.active = { row, column };
    if (!extend || !this.anchor) this.anchor = { row, column };
    this.host.moved(false);
  }

  /** First and last row and column that are selected. */
  get box(): { top: number; bottom: number; left: number; right: number } | undefined {
    const { active, anchor } = this;
    if (!active || !anchor) return undefined;
    return {
      top: Math.min(active.row, anchor.row),
      bottom: Math.max(active.row, anchor.row),
      left: Math.min(active.column, anchor.column),
      right: Math.max(active.column, anchor.column),
    };
  }

  has(row: number, column: number): boolean {
    const { box } = this;
    return box !== undefined && row >= box.top && row <= box.bottom && column >= box.left && column <= box.right;
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey) return;
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key.toLowerCase() === "c" && this.active) {
      event.preventDefault();
      this.host.copy();
      return;
    }
    if (event.key === "Enter" && this.active) {
      event.preventDefault();
      this.host.moved(true);
      return;
    }
    const to = this.target(event.key, command);
    if (!to || this.host.rows() === 0) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(this.host.rows() - 1, to.row));
    const column = Math.max(0, Math.min(this.host.columns() - 1, to.column));
    this.choose(row, column, event.shiftKey);
  }

  private target(key: string, command: boolean): Cell | undefined {
    const { row, column } = this.active ?? { row: 0, column: 0 };
    const [lastRow, lastColumn] = [this.host.rows() - 1, this.host.columns() - 1];
    switch (key) {
      case "ArrowDown":
        return { row: command ? lastRow : row + (this.active ? 1 : 0), column };
      case "ArrowUp":
        return { row: command ? 0 : row - 1, column };
      case "ArrowRight":
        return { row, column: command ? lastColumn : column + 1 };
      case "ArrowLeft":
        return { row, column: command ? 0 : column - 1 };
      case "PageDown":
        return { row: row + this.host.page(), column };
      case "PageUp":
        return { row: row - this.host.page(), column };
      case "Home":
        return { row: command ? 0 : row, column: 0 };
      case "End":
        return { row: command ? lastRow : row, column: lastColumn };
      default:
        return undefined;
    }
  }
}
