/** What goes wrong outside of the module, in its words. */
import { type Problem, ReaderError } from "./contract";

export const problem = (kind: string, code: string, message: string, more: Partial<Problem> = {}): ReaderError =>
  new ReaderError({ class: kind, code, message, ...more });

/** What was thrown, as it is told to the page. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof ReaderError) return thrown.problem;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { class: "internal", code: "internal_error", message };
}
