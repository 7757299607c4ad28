/** The numbers of a column. What the file knows of all its rows counts more than what a sample showed. */
import { h } from "../dom";
import { count, percent, plural, rounded } from "../format";
import type { ColumnStatistics } from "../reader/contract";
import { statisticText } from "./chart";

/** A dash where nothing is known, so that cards keep their height. */
const UNKNOWN = "\u2013";

/** Facts from what the file knows and from rows that were read, of `total`. */
export function facts(
  type: string,
  total: number,
  fromFile: ColumnStatistics | undefined,
  fromRows: ColumnStatistics | undefined,
): HTMLElement[] {
  const sampled = fromRows !== undefined && fromRows.rows < total;
  const list: [string, string][] = [];
  /** Adds a fact of the file, or else one of the rows, which then says so if they are a sample. */
  const add = (name: string, of: (statistics: ColumnStatistics) => string | undefined): void => {
    const known = sampled && fromFile ? of(fromFile) : undefined;
    const seen = known === undefined && fromRows ? of(fromRows) : undefined;
    const value = known ?? seen ?? (fromFile && of(fromFile));
    list.push([sampled && seen !== undefined ? `${name} in sample` : name, value ?? UNKNOWN]);
  };
  const value = (one: unknown): string | undefined => (one === undefined || one === null ? undefined : statisticText(one, type));
  add("Nulls", ({ nulls, rows }) =>
    nulls === undefined ? undefined : nulls === 0 ? "none" : `${count(nulls)}, ${percent(nulls, rows)}`,
  );
  add("Distinct", ({ distinct }) => distinct && `${distinct.exact ? "" : "about "}${count(distinct.value)}`);
  add("Least", ({ min }) => value(min));
  add("Greatest", ({ max }) => value(max));
  if (fromRows) {
    const { mean, quantiles, lengths, rows } = fromRows;
    if (mean !== undefined) list.push(["Mean", typeof mean === "number" ? rounded(mean) : statisticText(mean, type)]);
    if (quantiles?.p50 !== undefined) list.push(["Median", statisticText(quantiles.p50, type)]);
    if (lengths)
      list.push(["Length", `${count(lengths.shortest)} to ${count(lengths.longest)}, mean ${rounded(lengths.mean, 3)}`]);
    list.push(["Rows seen", plural(rows, "row")]);
  }
  return list.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", { title: text }, text)));
}
