/** Text in other encodings than UTF-8, rewritten: UTF-16 is known by its mark, and what can be windows-1252 is taken for that. */
import type { FileBytes } from "./bytes";
import type { Counter } from "./traffic";

/** Longer texts are left as they are. */
const MOST = 64 << 20;

export interface Rewritten {
  blob: Blob;
  encoding: string;
}

/** The text as UTF-8, if it can be told what it is in. */
export async function inUtf8(bytes: FileBytes, counter: Counter, signal?: AbortSignal): Promise<Rewritten | undefined> {
  if (bytes.size > MOST) return undefined;
  const [text] = await bytes.read([{ start: 0, end: bytes.size }], counter, signal);
  const encoding = found(text!);
  if (!encoding) return undefined;
  try {
    return { blob: new Blob([new TextDecoder(encoding, { fatal: true }).decode(text)]), encoding };
  } catch {
    return undefined;
  }
}

function found(text: Uint8Array): string | undefined {
  if (text[0] === 0xff && text[1] === 0xfe) return "UTF-16LE";
  if (text[0] === 0xfe && text[1] === 0xff) return "UTF-16BE";
  // Bytes that windows-1252 has no characters for, and NUL, which is in no text.
  if (text.some((byte) => [0, 0x81, 0x8d, 0x8f, 0x90, 0x9d].includes(byte))) return undefined;
  let characters = 0;
  let others = 0;
  for (const character of new TextDecoder().decode(text)) {
    if (character === "\ufffd") others++;
    else if (character > "\u007f") characters++;
  }
  // More characters than damage: it is UTF-8 with damage.
  return others > 0 && characters <= others ? "windows-1252" : undefined;
}
