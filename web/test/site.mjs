// What every test of the page needs: the page with its reader, a browser, and tables made by the command.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { buildPage } from "../build.mjs";
import { colkit } from "./server.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** The module, compressed or not. Without it, the page is tested with a reader that asks the command. */
const MODULE = process.env.COLKIT_WASM ?? join(here, "../src/reader/colkit.wasm");
export const isReal = existsSync(MODULE) && process.env.EXPLORER_READER !== "mock";

/** The module as the page loads it. */
export async function compressedModule() {
  const bytes = await readFile(MODULE);
  return bytes[0] === 0x1f ? bytes : gzipSync(bytes, { level: 1 });
}

/** Builds the page into a new folder; `done` removes it. */
export async function buildSite() {
  const folder = await mkdtemp(join(tmpdir(), "explorer-site-"));
  const reader = isReal ? {} : { reader: join(here, "mock/reader.ts") };
  const page = await buildPage({ out: folder, module: false, ...reader });
  if (isReal) await writeFile(join(folder, "colkit.wasm.gz"), await compressedModule());
  return { folder, page, done: () => rm(folder, { recursive: true, force: true }) };
}

/** The exports of a module of the page. */
export async function load(path) {
  const { outputFiles } = await build({
    entryPoints: [join(here, "../src", path)],
    bundle: true,
    write: false,
    format: "esm",
    external: ["explorer:reader"],
  });
  const folder = await mkdtemp(join(tmpdir(), "explorer-module-"));
  await writeFile(join(folder, "module.mjs"), outputFiles[0].text);
  const exports = await import(join(folder, "module.mjs"));
  await rm(folder, { recursive: true });
  return exports;
}

/** Runs the command; fails with what it said. */
export async function run(...args) {
  const result = await colkit(args);
  if (result.code !== 0) throw new Error(`colkit ${args.join(" ")}: ${result.stderr || result.stdout}`);
  return result.stdout;
}

/** The tour's table in every format, in `folder`. */
export async function tourTables(folder, rows = 20_000) {
  await mkdir(folder, { recursive: true });
  await run("tour", "--rows", String(rows), "--keep", folder, "--quiet", "--force");
  for (const name of ["trades.parquet", "trades.arrow", "trades.ndjson"])
    await run("convert", "--quiet", "--force", join(folder, "trades.csv"), join(folder, name));
  return (name) => join(folder, name);
}

/** The single-file form as `colkit view --html` writes it. */
export function encode(bytes, shift) {
  const out = [];
  for (const byte of bytes) {
    const moved = (byte + shift) & 0xff;
    if (moved === 0 || moved === 0x0d || moved === 0x3c || moved === 0x3d) out.push(0x3d, (moved + 64) & 0xff);
    else out.push(moved);
  }
  return Buffer.from(out);
}
