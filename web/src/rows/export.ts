/** Saving what is seen as a file. */
import { download } from "../clipboard";
import { button, fill, h } from "../dom";
import { bytes, count, plural } from "../format";
import { sentence } from "../problem";
import type { ExportFormat } from "../reader/contract";
import type { Session } from "../session";
import { Work } from "../work";

const FORMATS: [ExportFormat, string][] = [
  ["csv", "CSV"],
  ["ndjson", "NDJSON"],
  ["parquet", "Parquet"],
  ["lance", "Lance"],
];

/** Asks for a format and rows, and saves the columns that are shown. */
export function exportDialog(session: Session, columns: number[], where: string): void {
  const { rows, columns: all, sample } = session.reader.inspection;
  const work = new Work();
  const result = h("div", { role: "status" });
  const first = h("input", { type: "number", min: 0, max: Math.max(0, rows - 1), value: 0, "aria-label": "First row" });
  const last = h("input", {
    type: "number",
    min: 0,
    max: Math.max(0, rows - 1),
    value: Math.max(0, rows - 1),
    "aria-label": "Last row",
  });
  const formats = FORMATS.map(([value, name], i) =>
    h("label", { class: "check" }, h("input", { type: "radio", name: "format", value, checked: i === 0 }), name),
  );
  const form = h(
    "form",
    { class: "export-form" },
    h("fieldset", {}, h("legend", {}, "Format"), ...formats),
    h("fieldset", {}, h("legend", {}, "Rows, by number"), h("label", {}, "from ", first), h("label", {}, " to ", last)),
    h(
      "p",
      {},
      `${columns.length === all.length ? "All" : count(columns.length)} of ${plural(all.length, "column")}, in the order they are shown`,
      where === "" ? "." : ", rows that meet the condition:",
    ),
    where === "" ? undefined : h("p", {}, h("code", {}, where)),
    sample && h("p", { class: "hint" }, "Only the rows of the part that was read are saved."),
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "submit", class: "primary" }, "Save"),
      button("Close", () => dialog.close()),
    ),
  );
  const dialog = h(
    "dialog",
    { "aria-labelledby": "export-title" },
    h("h2", { id: "export-title" }, "Save as a file"),
    form,
    work.element,
    result,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    fill(result);
    const format = new FormData(form).get("format") as ExportFormat;
    const range = { start: Number(first.value), end: Number(last.value) + 1 };
    const everything = range.start === 0 && range.end >= rows;
    void work
      .run("Writing the file", (options) =>
        session.ask(
          "Saving",
          session.reader.export(
            { format, columns, ...(where ? { where } : {}), ...(everything ? {} : { rows: range }) },
            options,
          ),
        ),
      )
      .then((file) => {
        if (!file) return;
        const name = `${session.name.replace(/\.[^.]*$/, "")}-export.${format}`;
        download(file.blob, name);
        fill(
          result,
          h("p", {}, `Saved ${name}: ${plural(file.rows, "row")}, ${bytes(file.blob.size)}.`),
          ...file.notes.map((note) => h("p", { class: "quiet" }, sentence(note))),
        );
      });
  });
  dialog.addEventListener("close", () => {
    work.stop();
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
}
