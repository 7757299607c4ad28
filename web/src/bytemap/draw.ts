/** Drawing pieces of a file onto a canvas, as lines of a page. */
import { inkColour, kindColour, now, regionColour } from "../palette";
import type { Range } from "../reader/contract";
import { pieceAt, type Piece } from "./pieces";

export interface Line {
  x: number;
  y: number;
  width: number;
  height: number;
  start: number;
  end: number;
  /** The first line names the piece it begins in, the others only pieces that begin in them. */
  first: boolean;
}

export interface Look {
  /** What was read; the rest is dimmed. */
  lit?: Range[] | undefined;
  selected?: number | undefined;
  labels: boolean;
}

/** Slanting lines on a background: what holds no values. */
function hatch(context: CanvasRenderingContext2D, kind: "padding" | "gap"): CanvasPattern | string {
  const tile = new OffscreenCanvas(8, 8);
  const pen = tile.getContext("2d");
  if (!pen) return now(kindColour(kind));
  pen.fillStyle = now(kindColour(kind));
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = now(kind === "gap" ? ["#c2452d", "#e08573"] : ["#b4bdc8", "#59636f"]);
  pen.lineWidth = 1.5;
  for (const shift of [-8, 0, 8]) {
    pen.moveTo(shift, 8);
    pen.lineTo(shift + 8, 0);
  }
  pen.stroke();
  return context.createPattern(tile as unknown as HTMLCanvasElement, "repeat") ?? now(kindColour(kind));
}

export class Painter {
  private patterns: Record<"padding" | "gap", CanvasPattern | string>;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.patterns = { padding: hatch(context, "padding"), gap: hatch(context, "gap") };
  }

  line(pieces: Piece[], line: Line, look: Look): void {
    const { context } = this;
    context.save();
    if (!look.lit) {
      this.pieces(pieces, line, look.labels);
    } else {
      context.globalAlpha = 0.5;
      this.pieces(pieces, line, look.labels);
      context.globalAlpha = 1;
      this.lit(pieces, line, look.lit, look.labels);
    }
    context.restore();
    if (look.selected !== undefined) this.outline(pieces[look.selected], line);
  }

  /** Draws each piece; those thinner than a pixel take one, and what shares the pixel is skipped. */
  private pieces(pieces: Piece[], line: Line, labels: boolean): void {
    const { context } = this;
    const perByte = line.width / (line.end - line.start);
    const place = (offset: number): number => (offset - line.start) * perByte;
    let index = pieceAt(pieces, line.start);
    while (index < pieces.length) {
      const piece = pieces[index]!;
      if (piece.start >= line.end) break;
      const left = Math.max(0, place(piece.start));
      const right = Math.min(line.width, place(piece.end));
      const width = Math.max(1, right - left);
      const edge = width > 4 && piece.end <= line.end ? 1 : 0;
      context.fillStyle = piece.kind === "padding" || piece.kind === "gap" ? this.patterns[piece.kind] : now(regionColour(piece));
      context.fillRect(line.x + Math.floor(left), line.y, Math.max(1, Math.ceil(width) - edge), line.height);
      if (labels && width > 44 && (line.first || piece.start >= line.start)) this.label(piece, line, left, width);
      if (right - left >= 1) index++;
      else index = Math.max(index + 1, pieceAt(pieces, line.start + (Math.floor(left) + 1) / perByte));
    }
  }

  private label(piece: Piece, line: Line, left: number, width: number): void {
    const { context } = this;
    const name = piece.path[piece.path.length - 1]!;
    const text = piece.path.length > 1 ? `${piece.path[0]}: ${name}` : name;
    context.save();
    context.globalAlpha = 1;
    context.beginPath();
    context.rect(line.x + left + 6, line.y, width - 12, line.height);
    context.clip();
    context.fillStyle = now(inkColour(piece.kind));
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillText(text, line.x + left + 6, line.y + line.height / 2 + 0.5);
    context.restore();
  }

  private lit(pieces: Piece[], line: Line, ranges: Range[], labels: boolean): void {
    const { context } = this;
    const perByte = line.width / (line.end - line.start);
    const marks: [number, number][] = [];
    context.save();
    context.beginPath();
    for (const range of ranges) {
      if (range.end <= line.start || range.start >= line.end) continue;
      const left = Math.max(0, (range.start - line.start) * perByte);
      const width = Math.max(2, Math.min(line.width, (range.end - line.start) * perByte) - left);
      context.rect(line.x + left, line.y, width, line.height);
      marks.push([left, width]);
    }
    if (marks.length > 0) {
      context.clip();
      context.clearRect(line.x, line.y, line.width, line.height);
      this.pieces(pieces, line, labels);
    }
    context.restore();
    context.fillStyle = now(["#0b62bd", "#74b4fb"]);
    for (const [left, width] of marks) context.fillRect(line.x + left, line.y + line.height - 3, width, 3);
  }

  private outline(piece: Piece | undefined, line: Line): void {
    if (!piece || piece.end <= line.start || piece.start >= line.end) return;
    const { context } = this;
    const perByte = line.width / (line.end - line.start);
    const left = Math.max(0, (piece.start - line.start) * perByte);
    const right = Math.min(line.width, (piece.end - line.start) * perByte);
    context.strokeStyle = now(["#0b1220", "#ffffff"]);
    context.lineWidth = 2;
    context.strokeRect(line.x + left, line.y - 1, Math.max(3, right - left), line.height + 2);
  }
}
