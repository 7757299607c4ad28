/** Long work with progress and a way to stop it. */
import { button, fill, h } from "./dom";
import { isAbort, problemCard, problemOf } from "./problem";
import type { Options } from "./reader/contract";

/** Runs one piece of work at a time and shows its progress in `element`, which keeps its height. */
export class Work {
  readonly element = h("div", { class: "work", "aria-live": "polite" });
  private control?: AbortController;

  get running(): boolean {
    return this.control !== undefined;
  }

  stop(): void {
    this.control?.abort();
    this.control = undefined;
  }

  /** Starts work and stops what ran before. Resolves to undefined if it was stopped or failed; a failure is shown. */
  async run<T>(label: string, work: (options: Options) => Promise<T>): Promise<T | undefined> {
    this.stop();
    const control = new AbortController();
    this.control = control;
    const bar = h("progress", { max: 1, "aria-label": label });
    fill(
      this.element,
      h("span", {}, label),
      bar,
      button("Stop", () => this.stop(), { class: "small" }),
    );
    try {
      const value = await work({
        signal: control.signal,
        progress: (fraction) => {
          bar.value = fraction;
        },
      });
      if (this.control !== control) return undefined;
      fill(this.element);
      return value;
    } catch (error) {
      if (this.control === control || !this.control) fill(this.element);
      if (this.control === control && !isAbort(error)) fill(this.element, problemCard(problemOf(error), "That did not work"));
      return undefined;
    } finally {
      if (this.control === control) this.control = undefined;
    }
  }
}

/** Calls `act` once nothing asked for it for `wait` milliseconds. */
export function afterQuiet(wait: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };
}
