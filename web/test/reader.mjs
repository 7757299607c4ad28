// The reader against the command: the same files, the same answers. Run by `make explorer-test`.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { colkit, repository, start } from "./engine.mjs";

const reader = await start();
const { open, openBytes, openPath } = reader;
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "colkit-web-"));
});
after(() => rm(folder, { recursive: true }));

/** Every file with one of these extensions below a folder, datasets left out. */
async function vectors(below, extensions) {
  const entries = await readdir(join(repository, below), { recursive: true, withFileTypes: true });
  const paths = entries.filter((e) => e.isFile()).map((e) => join(e.parentPath ?? e.path, e.name));
  const wanted = paths.filter((path) => extensions.some((e) => path.endsWith(`.${e}`)) && !path.includes("/datasets/"));
  return wanted.map((path) => path.slice(repository.length + 1)).sort();
}

const failure = async (work) => {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof reader.code.ReaderError, `${error.stack}`);
    return error.problem;
  }
  return undefined;
};

/** What the command says about these files: of each a report or an error. */
async function inspected(files) {
  const answers = new Map();
  for (let i = 0; i < files.length; i += 100) {
    // With another one beside it, a bad file does not end the command.
    const some = files.slice(i, i + 100);
    const { stdout, stderr } = await colkit("inspect", "--layout", "--json", ...some, some[0]);
    for (const line of stdout.split("\n").filter(Boolean)) {
      const report = JSON.parse(line);
      answers.set(report.file, { report });
    }
    for (const line of stderr.split("\n").filter((l) => l.startsWith("{"))) {
      const { error } = JSON.parse(line);
      answers.set(error.file, { error });
    }
  }
  return answers;
}

/** The first rows as the command prints them, each the JSON of its cells; or the error. */
async function firstRows(file, rows) {
  const { stdout, stderr } = await colkit("head", "-n", String(rows), "--json", file);
  const last = stderr.trim().split("\n").at(-1);
  if (last.startsWith('{"error"')) return { error: JSON.parse(last).error };
  const start = stdout.indexOf('"rows":[') + '"rows":['.length;
  const text = stdout.slice(start, stdout.lastIndexOf('],"row_count"'));
  return { rows: text ? text.split(",\n") : [] };
}

/** What went wrong and where. The page has less memory than the command. */
const place = ({ class: kind, code, message, offset, part }) => ({
  class: kind,
  code,
  message: message?.replace(/would need \d+, the limit is \d+/, "would need more than the limit"),
  offset,
  part,
});
/** Where a decoder of others gives up, the command goes on and the page starts the module anew. */
const gaveUp = (problem, error) => problem.class === "internal" && /the decoder could not go on/.test(error?.message);
/** Files are known to the page by their names alone. */
const withoutFolder = (value, file) => JSON.parse(JSON.stringify(value).replaceAll(file, basename(file)));

async function sameAsCommand(file, answer) {
  const path = join(repository, file);
  let opened;
  const problem = await failure(async () => {
    opened = await openPath(path, { whole: true });
  });
  if (problem) {
    assert.ok(answer.error, `only the page fails: ${JSON.stringify(problem)}`);
    if (!gaveUp(problem, answer.error)) assert.deepEqual(place(problem), place(withoutFolder(answer.error, file)));
    return;
  }
  const failed = await failure(async () => {
    const { value } = await opened.layout();
    assert.ok(answer.report, `only the command fails: ${JSON.stringify(answer.error)}`);
    assert.deepEqual(value, withoutFolder(answer.report, file));
    const schema = (columns) => columns.map(({ name, type, nullable }) => ({ name, type, nullable }));
    assert.deepEqual(opened.inspection.columns, schema(answer.report.columns));
  });
  if (failed) assert.deepEqual(place(failed), place(withoutFolder(answer.error ?? {}, file)));
  const native = await firstRows(file, 5);
  const unreadable = await failure(async () => {
    const { value } = await opened.rows({ start: 0, count: 5 });
    const rows = value.cells.map((cells) => `[${cells.join(",")}]`);
    assert.deepEqual(rows, native.rows, "first rows");
  });
  if (unreadable) assert.deepEqual(place(unreadable), place(withoutFolder(native.error ?? {}, file)));
  opened.close();
}

