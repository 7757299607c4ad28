/** An open file, whoever asks the module: the worker of a page, or the engine itself. */
import type * as contract from "./contract";
import type { Options, Reader } from "./contract";
import type { Reply, Request } from "./engine";
import { checkedOf, rowsOf } from "./answers";
import { problem } from "./problems";

/** How the module is asked. */
export interface Asking {
  ask(file: number, request: Request, options?: Options, other?: number): Promise<Reply>;
  bytes(file: number, range: contract.Range, options?: Options): Promise<Reply>;
  close(file: number): void;
}

/** What exports are. */
const TYPES: Record<contract.ExportFormat, string> = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
  lance: "application/octet-stream",
};

const text = (reply: Reply): string => new TextDecoder().decode(reply.bytes);

/** Which file of which engine a reader is for. */
const places = new WeakMap<Reader, { asking: Asking; file: number }>();

export function readerOf(
  asking: Asking,
  file: number,
  inspection: contract.Inspection,
  opening: contract.Traffic,
): Reader {
  const document = async <T>(request: Request, options?: Options, other?: number) => {
    const reply = await asking.ask(file, request, options, other);
    return { value: JSON.parse(text(reply)) as T, traffic: reply.traffic };
  };
  const found = async (request: Request, options?: Options) => {
    const reply = await asking.ask(file, request, options);
    return { value: rowsOf(text(reply)), traffic: reply.traffic };
  };
  const reader: Reader = {
    inspection,
    opening,
    async layout(options) {
      const { value, traffic } = await document<contract.Inspection>({ op: "layout" }, options);
      // What the module does not see: how the file was compressed, or its text encoded.
      const { file: name } = inspection;
      return { value: { ...value, file: name, properties: { ...value.properties, ...inspection.properties } }, traffic };
    },
    rows: (request, options) => found({ op: "rows", ...request }, options),
    find: (request, options) => found({ op: "find", ...request }, options),
    count: (request, options) => document<number>({ op: "count", ...request }, options),
    async check(where) {
      return checkedOf((await document<{ message: string } | null>({ op: "check", where })).value);
    },
    async statistics(request, options) {
      type Document = { columns: contract.ColumnStatistics[] };
      const { value, traffic } = await document<Document>({ op: "statistics", ...request }, options);
      return { value: value.columns, traffic };
    },
    verify: (options) => document<contract.Verification>({ op: "verify" }, options),
    async bytes(range) {
      const { bytes, traffic } = await asking.bytes(file, range);
      return { value: bytes, traffic };
    },
    async export(request, options) {
      const reply = await asking.ask(file, { op: "export", ...request }, options);
      const { rows, notes } = JSON.parse(text(reply)) as { rows: number; notes: string[] };
      const blob = new Blob(reply.parts as BlobPart[], { type: TYPES[request.format] });
      return { value: { blob, rows, notes }, traffic: reply.traffic };
    },
    async diff(other, request, options) {
      const place = places.get(other);
      if (place?.asking !== asking) throw problem("internal", "internal_error", "the other file is of another reader");
      return document<contract.Difference>({ op: "diff", ...request }, options, place.file);
    },
    close: () => asking.close(file),
  };
  places.set(reader, { asking, file });
  return reader;
}
