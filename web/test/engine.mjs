// The reader of the page for tests without a browser: the same code, with no worker between.
import { build } from "esbuild";
import { execFile } from "node:child_process";
import { existsSync, openAsBlob } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";

export const web = dirname(dirname(fileURLToPath(import.meta.url)));
export const repository = dirname(web);

/** The command to compare with. */
export const command = process.env.COLKIT ?? join(repository, process.env.CARGO_TARGET_DIR ?? "target", "debug/colkit");

/** The module: that of COLKIT_WASM, the one built last, or the one that the command embeds. */
async function moduleBytes() {
  const embedded = join(repository, "crates/colkit-cli/assets/explorer/colkit.wasm.gz");
  const places = [process.env.COLKIT_WASM, join(web, "dist/colkit.wasm"), embedded];
  const found = places.find((place) => place && existsSync(place));
  if (!found) throw new Error("there is no module: run `make explorer`");
  const bytes = await readFile(found);
  return found.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}

/** The engine's code, and functions to open files with it. */
export async function start() {
  const contents = 'export * from "./engine"; export * from "./reader"; export * from "./contract"; export * from "./instance";';
  const stdin = { contents, resolveDir: join(web, "src/reader"), loader: "ts" };
  const bundle = await build({ stdin, bundle: true, write: false, format: "esm", target: "es2022" });
  const folder = await mkdtemp(join(tmpdir(), "colkit-reader-"));
  const file = join(folder, "reader.mjs");
  await writeFile(file, bundle.outputFiles[0].text);
  const code = await import(pathToFileURL(file));
  await rm(folder, { recursive: true });
  const module = await WebAssembly.compile(await moduleBytes());
  const engine = new code.Engine(module);
  const open = async (source, options) => {
    const opened = await engine.open(source, options);
    return code.readerOf(engine, opened.file, opened.inspection, opened.opening);
  };
  const openPath = async (path, options) =>
    open({ kind: "file", name: basename(path), file: await openAsBlob(path) }, options);
  const openBytes = (name, bytes, options) => open({ kind: "file", name, file: new Blob([bytes]) }, options);
  return { code, engine, module, open, openPath, openBytes };
}

const run = promisify(execFile);

/** Runs the command in the folder of the repository. What it printed, whether or not it succeeded. */
export async function colkit(...words) {
  const options = { maxBuffer: 2 ** 30, cwd: repository };
  const { stdout, stderr } = await run(resolve(repository, command), words, options).catch((error) => error);
  return { stdout: stdout ?? "", stderr: stderr ?? "" };
}
