// A large file is opened by reading little of it, and its last rows cost what `take` costs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, newPage } from "./browser.mjs";
import { colkit, startServer } from "./server.mjs";
import { buildSite, isReal, run } from "./site.mjs";

const MEBI = 1 << 20;
const ROWS = 8_000_000;
/** Where the file is kept, as it takes a while to make. */
const FOLDER = process.env.EXPLORER_LARGE;
let site, server, browser, file;

before(async () => {
  if (!isReal) return;
  site = await buildSite();
  file = join(FOLDER ?? site.folder, "large.lance");
  if (!existsSync(file)) {
    const parts = `select value as id, value * 0.37 as price, concat('name ', value * 7919 % 1000003) as name, sin(value) as wave, cos(value) as other, value * 2654435761 % 4294967296 as hash from generate_series(1, ${ROWS})`;
    await run("sql", "--quiet", "--out", file, parts);
  }
  server = await startServer({ page: site.page, files: [file] });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
  await site?.done();
});

/** Bytes of the file that the server sent. */
const sent = () => server.served.bytes;

test("200 MB open with less than 1 MB, the last row costs what take costs", { skip: !isReal }, async (t) => {
  const { size } = await stat(file);
  assert.ok(size > 190 * MEBI, `the file has ${size} bytes`);
  const page = await newPage(browser);
  const started = performance.now();
  await page.goto(server.url);
  await page.locator(".overview .tile").first().waitFor();
  t.diagnostic(`overview after ${Math.round(performance.now() - started)} ms and ${sent()} of ${size} bytes`);
  assert.ok(sent() < MEBI, `${sent()} bytes to open`);
  await page.keyboard.press("2");
  await page.locator('.grid-cell[data-row="0"]:not(.waiting)').first().waitFor();
  t.diagnostic(`first rows after ${Math.round(performance.now() - started)} ms and ${sent()} bytes`);
  const before = sent();
  await page.getByRole("grid").focus();
  await page.keyboard.press("Control+End");
  await page
    .locator(`.grid-cell[data-row="${ROWS - 1}"]:not(.waiting)`)
    .last()
    .waitFor();
  await page.waitForTimeout(500);
  const cost = sent() - before;
  const rows = Array.from({ length: 64 }, (_, i) => ROWS - 64 + i).join(",");
  const explained = (await colkit(["take", file, "--rows", rows, "--explain", "--as", "ndjson"])).stderr;
  const taken = Number(/read:? *([\d,]+)/.exec(explained)?.[1].replaceAll(",", ""));
  t.diagnostic(`the last rows: ${cost} bytes, take: ${taken} bytes`);
  assert.ok(cost <= taken * 1.5 + 64 * 1024, `${cost} bytes, take reads ${taken}`);
  assert.deepEqual(page.errors, []);
});
