// Builds the explorer: dist/explorer.html holds scripts, styles and the worker; dist/colkit.wasm lies beside it.
// `--reader=FILE` takes another reader than src/reader/index.ts, `--out=FOLDER` writes elsewhere: the tests use both.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

const common = { bundle: true, write: false, minify: true, charset: "ascii", target: "es2022", legalComments: "none" };

/** `bundle:./worker.ts` is the text of that module with all it imports. */
const bundleAsText = {
  name: "bundle-as-text",
  setup(builder) {
    builder.onResolve({ filter: /^bundle:/ }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.slice("bundle:".length)),
      namespace: "bundle",
    }));
    builder.onLoad({ filter: /.*/, namespace: "bundle" }, async ({ path }) => {
      const result = await build({ ...common, entryPoints: [path], format: "iife" });
      return { contents: result.outputFiles[0].text, loader: "text" };
    });
  },
};

/** The page takes its reader from `explorer:reader`. */
const chosenReader = (reader) => ({
  name: "chosen-reader",
  setup(builder) {
    builder.onResolve({ filter: /^explorer:reader$/ }, () => ({ path: reader }));
  },
});

async function bundled(entry, reader) {
  const plugins = [bundleAsText, chosenReader(reader)];
  const result = await build({ ...common, entryPoints: [join(here, entry)], format: "iife", plugins });
  return result.outputFiles[0].text.trim();
}

/** Puts `text` where the template has `<!-- name -->`. */
function fill(template, name, text) {
  const place = `<!-- ${name} -->`;
  const at = template.indexOf(place);
  if (at < 0) throw new Error(`the template has no ${place}`);
  return template.slice(0, at) + text + template.slice(at + place.length);
}

/** Writes explorer.html to the folder `out`, and the module beside it if it is wanted and was built. */
export async function buildPage({ out = join(here, "dist"), reader = join(here, "src/reader/index.ts"), module = true } = {}) {
  const script = await bundled("src/main.ts", reader);
  const styles = await bundled("src/styles/all.css", reader);
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash}' 'wasm-unsafe-eval' blob:`,
    "style-src 'unsafe-inline'",
    "worker-src blob:",
    "connect-src http: https: blob: data:",
    "img-src blob: data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  let page = await readFile(join(here, "src/explorer.html"), "utf8");
  page = fill(page, "policy", `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
  page = fill(page, "styles", `<style>${styles}</style>`);
  page = fill(page, "script", `<script>${script}</script>`);
  const foreign = /[^\x00-\x7f]/.exec(page);
  if (foreign) throw new Error(`explorer.html must be ASCII, but has ${JSON.stringify(foreign[0])} at ${foreign.index}`);
  await mkdir(out, { recursive: true });
  await writeFile(join(out, "explorer.html"), page);
  if (module) await buildModule(out);
  return join(out, "explorer.html");
}

/** Copies the WebAssembly module beside the page, as it is and compressed, as the page loads it. */
async function buildModule(out) {
  const built = join(here, "src/reader/colkit.wasm");
  if (!existsSync(built)) return;
  await copyFile(built, join(out, "colkit.wasm"));
  await writeFile(join(out, "colkit.wasm.gz"), gzipSync(await readFile(built), { level: 9 }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name) => process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const chosen = { out: option("out"), reader: option("reader") && resolve(option("reader")) };
  console.log(await buildPage(JSON.parse(JSON.stringify(chosen))));
}
