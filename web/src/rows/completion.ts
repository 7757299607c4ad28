/** What may come next in a condition. */
import { kindOf } from "../values";
import type { Column } from "../reader/contract";

export interface Proposal {
  /** What is put in place of the word before the cursor. */
  text: string;
  label: string;
  note: string;
}

const WORD = /^[A-Za-z_][A-Za-z0-9_.]*$/;
const KEYWORDS = new Set(["and", "or", "not", "in", "is", "null", "between", "true", "false", "nan"]);

/** A column name as conditions spell it. */
export function spelled(name: string): string {
  return WORD.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `\`${name.replace(/`/g, "``")}\``;
}

const AFTER_COLUMN: [string, string][] = [
  ["= ", "equal"],
  ["!= ", "not equal"],
  ["< ", "less"],
  ["<= ", "at most"],
  ["> ", "greater"],
  [">= ", "at least"],
  ["in (", "one of"],
  ["between ", "from and to"],
  ["is null", "has no value"],
  ["is not null", "has a value"],
];

/** The unfinished word before the cursor and what was complete before it. */
export function splitAt(text: string, cursor: number): { before: string; word: string } {
  const head = text.slice(0, cursor);
  const ticks = (head.match(/`/g) ?? []).length;
  const start = ticks % 2 ? head.lastIndexOf("`") : head.search(/[A-Za-z0-9_.]*$/);
  return { before: head.slice(0, start), word: head.slice(start) };
}

function inString(text: string): boolean {
  return (text.match(/"/g) ?? []).length % 2 === 1 || (text.match(/'/g) ?? []).length % 2 === 1;
}

/** Proposals for the place of the cursor, at most `most`. */
export function proposals(text: string, cursor: number, columns: Column[], most = 8): Proposal[] {
  const { before, word } = splitAt(text, cursor);
  if (inString(before)) return [];
  const typed = word.replace(/^`/, "").toLowerCase();
  const complete = before.trimEnd();
  const last = /(`[^`]*`|[A-Za-z0-9_.]+|"[^"]*"|'[^']*'|[<>=!]+|[(),])$/.exec(complete)?.[0] ?? "";
  const column = columns.find(({ name }) => spelled(name) === last || name === last);
  let list: Proposal[];
  if (complete === "" || /^(and|or|not|\()$/i.test(last)) {
    list = columns
      .filter(({ name }) => name.toLowerCase().includes(typed))
      .sort((a, b) => Number(b.name.toLowerCase().startsWith(typed)) - Number(a.name.toLowerCase().startsWith(typed)))
      .map(({ name, type }) => ({ text: `${spelled(name)} `, label: name, note: type }));
  } else if (column) {
    list = AFTER_COLUMN.filter(([operator]) => operator.startsWith(typed)).map(([operator, note]) => ({
      text: operator,
      label: operator.trim(),
      note,
    }));
  } else if (/^[<>=!]+$/.test(last)) {
    const left = /(`[^`]*`|[A-Za-z0-9_.]+)\s*[<>=!]+$/.exec(complete)?.[1];
    const compared = columns.find(({ name }) => spelled(name) === left);
    const words = compared && kindOf(compared.type) === "bool" ? ["true", "false"] : [];
    list = words.filter((value) => value.startsWith(typed)).map((value) => ({ text: value, label: value, note: "value" }));
  } else {
    list = ["and ", "or "]
      .filter((value) => value.startsWith(typed))
      .map((value) => ({ text: value, label: value.trim(), note: "another condition" }));
  }
  return list.filter((proposal) => proposal.text !== word).slice(0, most);
}
