// A small server with the addresses of `colkit view`, for tests of the page. It answers questions of the mock reader too.
import { execFile } from "node:child_process";
import { mkdtemp, open, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** The command the tests compare with. */
export const COLKIT = process.env.COLKIT ?? join(process.env.CARGO_TARGET_DIR ?? join(repository, "target"), "debug/colkit");

/** Runs the command and gives its output, whatever its exit code. */
export function colkit(args) {
  return new Promise((done, fail) => {
    execFile(COLKIT, args, { encoding: "buffer", maxBuffer: 1 << 30 }, (error, stdout, stderr) => {
      if (typeof error?.code === "string") fail(new Error(`${COLKIT} cannot be run (${error.code}): build it, or set COLKIT`));
      else done({ code: error ? (error.code ?? 1) : 0, stdout, stderr: stderr.toString() });
    });
  });
}

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function sendRange(request, response, path, served) {
  const { size } = await stat(path);
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const start = match ? Number(match[1]) : 0;
  const end = match && match[2] ? Math.min(Number(match[2]) + 1, size) : size;
  response.writeHead(match ? 206 : 200, {
    "content-type": "application/octet-stream",
    "accept-ranges": "bytes",
    "content-length": end - start,
    ...(match ? { "content-range": `bytes ${start}-${end - 1}/${size}` } : {}),
  });
  if (request.method === "HEAD" || end === start) return response.end();
  if (served) served.bytes += end - start;
  const file = await open(path);
  file.createReadStream({ start, end: end - 1 }).pipe(response);
}

/** Serves the page at `page` and `files`. `served` counts the requests for ranges and their bytes. */
export async function startServer({ page, files = [], sql = false, folder = undefined }) {
  const token = "token-of-the-test";
  const uploads = await mkdtemp(join(tmpdir(), "explorer-"));
  const known = [...files];
  const served = { requests: 0, bytes: 0 };
  const json = (response, value, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  const failed = (response, { stderr, stdout }) => {
    const text = stdout.toString() || stderr;
    response.writeHead(400, { "content-type": "application/json" });
    response.end(
      text.trimStart().startsWith("{")
        ? text
        : JSON.stringify({ error: { class: "request", code: "failed", message: text.trim() } }),
    );
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (!url.pathname.startsWith(`/${token}/`)) return json(response, { error: "not found" }, 404);
    const path = url.pathname.slice(token.length + 2);
    if (path === "") {
      response.writeHead(200, { "content-type": "text/html" });
      return response.end(await readFile(page));
    }
    if (path === "colkit.wasm.gz" || path === "colkit.wasm") {
      return sendRange(request, response, join(page, "..", path)).catch(() => json(response, {}, 404));
    }
    if (path === "api/files") {
      const listed = await Promise.all(
        files.map(async (file, i) => ({ name: basename(file), url: `/${token}/files/${i}`, bytes: (await stat(file)).size })),
      );
      return json(response, { files: listed, sql, tables: files.map(stem) });
    }
    if (path.startsWith("files/")) {
      served.requests++;
      return sendRange(request, response, known[Number(path.slice(6))], served);
    }
    if (path === "api/sql") {
      const query = String(await body(request));
      const result = await colkit(["sql", ...tables(files, query), "--as", "arrow", query]);
      if (result.code !== 0) return failed(response, result);
      response.writeHead(200, { "content-type": "application/vnd.apache.arrow.stream" });
      return response.end(result.stdout);
    }
    if (path === "api/plan") {
      const query = String(await body(request));
      const result = await colkit(["sql", ...tables(files, query), "--as", "csv", "--explain", query]);
      if (result.code !== 0) return failed(response, result);
      return json(response, { plan: result.stderr, ran: true, tables: await bytesPerTable(files, result.stderr) });
    }
    if (path === "mock/upload") {
      const name = join(uploads, `${known.length}-${url.searchParams.get("name")}`);
      await writeFile(name, await body(request));
      known.push(name);
      return json(response, { id: known.length - 1 });
    }
    if (path === "mock/run") {
      const { args } = JSON.parse(await body(request));
      const result = await colkit(args.map((word) => word.replace(/^FILE:(\d+)$/, (_, i) => known[Number(i)])));
      response.writeHead(200, { "x-code": String(result.code) });
      return response.end(result.code === 0 || result.stdout.length > 0 ? result.stdout : result.stderr);
    }
    if (folder && path.startsWith("folder/")) return sendRange(request, response, join(folder, basename(path)));
    json(response, { error: "not found" }, 404);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  return { url: `http://127.0.0.1:${port}/${token}/`, served, close: () => server.close() };
}

function stem(file) {
  return basename(file).replace(/\..*$/, "");
}

/** The files that a query names, as its tables. */
function tables(files, query) {
  return files.filter((file) => query.includes(stem(file))).flatMap((file) => ["--table", `${stem(file)}=${file}`]);
}

/** What the command says it read of each table. */
async function bytesPerTable(files, explained) {
  const read = [...explained.matchAll(/^(\S+), \d+ partition[^]*?read: ([\d,]+) bytes/gm)];
  return Promise.all(
    read.map(async ([, path, bytes]) => {
      const file = files.find((one) => path.includes(stem(one))) ?? files[0];
      return { name: stem(file), bytes: Number(bytes.replaceAll(",", "")), total: (await stat(file)).size };
    }),
  );
}
