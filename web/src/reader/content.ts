/** What is in a file that is compressed as a whole, such as `x.csv.gz`. Browsers know gzip; others are told by the module. */
import type { OpenOptions, Source } from "./contract";
import { FileBytes } from "./bytes";
import { problem } from "./problems";
import type { Counter } from "./traffic";

/** Of longer texts only so much is decompressed, unless they are asked for whole. */
const ENOUGH = 4 << 20;
/** No more than this is decompressed. */
const MOST = 2 ** 30;
/** Bytes that are read at a time. */
const PIECE = 1 << 20;

export interface Content {
  bytes: FileBytes;
  name: string;
  compression?: string;
  /** Whether there is more of it. */
  isCut: boolean;
}

export async function content(source: Source, stored: FileBytes, counter: Counter, options: OpenOptions): Promise<Content> {
  // The format is told by what is before it. Who serves a file may have taken the compression off.
  const name = source.name.replace(/\.gz$/i, "");
  if (!/\.gz$/i.test(source.name)) return { bytes: stored, name, isCut: false };
  const [head] = await stored.read([{ start: 0, end: Math.min(3, stored.size) }], counter, options.signal);
  if (head![0] !== 0x1f || head![1] !== 0x8b || head![2] !== 8) return { bytes: stored, name, isCut: false };
  const { blob, isCut } = await gunzipped(stored, counter, options);
  return { bytes: FileBytes.inMemory(blob), name, compression: "gzip", isCut };
}

async function gunzipped(stored: FileBytes, counter: Counter, options: OpenOptions): Promise<{ blob: Blob; isCut: boolean }> {
  let at = 0;
  const compressed = new ReadableStream<BufferSource>({
    async pull(controller) {
      const end = Math.min(at + PIECE, stored.size);
      if (at === end) return controller.close();
      const [piece] = await stored.read([{ start: at, end }], counter, options.signal);
      at = end;
      options.progress?.(at / stored.size);
      controller.enqueue(piece!.slice());
    },
  });
  const reader = compressed.pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts: BlobPart[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      options.signal?.throwIfAborted();
      throw problem("corrupt", "bad_compressed_data", `the gzip data does not decompress: ${String(error)}`, { offset: at });
    });
    if (done) return { blob: new Blob(parts), isCut: false };
    parts.push(value as BlobPart);
    length += value.length;
    if (!options.whole && length > ENOUGH) {
      await reader.cancel();
      return { blob: new Blob(parts), isCut: true };
    }
    if (length > MOST) {
      await reader.cancel();
      throw problem("limit", "limit_exceeded", `the file decompresses to more than ${MOST} bytes`);
    }
  }
}
