/** Rectangles whose areas are sizes. */

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** The worst ratio of sides if `sizes` fill a strip along a side of length `side`. */
function worst(sizes: number[], side: number): number {
  const sum = sizes.reduce((a, b) => a + b, 0);
  const thickness = sum / side;
  return Math.max(...sizes.map((size) => Math.max(thickness / (size / thickness), size / thickness / thickness)));
}

/** Boxes for sizes (largest first) that fill `area`, as square as a greedy choice makes them. */
export function squarify(sizes: number[], area: Box): Box[] {
  const total = sizes.reduce((a, b) => a + b, 0);
  const scale = (area.w * area.h) / total;
  const left = sizes.map((size) => size * scale);
  const boxes: Box[] = [];
  let free = { ...area };
  let at = 0;
  while (at < left.length) {
    const side = Math.min(free.w, free.h);
    let end = at + 1;
    while (end < left.length && worst(left.slice(at, end + 1), side) <= worst(left.slice(at, end), side)) end++;
    const strip = left.slice(at, end);
    const thickness = side > 0 ? strip.reduce((a, b) => a + b, 0) / side : 0;
    let along = 0;
    for (const size of strip) {
      const length = thickness > 0 ? size / thickness : 0;
      boxes.push(
        free.w >= free.h
          ? { x: free.x, y: free.y + along, w: thickness, h: length }
          : { x: free.x + along, y: free.y, w: length, h: thickness },
      );
      along += length;
    }
    free =
      free.w >= free.h
        ? { x: free.x + thickness, y: free.y, w: Math.max(0, free.w - thickness), h: free.h }
        : { x: free.x, y: free.y + thickness, w: free.w, h: Math.max(0, free.h - thickness) };
    at = end;
  }
  return boxes;
}
