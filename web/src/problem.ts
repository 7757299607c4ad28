/** What went wrong, as data and as an element. */
import { h } from "./dom";
import { offset } from "./format";
import type { Problem } from "./reader/contract";

/** The problem an error carries, or one made of its message. */
export function problemOf(error: unknown): Problem {
  if (error && typeof error === "object" && "problem" in error) return (error as { problem: Problem }).problem;
  const message = error instanceof Error ? error.message : String(error);
  return { class: "page", code: "failed", message };
}

/** Whether a call ended because it was told to. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** A first letter in upper case and a full stop: messages of the command are parts of sentences. */
export function sentence(text: string): string {
  const start = /^[a-z]/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

/** The problem with its place and what to do about it. */
export function problemCard(problem: Problem, title = "This could not be read", ...actions: HTMLElement[]): HTMLElement {
  const places: [string, string | undefined][] = [
    ["File", problem.file],
    ["Part", problem.part],
    ["Offset", problem.offset === undefined ? undefined : offset(problem.offset)],
    ["Code", problem.code],
  ];
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("h2", {}, title),
    h("p", { class: "problem-message" }, sentence(problem.message)),
    h(
      "dl",
      { class: "facts" },
      ...places.flatMap(([name, value]) => (value ? [h("div", {}, h("dt", {}, name), h("dd", {}, value))] : [])),
    ),
    problem.hint ? h("p", { class: "hint" }, h("strong", {}, "Hint: "), sentence(problem.hint)) : undefined,
    actions.length > 0 ? h("div", { class: "buttons" }, ...actions) : undefined,
  );
}
