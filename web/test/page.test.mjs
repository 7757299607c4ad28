// The page in headless Chromium: everything a user does with files, but for their rows.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { newPage } from "./browser.mjs";
import { cellsOf, startExplorer, view } from "./explorer.mjs";

let explorer;

before(async () => {
  explorer = await startExplorer();
});

after(() => explorer?.stop());

describe("opening", () => {
  test("a served file opens, others wait in tabs", async (t) => {
    const page = await explorer.opened(t);
    assert.deepEqual(await page.locator(".files [role=tab]").allTextContents(), ["trades.lance", "changed.csv", "damaged.lance"]);
    assert.match(await page.locator(".main-facts").innerText(), /lance[^]*20,000[^]*6[^]*158 KiB/);
    assert.deepEqual(page.errors, []);
  });

  test("files chosen with the dialog open in tabs", async (t) => {
    const page = await explorer.opened(t);
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Open", exact: true }).click(),
    ]);
    await chooser.setFiles([explorer.table("trades.parquet"), explorer.table("trades.at1")]);
    await page.getByRole("heading", { name: "trades.parquet" }).waitFor();
    assert.equal(await page.locator(".files [role=tab]").count(), 5);
  });

  test("a dropped file opens", async (t) => {
    const page = await explorer.opened(t);
    const text = await readFile(explorer.table("trades.csv"), "utf8");
    const data = await page.evaluateHandle(
      (content) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], "dropped.csv"));
        return transfer;
      },
      text.slice(0, text.indexOf("\n", 10_000) + 1),
    );
    await page.dispatchEvent("main", "dragenter", { dataTransfer: data });
    assert.ok(await page.locator(".drop-cover").isVisible());
    await page.dispatchEvent("main", "drop", { dataTransfer: data });
    await page.getByRole("heading", { name: "dropped.csv" }).waitFor();
  });

  test("an address opens", async (t) => {
    const page = await explorer.opened(t);
    await page.keyboard.press("u");
    await page.getByLabel("Address of a file").fill(`${explorer.url}files/0`);
    await page.keyboard.press("Enter");
    await page.locator(".files").getByRole("tab", { name: "0", exact: true }).waitFor();
    await page.locator(".overview .tile").first().waitFor();
  });

  test("a damaged file shows where it is damaged", async (t) => {
    const page = await explorer.opened(t);
    await page.getByRole("tab", { name: "damaged.lance" }).click();
    const text = await page.locator(".problem").innerText();
    assert.match(text, /LANC/);
    assert.match(text, /damaged\.lance/);
    assert.match(text, /99,996 \(0x1869c\)/);
    assert.match(text, /footer/);
    assert.match(text, /Hint:/);
  });

  test("nothing is loaded from elsewhere", async (t) => {
    const page = await newPage(explorer.browser);
    t.after(() => page.context().close());
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(explorer.url);
    await page.locator(".overview .tile").first().waitFor();
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(explorer.url) && !/^(blob|data):/.test(url)),
      [],
    );
  });
});

describe("bytes", () => {
  test("the map covers the file and names what is chosen", async (t) => {
    const page = await explorer.opened(t);
    await view(page, "Bytes").click();
    const canvas = page.locator("canvas");
    await canvas.waitFor();
    assert.match(await canvas.getAttribute("aria-label"), /Map of 161,650 bytes in \d+ regions/);
    await canvas.focus();
    await page.keyboard.press("Home");
    await page.locator(".hex-line").first().waitFor();
    assert.match(await page.locator(".hex-pane").innerText(), /sym: page 0 buffer 0/);
    await page.keyboard.press("End");
    await page
      .locator(".hex-pane")
      .getByText(/footer/i)
      .first()
      .waitFor();
    await page.locator(".hex-byte").first().waitFor();
    const shown = (await page.locator(".hex-byte").allTextContents()).slice(-4).join("");
    assert.equal(Buffer.from(shown, "hex").toString(), "LANC");
  });

  test("hovering names a region, clicking shows its bytes, the wheel zooms", async (t) => {
    const page = await explorer.opened(t);
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
    const page = await explorer.opened(t);
    await view(page, "Rows").click();
    await cellsOf(page, 0);
    await view(page, "Bytes").click();
    await page.locator("canvas").waitFor();
    assert.match(
      await page.locator(".read-line").innerText(),
      /Rows 0 to 63: this answer read [\d.]+ % of the file, \d+ requests?, [\d.]+ [KM]?i?B/,
    );
    assert.match(await page.locator(".status .answer").innerText(), /Rows 0 to 63/);
  });
});

