// Measures the explorer with large files: `COLKIT=... node measure.mjs FILE...` prints, for each file, the time from choosing it to its
// overview and to its first rows, the bytes read for that, and frames per second while scrolling.
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { launch, newPage } from "./test/browser.mjs";
import { startServer } from "./test/server.mjs";
import { buildSite } from "./test/site.mjs";

const site = await buildSite();
const server = await startServer({ page: site.page });
const browser = await launch();

async function measure(path) {
  const page = await newPage(browser);
  await page.goto(server.url);
  await page.getByRole("button", { name: "Choose files" }).waitFor();
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Choose files" }).click(),
  ]);
  const started = performance.now();
  const since = () => Math.round(performance.now() - started);
  await chooser.setFiles(path);
  await page.locator(".main-facts").waitFor({ timeout: 600_000 });
  const opened = since();
  await page.keyboard.press("2");
  await page.locator('.grid-cell[data-row="0"]:not(.waiting)').first().waitFor({ timeout: 600_000 });
  const rows = since();
  const read = await page.locator(".status .total").innerText();
  const frames = await page.locator(".grid").evaluate(async (element) => {
    const start = performance.now();
    let drawn = 0;
    while (performance.now() - start < 3000) {
      element.scrollTop += 90;
      await new Promise((done) => requestAnimationFrame(done));
      drawn++;
    }
    return Math.round(drawn / 3);
  });
  await page.context().close();
  return { opened, rows, read, frames };
}

console.log("| file | size | overview | first rows | read | frames per second |\n|---|---|---|---|---|---|");
for (const path of process.argv.slice(2)) {
  const { size } = await stat(path);
  const { opened, rows, read, frames } = await measure(path);
  console.log(`| ${basename(path)} | ${(size / 1e6).toFixed(0)} MB | ${opened} ms | ${rows} ms | ${read} | ${frames} |`);
}
await browser.close();
server.close();
await site.done();
