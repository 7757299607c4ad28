/** A layout as a flat list of pieces that follow each other without holes. */
import type { Inspection, Region } from "../reader/contract";

export interface Piece {
  start: number;
  end: number;
  kind: Region["kind"];
  /** What it is, from the outside in. */
  path: string[];
  column?: number;
  encoding?: string;
  raw?: number;
}

/** Pieces in file order. Bytes the layout leaves out appear as gaps, so that the map always covers the file; `size` may be larger
 *  than the layout if only the start of a file was read. */
export function piecesOf(layout: NonNullable<Inspection["layout"]>, size = layout.size): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  const push = (piece: Piece): void => {
    const start = Math.max(piece.start, at);
    if (piece.end <= start) return;
    pieces.push({ ...piece, start });
    at = piece.end;
  };
  const walk = (region: Region, path: string[], column: number | undefined): void => {
    const names = [...path, region.name];
    const own = region.column ?? column;
    const base: Omit<Piece, "start" | "end"> = { kind: region.kind, path: names };
    if (own !== undefined) base.column = own;
    if (region.encoding !== undefined) base.encoding = region.encoding;
    if (region.raw_bytes !== undefined) base.raw = region.raw_bytes;
    let from = region.range.start;
    for (const part of region.parts ?? []) {
      push({ ...base, start: from, end: part.range.start });
      walk(part, names, own);
      from = Math.max(from, part.range.end);
    }
    push({ ...base, start: from, end: region.range.end });
  };
  const sorted = [...layout.regions].sort((a, b) => a.range.start - b.range.start);
  for (const region of sorted) {
    push({ start: at, end: region.range.start, kind: "gap", path: ["not described"] });
    walk(region, [], undefined);
  }
  push({ start: at, end: layout.size, kind: "gap", path: ["not described"] });
  push({ start: at, end: size, kind: "data", path: ["not read yet"] });
  return pieces;
}

/** The index of the piece that holds a byte. */
export function pieceAt(pieces: Piece[], offset: number): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[middle]!.end <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
