/** Files and jobs over an instance of the module. It runs in the worker, and as it is in tests. */
import type { Inspection, OpenOptions, Options, Problem, Range, Source, Traffic } from "./contract";
import { ReaderError } from "./contract";
import { FileBytes } from "./bytes";
import { content } from "./content";
import { inUtf8 } from "./encoding";
import { Instance, LostBefore, Trap } from "./instance";
import { problem } from "./problems";
import { Counter } from "./traffic";

/** Files of a job are so far apart: `Host::APART` in the library. */
const APART = 2 ** 41;

/** Texts that are longer are opened by their start, unless they are asked for whole: on a disk, and on a server. */
const LONG_TEXT = 32 << 20;
const LONG_REMOTE_TEXT = 4 << 20;
/** How much of them that is. */
const START = 2 << 20;

/** After so many milliseconds of work others get their turn: an abort, for example. */
const TURN = 40;

/** An instance never gives memory back: with more than this, another one takes its place when nothing is under way. */
const MUCH_MEMORY = 768 << 20;

/** Of a file that is made, so many bytes are held before the browser keeps them, on its disk if need be. */
const HELD = 16 << 20;

/** What the module is asked about a file. */
export interface Request {
  op: string;
  [member: string]: unknown;
}

/** What the module answered. */
export interface Reply {
  bytes: Uint8Array;
  /** What was written of a file. */
  parts: (Uint8Array | Blob)[];
  traffic: Traffic;
}

interface OpenFile {
  id: number;
  name: string;
  bytes: FileBytes;
  start: number | undefined;
  /** The instance that knows it. */
  instance: Instance | undefined;
}

export class Engine {
  private instance: Instance;
  private readonly files = new Map<number, OpenFile>();
  private opened = 0;
  /** Jobs under way. */
  private running = 0;

  constructor(private readonly module: WebAssembly.Module) {
    this.instance = new Instance(module);
  }

  async open(source: Source, options: OpenOptions = {}): Promise<{ file: number; inspection: Inspection; opening: Traffic }> {
    const counter = new Counter();
    const named = (error: unknown): never => {
      throw error instanceof ReaderError && !(error instanceof Trap) ? withFile(error, source.name) : error;
    };
    const stored = await FileBytes.of(source, counter, options.signal).catch(named);
    const found = await content(source, stored, counter, options).catch(named);
    const { bytes, name, isCut } = found;
    const long = bytes.isRemote ? LONG_REMOTE_TEXT : LONG_TEXT;
    const start = isCut ? bytes.size - 1 : !options.whole && bytes.size > long ? START : undefined;
    const file: OpenFile = { id: ++this.opened, name, bytes, start, instance: undefined };
    const inspection = await this.firstOpen(file, counter, options).catch(named);
    this.files.set(file.id, file);
    inspection.file = source.name;
    if (found.compression) {
      inspection.properties.compression = `${found.compression}, ${bytes.size} bytes of text`;
      if (inspection.sample && isCut) inspection.bytes = stored.size;
    }
    return { file: file.id, inspection, opening: counter.traffic };
  }

  /** Opens a file. Text in another encoding than UTF-8 is rewritten first. */
  private async firstOpen(file: OpenFile, counter: Counter, options: Options): Promise<Inspection> {
    try {
      return await again(() => this.reopen(file, this.current(), counter, options));
    } catch (error) {
      if (!(error instanceof ReaderError) || error.problem.code !== "bad_utf8") throw error;
      const text = await inUtf8(file.bytes, counter, options.signal);
      if (!text) throw error;
      file.bytes = FileBytes.inMemory(text.blob);
      const inspection = await again(() => this.reopen(file, this.current(), counter, options));
      inspection.properties.encoding = text.encoding;
      return inspection;
    }
  }

  private async reopen(file: OpenFile, instance: Instance, counter: Counter, options: Options): Promise<Inspection> {
    const { id, name, bytes, start } = file;
    const request = { op: "open", file: id, name, size: bytes.size, ...(start === undefined ? {} : { start }) };
    // Only texts take long to open: each byte of them is looked at.
    const before = counter.passed;
    const passed = () => options.progress?.(Math.min((counter.passed - before) / bytes.size, 1));
    const { done } = await this.run(instance, request, [file], counter, { ...options, progress: passed });
    file.instance = instance;
    return JSON.parse(new TextDecoder().decode(done)) as Inspection;
  }

