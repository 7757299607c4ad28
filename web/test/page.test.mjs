// The page in headless Chromium: everything a user does with one file or two.
import assert from "node:assert/strict";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, newPage } from "./browser.mjs";
import { startServer } from "./server.mjs";
import { buildSite, isReal, run, tourTables } from "./site.mjs";

let site, server, browser, table;

before(async () => {
  site = await buildSite();
  table = await tourTables(join(site.folder, "tour"));
  await writeFile(table("damaged.lance"), await readFile(table("trades.lance")));
  await truncate(table("damaged.lance"), 100_000);
  await writeFile(table("changed.csv"), (await readFile(table("trades.csv"), "utf8")).replace("ETH-USD,71700.06,243", "ETH-USD,71700.07,244"));
  server = await startServer({ page: site.page, files: [table("trades.lance"), table("changed.csv"), table("damaged.lance")], sql: false });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
  await site?.done();
});

const view = (page, name) => page.locator(".views").getByRole("tab", { name, exact: true });

async function opened(t, options = {}) {
  const page = await newPage(browser, options);
  t.after(() => page.context().close());
  await page.goto(server.url);
  await page.locator(".overview .tile").first().waitFor();
  return page;
}

/** The texts of the cells of one drawn row. */
async function cellsOf(page, row) {
  const cells = page.locator(`.grid-cell[data-row="${row}"]`);
  await page.locator(`.grid-cell[data-row="${row}"]:not(.waiting)`).first().waitFor();
  return cells.allTextContents();
}

describe("opening", () => {
  test("a served file opens, others wait in tabs", async (t) => {
    const page = await opened(t);
    assert.deepEqual(await page.locator(".files [role=tab]").allTextContents(), ["trades.lance", "changed.csv", "damaged.lance"]);
    assert.match(await page.locator(".main-facts").innerText(), /lance[^]*20,000[^]*6[^]*158 KiB/);
    assert.deepEqual(page.errors, []);
  });

  test("files chosen with the dialog open in tabs", async (t) => {
    const page = await opened(t);
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open", exact: true }).click()]);
    await chooser.setFiles([table("trades.parquet"), table("trades.at1")]);
    await page.getByRole("heading", { name: "trades.parquet" }).waitFor();
    assert.equal(await page.locator(".files [role=tab]").count(), 5);
  });

  test("a dropped file opens", async (t) => {
    const page = await opened(t);
    const text = await readFile(table("trades.csv"), "utf8");
    const data = await page.evaluateHandle((content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], "dropped.csv"));
      return transfer;
    }, text.slice(0, text.indexOf("\n", 10_000) + 1));
    await page.dispatchEvent("main", "dragenter", { dataTransfer: data });
    assert.ok(await page.locator(".drop-cover").isVisible());
    await page.dispatchEvent("main", "drop", { dataTransfer: data });
    await page.getByRole("heading", { name: "dropped.csv" }).waitFor();
  });

  test("an address opens", async (t) => {
    const page = await opened(t);
    await page.keyboard.press("u");
    await page.getByLabel("Address of a file").fill(`${server.url}files/0`);
    await page.keyboard.press("Enter");
    await page.locator(".files").getByRole("tab", { name: "0", exact: true }).waitFor();
    await page.locator(".overview .tile").first().waitFor();
  });

  test("a damaged file shows where it is damaged", async (t) => {
    const page = await opened(t);
    await page.getByRole("tab", { name: "damaged.lance" }).click();
    const text = await page.locator(".problem").innerText();
    assert.match(text, /LANC/);
    assert.match(text, /damaged\.lance/);
    assert.match(text, /99,996 \(0x1869c\)/);
    assert.match(text, /footer/);
    assert.match(text, /Hint:/);
  });

  test("nothing is loaded from elsewhere", async (t) => {
    const page = await newPage(browser);
    t.after(() => page.context().close());
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(server.url);
    await page.locator(".overview .tile").first().waitFor();
    assert.deepEqual(asked.filter((url) => !url.startsWith(server.url) && !/^(blob|data):/.test(url)), []);
  });
});

