/** One open file, and what was read of it. */
import { open } from "explorer:reader";
import { problemOf } from "./problem";
import type { Answer, Inspection, Problem, Reader, Source, Traffic } from "./reader/contract";

/** The last answer: what was asked, and what it cost. */
export interface LastRead {
  what: string;
  traffic: Traffic;
}

/** Events: `changed` when the state changes, `progress` while it opens, `read` when bytes were read. */
export class Session extends EventTarget {
  state: "waiting" | "opening" | "open" | "failed" | "closed" = "waiting";
  problem?: Problem;
  last?: LastRead;
  /** How much of the opening is done. */
  progress = 0;
  total: { requests: number; bytes: number } = { requests: 0, bytes: 0 };
  private opened?: Reader;
  private opening?: Promise<void>;
  private control?: AbortController;
  private laidOut?: Promise<Inspection>;

  constructor(readonly source: Source) {
    super();
  }

  get name(): string {
    return this.source.name;
  }

  /** The reader of a file that is open. */
  get reader(): Reader {
    if (!this.opened) throw new Error(`${this.name} is not open`);
    return this.opened;
  }

  /** Opens the file unless that was tried. `whole` reads a long text to its end. */
  open(whole = false): Promise<void> {
    if (this.state === "waiting") this.opening = this.start(whole);
    return this.opening ?? Promise.resolve();
  }

  private async start(whole: boolean): Promise<void> {
    const control = new AbortController();
    this.control = control;
    this.state = "opening";
    this.progress = 0;
    this.dispatchEvent(new Event("changed"));
    const progress = (fraction: number): void => {
      this.progress = fraction;
      this.dispatchEvent(new Event("progress"));
    };
    try {
      const reader = await open(this.source, { whole, progress, signal: control.signal });
      if (control.signal.aborted) {
        reader.close();
        return;
      }
      this.opened = reader;
      this.state = "open";
      this.note("Opening the file", reader.opening);
    } catch (error) {
      if (control.signal.aborted) return;
      this.problem = problemOf(error);
      this.state = "failed";
    }
    this.dispatchEvent(new Event("changed"));
  }

  /** Opens the file again. */
  reopen(whole = false): Promise<void> {
    this.close();
    this.state = "waiting";
    this.problem = undefined;
    return this.open(whole);
  }

  /** The byte map and what each column takes; asked for once. */
  layout(): Promise<Inspection> {
    this.laidOut ??= this.ask("The byte map", this.reader.layout(), true).catch((error: unknown) => {
      this.laidOut = undefined;
      throw error;
    });
    return this.laidOut;
  }

  /** The value of an answer, after its cost was noted. `quiet` answers do not become the last one. */
  async ask<T>(what: string, answer: Answer<T>, quiet = false): Promise<T> {
    const { value, traffic } = await answer;
    this.note(what, traffic, quiet);
    return value;
  }

  note(what: string, traffic: Traffic, quiet = false): void {
    this.total = { requests: this.total.requests + traffic.requests, bytes: this.total.bytes + traffic.bytes };
    if (!quiet) this.last = { what, traffic };
    this.dispatchEvent(new Event("read"));
  }

  close(): void {
    this.state = "closed";
    this.control?.abort();
    this.opened?.close();
    this.opened = undefined;
    this.laidOut = undefined;
    this.last = undefined;
  }
}
