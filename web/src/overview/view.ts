/** The overview: what the file is, where its bytes are, what its columns are, and whether it is sound. */
import { button, fill, h } from "../dom";
import { bytes, count, percent, plural } from "../format";
import { problemCard, problemOf, sentence } from "../problem";
import type { Inspection, Verification } from "../reader/contract";
import type { Session } from "../session";
import type { Links, View } from "../view";
import { Work } from "../work";
import { columnsTable } from "./columns-table";
import { treemap } from "./treemap";
import { usage } from "./usage";

/** Properties shown beside the main facts; the others are folded away. */
const FEW = 6;

export class OverviewView implements View {
  readonly element = h("div", { class: "overview page-pad" });
  private readonly map = h(
    "section",
    { class: "card", "aria-label": "Where the bytes are" },
    h("h2", {}, "Where the bytes are"),
    h("div", { class: "treemap" }),
  );
  private readonly table = h("section", { class: "card", "aria-label": "Columns" });
  private readonly soundness = h("div", { class: "soundness" });
  private readonly work = new Work();

  constructor(
    private readonly session: Session,
    private readonly links: Links,
  ) {
    const { inspection } = session.reader;
    this.drawTable(inspection);
    fill(this.element, this.facts(inspection), this.map, this.table, this.verification());
    session.layout().then(
      (laidOut) => this.drawLayout(laidOut),
      (error: unknown) =>
        fill(this.map, h("h2", {}, "Where the bytes are"), problemCard(problemOf(error), "The map of this file cannot be made")),
    );
  }

  private facts(inspection: Inspection): HTMLElement {
    const fact = (name: string, value: string): HTMLElement => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    const properties = Object.entries(inspection.properties).map(([name, value]) =>
      fact(name[0]!.toUpperCase() + name.slice(1).replace(/_/g, " "), value),
    );
    return h(
      "section",
      { class: "card", "aria-label": "Facts" },
      h("h2", { class: "file-name" }, inspection.file),
      h(
        "dl",
        { class: "facts main-facts" },
        fact("Format", inspection.format),
        fact(inspection.sample ? "Rows in the part read" : "Rows", count(inspection.rows)),
        fact("Columns", count(inspection.columns.length)),
        fact("Size", bytes(inspection.bytes)),
        inspection.rows > 0
          ? fact("Bytes per row", ((inspection.sample?.bytes ?? inspection.bytes) / inspection.rows).toFixed(1))
          : fact("Bytes per row", "\u2013"),
      ),
      properties.length > 0 ? h("dl", { class: "facts" }, ...properties.slice(0, FEW)) : undefined,
      properties.length > FEW
        ? h(
            "details",
            {},
            h("summary", {}, `${properties.length - FEW} more`),
            h("dl", { class: "facts" }, ...properties.slice(FEW)),
          )
        : undefined,
    );
  }

  private drawTable(inspection: Inspection): void {
    if (inspection.columns.length === 0) {
      fill(this.table, h("h2", {}, "No columns"), h("p", { class: "quiet" }, "This file holds no table."));
      return;
    }
    fill(
      this.table,
      h("h2", {}, plural(inspection.columns.length, "column")),
      columnsTable(inspection, (column) => this.links.showColumn(column)),
    );
  }

  private drawLayout(inspection: Inspection): void {
    this.drawTable(inspection);
    const uses = usage(inspection);
    const whole = Math.max(inspection.layout?.size ?? 0, inspection.bytes);
    if (uses.length === 0) {
      fill(this.map, h("h2", {}, "Where the bytes are"), h("p", { class: "quiet" }, "This file has no bytes."));
      return;
    }
    const of = (kind: string): number =>
      uses.filter((use) => use.kind === kind && use.first).reduce((sum, use) => sum + use.bytes, 0);
    const parts = [
      `${percent(of("data"), whole)} data`,
      `${percent(of("metadata") + of("header"), whole)} metadata`,
      ...(of("padding") ? [`${percent(of("padding"), whole)} padding`] : []),
      ...(of("gap") ? [`${percent(of("gap"), whole)} gaps`] : []),
      ...(inspection.sample ? [`${percent(whole - (inspection.layout?.size ?? whole), whole)} not read yet`] : []),
    ];
    fill(
      this.map,
      h("h2", {}, "Where the bytes are", h("span", { class: "quiet" }, parts.join(", "))),
      treemap(uses, whole, (use) => {
        if (use.first) this.links.showBytes(use.first.range.start, use.first.range.end);
      }),
    );
  }

  private verification(): HTMLElement {
    const run = button("Verify the file", () => void this.verify());
    fill(
      this.soundness,
      h(
        "p",
        { class: "quiet" },
        "Verifying reads the whole file: every byte accounted for, every checksum compared, every value decoded.",
      ),
    );
    return h(
      "section",
      { class: "card", "aria-label": "Verification" },
      h("h2", {}, "Is it sound?"),
      this.soundness,
      h("div", { class: "buttons" }, run),
      this.work.element,
    );
  }

  private async verify(): Promise<void> {
    const result = await this.work.run("Verifying", (options) =>
      this.session.ask("Verifying", this.session.reader.verify(options)),
    );
    if (result) fill(this.soundness, ...this.verdict(result));
  }

  private verdict(result: Verification): HTMLElement[] {
    const list = (items: string[], kind: string): HTMLElement[] =>
      items.length > 0 ? [h("ul", { class: kind }, ...items.map((item) => h("li", {}, sentence(item))))] : [];
    return [
      h(
        "p",
        { class: result.valid ? "verdict good" : "verdict bad" },
        result.valid ? "The file is sound." : "The file is damaged.",
      ),
      ...result.errors.map((problem) => problemCard(problem, "Damage")),
      ...list(
        result.findings.map(({ part, message }) => `${part}: ${message}`),
        "findings",
      ),
      ...list(result.checked, "checked"),
      ...(result.coverage ? [h("p", { class: "quiet" }, sentence(result.coverage))] : []),
    ];
  }
}
