// Measures the explorer with large files: `COLKIT_WASM=... node measure.mjs [--http] [--runs N] FILE...` prints, for each file, the
// time from choosing it to its overview and to its first rows, the requests and bytes for that, frames per second while scrolling, and
// requests and bytes for going to the last row. Of several runs the fastest counts. With `--http` the files are served instead.
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { launch, newPage } from "./test/browser.mjs";
import { startServer } from "./test/server.mjs";
import { buildSite } from "./test/site.mjs";

const { values: options, positionals: paths } = parseArgs({
  options: { http: { type: "boolean", default: false }, runs: { type: "string", default: "1" } },
  allowPositionals: true,
});
const LONG = { timeout: 600_000 };
const site = await buildSite();
const browser = await launch();

/** Adds up what all answers of the reader cost, those that the page does not mention included. */
function countTraffic() {
  const total = { requests: 0, bytes: 0 };
  const Real = window.Worker;
  window.Worker = class extends Real {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        const traffic = data.done?.traffic ?? data.done?.opening;
        total.requests += traffic?.requests ?? 0;
        total.bytes += traffic?.bytes ?? 0;
      });
    }
  };
  window.trafficSoFar = () => ({ ...total });
}

/** What was read, once nothing more is. */
async function settled(page) {
  for (let last; ; ) {
    const now = await page.evaluate(() => window.trafficSoFar());
    if (last && last.requests === now.requests) return now;
    last = now;
    await page.waitForTimeout(700);
  }
}

async function choose(page, path) {
  await page.getByRole("button", { name: "Choose files" }).waitFor();
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Choose files" }).click(),
  ]);
  const started = performance.now();
  await chooser.setFiles(path);
  return started;
}

/** Frames per second while the grid scrolls for three seconds. */
function scroll(grid) {
  return grid.evaluate(async (element) => {
    const start = performance.now();
    let drawn = 0;
    while (performance.now() - start < 3000) {
      element.scrollTop += 90;
      await new Promise((done) => requestAnimationFrame(done));
      drawn++;
    }
    return Math.round(drawn / 3);
  });
}

async function measure(path) {
  const server = await startServer({ page: site.page, files: options.http ? [path] : [] });
  const page = await newPage(browser);
  await page.addInitScript(countTraffic);
  let started = performance.now();
  await page.goto(server.url);
  if (!options.http) started = await choose(page, path);
  const since = () => Math.round(performance.now() - started);
  await page.locator(".main-facts").waitFor(LONG);
  const opened = since();
  await page.keyboard.press("2");
  await page.locator('.grid-cell[data-row="0"]:not(.waiting)').first().waitFor(LONG);
  const rows = since();
  const first = await settled(page);
  const grid = page.getByRole("grid");
  const frames = await scroll(page.locator(".grid"));
  const before = await settled(page);
  const count = Number(await grid.getAttribute("aria-rowcount"));
  await grid.focus();
  const jumped = performance.now();
  await page.keyboard.press("Control+End");
  // The heading is a row too.
  await page.locator(`.grid-cell[data-row="${count - 2}"]:not(.waiting)`).first().waitFor(LONG);
  const last = Math.round(performance.now() - jumped);
  const after = await settled(page);
  if (page.errors.length > 0) throw new Error(page.errors.join("\n"));
  await page.context().close();
  server.close();
  return { opened, rows, first, frames, last, jump: { requests: after.requests - before.requests, bytes: after.bytes - before.bytes } };
}

const cost = ({ requests, bytes }) => `${requests} requests, ${bytes.toLocaleString("en")} bytes`;
console.log("| file | size | overview | first rows | read | frames per second | last row | read |\n|---|---|---|---|---|---|---|---|");
for (const path of paths) {
  const { size } = await stat(path);
  const runs = [];
  for (let i = 0; i < Number(options.runs); i++) runs.push(await measure(path));
  const { opened, rows, first, frames, last, jump } = runs.reduce((best, run) => (run.rows < best.rows ? run : best));
  const megabytes = (size / 1e6).toFixed(0);
  console.log(
    `| ${basename(path)} | ${megabytes} MB | ${opened} ms | ${rows} ms | ${cost(first)} | ${frames} | ${last} ms | ${cost(jump)} |`,
  );
}
await browser.close();
await site.done();
