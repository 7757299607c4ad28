/** Ways to open files: dropping them, choosing them, naming an address. */
import { button, h, icon } from "./dom";
import { bytes } from "./format";
import type { Source } from "./reader/contract";
import type { Served } from "./served";

type OpenAll = (sources: Source[]) => void;

function sourcesOf(files: Iterable<File>): Source[] {
  return [...files].map((file) => ({ kind: "file", name: file.name, file }));
}

/** Opens files that are dropped anywhere on the page, and shows that they may be. */
export function acceptDrops(cover: HTMLElement, openAll: OpenAll): void {
  let depth = 0;
  const set = (value: number): void => {
    depth = Math.max(0, value);
    cover.classList.toggle("dropping", depth > 0);
  };
  window.addEventListener("dragenter", (event) => {
    if (event.dataTransfer?.types.includes("Files")) set(depth + 1);
  });
  window.addEventListener("dragleave", () => set(depth - 1));
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    set(0);
    if (event.dataTransfer?.files.length) openAll(sourcesOf(event.dataTransfer.files));
  });
}

/** Asks for files with the browser's own dialog. */
export function chooseFiles(openAll: OpenAll): void {
  const input = h("input", { type: "file", multiple: true });
  input.addEventListener("change", () => openAll(sourcesOf(input.files ?? [])));
  input.click();
}

/** The source an address stands for, named by its last part. */
export function sourceOfUrl(address: string): Source {
  const url = new URL(address, document.baseURI);
  if (!/^https?:$/.test(url.protocol)) throw new Error("The address must start with https:// or http://.");
  const last = url.pathname.split("/").filter(Boolean).pop();
  return { kind: "url", name: last ? decodeURIComponent(last) : url.host, url: url.href };
}

/** A field for an address. */
export function urlForm(openUrl: (address: string) => void): HTMLFormElement {
  const input = h("input", {
    type: "url",
    required: true,
    placeholder: "https://example.org/trades.parquet",
    "aria-label": "Address of a file",
    spellcheck: "false",
  });
  const form = h("form", { class: "url-form" }, input, h("button", { type: "submit" }, "Open address"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    openUrl(input.value.trim());
  });
  return form;
}

/** What is shown while no file is open. */
export function startPage(openAll: OpenAll, openUrl: (address: string) => void, served: Served | undefined): HTMLElement {
  const list = served?.sources.map((source) =>
    h(
      "li",
      {},
      button(source.name, () => openAll([source]), { class: "link" }),
      h("span", { class: "quiet number" }, bytes(source.bytes)),
    ),
  );
  return h(
    "section",
    { class: "start", "aria-labelledby": "start-title" },
    h("h2", { id: "start-title" }, "See into a columnar file"),
    h(
      "div",
      { class: "drop-area" },
      icon("open"),
      h("p", {}, "Drop files here, or"),
      button("Choose files", () => chooseFiles(openAll), { class: "primary" }),
    ),
    urlForm(openUrl),
    list && list.length > 0 ? h("div", {}, h("h3", {}, "Served files"), h("ul", { class: "served" }, ...list)) : undefined,
    h(
      "p",
      { class: "quiet" },
      "Lance, Parquet, Arrow, AT-1, .gppcol, .cff, .colfile, CSV and NDJSON. ",
      "Files stay on this machine: nothing is sent anywhere, and only the parts you look at are read.",
    ),
  );
}
