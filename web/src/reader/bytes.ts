/** The bytes of a file: slices of a Blob, or range requests to a server. */
import type { Range, Source } from "./contract";
import { problem } from "./problems";
import { type Counter, merged } from "./traffic";

/** Whatever answers byte ranges. */
interface Store {
  readonly size: number;
  /** Ranges at most this far apart are read together. */
  readonly gap: number;
  /** Whether its bytes are in memory already, so that reading them costs nothing. */
  readonly inMemory?: boolean;
  read(range: Range, signal?: AbortSignal): Promise<Uint8Array>;
}

/** So many requests are under way at once. */
const PARALLEL = 6;
/** Bytes that are kept for the next answer. */
const KEPT = 48 << 20;
/** A file on a server without ranges is fetched whole if it is no longer. */
const MOST_WHOLE = 64 << 20;

/** The bytes of one file, those read last kept at hand. */
export class FileBytes {
  /** In the order of their last use. */
  private readonly kept = new Map<string, { range: Range; bytes: Uint8Array }>();
  private keptBytes = 0;

  private constructor(private readonly store: Store) {}

  static async of(source: Source, counter: Counter, signal?: AbortSignal): Promise<FileBytes> {
    if (source.kind === "file") return new FileBytes(new BlobStore(source.file));
    return new FileBytes(await openUrl(source, counter, signal));
  }

  /** Bytes that were made of others, which were counted. */
  static inMemory(blob: Blob): FileBytes {
    return new FileBytes(new BlobStore(blob, true));
  }

  get size(): number {
    return this.store.size;
  }

  /** Whether another request costs a round trip. */
  get isRemote(): boolean {
    return !(this.store instanceof BlobStore);
  }

  /** These bytes, in this order. */
  async read(ranges: readonly Range[], counter: Counter, signal?: AbortSignal): Promise<Uint8Array[]> {
    const beyond = ranges.find((range) => range.end > this.size);
    if (beyond) {
      const message = `bytes ${beyond.start}..${beyond.end} could not be read whole`;
      throw problem("io", "short_read", message, { offset: beyond.start });
    }
    const answers: (Uint8Array | undefined)[] = ranges.map((range) => this.atHand(range));
    ranges.forEach((range, i) => counter.used(range, answers[i] !== undefined));
    const missing = ranges.filter((_, i) => answers[i] === undefined);
    const parts = await this.fetched(merged(missing, this.store.gap), counter, signal);
    return ranges.map((range, i) => answers[i] ?? cut(range, parts));
  }

  private async fetched(requests: Range[], counter: Counter, signal?: AbortSignal): Promise<Part[]> {
    const parts: Part[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let range = requests[next++]; range; range = requests[next++]) {
        if (!this.store.inMemory) counter.asked(range.end - range.start);
        const bytes = await this.store.read(range, signal);
        if (bytes.length !== range.end - range.start) {
          throw problem("io", "short_read", "the file is shorter than it was when it was opened", { offset: range.start });
        }
        parts.push({ range, bytes });
        this.keep({ range, bytes });
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL, requests.length) }, worker));
    return parts.sort((a, b) => a.range.start - b.range.start);
  }

  private atHand(range: Range): Uint8Array | undefined {
    const key = `${range.start}-${range.end}`;
    let found = this.kept.get(key);
    if (!found) {
      for (const entry of this.kept.values()) {
        if (entry.range.start <= range.start && range.end <= entry.range.end) found = entry;
      }
    }
    if (!found) return undefined;
    const name = `${found.range.start}-${found.range.end}`;
    this.kept.delete(name);
    this.kept.set(name, found);
    return cut(range, [found]);
  }

  private keep(part: Part): void {
    if (part.bytes.length > KEPT / 4) return;
    const key = `${part.range.start}-${part.range.end}`;
    if (!this.kept.has(key)) this.keptBytes += part.bytes.length;
    this.kept.set(key, part);
    for (const [oldest, { bytes }] of this.kept) {
      if (this.keptBytes <= KEPT && this.kept.size <= 512) break;
      this.kept.delete(oldest);
      this.keptBytes -= bytes.length;
    }
  }
}

interface Part {
  range: Range;
  bytes: Uint8Array;
}

