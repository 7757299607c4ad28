/** A treemap: rectangles whose areas are sizes. */
import { fill, h } from "../dom";
import { bytes, percent } from "../format";
import { inkColour } from "../palette";
import type { Use } from "./usage";

interface Box {
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

/** A treemap that is laid out anew when its size changes. */
export function treemap(uses: Use[], whole: number, choose: (use: Use) => void): HTMLElement {
  const element = h("div", { class: "treemap", role: "group", "aria-label": "Where the bytes are" });
  const draw = (): void => {
    const { width, height } = element.getBoundingClientRect();
    if (width === 0) return;
    const boxes = squarify(uses.map((use) => use.bytes), { x: 0, y: 0, w: width, h: height });
    fill(
      element,
      ...uses.map((use, i) => {
        const box = boxes[i]!;
        const label = `${use.name}: ${bytes(use.bytes)}, ${percent(use.bytes, whole)}`;
        const tile = h("button", { type: "button", class: "tile", "aria-label": label, title: label, on: { click: () => choose(use) } });
        if (box.w > 48 && box.h > 20) tile.append(h("span", { class: "tile-name" }, use.name));
        if (box.w > 64 && box.h > 40) tile.append(h("span", { class: "tile-size" }, `${bytes(use.bytes)}, ${percent(use.bytes, whole)}`));
        tile.style.cssText = `left:${box.x}px;top:${box.y}px;width:${Math.max(1, box.w - 1)}px;height:${Math.max(1, box.h - 1)}px;background:${use.colour};color:${inkColour(use.kind)}`;
        return tile;
      }),
    );
  };
  new ResizeObserver(draw).observe(element);
  return element;
}
