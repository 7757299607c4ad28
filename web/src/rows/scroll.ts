/** Scrolling through more rows than a browser can make an element high. */

/** Elements beyond about 17 million pixels are cut off by some browsers. */
const HIGHEST = 8_000_000;

/** Keeps the place in a list of any height in step with a scroll bar of bounded height. Small moves of the bar are taken pixel by
 *  pixel, large ones as a share of the whole; after a pause the bar is put where it belongs. */
export class Scroll {
  /** The first pixel of the list that is seen. */
  top = 0;
  private last = 0;
  private timer?: ReturnType<typeof setTimeout>;

  constructor(
    private readonly scroller: HTMLElement,
    private readonly sizer: HTMLElement,
    private readonly moved: () => void,
  ) {
    scroller.addEventListener("scroll", () => this.onScroll(), { passive: true });
  }

  private whole = 0;

  /** Sets the height of the list, in pixels. */
  resize(whole: number): void {
    this.whole = whole;
    this.sizer.style.height = `${this.barHeight}px`;
    this.go(this.top);
  }

  get page(): number {
    return this.scroller.clientHeight;
  }

  private get barHeight(): number {
    return Math.min(HIGHEST, this.whole);
  }

  private get farthest(): number {
    return Math.max(0, this.whole - this.page);
  }

  private get barFarthest(): number {
    return Math.max(0, this.barHeight - this.page);
  }

  /** Moves to a place of the list. */
  go(top: number): void {
    this.top = Math.max(0, Math.min(this.farthest, top));
    this.align();
    this.moved();
  }

  private align(): void {
    const bar = this.farthest > 0 ? this.bar() : 0;
    if (Math.abs(this.scroller.scrollTop - bar) >= 1) this.scroller.scrollTop = bar;
    this.last = this.scroller.scrollTop;
  }

  /** Where the bar belongs: at an end only if the list is there, else with room to scroll on. */
  private bar(): number {
    const share = (this.top / this.farthest) * this.barFarthest;
    if (this.whole <= HIGHEST || this.top <= 0 || this.top >= this.farthest) return share;
    return Math.max(this.page, Math.min(this.barFarthest - this.page, share));
  }

  private onScroll(): void {
    const bar = this.scroller.scrollTop;
    const by = bar - this.last;
    this.last = bar;
    if (by === 0) return this.moved();
    if (this.whole <= HIGHEST) {
      this.top = bar;
    } else if (Math.abs(by) < 2 * this.page) {
      this.top = Math.max(0, Math.min(this.farthest, this.top + by));
      clearTimeout(this.timer);
      const atEnd = bar <= 0 || bar >= this.barFarthest - 1;
      this.timer = setTimeout(() => this.align(), atEnd ? 0 : 150);
    } else {
      this.top = (bar / this.barFarthest) * this.farthest;
    }
    this.moved();
  }
}
