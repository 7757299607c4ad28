/** The answers of the module, as the page takes them. */
import type { Found } from "./contract";

/** A line of JSON, then a line for each cell. */
export function rowsOf(text: string): Found {
  const end = text.indexOf("\n");
  const head = JSON.parse(end < 0 ? text : text.slice(0, end)) as { columns: string[]; numbers: number[]; next?: number };
  const lines = end < 0 ? [] : text.slice(end + 1).split("\n");
  const width = head.columns.length;
  const cells = head.numbers.map((_, row) => lines.slice(row * width, (row + 1) * width));
  return { ...head, cells };
}

/** Why a condition cannot be asked, and where, if its message says that. */
export function checkedOf(answer: { message: string } | null): { message: string; at?: number } | undefined {
  if (!answer) return undefined;
  const at = /at position (\d+)/.exec(answer.message)?.[1];
  return at === undefined ? answer : { ...answer, at: Number(at) };
}
