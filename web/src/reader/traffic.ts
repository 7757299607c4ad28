/** What answers cost. */
import type { Range, Traffic } from "./contract";

/** Counts what is asked of a file while an answer is made. */
export class Counter {
  private requests = 0;
  private bytes = 0;
  private cached = 0;
  private readonly ranges: Range[] = [];

  /** Bytes that were asked of the file or server in one request. */
  asked(bytes: number): void {
    this.requests += 1;
    this.bytes += bytes;
  }

  /** Bytes that the answer is made of. */
  used(range: Range, atHand: boolean): void {
    this.ranges.push(range);
    if (atHand) this.cached += range.end - range.start;
  }

  /** Bytes that were looked at so far, those at hand included. */
  get passed(): number {
    return this.bytes + this.cached;
  }

  get traffic(): Traffic {
    return { requests: this.requests, bytes: this.bytes, cached: this.cached, ranges: merged(this.ranges, 0) };
  }
}

/** Ranges sorted, those that overlap, touch or lie at most `gap` apart made one. */
export function merged(ranges: readonly Range[], gap: number): Range[] {
  const out: Range[] = [];
  for (const range of [...ranges].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = out[out.length - 1];
    if (last && range.start <= last.end + gap) last.end = Math.max(last.end, range.end);
    else out.push({ ...range });
  }
  return out;
}
