/** The worker: owns the module and the bytes of files, and answers the page. */
import type { OpenOptions, Range, Source } from "./contract";
import { Engine, type Reply, type Request } from "./engine";
import { problemOf } from "./problems";

/** What the page sends. Every call has a number of its own. */
export type ToWorker =
  | { type: "module"; module: ArrayBuffer }
  | { type: "open"; call: number; source: Source; whole: boolean }
  | { type: "ask"; call: number; file: number; request: Request; other?: number }
  | { type: "bytes"; call: number; file: number; range: Range }
  | { type: "abort"; call: number }
  | { type: "close"; file: number };

/** What it is told. */
export type FromWorker =
  | { call: number; progress: number }
  | { call: number; done: unknown }
  | { call: number; failed: ReturnType<typeof problemOf> }
  | { call: number; aborted: true };

const tell = (message: FromWorker, transfer: Transferable[] = []): void => {
  (self as unknown as { postMessage(message: FromWorker, transfer: Transferable[]): void }).postMessage(message, transfer);
};

/** The buffers of a reply, which nobody here needs any more. */
function owned(reply: object): Transferable[] {
  const { bytes, parts } = reply as Partial<Reply>;
  const arrays = [bytes, ...(parts ?? [])].filter((part) => part instanceof Uint8Array);
  return arrays.map((part) => part.buffer as ArrayBuffer);
}

let engine: Promise<Engine> | undefined;
const running = new Map<number, AbortController>();

/** Progress is told no more often, in milliseconds. */
const OFTEN = 50;

async function answer(call: number, work: (engine: Engine, options: OpenOptions) => Promise<object>): Promise<void> {
  const controller = new AbortController();
  running.set(call, controller);
  let told = 0;
  const progress = (fraction: number): void => {
    if (Date.now() - told < OFTEN) return;
    told = Date.now();
    tell({ call, progress: fraction });
  };
  try {
    if (!engine) throw new Error("there is no module yet");
    const done = await work(await engine, { signal: controller.signal, progress });
    tell({ call, done }, owned(done));
  } catch (error) {
    tell(controller.signal.aborted ? { call, aborted: true } : { call, failed: problemOf(error) });
  } finally {
    running.delete(call);
  }
}

self.onmessage = ({ data }: MessageEvent<ToWorker>): void => {
  switch (data.type) {
    case "module":
      engine = WebAssembly.compile(data.module).then((module) => new Engine(module));
      // Whoever asks is told.
      engine.catch(() => undefined);
      break;
    case "open":
      void answer(data.call, (engine, options) => engine.open(data.source, { ...options, whole: data.whole }));
      break;
    case "ask":
      void answer(data.call, (engine, options) => engine.ask(data.file, data.request, options, data.other));
      break;
    case "bytes":
      void answer(data.call, (engine, options) => engine.bytes(data.file, data.range, options));
      break;
    case "abort":
      running.get(data.call)?.abort();
      break;
    case "close":
      void engine?.then((engine) => engine.close(data.file));
      break;
  }
};