/** Compares all these files, and tells of all that differ. */
async function allSame(files) {
  const answers = await inspected(files);
  const wrong = [];
  const work = files.values();
  const worker = async () => {
    for (const file of work) {
      await sameAsCommand(file, answers.get(file) ?? {}).catch((error) => wrong.push(`${file}: ${error.message}`));
    }
  };
  await Promise.all([worker(), worker()]);
  assert.equal(wrong.length, 0, `${wrong.length} of ${files.length} files\n${wrong.slice(0, 10).join("\n")}`);
}

describe("vectors are read as the command reads them", () => {
  const formats = [
    ["gppcol, cff, colfile", "crates/colkit-plain/tests/data", ["gppcol", "cff", "colfile"]],
    ["lance", "crates/colkit-lance/tests/data", ["lance"]],
    ["at1", "crates/colkit-at1/tests/data", ["at1"]],
    ["parquet", "crates/colkit-interop/tests", ["parquet"]],
    ["arrow", "crates/colkit-interop/tests", ["arrow", "arrows"]],
    ["csv, ndjson", "crates/colkit-interop/tests", ["csv", "tsv", "ndjson", "jsonl"]],
  ];
  for (const [name, below, extensions] of formats) {
    test(name, async () => {
      const files = await vectors(below, extensions);
      assert.ok(files.length > 5, `${files.length} files`);
      await allSame(files);
    });
  }
});

test("encodings beyond those of Lance", async () => {
  const kept = ["prices", "squares"].map((name) => `crates/colkit-plugin/tests/data/${name}.lance`);
  const words = ["carefully", "final", "deposits", "sleep"];
  const notes = Array.from({ length: 40_000 }, (_, i) => `${words[i % 4]} ${words[(i >> 3) % 4]} ${i * 7919}`);
  const [from, to] = [join(folder, "notes.csv"), join(folder, "notes.lance")];
  await writeFile(from, `note\n${notes.join("\n")}\n`);
  await colkit("convert", from, to, "--encodings", "extended");
  const files = [...kept, relative(repository, to)];
  const reports = [...(await inspected(files)).values()].map((answer) => JSON.stringify(answer));
  for (const encoding of ["alp(64)", "frame(64)", "pco(64)", "text("])
    assert.ok(reports.some((report) => report.includes(encoding)), `${encoding} is in one of them`);
  await allSame(files);
  // All rows, not only the first ones.
  const file = await openPath(to);
  const last = await file.rows({ start: notes.length - 1, count: 1 });
  assert.deepEqual(last.value.cells, [[JSON.stringify(notes.at(-1))]]);
  file.close();
});

/** A table with most types, in every format that the page opens. */
const ROWS = 20_000;
const table = Array.from({ length: ROWS }, (_, i) =>
  JSON.stringify({ id: i, name: `n${i % 97}`, price: i / 8, on: i % 3 === 0, note: i % 5 ? null : `é ${i}` }),
).join("\n");
const FORMATS = ["gppcol", "cff", "colfile", "at1", "lance", "parquet", "arrow", "csv", "ndjson"];
const made = new Map();

async function inFormat(format) {
  if (!made.has(format)) {
    const from = join(folder, "table.ndjson");
    const to = format === "ndjson" ? from : join(folder, `table.${format}`);
    await writeFile(from, `${table}\n`);
    const lossy = ["gppcol", "cff", "colfile", "csv"].includes(format) ? ["--nulls", "fill", "--types", "lossy"] : [];
    if (to !== from) {
      const { stderr } = await colkit("convert", from, to, "--force", ...lossy);
      assert.ok(!stderr.includes("error:"), stderr);
    }
    made.set(format, to);
  }
  return made.get(format);
}

