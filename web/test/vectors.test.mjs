// Every format and every small test file: the page shows the rows that the command prints, or the error that it reports.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, newPage } from "./browser.mjs";
import { colkit, startServer } from "./server.mjs";
import { buildSite, isReal, load, tourTables } from "./site.mjs";

const crates = join(dirname(fileURLToPath(import.meta.url)), "../../crates");
const FOLDERS = [
  "colkit-plain/tests/data",
  "colkit-lance/tests/data/v2_0",
  "colkit-lance/tests/data/v2_1",
  "colkit-at1/tests/data",
];
const FILES = /\.(gppcol|cff|colfile|lance|at1|arrow)$/;
const ROWS = 5;
let site, server, browser, page, values, json;

before(async () => {
  site = await buildSite();
  server = await startServer({ page: site.page });
  browser = await launch();
  page = await newPage(browser, { viewport: { width: 2500, height: 800 } });
  await page.goto(server.url);
  values = await load("values.ts");
  json = await load("json-text.ts");
});

after(async () => {
  await browser?.close();
  server?.close();
  await site?.done();
});

/** What the command says about a file: its first rows and types, or its error. */
async function expected(path) {
  const inspected = await colkit(["inspect", "--json", path]);
  const said = JSON.parse(inspected.stdout.toString() || inspected.stderr);
  if (inspected.code !== 0) return { error: said.error ?? said };
  const printed = await colkit(["head", "-n", String(ROWS), "--as", "ndjson", path]);
  if (printed.code !== 0) return { columns: said.columns, rows: said.rows, error: { message: printed.stderr } };
  const lines = printed.stdout.toString().split("\n").filter(Boolean);
  const cells = lines.map((line) => json.parseJson(line).entries.map(([, value]) => json.pretty(value)));
  return { columns: said.columns, rows: said.rows, cells };
}

/** What the page shows of it. */
async function seen(path) {
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Open", exact: true }).click(),
  ]);
  await chooser.setFiles(path);
  await page.locator(".file .views, .file .problem").first().waitFor();
  if ((await page.locator(".file > .page-pad > .problem").count()) > 0)
    return { error: await page.locator(".problem-message").first().innerText() };
  await page.keyboard.press("2");
  await page.locator('.grid-cell[data-row="0"]:not(.waiting), .grid-message:not([hidden]), .rows .problem').first().waitFor();
  const cells = await page.evaluate(
    (most) =>
      Array.from({ length: most }, (_, row) =>
        [...document.querySelectorAll(`.grid-cell[data-row="${row}"]`)]
          .filter((cell) => !cell.classList.contains("waiting"))
          .map((cell) => [Number(cell.dataset.column), cell.textContent]),
      ).filter((row) => row.length > 0),
    ROWS,
  );
  const summary = await page.locator(".summary").innerText();
  const trouble = await page.locator(".rows .problem-message").allInnerTexts();
  return { cells, summary, trouble, message: await page.locator(".grid-message").innerText() };
}

async function compare(path) {
  const [theirs, ours] = await Promise.all([expected(path), seen(path)]);
  await page
    .getByRole("button", { name: `Close ${basename(path)}` })
    .first()
    .click();
  if (theirs.error && !theirs.columns) {
    assert.ok(
      ours.error || ours.trouble.length > 0,
      `${path}: the command refuses it (${theirs.error.message}), the page does not`,
    );
    return;
  }
  assert.equal(ours.error, undefined, `${path}: the page refuses it`);
  if (theirs.columns.length === 0) {
    assert.match(ours.message, /holds no table/, path);
    return;
  }
  if (theirs.error) {
    assert.ok(ours.trouble.length > 0, `${path}: the command cannot print it, the page shows it`);
    return;
  }
  assert.match(ours.summary, new RegExp(`^${theirs.rows.toLocaleString("en")} row`), path);
  assert.equal(ours.cells.length, Math.min(ROWS, theirs.cells.length), `${path}: ${ours.trouble}`);
  for (const [row, cells] of ours.cells.entries()) {
    assert.ok(cells.length > 0);
    for (const [column, text] of cells) {
      assert.equal(
        text,
        values.shown(theirs.cells[row][column], theirs.columns[column].type).text,
        `${path}: row ${row}, column ${column}`,
      );
    }
  }
}

test("the tour's table looks the same in every format", async () => {
  const table = await tourTables(join(site.folder, "tour"), 2000);
  for (const format of ["lance", "parquet", "arrow", "at1", "gppcol", "cff", "colfile", "csv", "ndjson"])
    await compare(table(`trades.${format}`));
});

for (const folder of FOLDERS) {
  test(`every file of ${folder}`, { skip: !isReal }, async (t) => {
    const names = (await readdir(join(crates, folder))).filter((name) => FILES.test(name)).sort();
    assert.ok(names.length > 10);
    const failures = [];
    for (const name of names) {
      try {
        await compare(join(crates, folder, name));
      } catch (error) {
        failures.push(`${name}: ${error.message}`.split("\n").slice(0, 4).join(" "));
      }
    }
    t.diagnostic(`${names.length} files`);
    assert.deepEqual(failures, []);
    assert.deepEqual(page.errors, []);
  });
}
