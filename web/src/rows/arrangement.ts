/** Which columns are shown, in which order, how wide, and which stay at the left. */
import type { Column } from "../reader/contract";
import { kindOf, type Kind } from "../values";

export interface Placed {
  index: number;
  name: string;
  type: string;
  pinned: boolean;
  left: number;
  width: number;
}

const WIDTHS: Record<Kind, number> = {
  number: 112,
  text: 176,
  bytes: 200,
  time: 192,
  duration: 120,
  bool: 80,
  nested: 260,
  other: 160,
};

/** Wide enough for every number of a type: a number that is cut off would be read as another one. */
function widthOf({ name, type }: Column): number {
  const kind = kindOf(type);
  const long = /^(u?int64|float64|double)/.test(type) ? 192 : /^decimal/.test(type) ? 240 : WIDTHS.number;
  const least = kind === "number" ? long : WIDTHS[kind];
  return Math.min(320, Math.max(least, name.length * 9 + 28, Math.min(type.length, 24) * 7 + 28));
}

/** Narrowest column. */
export const NARROWEST = 48;

export class Arrangement {
  /** Called after every change. */
  changed = (): void => {};
  private order: number[];
  private readonly hidden = new Set<number>();
  private readonly pinned = new Set<number>();
  private readonly widths: number[];

  constructor(readonly columns: Column[]) {
    this.order = columns.map((_, i) => i);
    this.widths = columns.map(widthOf);
  }

  /** Every column, as the list of columns shows them. */
  all(): { index: number; shown: boolean; pinned: boolean }[] {
    return this.order.map((index) => ({ index, shown: !this.hidden.has(index), pinned: this.pinned.has(index) }));
  }

  /** Shown columns from left to right: pinned ones first. */
  shown(): number[] {
    const shown = this.order.filter((index) => !this.hidden.has(index));
    return [...shown.filter((index) => this.pinned.has(index)), ...shown.filter((index) => !this.pinned.has(index))];
  }

  /** Shown columns with their places, the first at `left`. */
  placed(left: number): Placed[] {
    let at = left;
    return this.shown().map((index) => {
      const width = this.widths[index]!;
      const { name, type } = this.columns[index]!;
      at += width;
      return { index, name, type, pinned: this.pinned.has(index), left: at - width, width };
    });
  }

  show(index: number, shown: boolean): void {
    if (shown) this.hidden.delete(index);
    else if (this.shown().length > 1) this.hidden.add(index);
    this.changed();
  }

  showAll(): void {
    this.hidden.clear();
    this.changed();
  }

  showOnly(index: number): void {
    for (const other of this.order) this.hidden.add(other);
    this.hidden.delete(index);
    this.changed();
  }

  pin(index: number, pinned: boolean): void {
    if (pinned) this.pinned.add(index);
    else this.pinned.delete(index);
    this.changed();
  }

  /** Moves a column to where another one is. */
  moveTo(index: number, other: number): void {
    const to = this.order.indexOf(other);
    const from = this.order.indexOf(index);
    if (from < 0 || to < 0 || from === to) return;
    this.order.splice(from, 1);
    this.order.splice(to, 0, index);
    if (this.pinned.has(other) !== this.pinned.has(index)) {
      if (this.pinned.has(other)) this.pinned.add(index);
      else this.pinned.delete(index);
    }
    this.changed();
  }

  /** Moves a column by places in the order. */
  moveBy(index: number, by: number): void {
    const other = this.order[this.order.indexOf(index) + by];
    if (other !== undefined) this.moveTo(index, other);
  }

  resize(index: number, width: number): void {
    this.widths[index] = Math.max(NARROWEST, Math.min(2000, Math.round(width)));
    this.changed();
  }
}
