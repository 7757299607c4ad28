/** The byte map of a file with its pane of bytes, legend and what was read. */
import { button, fill, h } from "../dom";
import { bytes, count, plural } from "../format";
import { css, columnColour, KIND_NAMES, kindColour, type Paint } from "../palette";
import { problemCard, problemOf } from "../problem";
import type { Inspection } from "../reader/contract";
import type { Session } from "../session";
import { cost } from "../status";
import type { View } from "../view";
import { HexPane } from "./hex";
import { ByteMap } from "./map";
import { pieceAt, piecesOf, type Piece } from "./pieces";

/** Columns the legend names. */
const NAMED = 12;

export class ByteMapView implements View {
  readonly element = h("div", { class: "bytemap" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly seen = h("span", { class: "quiet number seen" });
  private readonly announce = h("p", { class: "only-read-aloud", "aria-live": "polite" });
  private readonly read = h("p", { class: "read-line" });
  private readonly onlyRead = h("input", { type: "checkbox", checked: true });
  private map?: ByteMap;
  private pieces: Piece[] = [];
  private wanted?: [number, number];

  constructor(private readonly session: Session) {
    fill(this.element, h("p", { class: "page-pad quiet" }, "Reading the map of the file"));
    this.onlyRead.addEventListener("change", () => this.light());
    session.addEventListener("read", () => this.light());
    session.layout().then(
      (inspection) => this.build(inspection),
      (error: unknown) =>
        fill(this.element, h("div", { class: "page-pad" }, problemCard(problemOf(error), "The map of this file cannot be made"))),
    );
  }

  shown(): void {
    this.light();
    this.map?.redraw();
  }

  /** Selects and zooms to what lies at `start`. */
  focusOn(start: number, end: number): void {
    if (!this.map) {
      this.wanted = [start, end];
      return;
    }
    this.map.choose(pieceAt(this.pieces, start), start);
    const around = Math.max(256, (end - start) * 0.1);
    this.map.look(start - around, end + around);
  }

  private build(inspection: Inspection): void {
    const { layout } = inspection;
    if (!layout || layout.size === 0) {
      fill(this.element, h("p", { class: "page-pad quiet" }, layout ? "This file has no bytes." : "This file has no map."));
      return;
    }
    const size = Math.max(layout.size, inspection.bytes);
    this.pieces = piecesOf(layout, size);
    const map = new ByteMap(this.pieces, size, {
      hover: (at, x, y) => this.hover(inspection, at, x, y),
      select: (index, at) => this.selected(hex, index, at),
      moved: () => this.moved(size),
    });
    const hex = new HexPane(this.session, inspection, this.pieces, (index, at) => map.choose(index, at));
    map.element.setAttribute(
      "aria-label",
      `Map of ${count(size)} bytes in ${plural(this.pieces.length, "region")}. Left and right choose a region, plus and minus zoom.`,
    );
    this.map = map;
    fill(
      this.element,
      h(
        "div",
        { class: "toolbar" },
        h(
          "div",
          { class: "buttons joined" },
          button("\u2212", () => map.zoom(2), { "aria-label": "Zoom out", title: "Zoom out (-)" }),
          button("+", () => map.zoom(0.5), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
        ),
        button("Whole file", () => map.look(0, size), { title: "Whole file (0)" }),
        button("Zoom to region", () => map.zoomToSelected(), { title: "Zoom to the chosen region (Enter)" }),
        this.offsetForm(map),
        h("label", { class: "check" }, this.onlyRead, "Light up what was read"),
        this.seen,
      ),
      this.read,
      h("div", { class: "bytemap-body" }, h("div", { class: "canvas-box" }, map.element, this.tip), hex.element),
      this.legend(inspection),
      this.announce,
    );
    this.moved(size);
    this.light();
    if (this.wanted) this.focusOn(...this.wanted);
  }

  private offsetForm(map: ByteMap): HTMLElement {
    const input = h("input", {
      type: "text",
      placeholder: "Offset",
      "aria-label": "Go to an offset, decimal or 0x",
      size: 10,
      spellcheck: "false",
    });
    const form = h("form", { class: "inline" }, input);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const at = Number(input.value.replace(/[,_\s]/g, ""));
      const last = this.pieces[this.pieces.length - 1]!.end - 1;
      const valid = input.value.trim() !== "" && Number.isInteger(at) && at >= 0 && at <= last;
      input.setCustomValidity(valid ? "" : `Give a number from 0 to ${last}.`);
      if (!form.reportValidity()) return;
      map.choose(pieceAt(this.pieces, at), at);
    });
    input.addEventListener("input", () => input.setCustomValidity(""));
    return form;
  }

  private selected(hex: HexPane, index: number, at: number): void {
    const piece = this.pieces[index]!;
    fill(
      this.announce,
      `${piece.path.join(", ")}, ${KIND_NAMES[piece.kind]}, ${bytes(piece.end - piece.start)}, region ${index + 1} of ${this.pieces.length}`,
    );
    void hex.show(index, at);
  }

  private moved(size: number): void {
    if (!this.map) return;
    const { start, end } = this.map.seen;
    fill(
      this.seen,
      end - start >= size
        ? plural(size, "byte")
        : `${count(Math.floor(start))} to ${count(Math.ceil(end))} of ${plural(size, "byte")}`,
    );
  }

  /** Lights up what the last answer read. */
  private light(): void {
    const last = this.session.last;
    if (!this.map || !last || this.session.state !== "open") return;
    const { ranges } = last.traffic;
    this.map.lit = this.onlyRead.checked && ranges.length > 0 ? ranges : undefined;
    this.map.redraw();
    fill(this.read, h("strong", {}, last.what), `: ${cost(last.traffic, this.session.reader.inspection.bytes)}`);
  }

  private hover(inspection: Inspection, at: number | undefined, x: number, y: number): void {
    this.tip.hidden = at === undefined;
    if (at === undefined) return;
    const piece = this.pieces[pieceAt(this.pieces, at)]!;
    const column = piece.column === undefined ? undefined : inspection.columns[piece.column];
    fill(
      this.tip,
      h("strong", {}, piece.path.join(" \u203a ")),
      h(
        "span",
        {},
        [KIND_NAMES[piece.kind], column && `${column.name}, ${column.type}`, piece.encoding].filter(Boolean).join(" \u00b7 "),
      ),
      h("span", { class: "number" }, `${bytes(piece.end - piece.start)} from ${count(piece.start)} to ${count(piece.end)}`),
    );
    const box = this.element.querySelector(".canvas-box")!.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    this.tip.style.left = `${Math.max(0, Math.min(box.width - width - 4, x + 12))}px`;
    this.tip.style.top = `${y + 20 + height > box.height ? Math.max(0, y - height - 12) : y + 20}px`;
  }

  private legend(inspection: Inspection): HTMLElement {
    const entry = (colour: string, name: string, kind = ""): HTMLElement => {
      const swatch = h("span", { class: `swatch ${kind}`, "aria-hidden": "true" });
      swatch.style.backgroundColor = colour;
      return h("li", {}, swatch, name);
    };
    const present = new Set(this.pieces.map((piece) => piece.kind));
    const kinds = (["header", "metadata", "padding", "gap"] as Paint[]).filter((kind) => present.has(kind));
    const columns = [
      ...new Set(this.pieces.flatMap((piece) => (piece.kind === "data" && piece.column !== undefined ? [piece.column] : []))),
    ].sort((a, b) => a - b);
    const rest = columns.length - NAMED;
    return h(
      "ul",
      { class: "legend", "aria-label": "Colours" },
      ...columns
        .slice(0, NAMED)
        .map((column) => entry(css(columnColour(column)), inspection.columns[column]?.name ?? String(column))),
      rest > 0 && h("li", { class: "quiet" }, `and ${plural(rest, "column")} more`),
      columns.length === 0 && present.has("data") && entry(css(kindColour("data")), "Data"),
      ...kinds.map((kind) => entry(css(kindColour(kind)), kind === "gap" ? "Gap" : KIND_NAMES[kind], kind)),
    );
  }
}
