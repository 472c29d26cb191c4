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
import { eventually, go, launch, newPage, open, program, serve, settled } from "./browser.js";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "nodescope-accessibility-"));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const DEMO = join(root, "crates/nodescope/src/demo/recording.nodescope");
const STALLS = join(root, "tests/browser/stalls.nodescope");
/** Each view, and what differs from it. */
const STATES = ["", "#view=time", "#view=top", "#view=top&by=entry", "#view=sandwich", "#view=source", "#range=1-2&search=a", "#bands=thread"];

let browser;
let exported;
before(async () => {
  browser = await launch();
  exported = join(folder, "demo.html");
  execFileSync(program, ["export", DEMO, "-o", exported], { stdio: ["ignore", "ignore", "inherit"] });
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const show = () => open(browser, pathToFileURL(exported).href, 1440);

/** What axe finds, a line each: the rule, and the first elements that break it. */
async function faults(page) {
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 4).map(({ html }) => html.slice(0, 200)).join(" | ")}`);
  });
  return found;
}

describe("axe finds nothing", () => {
  for (const colorScheme of ["light", "dark"]) {
    test(`on the page of a recording, ${colorScheme}`, async () => {
      const page = await show();
      await page.emulateMedia({ colorScheme });
      await page.evaluate(AXE);
      const found = {};
      for (const state of STATES) {
        if (state) await go(page, state);
        await settled(page);
        const faultsHere = await faults(page);
        if (faultsHere.length > 0) found[state] = faultsHere;
      }
      await page.keyboard.press("?");
      await page.locator("dialog").waitFor();
      const ofHelp = await faults(page);
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
    end();
    assert.deepEqual(found, {});
  });
});
