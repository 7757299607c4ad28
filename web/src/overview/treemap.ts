/** A treemap: rectangles whose areas are sizes. */
import { fill, h } from "../dom";
import { bytes, percent } from "../format";
import { css, inkColour } from "../palette";
import { squarify } from "./squarify";
import type { Use } from "./usage";

/** A treemap that is laid out anew when its size changes. */
export function treemap(uses: Use[], whole: number, choose: (use: Use) => void): HTMLElement {
  const element = h("div", { class: "treemap", role: "group", "aria-label": "Where the bytes are" });
  const draw = (): void => {
    const { width, height } = element.getBoundingClientRect();
    if (width === 0) return;
    const boxes = squarify(
      uses.map((use) => use.bytes),
      { x: 0, y: 0, w: width, h: height },
    );
    fill(
      element,
      ...uses.map((use, i) => {
        const box = boxes[i]!;
        const label = `${use.name}: ${bytes(use.bytes)}, ${percent(use.bytes, whole)}`;
        const tile = h("button", {
          type: "button",
          class: "tile",
          "aria-label": label,
          title: label,
          on: { click: () => choose(use) },
        });
        if (box.w > 48 && box.h > 20) tile.append(h("span", { class: "tile-name" }, use.name));
        if (box.w > 64 && box.h > 40)
          tile.append(h("span", { class: "tile-size" }, `${bytes(use.bytes)}, ${percent(use.bytes, whole)}`));
        Object.assign(tile.style, {
          left: `${box.x}px`,
          top: `${box.y}px`,
          width: `${Math.max(1, box.w - 1)}px`,
          height: `${Math.max(1, box.h - 1)}px`,
          background: use.colour,
          color: css(inkColour(use.kind)),
        });
        return tile;
      }),
    );
  };
  new ResizeObserver(draw).observe(element);
  return element;
}
