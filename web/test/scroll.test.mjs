// Scrolling through more rows than a browser can make an element high.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildPage } from "../build.mjs";
import { launch, newPage } from "./browser.mjs";
import { startServer } from "./server.mjs";

const LAST = 49_999_999;
let folder, server, browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "explorer-scroll-"));
  const page = await buildPage({
    out: folder,
    module: false,
    reader: join(dirname(fileURLToPath(import.meta.url)), "mock/many-rows.ts"),
  });
  await writeFile(join(folder, "numbers.bin"), "x");
  server = await startServer({ page, files: [join(folder, "numbers.bin")] });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
  await rm(folder, { recursive: true, force: true });
});

async function grid(t) {
  const page = await newPage(browser);
  t.after(() => page.context().close());
  await page.goto(server.url);
  await page.locator(".overview").waitFor();
  await page.keyboard.press("2");
  await shown(page, 0);
  return page;
}

/** Waits until a row is drawn with its values, which must be its own. */
async function shown(page, row) {
  const cell = page.locator(`.grid-cell[data-row="${row}"][data-column="0"]:not(.waiting)`);
  await cell.waitFor({ timeout: 5000 });
  assert.equal(await cell.textContent(), String(row));
}

const firstRow = (page) =>
  page.evaluate(() => Math.min(...[...document.querySelectorAll(".grid-cell")].map((cell) => Number(cell.dataset.row))));
const scroll = (page, share) =>
  page.locator(".grid").evaluate((element, to) => {
    element.scrollTop = to * element.scrollHeight;
  }, share);

test("the bar reaches the first, the last and the middle row", async (t) => {
  const page = await grid(t);
  await scroll(page, 1);
  await shown(page, LAST);
  await scroll(page, 0.5);
  await page.waitForTimeout(300);
  const middle = await firstRow(page);
  assert.ok(Math.abs(middle - LAST / 2) < LAST / 1000, `row ${middle}`);
  await scroll(page, 0);
  await shown(page, 0);
});

test("the wheel moves row by row, anywhere", async (t) => {
  const page = await grid(t);
  await page.keyboard.press("g");
  await page.keyboard.type("25000000\n");
  await shown(page, 25_000_000);
  const box = await page.locator(".grid").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 300);
  for (let step = 0; step < 10; step++) {
    const before = await firstRow(page);
    await page.mouse.wheel(0, 280);
    await page.waitForTimeout(250);
    const after = await firstRow(page);
    assert.equal(after - before, 10);
  }
});

test("the wheel reaches the very end", async (t) => {
  const page = await grid(t);
  await page.keyboard.press("g");
  await page.keyboard.type(`${LAST - 500}\n`);
  await shown(page, LAST - 500);
  const box = await page.locator(".grid").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 300);
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, 400);
    await page.waitForTimeout(20);
  }
  await shown(page, LAST);
});

test("only what is seen is read", async (t) => {
  const page = await grid(t);
  const atFirst = await page.evaluate(() => ({ ...globalThis.asked }));
  assert.ok(atFirst.most <= 128, `${atFirst.most} rows at once`);
  assert.ok(atFirst.cells <= 64 * 12, `${atFirst.cells} cells`);
  await page.keyboard.press("Escape");
  await page.getByRole("grid").focus();
  await page.keyboard.press("Control+End");
  await page.locator(`.grid-cell.active[data-row="${LAST}"]:not(.waiting)`).waitFor();
  const now = await page.evaluate(() => ({ ...globalThis.asked }));
  assert.ok(now.cells - atFirst.cells <= 128 * 30, `${now.cells} cells`);
});

test("scrolling is smooth", async (t) => {
  const page = await grid(t);
  const frames = await page.locator(".grid").evaluate(async (element) => {
    const start = performance.now();
    let frames = 0;
    while (performance.now() - start < 2000) {
      element.scrollTop += 120;
      await new Promise((done) => requestAnimationFrame(done));
      frames++;
    }
    return frames / 2;
  });
  t.diagnostic(`${frames} frames per second`);
  // Machines that run tests are busy: this only catches a grid that hangs.
  assert.ok(frames > 4, `${frames} frames per second`);
});