describe("rows", () => {
  test("the first rows are those of the command", async (t) => {
    const page = await opened(t);
    await view(page, "Rows").click();
    const lines = (await run("head", "-n", "5", "--as", "ndjson", table("trades.lance"))).toString().trim().split("\n");
    for (const [row, line] of lines.entries()) {
      const expected = [...line.matchAll(/:("(?:[^"\\]|\\.)*"|[^,}]+)/g)].map(([, value]) => (value === '""' ? "empty" : value.startsWith('"') ? JSON.parse(value) : value));
      assert.deepEqual(await cellsOf(page, row), expected);
    }
  });

  test("the keyboard reaches the last row and its whole value", async (t) => {
    const page = await opened(t);
    await view(page, "Rows").click();
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+End");
    await page.locator('.grid-cell.active[data-row="19999"]:not(.waiting)').waitFor();
    const last = JSON.parse((await run("tail", "-n", "1", "--as", "ndjson", table("trades.lance"))).toString());
    assert.equal((await cellsOf(page, 19_999))[0], last.sym);
    await page.keyboard.press("Enter");
    assert.match(await page.locator(".detail").innerText(), /Row 19,999/);
    await page.locator(".detail button").first().focus();
    await page.keyboard.press("Escape");
    assert.ok(await page.locator(".detail").isHidden());
  });

  test("a row is gone to by its number", async (t) => {
    const page = await opened(t);
    await page.keyboard.press("g");
    await page.keyboard.type("12,345\n");
    await page.locator('.grid-cell.active[data-row="12345"]').waitFor();
    await page.keyboard.press("g");
    await page.keyboard.type("20000\n");
    assert.ok(await page.getByLabel("Go to row").evaluate((input) => !input.validity.valid));
  });

  test("a condition is completed, checked and applied", async (t) => {
    const page = await opened(t);
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
    const expected = Number((await run("count", "--where", 'quantity > 998 and sym = "BTC-USD"', table("trades.lance"))).toString());
    await page.getByText(`${expected} rows found`).waitFor();
    assert.equal((await cellsOf(page, 0))[0], "BTC-USD");
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("20,000 rows, 6 columns").waitFor();
  });

  test("a condition no row meets says so", async (t) => {
    const page = await opened(t);
    await page.keyboard.press("/");
    await page.keyboard.type("quantity > 5000\n");
    await page.getByText("No row meets the condition.").waitFor();
  });

  test("columns are hidden, moved and pinned", async (t) => {
    const page = await opened(t);
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
    const page = await opened(t);
    await view(page, "Rows").click();
    await cellsOf(page, 0);
    const [from, to] = [await page.locator(".grid-title").nth(0).boundingBox(), await page.locator(".grid-title").nth(2).boundingBox()];
    await page.mouse.move(from.x + 40, from.y + 20);
    await page.mouse.down();
    await page.mouse.move(to.x + to.width / 2 - from.width / 2 + 44, to.y + 20, { steps: 5 });
    await page.mouse.up();
    await page.waitForTimeout(50);
    assert.deepEqual((await page.locator(".grid-name").allTextContents()).slice(0, 3), ["price", "quantity", "sym"]);
  });

  test("selected cells are copied as a table", async (t) => {
    const page = await opened(t, { permissions: ["clipboard-read", "clipboard-write"] });
    await view(page, "Rows").click();
    await cellsOf(page, 1);
    await page.locator('.grid-cell[data-row="0"][data-column="0"]').click();
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Control+c");
    await page.getByText("Copied 2 rows of 2 columns.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "sym\tprice\n\u00d6RE-SEK\t29521.21\nETH-USD\t71700.06");
  });

  for (const format of ["csv", "ndjson", "parquet", "lance"]) {
    test(`what is seen is saved as ${format}`, { skip: !isReal && /parquet|lance/.test(format) }, async (t) => {
      const page = await opened(t);
      await page.keyboard.press("/");
      await page.keyboard.type("quantity > 998\n");
      await page.getByText(/rows found/).waitFor();
      await page.getByRole("button", { name: "Save as" }).click();
      await page.locator(`input[value=${format}]`).check();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save", exact: true }).click()]);
      assert.equal(download.suggestedFilename(), `trades-export.${format}`);
      const path = join(site.folder, `saved.${format}`);
      await download.saveAs(path);
      const expected = (await run("cat", "--as", "csv", "--where", "quantity > 998", table("trades.lance"))).toString();
      assert.equal((await run("cat", "--as", "csv", path)).toString(), expected);
    });
  }
});

describe("bytes", () => {
  test("the map covers the file and names what is chosen", async (t) => {
    const page = await opened(t);
    await view(page, "Bytes").click();
    const canvas = page.locator("canvas");
    await canvas.waitFor();
    assert.match(await canvas.getAttribute("aria-label"), /Map of 161,650 bytes in \d+ regions/);
    await canvas.focus();
    await page.keyboard.press("Home");
    await page.locator(".hex-line").first().waitFor();
    assert.match(await page.locator(".hex-pane").innerText(), /sym: page 0 buffer 0/);
    await page.keyboard.press("End");
    await page.locator(".hex-pane").getByText(/footer/i).first().waitFor();
    await page.locator(".hex-byte").first().waitFor();
    const shown = (await page.locator(".hex-byte").allTextContents()).slice(-4).join("");
    assert.equal(Buffer.from(shown, "hex").toString(), "LANC");
  });

  test("hovering names a region, clicking shows its bytes, the wheel zooms", async (t) => {
    const page = await opened(t);
    await view(page, "Bytes").click();
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 120);
    await page.locator(".tip").waitFor();
    assert.match(await page.locator(".tip").innerText(), /price[^]*float64[^]*KiB/);
    await page.mouse.click(box.x + box.width / 2, box.y + 120);
    await page.locator(".hex-byte.marked").waitFor();
    await page.mouse.wheel(0, -400);
    await page.getByText(/to .* of 161,650 bytes/).waitFor();
  });

  test("what the last answer read is lit up and counted", async (t) => {
    const page = await opened(t);
    await view(page, "Rows").click();
    await cellsOf(page, 0);
    await view(page, "Bytes").click();
    await page.locator("canvas").waitFor();
    assert.match(await page.locator(".read-line").innerText(), /Rows 0 to 63: this answer read [\d.]+ % of the file, \d+ requests?, [\d.]+ [KM]?i?B/);
    assert.match(await page.locator(".status .answer").innerText(), /Rows 0 to 63/);
  });
});

describe("overview, columns and compare", () => {
  test("columns have their sizes, and verifying finds the file sound", async (t) => {
    const page = await opened(t);
    assert.match(await page.locator(".columns-table tbody tr").nth(1).innerText(), /price\s+float64\s+114 KiB\s+73 %/);
    await page.getByRole("button", { name: "Verify the file" }).click();
    await page.getByText("The file is sound.").waitFor();
  });

  test("a tile leads to its bytes, a column to its statistics", async (t) => {
    const page = await opened(t);
    await page.locator(".tile").first().click();
    await page.locator(".hex-pane").getByText("price: page 0").first().waitFor();
    await view(page, "Overview").click();
    await page.locator(".columns-table").getByRole("button", { name: "quantity" }).click();
    await page.locator('.column-card[data-column="2"]').waitFor();
  });

  test("statistics come from the file first, and from all rows on request", async (t) => {
    const page = await opened(t);
    await view(page, "Columns").click();
    const card = page.locator('.column-card[data-column="1"]');
    await card.getByText("89998.63").first().waitFor();
    await page.getByRole("button", { name: "All rows" }).click();
    await card.locator(".bar").first().waitFor();
    assert.match(await card.innerText(), /Distinct\s+20,000/);
    assert.match(await page.locator('.column-card[data-column="0"]').innerText(), /SOL-EUR\s+4,003, 20 %/);
  });

  test("two files are compared", async (t) => {
    const page = await opened(t);
    await view(page, "Compare").click();
    await page.getByLabel("File to compare with").selectOption({ label: "changed.csv" });
    await page.locator(".compare").getByRole("button", { name: "Compare" }).click();
    await page.getByText("Different: 1 row of 20,000 compared.").waitFor();
    assert.match(await page.locator(".compare").innerText(), /price\s+71700.06\s+71700.07/);
  });
});

describe("everyone", () => {
  test("every control has a name, every view a heading or label", async (t) => {
    const page = await opened(t);
    for (const name of ["Overview", "Rows", "Columns", "Bytes", "Compare"]) {
      await view(page, name).click();
      await page.waitForTimeout(300);
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll("button, input, select, textarea, canvas, [role=grid]")]
          .filter((element) => element.checkVisibility())
          .filter((element) => !(element.getAttribute("aria-label") || element.textContent?.trim() || element.labels?.[0]?.textContent?.trim()))
          .map((element) => element.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(nameless, [], name);
    }
    assert.deepEqual(page.errors, []);
  });

  for (const width of [400, 1280, 2500]) {
    test(`nothing is cut off at ${width} pixels`, async (t) => {
      const page = await opened(t, { viewport: { width, height: 800 } });
      for (const name of ["Overview", "Rows", "Columns", "Bytes", "Compare"]) {
        await view(page, name).click();
        await page.waitForTimeout(300);
        const wide = await page.evaluate(() =>
          [document.documentElement, ...document.querySelectorAll("main, .panel, .toolbar")].filter((element) => element.scrollWidth > element.clientWidth + 1).map((element) => `${element.tagName}.${element.className}`),
        );
        assert.deepEqual(wide, [], name);
      }
    });
  }

  test("shortcuts are listed and act", async (t) => {
    const page = await opened(t);
    await page.keyboard.press("?");
    assert.match(await page.getByRole("dialog").innerText(), /Go to a row|go to a row/);
    await page.keyboard.press("Escape");
    for (const [key, name] of [["2", "Rows"], ["3", "Columns"], ["4", "Bytes"], ["5", "Compare"], ["1", "Overview"]]) {
      await page.keyboard.press(key);
      assert.equal(await view(page, name).getAttribute("aria-selected"), "true");
    }
    await page.keyboard.press("]");
    assert.equal(await page.getByRole("tab", { name: "changed.csv" }).getAttribute("aria-selected"), "true");
  });

  test("names and values are text, never markup", async (t) => {
    const evil = '<img src=x onerror="window.hacked=1">';
    const path = join(site.folder, "evil.csv");
    await writeFile(path, `"${evil.replaceAll('"', '""')}",b\n"${evil.replaceAll('"', '""')}",1\nx,2\n`);
    const page = await opened(t);
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open", exact: true }).click()]);
    await chooser.setFiles(path);
    await page.getByRole("heading", { name: "evil.csv" }).waitFor();
    for (const name of ["Rows", "Columns", "Bytes", "Overview"]) {
      await view(page, name).click();
      await page.waitForTimeout(300);
    }
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });
});
