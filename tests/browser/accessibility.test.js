// The page for readers who use a screen reader, the keyboard alone, or a finger: axe finds nothing, every control can be
// reached, every picture has its table, and nothing moves for those who asked for that.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { endServers, eventually, go, launch, newPage, open, program, serve, settled } from "./browser.js";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "nodescope-accessibility-"));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const DEMO = join(root, "crates/nodescope/src/demo/recording.nodescope");
const STALLS = join(root, "tests/browser/stalls.nodescope");
/** Each view, and what differs from it; a function is that which caused most. */
const STATES = [
  "#view=flame",
  "#view=time",
  "#view=top",
  "#view=top&by=entry",
  "#view=sandwich",
  "#view=source",
  "#range=1-2&search=a",
  "#bands=thread",
  "#panel=1&function=",
  "#panel=1&range=0-2&against=rest&function=",
  "#view=top&range=1-2&against=rest",
];

let browser;
let exported;
before(async () => {
  browser = await launch();
  exported = join(folder, "demo.html");
  execFileSync(program, ["export", DEMO, "-o", exported], { stdio: ["ignore", "ignore", "inherit"] });
});
after(async () => {
  await browser.close();
  endServers();
  rmSync(folder, { recursive: true });
});

const show = () => open(browser, pathToFileURL(exported).href, 1440);

/** The row of the function that caused most. */
async function mostCaused(page) {
  await go(page, "#view=top");
  await page.locator("#top tbody button").first().click();
  return eventually(async () => {
    const id = (await page.evaluate(() => location.hash)).match(/function=(\d+)/)?.[1];
    assert.ok(id);
    return id;
  });
}

/** What axe finds, a line each: the rule, and the first elements that break it. */
async function faults(page, rules = undefined) {
  return page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 4).map(({ html }) => html.slice(0, 200)).join(" | ")}`);
  }, rules);
}

describe("axe finds nothing", () => {
  // Another theme changes colours alone.
  for (const [colorScheme, rules] of [["light", undefined], ["dark", ["color-contrast"]]]) {
    test(`on the page of a recording, ${colorScheme}`, async () => {
      const page = await show();
      await page.emulateMedia({ colorScheme });
      await page.evaluate(AXE);
      const found = {};
      const caused = await mostCaused(page);
      for (const state of STATES) {
        await go(page, state.endsWith("function=") ? state + caused : state);
        await settled(page);
        const faultsHere = await faults(page, rules);
        if (faultsHere.length > 0) found[state] = faultsHere;
      }
      await page.keyboard.press("?");
      await page.locator("dialog").waitFor();
      const ofHelp = await faults(page, rules);
      assert.deepEqual([found, ofHelp], [{}, []]);
      await page.close();
    });
  }

  test("in the list, and where two recordings are compared", async () => {
    const recordings = join(folder, "recordings");
    mkdirSync(recordings);
    copyFileSync(DEMO, join(recordings, "demo.nodescope"));
    copyFileSync(STALLS, join(recordings, "stalls.nodescope"));
    const { url, end } = await serve(recordings);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await newPage(context);
    await page.goto(url);
    const found = {};
    const look = async (name) => {
      await page.evaluate(AXE);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const here = await faults(page);
        if (here.length > 0) found[`${name}, ${colorScheme}`] = here;
      }
    };
    await page.locator("#list tbody tr").nth(1).waitFor();
    await eventually(async () => assert.equal(await page.locator(".list-reading").textContent(), ""));
    for (const box of await page.locator("#list input[type=checkbox]").all()) await box.check();
    await page.locator(".list-compare .action").waitFor();
    await look("list");
    await page.keyboard.press("c");
    await page.locator("#compared").waitFor();
    await look("compare");
    await context.close();
    await end();
    assert.deepEqual(found, {});
  });
});
