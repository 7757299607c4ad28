// The page in Firefox: served, and with reader and data inside of it, opened from disk. FIREFOX names it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { start } from "./firefox.mjs";
import { COLKIT, colkit } from "./server.mjs";

const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const skip = existsSync(FIREFOX) ? false : "Firefox is not installed";
let folder, firefox;

/** Waits for an element, and gives its text. */
const textOf = (selector) =>
  firefox.evaluate(`new Promise((resolve, reject) => {
    const end = Date.now() + 30_000;
    const look = () => {
      const found = document.querySelector(${JSON.stringify(selector)});
      if (found) resolve(found.innerText);
      else if (Date.now() > end) reject(new Error(document.body.innerText));
      else setTimeout(look, 50);
    };
    look();
  })`);

before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), "explorer-"));
  await writeFile(join(folder, "s.csv"), "sym,price\nBTC,1.5\nETH,2.5\n");
  await colkit(["convert", join(folder, "s.csv"), join(folder, "s.lance")]);
  await colkit(["view", "--html", join(folder, "s.html"), join(folder, "s.lance")]);
  firefox = await start(FIREFOX);
});

after(async () => {
  await firefox?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("one file from disk shows its rows", { skip }, async () => {
  await firefox.open(pathToFileURL(join(folder, "s.html")).href);
  assert.match(await textOf(".main-facts"), /lance/);
  await firefox.press("2");
  assert.equal(await textOf('.grid-cell[data-row="1"][data-column="0"]:not(.waiting)'), "ETH");
});

test("the command serves it, page and module as embedded", { skip }, async () => {
  const command = spawn(COLKIT, ["view", "--no-open", "--json", join(folder, "s.lance")], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const { value } = await createInterface({ input: command.stdout })[Symbol.asyncIterator]().next();
    await firefox.open(JSON.parse(value).url);
    assert.match(await textOf(".main-facts"), /lance/);
    await firefox.press("2");
    assert.equal(await textOf('.grid-cell[data-row="0"][data-column="1"]:not(.waiting)'), "1.5");
  } finally {
    command.kill("SIGINT");
  }
});
