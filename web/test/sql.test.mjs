// SQL over served files.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, newPage } from "./browser.mjs";
import { startServer } from "./server.mjs";
import { buildSite, tourTables } from "./site.mjs";

let site, server, browser, page;

before(async () => {
  site = await buildSite();
  const table = await tourTables(join(site.folder, "tour"));
  server = await startServer({ page: site.page, files: [table("trades.lance")], sql: true });
  browser = await launch();
  page = await newPage(browser);
  await page.goto(server.url);
  await page.getByRole("tab", { name: "SQL" }).click();
});

after(async () => {
  await browser?.close();
  server?.close();
  await site?.done();
});

const editor = () => page.getByLabel("SQL query");

test("a query gives a grid, a plan and bytes per table", async () => {
  await editor().fill("select sym, count(*) as n from trades group by sym order by sym");
  await page.keyboard.press("Control+Enter");
  await page.locator('.grid-cell[data-row="4"]:not(.waiting)').first().waitFor();
  assert.deepEqual(await page.locator('.grid-cell[data-row="0"]').allTextContents(), ["BTC-USD", "3996"]);
  assert.match(await page.locator(".sql-line").innerText(), /5 rows, 2 columns/);
  await page.locator(".plan summary").click();
  assert.match(await page.locator(".plan").innerText(), /trades[^]*KiB of 158 KiB, [\d.]+ %/);
});

test("a wrong query says what is wrong", async () => {
  await editor().fill("select nothing from trades");
  await page.getByRole("button", { name: "Run" }).click();
  await page.locator(".sql .problem").waitFor();
  assert.match(await page.locator(".sql .problem").innerText(), /nothing/);
});

test("earlier queries come back", async () => {
  await page.getByLabel("Earlier queries").selectOption("1");
  assert.match(await editor().inputValue(), /count\(\*\)/);
  await page.reload();
  await page.getByRole("tab", { name: "SQL" }).click();
  assert.equal(await page.getByLabel("Earlier queries").locator("option").count(), 3);
  await page.getByRole("button", { name: "Forget" }).click();
  assert.equal(await page.getByLabel("Earlier queries").locator("option").count(), 1);
});

test("a result without rows says so", async () => {
  await editor().fill("select sym from trades where quantity > 5000");
  await page.keyboard.press("Control+Enter");
  await page.getByText("The result has no rows.").waitFor();
  assert.deepEqual(page.errors, []);
});
