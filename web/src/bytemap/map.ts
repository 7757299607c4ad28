/** The map itself: a strip of the whole file, and below it lines of the part that is looked at. */
import { h } from "../dom";
import { onThemeChange } from "../palette";
import type { Range } from "../reader/contract";
import { Painter, type Line } from "./draw";
import { pieceAt, type Piece } from "./pieces";

const STRIP = 16;
const TOP = STRIP + 16;
const LINE = 28;
const STEP = 36;
/** The fewest bytes that are looked at. */
const LEAST = 64;

export interface MapEvents {
  /** The pointer is over a byte, or over none. */
  hover(offset: number | undefined, x: number, y: number): void;
  select(index: number, offset: number): void;
  moved(): void;
}

export class ByteMap {
  readonly element = h("canvas", { class: "byte-canvas", tabindex: 0, role: "application", "aria-roledescription": "byte map" });
  selected?: number;
  lit?: Range[] | undefined;
  private window: Range;
  private frame = 0;
  private drag?: { x: number; y: number; start: number; moved: boolean; strip: boolean };

  constructor(
    private readonly pieces: Piece[],
    private readonly size: number,
    private readonly events: MapEvents,
  ) {
    this.window = { start: 0, end: size };
    new ResizeObserver(() => this.redraw()).observe(this.element);
    onThemeChange(() => this.redraw());
    this.listen();
  }

  get seen(): Range {
    return this.window;
  }

  /** Looks at a range, at least `LEAST` bytes of it, within the file. */
  look(start: number, end: number): void {
    const length = Math.min(this.size, Math.max(LEAST, end - start));
    const from = Math.max(0, Math.min(this.size - length, (start + end - length) / 2));
    this.window = { start: from, end: from + length };
    this.redraw();
    this.events.moved();
  }

  /** Zooms by a factor and keeps `at` where it is. */
  zoom(factor: number, at = (this.window.start + this.window.end) / 2): void {
    const { start, end } = this.window;
    const length = Math.min(this.size, Math.max(LEAST, (end - start) * factor));
    const from = Math.max(0, Math.min(this.size - length, at - ((at - start) / (end - start)) * length));
    this.window = { start: from, end: from + length };
    this.redraw();
    this.events.moved();
  }

  pan(by: number): void {
    const length = this.window.end - this.window.start;
    this.look(this.window.start + by * length, this.window.end + by * length);
  }