/** A range out of the parts, sorted, that it is inside one of. */
function cut(range: Range, parts: Part[]): Uint8Array {
  let low = 0;
  let high = parts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle]!.range.start <= range.start) low = middle + 1;
    else high = middle;
  }
  const part = parts[low - 1];
  if (!part) return new Uint8Array();
  return part.bytes.subarray(range.start - part.range.start, range.end - part.range.start);
}

class BlobStore implements Store {
  readonly gap = 4096;

  constructor(
    private readonly blob: Blob,
    readonly inMemory = false,
  ) {}

  get size(): number {
    return this.blob.size;
  }

  async read(range: Range): Promise<Uint8Array> {
    try {
      return new Uint8Array(await this.blob.slice(range.start, range.end).arrayBuffer());
    } catch (error) {
      // A file that was changed or deleted since it was chosen.
      const hint = "the file may have been changed or moved since it was opened; open it again";
      throw problem("io", "io", `the file cannot be read: ${String(error)}`, { offset: range.start, hint });
    }
  }
}

class UrlStore implements Store {
  readonly gap = 32768;

  constructor(
    private readonly url: string,
    readonly size: number,
    private readonly version: string | undefined,
  ) {}

  async read(range: Range, signal?: AbortSignal): Promise<Uint8Array> {
    const response = await request(this.url, range, signal);
    if (response.status !== 206) throw noRanges(this.url, response);
    if (this.version !== undefined && versionOf(response) !== this.version) {
      throw problem("io", "object_changed", "the file on the server was replaced while it was read", {
        file: this.url,
        hint: "open it again",
      });
    }
    return new Uint8Array(await response.arrayBuffer());
  }
}

async function request(url: string, range: Range, signal?: AbortSignal): Promise<Response> {
  const headers = { Range: `bytes=${range.start}-${range.end - 1}` };
  const attempt = () => fetch(url, { headers, signal: signal ?? null, cache: "no-store" });
  try {
    return await attempt().catch((error) => {
      if (signal?.aborted) throw error;
      return attempt();
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw problem("io", "object_store", `the server cannot be reached: ${String(error)}`, {
      file: url,
      hint: "a server of another origin must allow it (CORS), with the headers Range and Content-Range",
    });
  }
}

const versionOf = (response: Response): string | undefined =>
  response.headers.get("etag") ?? response.headers.get("last-modified") ?? undefined;

function noRanges(url: string, response: Response): Error {
  const said = `${response.status} ${response.statusText}`.trim();
  const kinds: Record<number, [string, string]> = {
    401: ["not_allowed", `the server wants other credentials: ${said}`],
    403: ["not_allowed", `the server refuses it: ${said}`],
    404: ["not_found", `there is no such file: ${said}`],
  };
  const [code, message] = kinds[response.status] ?? [
    response.ok ? "not_possible" : "object_store",
    response.ok ? "the server answers no byte ranges" : `the server failed: ${said}`,
  ];
  return problem("io", code, message, { file: url, ...(response.ok ? { hint: "download the file and open it here" } : {}) });
}

/** The first bytes say how long the file is; a server that sends all of it instead is used up to a size. */
async function openUrl(source: Source & { kind: "url" }, counter: Counter, signal?: AbortSignal): Promise<Store> {
  const first = await request(source.url, { start: 0, end: 16 }, signal);
  if (first.status === 206) {
    const size = /\/(\d+)$/.exec(first.headers.get("content-range") ?? "")?.[1] ?? (await headLength(source.url, signal));
    counter.asked((await first.arrayBuffer()).byteLength);
    if (size !== undefined) return new UrlStore(source.url, Number(size), versionOf(first));
    throw problem("io", "not_possible", "the server does not say how long the file is", { file: source.url });
  }
  if (first.status === 416) return new BlobStore(new Blob(), true);
  if (first.status !== 200) throw noRanges(source.url, first);
  const length = Number(first.headers.get("content-length") ?? Number.NaN);
  if (!(length <= MOST_WHOLE)) {
    await first.body?.cancel();
    throw noRanges(source.url, first);
  }
  const whole = await first.blob();
  counter.asked(whole.size);
  return new BlobStore(whole, true);
}

async function headLength(url: string, signal?: AbortSignal): Promise<string | undefined> {
  const head = await fetch(url, { method: "HEAD", signal: signal ?? null });
  return head.headers.get("content-length") ?? undefined;
}
