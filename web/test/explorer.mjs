// The page with three served files: a Lance file, a CSV file with one other row, and a Lance file that was cut off.
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launch, newPage } from "./browser.mjs";
import { startServer } from "./server.mjs";
import { buildSite, tourTables } from "./site.mjs";

/** Builds and serves the page, and starts a browser. */
export async function startExplorer() {
  const site = await buildSite();
  const table = await tourTables(join(site.folder, "tour"));
  await writeFile(table("damaged.lance"), await readFile(table("trades.lance")));
  await truncate(table("damaged.lance"), 100_000);
  const changed = (await readFile(table("trades.csv"), "utf8")).replace("ETH-USD,71700.06,243", "ETH-USD,71700.07,244");
  await writeFile(table("changed.csv"), changed);
  const files = [table("trades.lance"), table("changed.csv"), table("damaged.lance")];
  const server = await startServer({ page: site.page, files, sql: false });
  const browser = await launch();
  return {
    folder: site.folder,
    url: server.url,
    browser,
    table,
    /** A page with the first file open, closed after the test. */
    async opened(t, options = {}) {
      const page = await newPage(browser, options);
      t.after(() => page.context().close());
      await page.goto(server.url);
      await page.locator(".overview .tile").first().waitFor();
      return page;
    },
    async stop() {
      await browser.close();
      server.close();
      await site.done();
    },
  };
}

/** The tab of a view. */
export const view = (page, name) => page.locator(".views").getByRole("tab", { name, exact: true });

/** The texts of the cells of one drawn row. */
export async function cellsOf(page, row) {
  const cells = page.locator(`.grid-cell[data-row="${row}"]`);
  await page.locator(`.grid-cell[data-row="${row}"]:not(.waiting)`).first().waitFor();
  return cells.allTextContents();
}
