/** An instance of the module: numbers and bytes in its memory. crates/colkit-web/src/lib.rs says what each export does. */
import { type Problem, type Range, ReaderError } from "./contract";
import { problem } from "./problems";

interface Exports {
  memory: WebAssembly.Memory;
  initialise(): void;
  buffer(length: number): number;
  start(): number;
  step(job: number): number;
  needed(): number;
  needed_count(): number;
  out(): number;
  out_length(): number;
  part(): number;
  part_length(): number;
  progress(job: number): number;
  end(job: number): void;
  close(file: number): void;
}

/** What a step came to. */
export type Stepped = { done: Uint8Array } | { needs: Range[] };

/** The instance is lost: whatever it held is gone. */
export class Trap extends ReaderError {}

/** The instance was lost by somebody else's work before this. */
export class LostBefore extends Trap {}

export class Instance {
  private readonly exports: Exports;
  private last = "";
  /** Why it can no longer be used. */
  lost: Trap | undefined;

  constructor(module: WebAssembly.Module) {
    const log = (at: number, length: number): void => {
      this.last = new TextDecoder().decode(this.bytes(at, length));
    };
    this.exports = new WebAssembly.Instance(module, { host: { log } }).exports as unknown as Exports;
    this.exports.initialise();
  }

  private bytes(at: number, length: number): Uint8Array {
    // Memory that grows is another buffer.
    return new Uint8Array(this.exports.memory.buffer, at >>> 0, length >>> 0);
  }

  /** Calls into the module. What is thrown there is no error of a file. */
  private guarded<T>(call: (exports: Exports) => T): T {
    if (this.lost) throw new LostBefore(this.lost.problem);
    try {
      return call(this.exports);
    } catch (thrown) {
      if (thrown instanceof ReaderError) throw thrown;
      this.lost = this.trapped(thrown);
      throw this.lost;
    }
  }

  private trapped(thrown: unknown): Trap {
    const used = this.exports.memory.buffer.byteLength;
    const said = this.last || (thrown instanceof Error ? thrown.message : String(thrown));
    if (!this.last && used > 2 ** 31) {
      return new Trap({
        class: "limit",
        code: "limit_exceeded",
        message: `this would need more memory than the page has (${used} bytes are in use)`,
        hint: "the command can do it: `colkit` has as much memory as `--memory` says",
      });
    }
    const hint = "this is a bug in colkit; the reader was started anew, and other files stay open";
    return new Trap({ class: "internal", code: "internal_error", message: `the reader stopped: ${said}`, hint });
  }

  private put(bytes: Uint8Array): void {
    const at = this.guarded((exports) => exports.buffer(bytes.length));
    if (at === 0) {
      throw problem("limit", "limit_exceeded", `there is no memory left for ${bytes.length} bytes of the file`);
    }
    this.bytes(at, bytes.length).set(bytes);
  }

  private out(): Uint8Array {
    return this.bytes(this.exports.out(), this.exports.out_length()).slice();
  }

  private failure(): ReaderError {
    return new ReaderError(JSON.parse(new TextDecoder().decode(this.out())) as Problem);
  }

  /** Begins a job. */
  start(request: object): number {
    this.put(new TextEncoder().encode(JSON.stringify(request)));
    const job = this.guarded((exports) => exports.start());
    if (job === 0) throw this.failure();
    return job;
  }

  /** Goes on with a job, with the bytes it needed last. What it wrote of a file goes to `parts`. */
  step(job: number, answers: Uint8Array[], parts: Uint8Array[]): Stepped {
    for (const bytes of answers) this.put(bytes);
    const state = this.guarded((exports) => exports.step(job));
    const written = this.exports.part_length();
    if (written > 0) parts.push(this.bytes(this.exports.part(), written).slice());
    if (state === 2) throw this.failure();
    if (state === 0) return { done: this.out() };
    const count = this.exports.needed_count();
    const numbers = new Float64Array(this.exports.memory.buffer, this.exports.needed() >>> 0, count);
    const needs: Range[] = [];
    for (let i = 0; i + 1 < count; i += 2) needs.push({ start: numbers[i]!, end: numbers[i + 1]! });
    return { needs };
  }

  /** The memory it has taken, which it never gives back. */
  get size(): number {
    return this.exports.memory.buffer.byteLength;
  }

  progress(job: number): number {
    return this.guarded((exports) => exports.progress(job));
  }

  /** Forgets a job. */
  end(job: number): void {
    if (!this.lost) this.exports.end(job);
  }

  /** Forgets a file. */
  close(file: number): void {
    if (!this.lost) this.exports.close(file);
  }
}
