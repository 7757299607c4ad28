// The page with reader and data inside of it, opened from disk without a server.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, newPage } from "./browser.mjs";
import { buildSite, compressedModule, encode, isReal, tourTables } from "./site.mjs";

let site, browser, file;

/** Puts bytes where the page has a comment, as the command does. */
function embed(page, id, bytes, name) {
  const shift = 7;
  const open = `<script type="application/octet-stream" id="${id}" data-shift="${shift}"${name ? ` data-name="${name}"` : ""}>`;
  const place = Buffer.from(`<!-- ${id} -->`);
  const at = page.indexOf(place);
  assert.ok(at > 0, `the page has a place for the ${id}`);
  return Buffer.concat([
    page.subarray(0, at),
    Buffer.from(open),
    encode(bytes, shift),
    Buffer.from("</script>"),
    page.subarray(at + place.length),
  ]);
}

before(async () => {
  if (!isReal) return;
  site = await buildSite();
  const table = await tourTables(join(site.folder, "tour"));
  let page = await readFile(site.page);
  page = embed(page, "module", await compressedModule());
  page = embed(page, "data", await readFile(table("trades.lance")), "trades.lance");
  file = join(site.folder, "trades.html");
  await writeFile(file, page);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await site?.done();
});

test("it opens from disk, asks for nothing, and shows its rows", { skip: !isReal }, async () => {
  const page = await newPage(browser);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  await page.getByRole("heading", { name: "trades.lance" }).waitFor();
  assert.match(await page.locator(".main-facts").innerText(), /20,000/);
  await page.keyboard.press("2");
  const cell = page.locator('.grid-cell[data-row="1"][data-column="0"]:not(.waiting)');
  await cell.waitFor();
  assert.equal(await cell.textContent(), "ETH-USD");
  await page.keyboard.press("/");
  await page.keyboard.type("quantity > 5000\n");
  await page.getByText("No row meets the condition.").waitFor();
  assert.deepEqual(
    asked.filter((url) => !/^(file|blob|data):/.test(url)),
    [],
  );
  assert.deepEqual(page.errors, []);
});
