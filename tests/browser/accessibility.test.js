// The page for readers who use a screen reader, the keyboard alone, or a finger: axe finds nothing, every control can
// be reached, every picture has its table, and nothing moves for those who asked for that.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  "#view=inverted",
  "#range=1-2&search=a",
  "#map-by=category",
  "#range=0.0001-0.0002",
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

/** What opens, and what must be in sight then. */
const OPENED = {
  export: [(page) => page.locator('[data-key="export"]').click(), '[data-key="copy-link"]'],
  stalls: [(page) => page.locator('[data-key="stalls"]').click(), "#stalls button"],
  notes: [(page) => page.locator('[data-key="notes"]').click(), ".head .drop[open] p"],
  menu: [(page) => page.locator("#flame").click({ button: "right", position: { x: 40, y: 30 } }), ".menu button"],
  threads: [(page) => page.locator('[data-key="each"]').click(), ".each button"],
};

/** What axe finds, a line each: the rule, and the first elements that break it. */
async function faults(page, rules = undefined) {
  return page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .slice(0, 4)
          .map(({ html }) => html.slice(0, 200))
          .join(" | ")}`,
    );
  }, rules);
}

describe("axe finds nothing", () => {
  // Another theme changes colours alone.
  for (const [colorScheme, rules] of [
    ["light", undefined],
    ["dark", ["color-contrast"]],
  ]) {
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
      for (const [name, [openIt, inside]] of Object.entries(OPENED)) {
        await go(page, `#view=flame&theme=${colorScheme}`);
        await settled(page);
        await openIt(page);
        await page.locator(inside).first().waitFor();
        const faultsHere = await faults(page, rules);
        if (faultsHere.length > 0) found[name] = faultsHere;
        await page.keyboard.press("Escape");
        await go(page, "#view=flame");
      }
      await page.keyboard.press("?");
      await page.locator("dialog").waitFor();
      const ofHelp = await faults(page, rules);
      assert.deepEqual([found, ofHelp], [{}, []]);
      await page.close();
    });
  }

  test("on a page that cannot show its recording", async () => {
    const broken = join(folder, "broken.html");
    const text = readFileSync(exported, "utf8");
    writeFileSync(broken, text.replace(/(class="recording">)[A-Za-z0-9+/=]{64}/, "$1"));
    const page = await newPage(browser, { viewport: { width: 1440, height: 900 } });
    await page.goto(pathToFileURL(broken).href);
    await page.locator(".problem").waitFor();
    await page.evaluate(AXE);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await faults(page), [], colorScheme);
    }
    await page.close();
  });

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

test("nothing moves, least of all for those who asked for that", async () => {
  for (const reducedMotion of ["no-preference", "reduce"]) {
    const page = await show();
    await page.emulateMedia({ reducedMotion });
    await page.keyboard.press("4");
    await page.locator("#top tbody button").first().click();
    await page.locator("#panel").waitFor();
    await page.keyboard.press("1");
    await page.locator("#flame").click({ position: { x: 30, y: 30 } });
    await settled(page);
    const moving = await page.evaluate(() => {
      const isMoving = (style) =>
        style.transitionDuration !== "0s" || style.animationName !== "none" || style.scrollBehavior === "smooth";
      return [
        document.getAnimations().length,
        ...[...document.querySelectorAll("*")]
          .filter((element) => isMoving(getComputedStyle(element)))
          .map(({ tagName }) => tagName),
      ];
    });
    assert.deepEqual(moving, [0], reducedMotion);
    await page.close();
  }
});

test("Tab leads through every control, in the order of the page", async () => {
  const page = await show();
  const caused = await mostCaused(page);
  await go(page, `#range=1-4&panel=1&function=${caused}`);
  await settled(page);
  const all = await page.evaluate(() => {
    const controls = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].filter(
      (element) => element.checkVisibility() && element.tabIndex >= 0,
    );
    for (const [at, element] of controls.entries()) element.dataset.walked = String(at);
    document.body.focus();
    return controls.length;
  });
  assert.ok(all > 40, `${all} controls`);
  const seen = [];
  for (let step = 0; step < 2 * all && new Set(seen.filter(Boolean)).size < all; step++) {
    await page.keyboard.press("Tab");
    seen.push(await page.evaluate(() => document.activeElement.dataset.walked ?? ""));
  }
  const reached = [...new Set(seen)].filter(Boolean).map(Number);
  const missed = Array.from({ length: all }, (_, at) => at).filter((at) => !reached.includes(at));
  const named = await page.evaluate(
    (list) => list.map((at) => document.querySelector(`[data-walked="${at}"]`)?.outerHTML.slice(0, 120)),
    missed,
  );
  assert.deepEqual(named, []);
  // It begins where the focus was, and goes on at the top behind the end.
  const first = reached.indexOf(0);
  const inOrder = [...reached.slice(first), ...reached.slice(0, first)];
  assert.deepEqual(
    inOrder,
    [...reached].sort((a, b) => a - b),
  );
  await page.close();
});

test("the map is described by a sentence, and columns say how they are sorted", async () => {
  const page = await show();
  const described = await page.locator("#heat").getAttribute("aria-describedby");
  const words = await page.locator(`#${described}`).textContent();
  assert.ok(words.length > 20 && words.length < 200, words);
  await page.keyboard.press("4");
  const sorted = () =>
    page
      .locator("#top th:not([aria-sort=none])[aria-sort]")
      .evaluateAll((all) => all.map((head) => [head.textContent, head.getAttribute("aria-sort")]));
  assert.deepEqual(await sorted(), [["caused ▾", "descending"]]);
  await page.locator('[data-key="sort-name"]').click();
  await eventually(async () => assert.deepEqual(await sorted(), [["function ▴", "ascending"]]));
  const heads = await page.locator("#top th").allTextContents();
  assert.equal(new Set(heads).size, heads.length, `no two columns have one name: ${heads}`);
  await page.close();
});

