/** A reader that asks the command: the page is tested with it where the module is not built. */
import { parseJson, pretty } from "../../src/json-text";
import type * as c from "../../src/reader/contract";
import { ReaderError } from "../../src/reader/contract";

const place = (path: string): string => new URL(`mock/${path}`, document.baseURI).href;

async function run(args: string[], options?: c.Options): Promise<ArrayBuffer> {
  const response = await fetch(place("run"), { method: "POST", body: JSON.stringify({ args }), signal: options?.signal ?? null });
  const data = await response.arrayBuffer();
  const code = response.headers.get("x-code");
  if (code !== "0") {
    const text = new TextDecoder().decode(data);
    const error = text.startsWith("{") ? (JSON.parse(text) as { error?: c.Problem }).error : undefined;
    if (error) throw new ReaderError(error);
    if (!text.startsWith("{")) throw new ReaderError({ class: "request", code: "failed", message: text });
  }
  options?.progress?.(1);
  return data;
}

const text = (data: ArrayBuffer): string => new TextDecoder().decode(data);
const quoted = (columns?: c.ColumnName[]): string[] =>
  columns ? ["--columns", columns.map((name) => (typeof name === "number" ? `#${name}` : `"${name}"`)).join(",")] : [];

class MockReader implements c.Reader {
  readonly inspection: c.Inspection;
  readonly opening: c.Traffic;
  constructor(
    private readonly laidOut: c.Inspection,
    readonly file: string,
    private readonly blob: Blob,
  ) {
    this.inspection = { ...laidOut, columns: laidOut.columns.map(({ name, type, nullable }) => ({ name, type, nullable })) };
    delete this.inspection.layout;
    this.opening = this.traffic([], (region) => region.kind !== "data");
  }

  async layout(): c.Answer<c.Inspection> {
    return { value: this.laidOut, traffic: this.traffic([]) };
  }

  private traffic(columns: c.ColumnName[] | undefined, also = (_: c.Region): boolean => false): c.Traffic {
    const wanted = new Set(columns ?? this.laidOut.columns.keys());
    const ranges = (this.laidOut.layout?.regions ?? [])
      .filter((r) => also(r) || (r.kind === "data" && wanted.has(r.column ?? -1)))
      .map((r) => r.range);
    return { requests: ranges.length, cached: 0, bytes: ranges.reduce((sum, r) => sum + r.end - r.start, 0), ranges };
  }

  private parse(data: ArrayBuffer, columns: c.ColumnName[] | undefined, start: number): c.Rows {
    const names = (columns ?? [...this.inspection.columns.keys()]).map((i) => this.inspection.columns[i as number]!.name);
    const lines = text(data)
      .split("\n")
      .filter((line) => line !== "");
    const cells = lines.map((line) => {
      const row = parseJson(line);
      return row.kind === "object" ? row.entries.map(([, value]) => pretty(value)) : [];
    });
    return { columns: names, numbers: cells.map((_, i) => start + i), cells };
  }

  async rows(request: { columns?: c.ColumnName[]; start: number; count: number }, options?: c.Options): c.Answer<c.Rows> {
    const data = await run(
      [
        "cat",
        this.file,
        "--as",
        "ndjson",
        "--rows",
        `${request.start}..${request.start + request.count}`,
        ...quoted(request.columns),
      ],
      options,
    );
    return { value: this.parse(data, request.columns, request.start), traffic: this.traffic(request.columns) };
  }

  async find(
    request: { columns?: c.ColumnName[]; where: string; start: number; limit: number },
    options?: c.Options,
  ): c.Answer<c.Found> {
    const data = await run(
      ["cat", this.file, "--as", "ndjson", "--where", request.where, "--rows", `${request.start}..`, ...quoted(request.columns)],
      options,
    );
    const all = this.parse(data, request.columns, request.start);
    const value: c.Found = {
      columns: all.columns,
      numbers: all.numbers.slice(0, request.limit),
      cells: all.cells.slice(0, request.limit),
    };
    if (all.cells.length > request.limit) value.next = request.start + request.limit;
    return { value, traffic: this.traffic(request.columns) };
  }

  async count(request: { where: string }, options?: c.Options): c.Answer<number> {
    return { value: Number(text(await run(["count", this.file, "--where", request.where], options))), traffic: this.traffic([]) };
  }

  async check(where: string): Promise<{ message: string; at?: number } | undefined> {
    try {
      await run(["cat", this.file, "--json", "--rows", "0..0", "--where", where]);
      return undefined;
    } catch (error) {
      return { message: (error as Error).message, at: where.length };
    }
  }

  async statistics(
    request: { columns?: c.ColumnName[]; where?: string; sample?: number; metadata?: boolean },
    options?: c.Options,
  ): c.Answer<c.ColumnStatistics[]> {
    const quick = request.metadata ? ["--quick"] : [];
    const data = JSON.parse(text(await run(["stats", "--json", this.file, ...quick, ...quoted(request.columns)], options))) as {
      columns: c.ColumnStatistics[];
    };
    return { value: data.columns, traffic: this.traffic(quick.length ? [] : request.columns) };
  }

  async verify(options?: c.Options): c.Answer<c.Verification> {
    const value = JSON.parse(text(await run(["verify", "--json", this.file], options))) as c.Verification;
    return { value, traffic: this.traffic(undefined, () => true) };
  }

  async bytes(range: c.Range): c.Answer<Uint8Array> {
    const value = new Uint8Array(await this.blob.slice(range.start, range.end).arrayBuffer());
    return { value, traffic: { requests: 1, cached: 0, bytes: value.length, ranges: [range] } };
  }

  async export(
    request: { format: c.ExportFormat; columns?: c.ColumnName[]; where?: string; rows?: c.Range },
    options?: c.Options,
  ): c.Answer<c.Exported> {
    const as = request.format === "csv" ? "csv" : "ndjson";
    const data = await run(
      [
        "cat",
        this.file,
        "--as",
        as,
        ...(request.where ? ["--where", request.where] : []),
        ...(request.rows ? ["--rows", `${request.rows.start}..${request.rows.end}`] : []),
        ...quoted(request.columns),
      ],
      options,
    );
    return { value: { blob: new Blob([data]), rows: 0, notes: [] }, traffic: this.traffic(request.columns) };
  }

  async diff(other: c.Reader, _request?: object, options?: c.Options): c.Answer<c.Difference> {
    const value = JSON.parse(text(await run(["diff", "--json", this.file, (other as MockReader).file], options))) as c.Difference;
    return { value, traffic: this.traffic(undefined) };
  }

  close(): void {}
}

export const open: c.Open = async (source) => {
  const blob = source.kind === "file" ? source.file : await (await fetch(source.url)).blob();
  const { id } = (await (
    await fetch(`${place("upload")}?name=${encodeURIComponent(source.name)}`, { method: "POST", body: blob })
  ).json()) as { id: number };
  const file = `FILE:${id}`;
  const inspection = JSON.parse(text(await run(["inspect", "--layout", "--json", file]))) as c.Inspection;
  return new MockReader({ ...inspection, file: source.name }, file, blob);
};
