/** The reader of the page: a worker that owns the WebAssembly module. It is started with the first file. */
import script from "bundle:./worker.ts";
import { embedded } from "../embedded";
import type { Inspection, Open, Options, Problem, Traffic } from "./contract";
import { ReaderError } from "./contract";
import type { Reply, Request } from "./engine";
import { problem } from "./problems";
import { type Asking, readerOf } from "./reader";
import type { FromWorker, ToWorker } from "./worker";

export * from "./contract";

/** The module, as it is in the page or beside it. */
async function moduleBytes(): Promise<ArrayBuffer> {
  const inside = embedded("module")?.bytes;
  const packed = inside ? new Blob([inside]) : await beside();
  const head = new Uint8Array(await packed.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return packed.arrayBuffer();
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function beside(): Promise<Blob> {
  const hint = "the page needs the file colkit.wasm.gz beside it, and a server to be read from";
  const url = new URL("colkit.wasm.gz", document.baseURI);
  const response = await fetch(url).catch((error: unknown) => {
    throw problem("io", "not_found", `the reader cannot be loaded: ${String(error)}`, { file: url.href, hint });
  });
  if (!response.ok) {
    throw problem("io", "not_found", `the reader cannot be loaded: ${response.status}`, { file: url.href, hint });
  }
  return response.blob();
}

interface Call {
  done(value: unknown): void;
  failed(error: unknown): void;
  options: Options;
}

/** Calls to the worker, by their numbers. */
class Calls implements Asking {
  private readonly calls = new Map<number, Call>();
  private count = 0;

  private constructor(private readonly worker: Worker) {
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.heard(data);
    worker.onerror = (event) => this.broken(event.message);
  }

  static async start(): Promise<Calls> {
    const module = await moduleBytes();
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const calls = new Calls(new Worker(url));
    URL.revokeObjectURL(url);
    calls.send({ type: "module", module }, [module]);
    return calls;
  }

  private send(message: ToWorker, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }

  private heard(message: FromWorker): void {
    const call = this.calls.get(message.call);
    if (!call) return;
    if ("progress" in message) return call.options.progress?.(message.progress);
    this.calls.delete(message.call);
    if ("done" in message) call.done(message.done);
    else if ("failed" in message) call.failed(new ReaderError(message.failed as Problem));
    else call.failed(call.options.signal?.reason);
  }

  /** The worker itself failed: nobody will be answered. */
  private broken(message: string): void {
    const hint = "load the page again";
    const error = problem("internal", "internal_error", `the reader stopped: ${message}`, { hint });
    for (const call of this.calls.values()) call.failed(error);
    this.calls.clear();
  }

  call<T>(make: (call: number) => ToWorker, options: Options = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (options.signal?.aborted) return reject(options.signal.reason);
      const number = ++this.count;
      const abort = (): void => this.send({ type: "abort", call: number });
      options.signal?.addEventListener("abort", abort);
      const over = <V>(then: (value: V) => void) => (value: V): void => {
        options.signal?.removeEventListener("abort", abort);
        then(value);
      };
      this.calls.set(number, { done: over(resolve as (value: unknown) => void), failed: over(reject), options });
      this.send(make(number));
    });
  }

  ask(file: number, request: Request, options?: Options, other?: number) {
    const more = other === undefined ? {} : { other };
    return this.call<Reply>((call) => ({ type: "ask", call, file, request, ...more }), options);
  }

  bytes(file: number, range: { start: number; end: number }, options?: Options): Promise<Reply> {
    return this.call<Reply>((call) => ({ type: "bytes", call, file, range }), options);
  }

  close(file: number): void {
    this.send({ type: "close", file });
  }
}

let started: Promise<Calls> | undefined;

/** Opens a file, whatever its format. */
export const open: Open = async (source, options = {}) => {
  started ??= Calls.start();
  const calls = await started.catch((error: unknown) => {
    // The next file tries again.
    started = undefined;
    throw error;
  });
  // The worker has no address of its own that others could be relative to.
  const resolved = source.kind === "url" ? { ...source, url: new URL(source.url, document.baseURI).href } : source;
  const whole = options.whole ?? false;
  type Opened = { file: number; inspection: Inspection; opening: Traffic };
  const opened = await calls.call<Opened>((call) => ({ type: "open", call, source: resolved, whole }), options);
  return readerOf(calls, opened.file, opened.inspection, opened.opening);
};