describe("overview, columns and compare", () => {
  test("columns have their sizes, and verifying finds the file sound", async (t) => {
    const page = await explorer.opened(t);
    assert.match(await page.locator(".columns-table tbody tr").nth(1).innerText(), /price\s+float64\s+114 KiB\s+73 %/);
    await page.getByRole("button", { name: "Verify the file" }).click();
    await page.getByText("The file is sound.").waitFor();
  });

  test("a tile leads to its bytes, a column to its statistics", async (t) => {
    const page = await explorer.opened(t);
    await page.locator(".tile").first().click();
    await page.locator(".hex-pane").getByText("price: page 0").first().waitFor();
    await view(page, "Overview").click();
    await page.locator(".columns-table").getByRole("button", { name: "quantity" }).click();
    await page.locator('.column-card[data-column="2"]').waitFor();
  });

  test("statistics come from the file first, and from all rows on request", async (t) => {
    const page = await explorer.opened(t);
    await view(page, "Columns").click();
    const card = page.locator('.column-card[data-column="1"]');
    await card.getByText("89998.63").first().waitFor();
    await page.getByRole("button", { name: "All rows" }).click();
    await card.locator(".bar").first().waitFor();
    assert.match(await card.innerText(), /Distinct\s+20,000/);
    assert.match(await page.locator('.column-card[data-column="0"]').innerText(), /SOL-EUR\s+4,003, 20 %/);
  });

  test("two files are compared", async (t) => {
    const page = await explorer.opened(t);
    await view(page, "Compare").click();
    await page.getByLabel("File to compare with").selectOption({ label: "changed.csv" });
    await page.locator(".compare").getByRole("button", { name: "Compare" }).click();
    await page.getByText("Different: 1 row of 20,000 compared.").waitFor();
    assert.match(await page.locator(".compare").innerText(), /price\s+71700.06\s+71700.07/);
  });
});

describe("everyone", () => {
  test("every control has a name, every view a heading or label", async (t) => {
    const page = await explorer.opened(t);
    for (const name of ["Overview", "Rows", "Columns", "Bytes", "Compare"]) {
      await view(page, name).click();
      await page.waitForTimeout(300);
      const nameless = await page.evaluate(() =>
        [...document.querySelectorAll("button, input, select, textarea, canvas, [role=grid]")]
          .filter((element) => element.checkVisibility())
          .filter(
            (element) =>
              !(element.getAttribute("aria-label") || element.textContent?.trim() || element.labels?.[0]?.textContent?.trim()),
          )
          .map((element) => element.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(nameless, [], name);
    }
    assert.deepEqual(page.errors, []);
  });

  for (const width of [400, 1280, 2500]) {
    test(`nothing is cut off at ${width} pixels`, async (t) => {
      const page = await explorer.opened(t, { viewport: { width, height: 800 } });
      for (const name of ["Overview", "Rows", "Columns", "Bytes", "Compare"]) {
        await view(page, name).click();
        await page.waitForTimeout(300);
        const wide = await page.evaluate(() =>
          [document.documentElement, ...document.querySelectorAll("main, .panel, .toolbar")]
            .filter((element) => element.scrollWidth > element.clientWidth + 1)
            .map((element) => `${element.tagName}.${element.className}`),
        );
        assert.deepEqual(wide, [], name);
      }
    });
  }

  for (const colorScheme of ["light", "dark"]) {
    test(`text stands out enough on ${colorScheme} pages`, async (t) => {
      const page = await explorer.opened(t, { colorScheme });
      for (const name of ["Overview", "Rows", "Columns", "Bytes", "Compare"]) {
        await view(page, name).click();
        await page.waitForTimeout(300);
        assert.deepEqual(await page.evaluate(faintTexts), [], name);
      }
    });
  }

  test("shortcuts are listed and act", async (t) => {
    const page = await explorer.opened(t);
    await page.keyboard.press("?");
    assert.match(await page.getByRole("dialog").innerText(), /Go to a row|go to a row/);
    await page.keyboard.press("Escape");
    for (const [key, name] of [
      ["2", "Rows"],
      ["3", "Columns"],
      ["4", "Bytes"],
      ["5", "Compare"],
      ["1", "Overview"],
    ]) {
      await page.keyboard.press(key);
      assert.equal(await view(page, name).getAttribute("aria-selected"), "true");
    }
    await page.keyboard.press("]");
    assert.equal(await page.getByRole("tab", { name: "changed.csv" }).getAttribute("aria-selected"), "true");
  });

  test("names and values are text, never markup", async (t) => {
    const evil = '<img src=x onerror="window.hacked=1">';
    const path = join(explorer.folder, "evil.csv");
    await writeFile(path, `"${evil.replaceAll('"', '""')}",b\n"${evil.replaceAll('"', '""')}",1\nx,2\n`);
    const page = await explorer.opened(t);
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Open", exact: true }).click(),
    ]);
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

/** Texts of the page whose contrast is below 4.5, which is what WCAG asks for at level AA. Runs in the page. */
function faintTexts() {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor);
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (
      !own ||
      !element.checkVisibility() ||
      element.closest(":disabled, .only-read-aloud, .condition-mark, .idle, script, noscript")
    )
      continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5)
      faint.push(`${element.className || element.tagName}: ${element.textContent.slice(0, 20)}: ${contrast.toFixed(2)}`);
  }
  return [...new Set(faint)];
}
