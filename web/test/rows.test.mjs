// The rows of a file, as a user goes through them.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { cellsOf, startExplorer, view } from "./explorer.mjs";
import { isReal, run } from "./site.mjs";

let explorer;

before(async () => {
  explorer = await startExplorer();
});

after(() => explorer?.stop());

test("the first rows are those of the command", async (t) => {
  const page = await explorer.opened(t);
  await view(page, "Rows").click();
  const lines = (await run("head", "-n", "5", "--as", "ndjson", explorer.table("trades.lance"))).toString().trim().split("\n");
  for (const [row, line] of lines.entries()) {
    const expected = [...line.matchAll(/:("(?:[^"\\]|\\.)*"|[^,}]+)/g)].map(([, value]) =>
      value === '""' ? "empty" : value.startsWith('"') ? JSON.parse(value) : value,
    );
    assert.deepEqual(await cellsOf(page, row), expected);
  }
});

test("the keyboard reaches the last row and its whole value", async (t) => {
  const page = await explorer.opened(t);
  await view(page, "Rows").click();
  await page.getByRole("grid").focus();
  await page.keyboard.press("Control+End");
  await page.locator('.grid-cell.active[data-row="19999"]:not(.waiting)').waitFor();
  const last = JSON.parse((await run("tail", "-n", "1", "--as", "ndjson", explorer.table("trades.lance"))).toString());
  assert.equal((await cellsOf(page, 19_999))[0], last.sym);
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".detail").innerText(), /Row 19,999/);
  await page.locator(".detail button").first().focus();
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(".detail").isHidden());
});

test("a row is gone to by its number", async (t) => {
  const page = await explorer.opened(t);
  await page.keyboard.press("g");
  await page.keyboard.type("12,345\n");
  await page.locator('.grid-cell.active[data-row="12345"]').waitFor();
  await page.keyboard.press("g");
  await page.keyboard.type("20000\n");
  assert.ok(await page.getByLabel("Go to row").evaluate((input) => !input.validity.valid));
});

test("a condition is completed, checked and applied", async (t) => {
  const page = await explorer.opened(t);
  await page.keyboard.press("/");
  const box = page.getByRole("combobox", { name: "Condition" });
  await page.keyboard.type("quan");
  await page.getByRole("option", { name: /quantity/ }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await box.inputValue(), "quantity ");
  await page.keyboard.type("> ");
  await page.locator(".condition-mark mark").waitFor();
  assert.match(await page.locator(".condition-error").innerText(), /Expected/);
  await page.keyboard.type('998 and sym = "BTC-USD"');
  await page.keyboard.press("Enter");
  const expected = Number(
    (await run("count", "--where", 'quantity > 998 and sym = "BTC-USD"', explorer.table("trades.lance"))).toString(),
  );
  await page.getByText(`${expected} rows found`).waitFor();
  assert.equal((await cellsOf(page, 0))[0], "BTC-USD");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByText("20,000 rows, 6 columns").waitFor();
});

test("a condition no row meets says so", async (t) => {
  const page = await explorer.opened(t);
  await page.keyboard.press("/");
  await page.keyboard.type("quantity > 5000\n");
  await page.getByText("No row meets the condition.").waitFor();
});

test("columns are hidden, moved and pinned", async (t) => {
  const page = await explorer.opened(t);
  await view(page, "Rows").click();
  const names = () => page.locator(".grid-name").allTextContents();
  await page.locator(".rows-toolbar").getByRole("button", { name: "Columns" }).click();
  await page.getByLabel("Show price").uncheck();
  await page.getByLabel("Move quantity left").click();
  await page.getByLabel("Move quantity left").click();
  await page.getByLabel("Keep note at the left").click();
  await page.keyboard.press("Escape");
  await page.waitForTimeout(50);
  assert.deepEqual(await names(), ["note", "quantity", "sym", "buyer_is_maker", "trade_id"]);
  assert.equal((await cellsOf(page, 0))[1], "7");
  assert.match(await page.locator(".summary").innerText(), /5 of 6 columns/);
});

test("columns are dragged to another place", async (t) => {
  const page = await explorer.opened(t);
  await view(page, "Rows").click();
  await cellsOf(page, 0);
  const [from, to] = [
    await page.locator(".grid-title").nth(0).boundingBox(),
    await page.locator(".grid-title").nth(2).boundingBox(),
  ];
  await page.mouse.move(from.x + 40, from.y + 20);
  await page.mouse.down();
  await page.mouse.move(to.x + to.width / 2 - from.width / 2 + 44, to.y + 20, { steps: 5 });
  await page.mouse.up();
  await page.waitForTimeout(50);
  assert.deepEqual((await page.locator(".grid-name").allTextContents()).slice(0, 3), ["price", "quantity", "sym"]);
});

test("selected cells are copied as a table", async (t) => {
  const page = await explorer.opened(t, { permissions: ["clipboard-read", "clipboard-write"] });
  await view(page, "Rows").click();
  await cellsOf(page, 1);
  await page.locator('.grid-cell[data-row="0"][data-column="0"]').click();
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Control+c");
  await page.getByText("Copied 2 rows of 2 columns.").waitFor();
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    "sym\tprice\n\u00d6RE-SEK\t29521.21\nETH-USD\t71700.06",
  );
});

for (const format of ["csv", "ndjson", "parquet", "lance"]) {
  test(`what is seen is saved as ${format}`, { skip: !isReal && /parquet|lance/.test(format) }, async (t) => {
    const page = await explorer.opened(t);
    await page.keyboard.press("/");
    await page.keyboard.type("quantity > 998\n");
    await page.getByText(/rows found/).waitFor();
    await page.getByRole("button", { name: "Save as" }).click();
    await page.locator(`input[value=${format}]`).check();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save", exact: true }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `trades-export.${format}`);
    const path = join(explorer.folder, `saved.${format}`);
    await download.saveAs(path);
    const expected = (await run("cat", "--as", "csv", "--where", "quantity > 998", explorer.table("trades.lance"))).toString();
    assert.equal((await run("cat", "--as", "csv", path)).toString(), expected);
  });
}

test("a row that cannot be read says where the damage is", { skip: !isReal }, async (t) => {
  const bytes = await readFile(explorer.table("trades.lance"));
  bytes[60_000] ^= 0xff;
  const path = join(explorer.folder, "flipped.lance");
  await writeFile(path, bytes);
  const page = await explorer.opened(t);
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Open", exact: true }).click(),
  ]);
  await chooser.setFiles(path);
  await page.getByRole("heading", { name: "flipped.lance" }).waitFor();
  await page.getByRole("button", { name: "Verify the file" }).click();
  await page.getByText("The file is damaged.").waitFor();
  assert.match(await page.locator(".problem").first().innerText(), /Offset/);
  await page.keyboard.press("/");
  await page.keyboard.type("price > 1e9\n");
  await page.locator(".rows .problem").waitFor();
  assert.match(await page.locator(".rows .problem").innerText(), /checksum|bytes differ/);
});

test("the pane of a value has the whole row, also columns out of sight", async (t) => {
  const page = await explorer.opened(t, { viewport: { width: 500, height: 800 } });
  await view(page, "Rows").click();
  await cellsOf(page, 0);
  await page.locator('.grid-cell[data-row="2"]').first().dblclick();
  await page.locator(".detail-row").getByText("partial").waitFor();
  await page.keyboard.press("Escape");
  assert.ok(await page.locator(".detail").isHidden());
});
