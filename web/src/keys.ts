/** Keyboard shortcuts, and the dialog that lists them. */
import { h, iconButton } from "./dom";

export interface Shortcut {
  key: string;
  does: string;
  act: () => void;
}

/** Keys that views handle themselves, listed with the others. */
const IN_VIEWS: [string, string][] = [
  ["Arrows, Page Up, Page Down", "Rows: move between cells"],
  ["Ctrl+Home, Ctrl+End", "Rows: first and last cell"],
  ["Shift+arrows", "Rows: select several cells"],
  ["Ctrl+C", "Rows: copy the selected cells"],
  ["Enter", "Rows: show the whole value; Bytes: zoom to the region"],
  ["Left, Right", "Bytes: previous and next region"],
  ["+, -, 0", "Bytes: zoom in, out, whole file"],
  ["Ctrl+Enter", "SQL: run the query"],
  ["Esc", "Close the pane or list"],
];

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Acts on single keys, unless the user is typing or a dialog is open. */
export function listen(shortcuts: Shortcut[]): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const found = shortcuts.find(({ key }) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found.act();
  });
}

/** Lists all shortcuts. */
export function showShortcuts(shortcuts: Shortcut[]): void {
  const lines: [string, string][] = [...shortcuts.map(({ key, does }): [string, string] => [key, does]), ...IN_VIEWS];
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys-title" },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id: "keys-title" }, "Keyboard"),
      iconButton("close", "Close", () => dialog.close()),
    ),
    h("dl", { class: "keys" }, ...lines.map(([key, does]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