  /** The instance, or a new one in its place if it is lost, or has taken much memory and has nothing to do. */
  private current(): Instance {
    const isBloated = this.running === 0 && this.instance.size > MUCH_MEMORY;
    if (this.instance.lost || isBloated) this.instance = new Instance(this.module);
    return this.instance;
  }

  private find(id: number): OpenFile {
    const file = this.files.get(id);
    if (!file) throw problem("internal", "internal_error", "the file was closed");
    return file;
  }

  /** Asks the module about a file, and perhaps another one. */
  ask(id: number, request: Request, options: Options = {}, other?: number): Promise<Reply> {
    return again(() => this.asked(id, request, options, other));
  }

  private async asked(id: number, request: Request, options: Options, other?: number): Promise<Reply> {
    const counter = new Counter();
    const files = [this.find(id), ...(other === undefined ? [] : [this.find(other)])];
    const instance = this.current();
    for (const file of files) {
      // It was open in another instance, which is gone.
      if (file.instance !== instance) await this.reopen(file, instance, new Counter(), options);
    }
    const asked = { ...request, file: id, ...(other === undefined ? {} : { other }) };
    const { done, parts } = await this.run(instance, asked, files, counter, options);
    return { bytes: done, parts, traffic: counter.traffic };
  }

  /** Bytes of a file as they are. */
  async bytes(id: number, range: Range, options: Options = {}): Promise<Reply> {
    const counter = new Counter();
    const file = this.find(id);
    const end = Math.min(range.end, file.bytes.size);
    const inside = { start: Math.min(range.start, end), end };
    const [bytes] = await file.bytes.read([inside], counter, options.signal);
    return { bytes: bytes!.slice(), parts: [], traffic: counter.traffic };
  }

  close(id: number): void {
    this.files.get(id)?.instance?.close(id);
    this.files.delete(id);
  }

  /** Steps a job to its end, bringing what it needs of these files. */
  private async run(instance: Instance, request: object, files: OpenFile[], counter: Counter, options: Options) {
    const { signal, progress } = options;
    signal?.throwIfAborted();
    const job = instance.start(request);
    this.running++;
    const parts: (Uint8Array | Blob)[] = [];
    const written: Uint8Array[] = [];
    let answers: Uint8Array[] = [];
    let turn = Date.now();
    try {
      for (;;) {
        const stepped = instance.step(job, answers, written);
        if ("done" in stepped) return { done: stepped.done, parts: [...parts, ...written] };
        if (written.reduce((sum, part) => sum + part.length, 0) > HELD) parts.push(new Blob(written.splice(0) as BlobPart[]));
        progress?.(instance.progress(job));
        answers = await this.answered(stepped.needs, files, counter, signal);
        if (Date.now() - turn > TURN) {
          await new Promise((resolve) => setTimeout(resolve));
          turn = Date.now();
        }
        signal?.throwIfAborted();
      }
    } finally {
      this.running--;
      instance.end(job);
    }
  }

  private async answered(needs: Range[], files: OpenFile[], counter: Counter, signal?: AbortSignal) {
    const answers: Uint8Array[] = new Array(needs.length);
    await Promise.all(
      files.map(async (file, number) => {
        const mine = needs.map((_, i) => i).filter((i) => Math.floor(needs[i]!.start / APART) === number);
        const base = number * APART;
        const ranges = mine.map((i) => ({ start: needs[i]!.start - base, end: needs[i]!.end - base }));
        const got = await file.bytes.read(ranges, counter, signal);
        mine.forEach((i, at) => (answers[i] = got[at]!));
      }),
    );
    return answers;
  }
}

/** Does something again that was lost by what others did. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 3; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LostBefore) || left === 0) throw error;
    }
  }
}

function withFile(error: ReaderError, file: string): ReaderError {
  const found: Problem = { ...error.problem };
  return new ReaderError({ file, ...found });
}
