/** Where the bytes of a file are: by column, and by kind for the rest. */
import { css, KIND_NAMES, regionColour, type Paint } from "../palette";
import type { Inspection, Region } from "../reader/contract";

export interface Use {
  name: string;
  bytes: number;
  colour: string;
  kind: Paint;
  /** The column it is, if it is one. */
  column?: number;
  /** The first region of it. */
  first?: Region;
}

/** What takes how many bytes, largest first. Columns beyond `most` become one. */
export function usage(inspection: Inspection, most = 60): Use[] {
  const uses = new Map<string, Use>();
  for (const region of inspection.layout?.regions ?? []) {
    const column = region.kind === "data" ? region.column : undefined;
    const key = column === undefined ? region.kind : `column ${column}`;
    const name = column === undefined ? nameOf(region.kind) : (inspection.columns[column]?.name ?? key);
    const use = uses.get(key) ?? { name, bytes: 0, colour: css(regionColour(region)), kind: region.kind, column, first: region };
    use.bytes += region.range.end - region.range.start;
    uses.set(key, use);
  }
  const rest = inspection.bytes - (inspection.layout?.size ?? inspection.bytes);
  if (inspection.sample && rest > 0)
    uses.set("rest", { name: "Not read yet", bytes: rest, colour: css(regionColour({ kind: "padding" })), kind: "padding" });
  const sorted = [...uses.values()].filter((use) => use.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  if (sorted.length <= most) return sorted;
  const small = sorted.slice(most);
  const bytes = small.reduce((sum, use) => sum + use.bytes, 0);
  return [
    ...sorted.slice(0, most),
    { name: `${small.length} more`, bytes, colour: css(regionColour({ kind: "data" })), kind: "data" },
  ];
}

function nameOf(kind: Paint): string {
  return kind === "gap" ? "Gaps" : KIND_NAMES[kind];
}
