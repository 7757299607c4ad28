/** Pictures of a column: bars of a histogram, bars of its most frequent values. */
import { h } from "../dom";
import { count, percent, plural, rounded } from "../format";
import { oneLine, parseJson } from "../json-text";
import type { ColumnStatistics } from "../reader/contract";
import { shown } from "../values";

/** A value of statistics as the grid would show it. */
export function statisticText(value: unknown, type: string): string {
  if (value === null || value === undefined) return "\u2013";
  if (typeof value === "number") return Math.abs(value) >= 2 ** 53 ? String(value) : rounded(value, 8);
  if (typeof value === "string") return shown(JSON.stringify(value), type).text;
  return oneLine(parseJson(JSON.stringify(value)));
}

/** Where part `i` of `n` between `min` and `max` begins. */
function edge(min: number, max: number, i: number, n: number): number {
  return min + ((max - min) * i) / n;
}

/** Bars of how values are spread from the least to the greatest. */
export function histogram(column: ColumnStatistics): HTMLElement | undefined {
  const counts = column.histogram?.counts;
  if (!counts || counts.length === 0) return undefined;
  const most = Math.max(1, ...counts);
  const [min, max] = [column.min, column.max].map((value) => (typeof value === "number" ? value : undefined));
  const bars = counts.map((value, i) => {
    const range =
      min !== undefined && max !== undefined
        ? `${rounded(edge(min, max, i, counts.length))} to ${rounded(edge(min, max, i + 1, counts.length))}: `
        : "";
    const bar = h("div", { class: "bar", title: `${range}${plural(value, "row")}` });
    bar.style.setProperty("--height", String(value / most));
    return bar;
  });
  const [least, greatest] = [statisticText(column.min, column.type), statisticText(column.max, column.type)];
  return h(
    "figure",
    {
      class: "histogram",
      role: "img",
      "aria-label": `Histogram: ${counts.length} bars from ${least} to ${greatest}, the highest ${plural(most, "row")}`,
    },
    h("div", { class: "bars" }, ...bars),
    h("figcaption", {}, h("span", {}, least), h("span", {}, greatest)),
  );
}

/** The most frequent values with bars. */
export function topValues(column: ColumnStatistics): HTMLElement | undefined {
  const top = column.top?.values.filter(({ count: times }) => times > 0);
  if (!top || top.length === 0) return undefined;
  const most = Math.max(...top.map(({ count: times }) => times));
  return h(
    "ol",
    { class: "top-values", "aria-label": column.top?.exact ? "Most frequent values" : "Most frequent values, estimated" },
    ...top.slice(0, 6).map(({ value, count: times }) => {
      const text = value === "" ? "empty" : statisticText(value, column.type);
      const line = h(
        "li",
        { title: `${text}: ${plural(times, "row")}` },
        h("span", { class: value === "" ? "clip empty" : "clip" }, text),
        h("span", { class: "number quiet" }, `${count(times)}, ${percent(times, column.rows)}`),
      );
      line.style.setProperty("--width", String(times / most));
      return line;
    }),
  );
}