describe("each format", () => {
  for (const format of FORMATS) {
    test(format, async () => {
      const path = await inFormat(format);
      const file = await openPath(path);
      assert.equal(file.inspection.rows, ROWS);
      assert.equal(file.inspection.sample, undefined);

      const last = await file.rows({ start: ROWS - 1, count: 10, columns: ["id", "name"] });
      assert.deepEqual(last.value.cells, [[String(ROWS - 1), JSON.stringify(`n${(ROWS - 1) % 97}`)]]);
      assert.deepEqual(last.value.numbers, [ROWS - 1]);

      const where = "name = 'n7' and id >= 1000";
      const expected = Number((await colkit("count", path, "--where", where)).stdout);
      assert.equal((await file.count({ where })).value, expected);
      const found = (await file.find({ where, start: 0, limit: 3, columns: ["id"] })).value;
      assert.deepEqual(found.cells.flat(), ["1074", "1171", "1268"]);
      assert.deepEqual(found.numbers, [1074, 1171, 1268]);
      const rest = (await file.find({ where, start: found.next, limit: 10_000, columns: [0] })).value;
      assert.equal(rest.cells.length, expected - 3);
      assert.equal(rest.next, undefined);

      assert.equal(await file.check(where), undefined);
      const wrong = await file.check("name = 'n7");
      assert.deepEqual([typeof wrong.message, wrong.at], ["string", 7]);

      const stats = JSON.parse((await colkit("stats", "--json", path)).stdout).columns;
      assert.deepEqual((await file.statistics({})).value, stats);
      const [sampled] = (await file.statistics({ columns: ["id"], sample: 1000 })).value;
      assert.ok(sampled.rows >= 1000 && sampled.rows < 1100, `${sampled.rows}`);
      const known = JSON.parse((await colkit("stats", "--quick", "--json", path)).stdout).columns;
      assert.deepEqual((await file.statistics({ metadata: true })).value, known);

      const verdict = JSON.parse((await colkit("verify", "--json", path)).stdout);
      assert.deepEqual((await file.verify()).value, { ...verdict, file: basename(path) });

      const { value: layout } = await file.layout();
      assert.equal(layout.layout.regions.at(-1).range.end, statSync(path).size);
      const [head] = [(await file.bytes({ start: 0, end: 4 })).value];
      assert.deepEqual(Buffer.from(head), (await readFile(path)).subarray(0, 4));

      for (const to of ["csv", "ndjson", "parquet", "lance"]) {
        const exported = (await file.export({ format: to, where, columns: ["id", "price"] })).value;
        assert.equal(exported.rows, expected);
        const [ours, theirs] = [join(folder, `ours-${format}.${to}`), join(folder, `theirs-${format}.${to}`)];
        await writeFile(ours, Buffer.from(await exported.blob.arrayBuffer()));
        await colkit("convert", path, theirs, "--force", "--where", where, "--columns", "id,price");
        const { stdout, stderr } = await colkit("diff", "--json", ours, theirs);
        assert.equal(JSON.parse(stdout || "{}").equal, true, `${to}: ${stdout}${stderr}`);
      }
      file.close();
    });
  }

  test("two files are compared as the command does", async () => {
    const changed = join(folder, "changed.ndjson");
    const lines = (await readFile(await inFormat("ndjson"), "utf8")).split("\n");
    lines[101] = lines[101].replace('"n', '"m');
    await writeFile(changed, lines.join("\n"));
    // The others have no nulls.
    for (const format of ["at1", "lance", "parquet", "arrow", "ndjson"]) {
      const path = await inFormat(format);
      const [left, right] = [await openPath(path), await openPath(changed)];
      const native = JSON.parse((await colkit("diff", "--json", path, changed)).stdout);
      const names = { left: basename(path), right: basename(changed) };
      assert.equal(native.differing_rows, 1);
      assert.deepEqual((await left.diff(right)).value, { ...native, ...names });
      const byKey = JSON.parse((await colkit("diff", "--json", "--key", "id", path, changed)).stdout);
      assert.deepEqual((await left.diff(right, { key: ["id"] })).value, { ...byKey, ...names });
    }
  });
});