test("every picture has a table beside it, and a name", async () => {
  const page = await show();
  const caused = await mostCaused(page);
  for (const view of ["flame", "time", "inverted", "sandwich"]) {
    await go(page, `#view=${view}&panel=1&function=${caused}`);
    await settled(page);
    const canvases = await page
      .locator("canvas:visible")
      .evaluateAll((all) =>
        all.map((canvas) => [
          canvas.getAttribute("aria-label").length > 20,
          canvas.closest(".heat, .picture, .panel-when").querySelectorAll(".unseen table caption ~ tbody tr").length,
        ]),
      );
    assert.equal(canvases.length, 3, "the heat map, the picture, and when the function ran");
    assert.ok(
      canvases.every(([isNamed, rows]) => isNamed && rows > 0),
      `${view}: ${canvases}`,
    );
  }
  await page.close();
});

describe("by touch", () => {
  let context;
  let page;
  let fingers;
  const hash = () => page.evaluate(() => location.hash);
  const area = (selector) => page.locator(selector).boundingBox();
  before(async () => {
    context = await browser.newContext({ viewport: { width: 1180, height: 820 }, hasTouch: true, isMobile: true });
    page = await open(context, pathToFileURL(exported).href);
    await page.evaluate(() =>
      addEventListener("pointerdown", (event) => (window.pointer = event.pointerType), { capture: true }),
    );
    fingers = await context.newCDPSession(page);
  });
  after(() => context.close());

  /** A finger from one place to another. */
  async function swipe(from, to) {
    const touch = (type, points) =>
      fingers.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
    await touch("touchStart", [from]);
    for (const part of [0.25, 0.5, 0.75, 1])
      await touch("touchMove", [[from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])]]);
    await touch("touchEnd", []);
  }

  test("a finger over the heat map selects a range", async () => {
    const { x, y, width } = await area("#heat");
    await swipe([x + 64 + 0.2 * (width - 66), y + 20], [x + 64 + 0.6 * (width - 66), y + 30]);
    await eventually(async () => assert.match(await hash(), /range=[\d.]+-[\d.]+/));
    const [from, to] = (await hash())
      .match(/range=([\d.]+)-([\d.]+)/)
      .slice(1)
      .map(Number);
    assert.ok(from < to - 1, `${from}-${to}`);
    assert.equal(await page.evaluate(() => window.pointer), "touch");
    assert.equal(await page.evaluate(() => scrollY), 0, "and the page stays where it is");
    await go(page, "#view=flame");
    // Two taps are the two ends.
    const ends = async () =>
      (await hash())
        .match(/range=([\d.]+)-([\d.]+)/)
        ?.slice(1)
        .map(Number) ?? [0, 0];
    await page.touchscreen.tap(x + 64 + 100, y + 20);
    await eventually(async () => assert.notEqual((await ends())[1], 0));
    const [start, firstEnd] = await ends();
    await page.touchscreen.tap(x + 64 + 400, y + 20);
    await eventually(async () => assert.ok((await ends())[1] > firstEnd + 1, `${await ends()}, not only ${firstEnd}`));
    assert.equal((await ends())[0], start);
  });

  test("what the menu of a box has is under a button of the panel", async () => {
    await go(page, "#view=flame");
    await settled(page);
    const { x, y } = await area("#flame");
    await page.touchscreen.tap(x + 40, y + 18 + 9);
    const button = page.locator('[data-key="panel-menu"]');
    await button.tap();
    const rows = page.locator(".menu [role=menuitem]");
    await rows.first().waitFor();
    const words = (await rows.allTextContents()).join("\n");
    assert.match(words, /^Callers and callees of .*\n(.*\n)*Only stacks through .*\nHide /);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.key), "panel-menu", "back to the button");
    await button.tap();
    await rows
      .filter({ hasText: /^Only stacks through / })
      .first()
      .tap();
    await eventually(async () => assert.match(await hash(), /focus=/));
  });

  test("rows beside the map are high enough for a finger", async () => {
    await go(page, "#view=inverted");
    await settled(page);
    const heights = await page
      .locator(".side .list")
      .evaluateAll((lists) => lists.map((list) => [list.querySelector("button").offsetHeight, list.clientHeight]));
    for (const [row, list] of heights) assert.ok(row >= 24 && list % row === 0, `${row} in ${list}`);
  });

  test("a tap on a box zooms and says what it is, another one leads back", async () => {
    await go(page, "#view=flame");
    await settled(page);
    const { x, y } = await area("#flame");
    await page.touchscreen.tap(x + 40, y + 18 + 9);
    await eventually(async () => assert.match(await hash(), /zoom=\d+.*panel=1/));
    assert.equal(await page.evaluate(() => window.pointer), "touch");
    await page.locator('[data-key="panel-close"]').waitFor();
    const close = await area('[data-key="panel-close"]');
    assert.ok(close.width >= 24 && close.height >= 24, "large enough for a finger");
    await page.touchscreen.tap(close.x + close.width / 2, close.y + close.height / 2);
    await page.locator("#panel").waitFor({ state: "hidden" });
    await page.touchscreen.tap(x + 40, y + 9);
    await eventually(async () => assert.doesNotMatch(await hash(), /zoom=/));
  });
});
