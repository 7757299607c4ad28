// Makes the pictures of docs/explorer.md from the tour's data: `node screenshots.mjs`, after `npm run build`.
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, newPage } from "./test/browser.mjs";
import { startServer } from "./test/server.mjs";
import { buildSite, tourTables } from "./test/site.mjs";

const out = join(dirname(fileURLToPath(import.meta.url)), "../docs/images");
await mkdir(out, { recursive: true });
const site = await buildSite();
const table = await tourTables(join(site.folder, "tour"), 100_000);
await writeFile(table("cut.lance"), await readFile(table("trades.lance")));
await truncate(table("cut.lance"), 100_000);
const older = (await readFile(table("trades.csv"), "utf8"))
  .replace("ETH-USD,71700.06,243", "ETH-USD,71700.07,244")
  .replace("SOL-EUR,46384.79", "SOL-EUR,46384.97");
await writeFile(table("corrected.csv"), older);
const server = await startServer({
  page: site.page,
  files: [table("trades.lance"), table("corrected.csv"), table("cut.lance")],
  sql: true,
});
const browser = await launch();

/** A page with the first file open. */
async function opened(options = {}) {
  const page = await newPage(browser, { viewport: { width: 1200, height: 720 }, ...options });
  await page.goto(server.url);
  await page.locator(".overview .tile").first().waitFor();
  return page;
}

async function shoot(page, name) {
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(out, `explorer-${name}.png`) });
  await page.context().close();
}

/** The cells of the grid are there. */
const filled = (page) => page.locator('.grid-cell[data-row="5"]:not(.waiting)').first().waitFor();

const pictures = {
  async overview() {
    await shoot(await opened({ viewport: { width: 1200, height: 860 } }), "overview");
  },
  async rows() {
    const page = await opened({ viewport: { width: 1200, height: 600 } });
    await page.keyboard.press("/");
    await page.keyboard.type('price > 80000 and sym = "BTC-USD"\n');
    await filled(page);
    await page.locator('.grid-cell[data-row="3"]').nth(1).dblclick();
    await shoot(page, "rows");
  },
  async condition() {
    const page = await opened({ viewport: { width: 800, height: 400 } });
    await page.keyboard.press("/");
    await filled(page);
    await page.keyboard.type("quantity >> 3 and pr");
    await page.keyboard.press("Escape");
    await page.locator(".condition-mark mark").waitFor();
    await shoot(page, "condition");
  },
  async columns() {
    const page = await opened();
    await page.keyboard.press("3");
    await page.getByRole("button", { name: "All rows" }).click();
    await page.locator(".bar").first().waitFor();
    await shoot(page, "columns");
  },
  async bytes() {
    const page = await opened();
    await page.keyboard.press("/");
    await page.keyboard.type('note = "partial" and quantity > 990\n');
    await page.getByText(/rows? found/).waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("4");
    await page.locator("canvas").focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowRight");
    await page.locator(".hex-line").first().waitFor();
    await page.getByLabel("Go to an offset, decimal or 0x").focus();
    await shoot(page, "bytes");
  },
  async dark() {
    const page = await opened({ colorScheme: "dark" });
    await page.keyboard.press("4");
    await page.locator("canvas").waitFor();
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width / 3, box.y + 150);
    await shoot(page, "dark");
  },
  async narrow() {
    const page = await opened({ viewport: { width: 400, height: 720 } });
    await page.keyboard.press("2");
    await filled(page);
    await shoot(page, "narrow");
  },
  async sql() {
    const page = await opened();
    await page.getByRole("tab", { name: "SQL" }).click();
    await page
      .getByLabel("SQL query")
      .fill(
        "select sym, count(*) as trades, avg(price) as mean_price, max(quantity) as most\nfrom trades group by sym order by sym",
      );
    await page.keyboard.press("Control+Enter");
    await page.locator('.grid-cell[data-row="4"]:not(.waiting)').first().waitFor();
    await page.locator(".plan summary").click();
    await shoot(page, "sql");
  },
  async compare() {
    const page = await opened();
    await page.keyboard.press("5");
    await page.locator(".compare").getByRole("button", { name: "Compare" }).click();
    await page.locator(".verdict").waitFor();
    await shoot(page, "compare");
  },
  async error() {
    const page = await opened({ viewport: { width: 800, height: 420 } });
    await page.getByRole("tab", { name: "cut.lance" }).click();
    await page.locator(".problem").waitFor();
    await shoot(page, "error");
  },
};

const wanted = process.argv.slice(2);
for (const [name, make] of Object.entries(pictures)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  await make();
  console.log(`explorer-${name}.png`);
}
await browser.close();
server.close();
await site.done();