describe("little is read", () => {
  /** 200 MB that hardly compress. */
  const big = async () => {
    const [path, csv] = [join(folder, "big.lance"), join(folder, "big.csv")];
    if (!made.has("big")) {
      const rows = 1_100_000;
      const out = createWriteStream(csv);
      out.write("id,a,text\n");
      for (let i = 0; i < rows; i += 10_000) {
        const random = randomBytes(10_000 * 150);
        const line = (_, n) => `${i + n},${random.readUInt32LE(n * 150)},${random.toString("base64", n * 150, (n + 1) * 150)}\n`;
        if (!out.write(Array.from({ length: 10_000 }, line).join(""))) await once(out, "drain");
      }
      out.end();
      await once(out, "finish");
      const { stderr } = await colkit("convert", csv, path);
      assert.ok(!stderr.includes("error:"), stderr);
      made.set("big", rows);
    }
    return { path, csv, rows: made.get("big") };
  };

  test("a large Lance file", async () => {
    const { path, rows } = await big();
    const size = statSync(path).size;
    assert.ok(size > 2e8, `${size} bytes`);
    const file = await openPath(path);
    assert.ok(file.opening.bytes < 1e6, `opening read ${file.opening.bytes} bytes`);
    assert.equal(file.inspection.rows, rows);
    const first = await file.rows({ start: 0, count: 50 });
    assert.equal(first.value.cells[49][0], "49");
    const last = await file.rows({ start: rows - 1, count: 1 });
    assert.equal(last.value.cells[0][0], String(rows - 1));
    assert.ok(last.traffic.bytes < 2e6, `the last row read ${last.traffic.bytes} bytes`);
    const layout = await file.layout();
    assert.ok(layout.traffic.bytes < 1e6, `the layout read ${layout.traffic.bytes} bytes`);
    console.log(`# ${size} bytes: opening ${file.opening.bytes}, 50 rows ${first.traffic.bytes}, last row ${last.traffic.bytes}, layout ${layout.traffic.bytes}`);
  });

  test("the start of a long text", async () => {
    const { csv } = await big();
    const size = statSync(csv).size;
    const file = await openPath(csv);
    assert.ok(file.opening.bytes < 8 << 20, `opening read ${file.opening.bytes} bytes`);
    assert.ok(file.inspection.sample.bytes < 8 << 20);
    assert.equal(file.inspection.bytes, size);
    const { value } = await file.rows({ start: 0, count: 3 });
    assert.deepEqual(value.cells.map((cells) => cells[0]), ["0", "1", "2"]);
  });
});