  /** Selects a piece and brings it into view. */
  choose(index: number, offset?: number): void {
    const piece = this.pieces[index];
    if (!piece) return;
    this.selected = index;
    const { start, end } = this.window;
    if (piece.end <= start || piece.start >= end) {
      const middle = (piece.start + piece.end) / 2;
      this.look(middle - (end - start) / 2, middle + (end - start) / 2);
    }
    this.redraw();
    this.events.select(index, offset ?? piece.start);
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private lines(): Line[] {
    const width = this.element.clientWidth;
    const fit = Math.max(1, Math.floor((this.element.clientHeight - TOP) / STEP));
    const length = this.window.end - this.window.start;
    const count = Math.max(1, Math.min(fit, Math.ceil(length / 16)));
    return Array.from({ length: count }, (_, i) => ({
      x: 0,
      y: TOP + i * STEP,
      width,
      height: LINE,
      first: i === 0,
      start: this.window.start + (length * i) / count,
      end: this.window.start + (length * (i + 1)) / count,
    }));
  }

  private strip(): Line {
    return { x: 0, y: 2, width: this.element.clientWidth, height: STRIP - 4, first: true, start: 0, end: this.size };
  }

  private draw(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const context = this.element.getContext("2d");
    if (!context || width === 0 || this.size === 0) return;
    const scale = devicePixelRatio || 1;
    this.element.width = Math.round(width * scale);
    this.element.height = Math.round(height * scale);
    context.scale(scale, scale);
    context.clearRect(0, 0, width, height);
    const painter = new Painter(context);
    painter.line(this.pieces, this.strip(), { lit: this.lit, labels: false });
    for (const line of this.lines()) painter.line(this.pieces, line, { lit: this.lit, selected: this.selected, labels: true });
    this.drawWindow(context, width);
  }

  private drawWindow(context: CanvasRenderingContext2D, width: number): void {
    if (this.window.end - this.window.start >= this.size) return;
    const left = (this.window.start / this.size) * width;
    const across = Math.max(4, ((this.window.end - this.window.start) / this.size) * width);
    context.strokeStyle = getComputedStyle(this.element).color;
    context.lineWidth = 2;
    context.strokeRect(Math.min(width - across - 1, Math.max(1, left)), 1, across, STRIP - 2);
  }

  /** The byte under a place on the canvas. */
  private byteAt(x: number, y: number): { offset: number; strip: boolean } | undefined {
    const at = (line: Line): number =>
      Math.min(line.end - 1e-9, line.start + (Math.max(0, x - line.x) / line.width) * (line.end - line.start));
    if (y < STRIP + 4) return { offset: Math.floor(at(this.strip())), strip: true };
    const line = this.lines().find((one) => y >= one.y - 4 && y < one.y + one.height + 4);
    return line ? { offset: Math.min(this.size - 1, Math.floor(at(line))), strip: false } : undefined;
  }

  private listen(): void {
    const canvas = this.element;
    const place = (event: MouseEvent): [number, number] => [event.offsetX, event.offsetY];
    canvas.addEventListener(
      "wheel",
      (event) => {
        const under = this.byteAt(...place(event));
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / 1000);
        else this.zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 250), under?.offset);
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      const under = this.byteAt(...place(event));
      this.drag = { x: event.offsetX, y: event.offsetY, start: this.window.start, moved: false, strip: under?.strip === true };
      canvas.setPointerCapture(event.pointerId);
      if (under?.strip) this.centre(under.offset);
    });
    canvas.addEventListener("pointermove", (event) => this.pointerMoved(event, place(event)));
    canvas.addEventListener("pointerup", (event) => {
      const { drag } = this;
      this.drag = undefined;
      if (!drag || drag.moved || drag.strip) return;
      const under = this.byteAt(...place(event));
      if (under) this.choose(pieceAt(this.pieces, under.offset), under.offset);
    });
    canvas.addEventListener("pointerleave", () => this.events.hover(undefined, 0, 0));
    canvas.addEventListener("dblclick", () => this.zoomToSelected());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private pointerMoved(event: PointerEvent, [x, y]: [number, number]): void {
    const { drag } = this;
    const under = this.byteAt(x, y);
    if (!drag) {
      this.events.hover(under?.offset, x, y);
      return;
    }
    if (drag.strip) {
      const strip = this.byteAt(x, 0);
      if (strip) this.centre(strip.offset);
      return;
    }
    if (Math.abs(x - drag.x) + Math.abs(y - drag.y) < 5 && !drag.moved) return;
    drag.moved = true;
    this.events.hover(undefined, 0, 0);
    const line = this.lines()[0]!;
    const perLine = line.end - line.start;
    const by = ((drag.x - x) / line.width) * perLine + ((drag.y - y) / STEP) * perLine;
    const length = this.window.end - this.window.start;
    this.look(drag.start + by, drag.start + by + length);
    event.preventDefault();
  }

  private centre(offset: number): void {
    const half = (this.window.end - this.window.start) / 2;
    this.look(offset - half, offset + half);
  }

  zoomToSelected(): void {
    const piece = this.selected === undefined ? undefined : this.pieces[this.selected];
    if (piece) this.look(piece.start, piece.end);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (by: number): void =>
      this.choose(Math.max(0, Math.min(this.pieces.length - 1, (this.selected ?? (by > 0 ? -1 : 0)) + by)));
    const keys: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? this.pan(0.1) : step(1)),
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.1) : step(-1)),
      ArrowDown: () => this.pan(0.25),
      ArrowUp: () => this.pan(-0.25),
      Home: () => this.choose(0),
      End: () => this.choose(this.pieces.length - 1),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      "0": () => this.look(0, this.size),
      Enter: () => this.zoomToSelected(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}
