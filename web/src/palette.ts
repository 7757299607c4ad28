/** Colours of columns and kinds of bytes, for light and dark pages. */
import type { Region } from "./reader/contract";

const dark = matchMedia("(prefers-color-scheme: dark)");

function isDark(): boolean {
  return dark.matches;
}

/** Calls `act` when the page turns light or dark. */
export function onThemeChange(act: () => void): void {
  dark.addEventListener("change", act);
}

/** A colour on light and on dark pages. */
type Colour = readonly [light: string, dark: string];

export type Paint = Region["kind"];

/** A quiet colour for a column: neighbours differ by the golden angle, so that any number of columns can be told apart. */
export function columnColour(column: number): Colour {
  const hue = (245 + column * 137.508) % 360;
  const step = Math.floor(column / 7) % 3;
  return [`oklch(${0.8 - 0.05 * step} 0.085 ${hue})`, `oklch(${0.52 - 0.05 * step} 0.075 ${hue})`];
}

const KINDS: Record<Paint, Colour> = {
  header: ["#6b7686", "#8b97a8"],
  metadata: ["#a9b2be", "#5d6878"],
  data: ["#c3cfdd", "#46566b"],
  padding: ["#eceff3", "#23282f"],
  gap: ["#fbe3df", "#43221d"],
};

/** The colour of bytes that belong to no column. */
export function kindColour(kind: Paint): Colour {
  return KINDS[kind];
}

/** Bytes of a column have its colour; what describes a column keeps the colour of its kind. */
export function regionColour(region: Pick<Region, "kind" | "column">): Colour {
  return region.kind === "data" && region.column !== undefined ? columnColour(region.column) : kindColour(region.kind);
}

/** The colour of text on the colours above. */
export function inkColour(kind: Paint): Colour {
  return kind === "header" ? ["#ffffff", "#10141a"] : ["#1a2230", "#f2f5f9"];
}

/** A colour for a canvas, as the page is now. */
export function now([light, dark]: Colour): string {
  return isDark() ? dark : light;
}

/** A colour for a style, which follows the page. */
export function css([light, dark]: Colour): string {
  return `light-dark(${light}, ${dark})`;
}

export const KIND_NAMES: Record<Paint, string> = {
  header: "Header",
  metadata: "Metadata",
  data: "Data",
  padding: "Padding",
  gap: "Gap: nothing refers to it",
};
