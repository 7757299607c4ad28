/** Bytes in hexadecimal beside what they are. */
import { button, fill, h } from "../dom";
import { bytes, count, offset, percent, plural } from "../format";
import { css, KIND_NAMES, regionColour } from "../palette";
import { problemCard, problemOf } from "../problem";
import type { Inspection } from "../reader/contract";
import type { Session } from "../session";
import { pieceAt, type Piece } from "./pieces";

const PAGE = 512;
/** Bytes of one line: fewer on a narrow screen. */
const across = (): number => (innerWidth < 560 ? 8 : 16);

/** What eight bytes mean as numbers, least significant byte first. */
function readings(data: Uint8Array, at: number): [string, string][] {
  const left = data.length - at;
  const view = new DataView(data.buffer, data.byteOffset + at, Math.min(8, left));
  const list: [string, string][] = [["uint8", String(view.getUint8(0))]];
  if (left >= 2) list.push(["int16", count(view.getInt16(0, true))]);
  if (left >= 4)
    list.push(["int32", count(view.getInt32(0, true))], ["float32", String(Number(view.getFloat32(0, true).toPrecision(8)))]);
  if (left >= 8) list.push(["int64", view.getBigInt64(0, true).toString()], ["float64", String(view.getFloat64(0, true))]);
  return list;
}

/** The pane beside the map: the chosen piece, its bytes, and numbers at the chosen byte. */
export class HexPane {
  readonly element = h("aside", { class: "hex-pane", "aria-label": "Bytes" });
  private turn = 0;

  constructor(
    private readonly session: Session,
    private readonly inspection: Inspection,
    private readonly pieces: Piece[],
    private readonly jump: (index: number, offset: number) => void,
  ) {
    fill(this.element, h("p", { class: "quiet" }, "Choose a region to see its bytes and what they are."));
  }

  /** Shows a piece, with the byte `at` marked. */
  async show(index: number, at: number): Promise<void> {
    const piece = this.pieces[index];
    if (!piece) return;
    const turn = ++this.turn;
    const first = piece.start + Math.floor((at - piece.start) / PAGE) * PAGE;
    const start = Math.max(0, first - (first % across()));
    const end = Math.min(this.pieces[this.pieces.length - 1]!.end, start + PAGE);
    const body = h("div", { class: "hex-body" });
    fill(this.element, this.meaning(piece), this.steps(index, piece, start), body);
    try {
      const data = await this.session.ask("Bytes", this.session.reader.bytes({ start, end }), true);
      if (turn !== this.turn) return;
      fill(body, this.readings(data, start, at), this.dump(data, start, at));
    } catch (error) {
      if (turn === this.turn) fill(body, problemCard(problemOf(error)));
    }
  }

  private meaning(piece: Piece): HTMLElement {
    const size = piece.end - piece.start;
    const column = piece.column === undefined ? undefined : this.inspection.columns[piece.column];
    const facts: [string, string | undefined][] = [
      ["Kind", KIND_NAMES[piece.kind]],
      ["Column", column && `${column.name}, ${column.type}`],
      ["Encoding", piece.encoding],
      [
        "Size",
        `${bytes(size)}${size >= 1024 ? ` (${count(size)} bytes)` : ""}, ${percent(size, this.inspection.bytes)} of the file`,
      ],
      ["Decoded", piece.raw === undefined ? undefined : `${bytes(piece.raw)}, ${(piece.raw / size).toFixed(2)} times as much`],
      ["From", offset(piece.start)],
      ["To", offset(piece.end)],
    ];
    const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = css(regionColour(piece));
    return h(
      "div",
      {},
      h("h2", {}, swatch, piece.path.join(" \u203a ")),
      h(
        "dl",
        { class: "facts tight" },
        ...facts.flatMap(([name, value]) => (value ? [h("div", {}, h("dt", {}, name), h("dd", {}, value))] : [])),
      ),
    );
  }

  private steps(index: number, piece: Piece, start: number): HTMLElement {
    const go = (label: string, to: number, allowed: boolean): HTMLElement =>
      button(label, () => this.jump(pieceAt(this.pieces, to), to), { class: "small", disabled: !allowed });
    const last = piece.end - 1;
    return h(
      "div",
      { class: "buttons" },
      go("Previous region", this.pieces[index - 1]?.start ?? 0, index > 0),
      go("Next region", this.pieces[index + 1]?.start ?? 0, index + 1 < this.pieces.length),
      go("Earlier bytes", Math.max(piece.start, start - PAGE), start > piece.start),
      go("Later bytes", Math.min(last, start + PAGE), start + PAGE < piece.end),
    );
  }

  private readings(data: Uint8Array, start: number, at: number): HTMLElement {
    const list = readings(data, Math.max(0, Math.min(data.length - 1, at - start)));
    return h(
      "dl",
      { class: "readings", "aria-label": `Byte ${at} read as numbers` },
      h("div", {}, h("dt", {}, "byte"), h("dd", {}, count(at))),
      ...list.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
  }

  private dump(data: Uint8Array, start: number, at: number): HTMLElement {
    const lines: HTMLElement[] = [];
    const step = across();
    for (let line = 0; line < data.length; line += step) lines.push(this.line(data, start, line, line + step, at));
    return h(
      "div",
      { class: "hex", role: "group", tabindex: 0, "aria-label": `${plural(data.length, "byte")} from ${start}` },
      ...lines,
    );
  }

  private line(data: Uint8Array, start: number, line: number, end: number, at: number): HTMLElement {
    const digits = h("span", { class: "hex-digits" });
    const signs = h("span", { class: "hex-signs" });
    for (let i = line; i < Math.min(data.length, end); i++) {
      const piece = this.pieces[pieceAt(this.pieces, start + i)]!;
      const byte = data[i]!;
      const marked = start + i === at ? " marked" : "";
      const cell = h(
        "span",
        { class: `hex-byte${marked}`, title: `${start + i}: ${piece.path.join(" \u203a ")}` },
        byte.toString(16).padStart(2, "0"),
      );
      cell.style.setProperty("--of", css(regionColour(piece)));
      cell.addEventListener("click", () => this.jump(pieceAt(this.pieces, start + i), start + i));
      digits.append(cell);
      signs.append(byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "\u00b7");
    }
    return h(
      "div",
      { class: "hex-line" },
      h("span", { class: "hex-offset" }, (start + line).toString(16).padStart(8, "0")),
      digits,
      signs,
    );
  }
}
