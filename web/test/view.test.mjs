// The page as `colkit view` serves it. What the command embeds may be older than this folder: the page and module of this folder take
// the place of its own, all else is answered by the command.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { launch, newPage } from "./browser.mjs";
import { COLKIT, colkit } from "./server.mjs";
import { buildSite, compressedModule, isReal, tourTables } from "./site.mjs";

const skip = !isReal || (await colkit(["view", "--help"])).code !== 0;
let site, browser, command, url, page;

/** Starts the command and gives the address it prints. */
async function serve(files) {
  command = spawn(COLKIT, ["view", "--no-open", ...files], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: command.stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address) return address;
  }
  throw new Error("colkit view ended without an address");
}

before(async () => {
  if (skip) return;
  site = await buildSite();
  const table = await tourTables(join(site.folder, "tour"));
  url = await serve([table("trades.lance"), table("trades.csv")]);
  browser = await launch();
  page = await newPage(browser);
  const html = await readFile(site.page);
  const module = await compressedModule();
  await page.route(url, async (route) => {
    const policy = /content="(default-src[^"]*)"/.exec(html)[1].replace(/connect-src [^;]*/, "connect-src 'self' blob: data:");
    await route.fulfill({
      body: html,
      headers: { "content-type": "text/html; charset=windows-1252", "content-security-policy": policy },
    });
  });
  await page.route(`${url}colkit.wasm.gz`, (route) => route.fulfill({ body: module }));
});

after(async () => {
  await browser?.close();
  command?.kill("SIGINT");
  await site?.done();
});

test("served files open and show their rows", { skip }, async () => {
  await page.goto(url);
  await page.locator(".overview .tile").first().waitFor();
  assert.deepEqual(await page.locator(".files [role=tab]").allTextContents(), ["SQL", "trades.lance", "trades.csv"]);
  await page.keyboard.press("2");
  const cell = page.locator('.grid-cell[data-row="1"][data-column="0"]:not(.waiting)');
  await cell.waitFor();
  assert.equal(await cell.textContent(), "ETH-USD");
  await page.keyboard.press("]");
  await page.getByRole("heading", { name: "trades.csv" }).waitFor();
});

test("SQL runs, with the bytes it read", { skip }, async () => {
  await page.getByRole("tab", { name: "SQL" }).click();
  const table = /Tables: ([^,]+)/.exec(await page.locator(".tables").innerText())[1];
  await page.getByLabel("SQL query").fill(`select sym, count(*) as n from ${table} group by sym order by sym`);
  await page.keyboard.press("Control+Enter");
  await page.locator('.grid-cell[data-row="4"]:not(.waiting)').first().waitFor();
  assert.deepEqual(await page.locator('.grid-cell[data-row="0"]').allTextContents(), ["BTC-USD", "3996"]);
  await page.locator(".plan summary").click();
  assert.match(await page.locator(".plan").innerText(), /this answer read .*KiB/);
  await page.getByLabel("SQL query").fill("select nothing from nowhere");
  await page.keyboard.press("Control+Enter");
  await page.locator(".sql .problem").waitFor();
  assert.deepEqual(page.errors, []);
});
