/** How values are shown: by the type of their column. */
import { count, plural } from "./format";
import { oneLine, parseJson, pretty } from "./json-text";

export type Kind = "number" | "text" | "bytes" | "time" | "duration" | "bool" | "nested" | "other";

/** What kind of values a type has, such as `timestamp[us, UTC]` or `list<int32>`. */
export function kindOf(type: string): Kind {
  const stem = /^[a-z_]+/i.exec(type)?.[0] ?? "";
  if (/^(list|large_list|fixed_size_list|struct|map|union)/.test(stem) || (type.endsWith(">") && stem !== "dictionary"))
    return "nested";
  if (/^(u?int|float|halffloat|double|decimal)/.test(stem)) return "number";
  if (/binary|blob/.test(stem)) return "bytes";
  if (/^(date|time|timestamp)/.test(stem)) return "time";
  if (/^duration/.test(stem)) return "duration";
  if (/^bool/.test(stem)) return "bool";
  if (/string|utf8/.test(type)) return "text";
  return "other";
}

/** A cell as the grid shows it. */
export interface Shown {
  text: string;
  look: "null" | "number" | "text" | "empty";
}

const LONGEST = 300;

/** Characters that would break a line or be invisible, as signs. */
function visible(text: string): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\u2026` : text;
  return cut
    .replace(/\r\n|[\n\r]/g, "\u23ce")
    .replace(/\t/g, "\u21e5")
    .replace(/[\u0000-\u001f\u007f]/g, "\ufffd");
}

/** The text a JSON cell stands for: without quotes if it is a text. */
export function plain(cell: string): string {
  if (cell.startsWith('"')) {
    try {
      return JSON.parse(cell) as string;
    } catch {
      return cell;
    }
  }
  return cell;
}

function hexBytes(text: string): string {
  const size = text.length / 2;
  if (size === 0) return "no bytes";
  const first = (text.slice(0, 32).match(/../g) ?? []).join(" ");
  return size > 16 ? `${first} \u2026 ${plural(size, "byte")}` : first;
}

/** `PT93784.5S` as `1 d 02:03:04.5`, `PT0.005S` as `0.005 s`. */
export function duration(text: string): string {
  const match = /^(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(\.\d+)?S)?)?$/.exec(text);
  if (!match) return text;
  const [, sign, d, hours, minutes, s, fraction = ""] = match;
  const whole = Number(d ?? 0) * 86400 + Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(s ?? 0);
  if (!Number.isSafeInteger(whole)) return text;
  const two = (value: number): string => String(value).padStart(2, "0");
  if (whole < 60) return `${sign}${whole}${fraction} s`;
  const days = Math.floor(whole / 86400);
  const clock = `${two(Math.floor(whole / 3600) % 24)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${fraction}`;
  return days ? `${sign}${count(days)} d ${clock}` : `${sign}${clock}`;
}

/** `2023-11-14T22:13:20Z` as `2023-11-14 22:13:20Z`; dates lose a midnight they do not have. */
export function time(text: string, type: string): string {
  const spaced = text.replace("T", " ");
  return type.startsWith("date") ? spaced.replace(/ 00:00:00$/, "") : spaced;
}

/** Whether values of a type stand at the right. */
export function isRight(type: string): boolean {
  return kindOf(type) === "number" || kindOf(type) === "duration";
}

/** A cell as one short line. */
export function shown(cell: string, type: string): Shown {
  if (cell === "null") return { text: "null", look: "null" };
  const kind = kindOf(type);
  switch (kind) {
    case "number":
      return { text: plain(cell), look: "number" };
    case "bytes":
      return { text: hexBytes(plain(cell)), look: "text" };
    case "time":
      return { text: time(plain(cell), type), look: "text" };
    case "duration":
      return { text: duration(plain(cell)), look: "number" };
    case "nested":
      return { text: visible(oneLine(parseJson(cell))), look: "text" };
    default: {
      const first = cell[0];
      const text = first === "{" || first === "[" ? oneLine(parseJson(cell)) : plain(cell);
      return text === "" ? { text: "empty", look: "empty" } : { text: visible(text), look: "text" };
    }
  }
}

/** A cell as it is copied: texts without quotes, nested values as JSON. */
export function copied(cell: string): string {
  return cell === "null" ? "" : plain(cell);
}

/** A cell in full, for the pane of details. */
export function full(cell: string, type: string): string {
  if (cell === "null") return "null";
  const kind = kindOf(type);
  if (kind === "nested" || cell.startsWith("{") || cell.startsWith("[")) return pretty(parseJson(cell));
  return plain(cell);
}

/** Bytes written as hexadecimal digits. */
export function fromHex(text: string): Uint8Array {
  const out = new Uint8Array(Math.floor(text.length / 2));
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return out;
}
