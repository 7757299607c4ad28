/** Bytes that `colkit view --html` put into the page.
 *
 *  The document is windows-1252, in which each byte is one character. All bytes are shifted by a number that makes bytes rare which
 *  HTML would change; those that remain are written as `=` and the byte plus 64, modulo 256.
 *  Browsers read the five bytes that windows-1252 leaves free as the control characters of the same number. */

/** Characters of the bytes 0x80 to 0x9f whose code is not the byte. */
const HIGH =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f" +
  "\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";

const ESCAPE = 0x3d;

function byteOfCharacter(): Map<number, number> {
  const bytes = new Map<number, number>();
  for (let i = 0; i < HIGH.length; i++) bytes.set(HIGH.charCodeAt(i), 0x80 + i);
  return bytes;
}

/** The bytes that a text of the single-file form stands for. */
export function decode(text: string, shift = 0): Uint8Array<ArrayBuffer> {
  const special = byteOfCharacter();
  const out = new Uint8Array(text.length);
  let length = 0;
  let escaped = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const byte = code < 0x80 ? code : (special.get(code) ?? code);
    if (byte > 0xff) throw new Error(`The page is damaged: character ${i} of the data stands for no byte.`);
    if (!escaped && byte === ESCAPE) {
      escaped = true;
      continue;
    }
    out[length++] = (escaped ? byte - 64 - shift : byte - shift) & 0xff;
    escaped = false;
  }
  return out.slice(0, length);
}

/** The bytes of the element `id` of this page and the name it gives them, if the page has it. */
export function embedded(id: "module" | "data"): { name: string; bytes: Uint8Array<ArrayBuffer> } | undefined {
  const element = document.getElementById(id);
  if (!element || element.tagName !== "SCRIPT") return undefined;
  return { name: element.dataset.name ?? id, bytes: decode(element.textContent ?? "", Number(element.dataset.shift ?? 0)) };
}