describe("trouble", () => {
  test("damage is told with its place", async () => {
    const bytes = await readFile(await inFormat("lance"));
    const cut = await failure(() => openBytes("cut.lance", bytes.subarray(0, bytes.length - 10)));
    assert.equal(cut.class, "corrupt");
    assert.equal(cut.file, "cut.lance");
    assert.equal(typeof cut.offset, "number");
    const none = await failure(() => openBytes("none.bin", new Uint8Array([0, 1, 2, 3, 255, 254])));
    assert.deepEqual([none.class, none.code], ["unsupported", "unknown_format"]);
    const empty = await failure(() => openBytes("empty.csv", new Uint8Array()));
    assert.ok(empty.code, JSON.stringify(empty));
  });

  test("damaged zstd checksums are noticed", async () => {
    // AT-1 keeps zstd frames with checksums.
    const path = join(repository, "crates/colkit-at1/tests/data/raw_zstd_checksum.at1");
    const bytes = await readFile(path);
    const frame = bytes.indexOf(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
    assert.ok(frame > 0);
    const good = (await (await openBytes("good.at1", bytes)).verify()).value;
    assert.deepEqual(good.errors, []);
    const unnoticed = [];
    for (let at = frame + 4; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] ^= 1;
      let valid = true;
      const problem = await failure(async () => {
        valid = (await (await openBytes("bad.at1", damaged)).verify()).value.valid;
      });
      if (valid && !problem) unnoticed.push(damaged);
    }
    // One bit is reserved and means nothing: the content is the same.
    assert.ok(unnoticed.length <= 1, `${unnoticed.length} of ${bytes.length - frame}`);
  });

  test("a trap does not end the reader", async () => {
    const file = await openPath(await inFormat("lance"));
    const other = await openPath(await inFormat("parquet"));
    const { instance } = reader.engine;
    // As a bug would: the module is left with a job that it cannot step.
    const { exports } = instance;
    Object.defineProperty(instance, "exports", {
      value: { ...exports, memory: exports.memory, step: () => { throw new WebAssembly.RuntimeError("unreachable"); } },
    });
    const [problem, beside] = await Promise.all([
      failure(() => file.rows({ start: 0, count: 1 })),
      other.rows({ start: 7, count: 1 }),
    ]);
    assert.deepEqual([problem.class, problem.code], ["internal", "internal_error"]);
    assert.equal(beside.value.cells[0][0], "7", "what others do goes on");
    const { value } = await file.rows({ start: 0, count: 1 });
    assert.equal(value.cells[0][0], "0");
  });

  test("work is stopped", async () => {
    const file = await openPath(await inFormat("csv"));
    const controller = new AbortController();
    const counting = file.count({ where: "id > 5" }, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(counting, /enough/);
    const fractions = [];
    await openPath(await inFormat("csv"), { progress: (fraction) => fractions.push(fraction) });
    await file.statistics({}, { progress: (fraction) => fractions.push(fraction) });
    assert.ok(fractions.length > 1 && fractions.every((f) => f >= 0 && f <= 1), `${fractions}`);
  });
});

describe("servers", () => {
  let server;
  let log = [];
  let answersRanges = true;
  before(async () => {
    server = createServer(async (request, response) => {
      const path = join(folder, basename(request.url));
      const { size } = statSync(path, { throwIfNoEntry: false }) ?? {};
      if (size === undefined) return response.writeHead(404).end();
      const range = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "");
      log.push(request.headers.range);
      if (!range || !answersRanges) {
        response.writeHead(200, { "content-length": size });
        return createReadStream(path).pipe(response);
      }
      const [start, end] = [Number(range[1]), Math.min(Number(range[2]), size - 1)];
      response.writeHead(206, { "content-range": `bytes ${start}-${end}/${size}`, "content-length": end - start + 1 });
      createReadStream(path, { start, end }).pipe(response);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  after(() => server.close());
  const url = (name) => `http://127.0.0.1:${server.address().port}/${name}`;

  test("ranges of a file", async () => {
    const path = await inFormat("lance");
    log = [];
    const file = await open({ kind: "url", name: "table.lance", url: url(basename(path)) });
    assert.equal(file.opening.requests, log.length);
    const { value } = await file.rows({ start: 10, count: 2 });
    assert.deepEqual(value.cells.map((cells) => cells[0]), ["10", "11"]);
    const { traffic } = await file.rows({ start: 10, count: 2 });
    assert.equal(traffic.requests, 0, "what was read is at hand");
    assert.ok(traffic.cached > 0);
  });

  test("a server without ranges", async () => {
    answersRanges = false;
    const path = await inFormat("lance");
    const file = await open({ kind: "url", name: "table.lance", url: url(basename(path)) });
    assert.equal(file.opening.bytes, statSync(path).size);
    await writeFile(join(folder, "long.lance"), "");
    await truncate(join(folder, "long.lance"), 70 << 20);
    const problem = await failure(() => open({ kind: "url", name: "long.lance", url: url("long.lance") }));
    assert.deepEqual([problem.class, problem.code], ["io", "not_possible"]);
    const missing = await failure(() => open({ kind: "url", name: "x", url: url("nothing.lance") }));
    assert.equal(missing.code, "not_found");
    answersRanges = true;
  });
});

test("gzip is taken off", async () => {
  const packed = gzipSync(await readFile(await inFormat("csv")));
  const file = await openBytes("table.csv.gz", packed);
  assert.deepEqual([file.inspection.rows, file.inspection.format], [ROWS, "csv"]);
  assert.match(file.inspection.properties.compression, /^gzip, /);
});
