// The page in a real browser, from a single file: what it shows is what the program reports, by mouse and by keyboard,
// and nothing in a recording becomes more than a name. Screenshots go to target/page-screenshots.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chunks } from "../../docs/read-nodescope.mjs";
import { back, eventually, go, launch, newPage, open, program, resize, settled } from "./browser.js";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "nodescope-page-"));
const pictures = join(root, "target/page-screenshots");
const HTTP = join(root, "corpus/node22-http/input.txt.gz");
const DEMO = join(root, "crates/nodescope/src/demo/recording.nodescope");
const STALLS = join(root, "tests/browser/stalls.nodescope");
const ROW = 18;
/** The height of the heat map's cells in a window of 900 pixels, at least. */
const MAP = 50;
const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(2)</script>",
  `"'\`&amp;<!--`,
  "检查订单",
  "リクエスト処理",
  "🚀rocket🧨",
  "größeÄndern",
  "\u001b[31mred\u0007",
  "right\u202eto left",
  "__proto__",
  "javascript:alert(3)",
];

let browser;
before(async () => {
  browser = await launch();
  mkdirSync(pictures, { recursive: true });
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

let files = 0;
function exported(input) {
  const out = join(folder, `page-${++files}.html`);
  execFileSync(program, ["export", input, "-o", out], { stdio: ["ignore", "ignore", "inherit"] });
  return out;
}

const report = (file, ...options) =>
  JSON.parse(
    execFileSync(program, ["report", file, "--json", ...options], {
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );

async function show(input, hash = "", width = 1400) {
  const page = await open(browser, pathToFileURL(exported(input)).href + hash, width);
  await page.locator("#selection").waitFor();
  return page;
}

/**
 * Two frames: the page draws in the next one after a click or a key. Where a timer or an event comes between, `settled`
 * and `go` wait for it.
 */
const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function selected(page) {
  await drawn(page);
  const { samples, weight } = await page.locator("#selection").evaluate((element) => element.dataset);
  return { samples: Number(samples), weight: Number(weight) };
}

/** The address follows what goes on under the mouse twice a second. */
async function hashOf(page) {
  await settled(page);
  const words = (await page.evaluate(() => location.hash)).slice(1).split("&").filter(Boolean);
  return Object.fromEntries(words.map((word) => word.split("=").map(decodeURIComponent)));
}

/** What the picture's table lists: the same boxes, for those who cannot see them. */
async function boxes(page) {
  await settled(page);
  return page
    .locator("#flame-table tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

/**
 * The top table, once all of it is there: while things change it has the rows in sight only. Names are whole, as on
 * hover.
 */
async function tableRows(page) {
  await settled(page);
  return page
    .locator("#top tbody tr")
    .evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.title || cell.textContent)));
}

/** As the page writes a share, and cores. */
const percent = (part) => (part > 0 && part < 0.0005 ? "<0.1\u00a0%" : `${(100 * part).toFixed(1)}\u00a0%`);
const cores = (value) => (value > 0 && value < 0.0005 ? "<0.001" : value.toFixed(value < 0.0995 ? 3 : 2));
const CHANGE_IN_CORES =
  /before [\d.<]+ cores · after [\d.<]+ cores · [+−]?[\d.]+ cores: (more|less|new|gone|within noise)/;

const samplesOf = (box) => Number(box[2].match(/total [\d.<]+\s% \(([\d,]+)\)/)[1].replaceAll(",", ""));

/** What the page shows of the box under the mouse, which comes after the mouse. */
const tips = (page, words) =>
  eventually(async () => assert.match(await page.locator(".picture .tip").textContent(), words));

/** Opens the list of stalls, and selects the longest. */
async function firstStall(page) {
  await page.locator('[data-key="stalls"]').click();
  await page.locator("#stalls button").first().click();
  await drawn(page);
}

/** What the page has to save. */
async function saved(page, key) {
  await page.locator('[data-key="export"]').click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`[data-key="${key}"]`).click()]);
  return download;
}

async function close(page) {
  assert.deepEqual(page.trouble, []);
  await page.close();
}

/** A drag in parts of the heat map's width and height; `between` runs before the button is let go. */
async function drag(page, from, to, between = async () => {}) {
  const area = await page.locator("#heat").boundingBox();
  const at = ([x, y]) => [area.x + 64 + x * (area.width - 72), area.y + y * MAP];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]), { steps: 3 });
  await between();
  await page.mouse.move(...at(to), { steps: 3 });
  await page.mouse.up();
}

describe("the page of a recording", () => {
  test("is one file, for its owner's eyes, that asks for nothing", async () => {
    const out = exported(HTTP);
    assert.equal(statSync(out).mode & 0o777, 0o600);
    const page = await open(browser, pathToFileURL(out).href, 1400);
    await page.locator("#selection").waitFor();
    assert.equal(await page.evaluate(() => document.querySelectorAll("[src], link, iframe, img").length), 0);
    await page.screenshot({ path: join(pictures, "flame-light.png") });
    await close(page);
  });

  test("says what was recorded and how good it is", async () => {
    const page = await show(HTTP);
    const env = { ...process.env, COLUMNS: "100000", NO_COLOR: "1" };
    const text = execFileSync(program, ["report", HTTP], { env, encoding: "utf8" });
    const [headline, quality, ...closing] = text
      .slice(0, text.indexOf("\nWhere the time went"))
      .replaceAll(" %", "\u00a0%")
      .trimEnd()
      .split("\n")
      .filter(Boolean);
    const facts = await page.locator(".facts > span").allTextContents();
    assert.equal(facts.join(" · "), `${headline} · ${quality}`);
    assert.equal(await page.locator(".card").count(), 1, "nothing stands out: one calm card");
    assert.equal(await page.locator(".card.closing").textContent(), closing.join(" "), "word for word");
    assert.match(await page.locator("#verdict").textContent(), /^whole recording/);
    const { threads } = await hashOf(page);
    await page.locator("#verdict .card a").first().click();
    await eventually(async () => assert.equal((await hashOf(page)).view, "sandwich", "a function that is named opens"));
    assert.equal((await hashOf(page)).threads, threads, "of the threads that were shown");
    await close(page);
  });

  test("has among its notes what the report says beside its tables", async () => {
    const page = await show(DEMO);
    await page.locator('[data-key="notes"]').click();
    const notes = await page.locator(".head .drop[open] p").allTextContents();
    assert.ok(
      notes.some((text) => /^\d+ samples ran after an await: /.test(text)),
      notes.join("\n"),
    );
    await close(page);
  });

  test("opens on the main loop; a drag selects a range and all follows while dragging", async () => {
    const page = await show(HTTP);
    const whole = report(HTTP, "--thread", "main");
    assert.deepEqual(await selected(page), { samples: whole.samples, weight: whole.weight });
    let during;
    await drag(page, [0.02, 0.8], [0.15, 0.3], async () => (during = await selected(page)));
    const { range } = await hashOf(page);
    const reported = report(HTTP, "--thread", "main", "--range", `${range.replace("-", "s..")}s`);
    const now = await selected(page);
    assert.deepEqual(now, { samples: reported.samples, weight: reported.weight });
    assert.ok(during.samples > 0 && during.samples < now.samples, "the picture follows the mouse");
    const [all] = await boxes(page);
    assert.equal(all[0], "all");
    assert.equal(samplesOf(all), reported.samples);
    await page.screenshot({ path: join(pictures, "range.png") });
    await back(page);
    assert.equal((await selected(page)).samples, whole.samples, "a drag is one step of the history");
    await back(page, 1);
    assert.equal((await selected(page)).samples, reported.samples);
    await close(page);
  });

  test("two clicks select, in any order, the last cell included; Escape clears", async () => {
    const page = await show(HTTP, "#threads=all");
    const area = await page.locator("#heat").boundingBox();
    await page.mouse.click(area.x + 64 + 200, area.y + 10);
    await page.mouse.move(area.x + 64 + 120, area.y + 30);
    await page.mouse.click(area.x + 64 + 20, area.y + 40);
    const { range } = await hashOf(page);
    const [from, to] = range.split("-").map(Number);
    assert.ok(from < 0.2 && to > 0.5, range);
    assert.ok(Math.abs((to - from) / 0.04 - Math.round((to - from) / 0.04)) < 1e-6, "whole cells");
    const reported = report(HTTP, "--range", `${from}s..${to}s`);
    assert.deepEqual(await selected(page), { samples: reported.samples, weight: reported.weight });
    await page.keyboard.press("Escape");
    await drawn(page);
    assert.equal((await hashOf(page)).range, undefined);
    await close(page);
  });

  test("zooms on a click, with breadcrumb, back and forward", async () => {
    const page = await show(HTTP, "#lens=everything");
    const canvas = page.locator("#flame");
    await canvas.click({ position: { x: 30, y: 2.5 * ROW } });
    await drawn(page);
    const { zoom } = await hashOf(page);
    assert.equal(zoom.split(".").length, 2);
    assert.equal(await page.locator(".crumbs button").count(), 3);
    const name = await page.locator(".crumbs button").last().textContent();
    assert.equal((await boxes(page))[0][0], name);
    await page.locator(".crumbs button").first().click();
    await drawn(page);
    assert.equal((await hashOf(page)).zoom, undefined);
    await back(page);
    assert.equal((await hashOf(page)).zoom, zoom);
    await close(page);
  });

  test("hover shows name, place, category, self and total", async () => {
    const page = await show(HTTP, "#lens=everything");
    await page.keyboard.press("/");
    await page.keyboard.type("^renderArticle$");
    await page.keyboard.press("Enter");
    await drawn(page);
    const reported = report(HTTP, "--thread", "main").functions.find(({ name }) => name === "renderArticle");
    const words = await page.locator("#current").textContent();
    assert.match(
      words,
      /^renderArticle {3}\/srv\/shop\/server\.js:43 {3}app · (TurboFan|Sparkplug|interpreted|Maglev)/,
    );
    assert.match(words, /self [\d.]+\s% \(\d+\) · total [\d.]+\s% \(\d+\)$/);
    assert.ok(reported.total_samples >= Number(words.match(/total [\d.]+\s% \((\d+)\)/)[1]));
    await page
      .locator(".scroll")
      .first()
      .evaluate((element) => element.scrollTo(0, 0));
    await page.locator("#flame").hover({ position: { x: 40, y: 1.5 * ROW } });
    await tips(page, /self .* total 9\d\.\d\s%|self .* total 100\.0\s%/);
    await page.screenshot({ path: join(pictures, "search.png") });
    await close(page);
  });

  test("searches by regular expression, and says how much matched", async () => {
    const page = await show(HTTP);
    const whole = report(HTTP, "--thread", "main").weight;
    for (const pattern of ["node_modules/(express|router)/", "^v8::internal::", "^uv_", "(?i)PARSER"]) {
      await page.locator("#search").fill(pattern);
      await drawn(page);
      const part = report(HTTP, "--thread", "main", "--search", pattern).weight / whole;
      const words = await page.locator(".matched").textContent();
      assert.match(words, /^[\d,]+ match(es)? · /, pattern);
      assert.equal(words.split(" · ")[1], `${(100 * part).toFixed(1)}\u00a0%`, pattern);
    }
    await page.locator("#search").fill("(");
    await drawn(page);
    assert.equal(await page.locator(".matched").textContent(), "not a pattern: Unterminated group");
    await close(page);
  });

  test("inverted, the functions that ran stand under the root", async () => {
    const page = await show(HTTP, "#lens=everything");
    await page.keyboard.press("3");
    const reported = report(HTTP, "--thread", "main").functions;
    const shown = await boxes(page);
    const hottest = shown.find(([name]) => name === reported[0].name);
    assert.equal(samplesOf(hottest), reported[0].self_samples);
    await page.screenshot({ path: join(pictures, "inverted.png") });
    await close(page);
  });

  test("the top table is the report's, and can be sorted and filtered", async () => {
    const page = await show(HTTP, "#view=top&threads=all&lens=everything&sort=self");
    const reported = report(HTTP);
    const rows = () => tableRows(page);
    const functions = (await rows())
      .slice(0, 30)
      .map(([, , self, , total, name]) => [name, Number(self), Number(total)]);
    assert.deepEqual(
      functions,
      reported.functions.slice(0, 30).map((row) => [row.name, row.self_samples, row.total_samples]),
    );
    await page.screenshot({ path: join(pictures, "top.png") });
    await page.getByRole("button", { name: "total" }).click();
    await drawn(page);
    const totals = (await rows()).map((cells) => Number(cells[4].replaceAll(",", "")));
    assert.deepEqual(
      totals,
      [...totals].sort((a, b) => b - a),
    );
    for (const [by, list] of [
      ["package", reported.packages],
      ["category", reported.categories],
      ["file", reported.files],
    ]) {
      await page.locator(`[data-key="by-${by}"]`).click();
      await drawn(page);
      const shown = (await rows()).map(([, self, , total]) => `${Number(self)} ${Number(total)}`).sort();
      assert.deepEqual(
        shown,
        list
          .map((row) => `${row.self_samples} ${row.total_samples}`)
          .slice(0, 200)
          .sort(),
        by,
      );
    }
    await page.locator('[data-key="by-function"]').click();
    await page.locator("#filter").fill("renderarticle");
    await drawn(page);
    assert.deepEqual(
      (await rows()).map((cells) => cells[5]),
      ["renderArticle"],
    );
    await page.locator("#top tbody button").first().click();
    await drawn(page);
    const { view, panel } = await hashOf(page);
    assert.deepEqual([view, panel], ["top", "1"], "what is known of the function stands beside the table");
    assert.equal(await page.locator("#panel .panel-name").textContent(), "renderArticle");
    await page.locator('[data-key="panel-sandwich"]').click();
    await drawn(page);
    assert.equal((await hashOf(page)).view, "sandwich");
    const middle = await boxes(page);
    const row = reported.functions.find(({ name }) => name === "renderArticle");
    assert.ok(middle.some((box) => box[0] === "renderArticle" && samplesOf(box) === row.total_samples));
    await page.screenshot({ path: join(pictures, "sandwich.png") });
    await close(page);
  });

  test("hides and focuses from the menu, and undoes it", async () => {
    const page = await show(HTTP, "#threads=all&lens=everything");
    const before = await selected(page);
    await page.locator("#flame").click({ button: "right", position: { x: 30, y: 1.5 * ROW } });
    await page
      .locator(".menu button")
      .filter({ hasText: /^Hide .*category/ })
      .click();
    await drawn(page);
    assert.deepEqual(await selected(page), before, "hiding moves weight, it loses none");
    assert.equal(await page.locator(".chip").count(), 1);
    await page.keyboard.press("u");
    await drawn(page);
    assert.equal(await page.locator(".chip").count(), 0);
    await page.locator('.side [data-key="category-5"]').click();
    const reported = report(HTTP, "--category", "gc");
    assert.deepEqual(await selected(page), { samples: reported.samples, weight: reported.weight });
    await close(page);
  });

  test("works by keyboard alone", async () => {
    const page = await show(HTTP, "#lens=everything");
    await page.locator("#heat").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Shift+ArrowUp");
    await drawn(page);
    assert.equal((await hashOf(page)).range, "0.2-0.44", "the second column of 200 ms, and a cell of 40 ms");
    const reported = report(HTTP, "--thread", "main", "--range", "0.2s..0.44s");
    assert.equal((await selected(page)).samples, reported.samples);
    await page.keyboard.press("Escape");
    for (let presses = 0; presses < 40 && (await page.evaluate(() => document.activeElement.id)) !== "flame"; presses++)
      await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "flame", "Tab reaches the flame graph");
    assert.match(await page.locator("#current").textContent(), /^all/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await drawn(page);
    assert.equal((await hashOf(page)).zoom.split(".").length, 2);
    await page.keyboard.press("Backspace");
    await drawn(page);
    assert.equal((await hashOf(page)).zoom.split(".").length, 1);
    await page.keyboard.press("o");
    await page.keyboard.press("ArrowDown");
    await eventually(async () =>
      assert.match(await page.evaluate(() => document.activeElement.textContent), /^Only stacks through/),
    );
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.locator("dialog").waitFor();
    await page.getByRole("button", { name: "close", exact: true }).press("Enter");
    await page.locator("dialog").waitFor({ state: "hidden" });
    await page.keyboard.press("?");
    await page.locator("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
    assert.ok(await page.locator("#panel").isVisible(), "Escape closes one thing at a time");
    assert.equal(await page.evaluate(() => document.activeElement.id), "flame", "the focus is where it was");
    await page.keyboard.press("Escape");
    await page.locator("#panel").waitFor({ state: "hidden" });
    assert.ok((await hashOf(page)).zoom, "the zoom is left by the next one");
    await page.keyboard.press("2");
    await drawn(page);
    await page.screenshot({ path: join(pictures, "time-order.png") });
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none", "the focus is visible");
    await close(page);
  });

  test("shows the same after a way through other views and ranges", async () => {
    const page = await show(HTTP, "#threads=all&range=0.2-0.9");
    const first = await boxes(page);
    for (const hash of [
      "#threads=all&range=1-2&view=top&search=emit",
      "#range=1.5-1.6&view=inverted",
      "#view=sandwich&function=3",
      "#threads=all&range=0-3&hide=c4",
      "#threads=all&range=1-2&view=top&search=uv",
      "#threads=all&range=0.2-0.9",
    ]) {
      await go(page, hash);
      await drawn(page);
    }
    assert.deepEqual(await boxes(page), first);
    await close(page);
  });

  test("keeps what is shown in its address", async () => {
    const page = await show(HTTP, "#threads=all&range=0.5-1.5&hide=c12&search=emit&view=inverted&up=1");
    const state = [await selected(page), await page.locator(".matched").textContent(), await boxes(page)];
    const other = await show(HTTP, await page.evaluate(() => location.hash));
    assert.deepEqual([await selected(other), await other.locator(".matched").textContent(), await boxes(other)], state);
    await close(page);
    await close(other);
  });
});

/** The folded stacks of a page. */
async function folded(page) {
  return readFileSync(await (await saved(page, "folded")).path(), "utf8");
}

describe("the lens", () => {
  const EXPRESS = join(root, "corpus/entries-express/input.nodescope");
  const chosen = (page) => page.locator('[aria-label="lens"] [aria-pressed="true"]').textContent();
  const names = async (page) => (await boxes(page)).map(([name]) => name);
  const done = async (page) => {
    page.trouble = page.trouble.filter((words) => !words.startsWith("request for blob:"));
    await close(page);
  };

  test("opens on the user's code, under what asked for it", async () => {
    const page = await show(EXPRESS);
    assert.equal(await chosen(page), "my code");
    const found = await names(page);
    assert.ok(found.includes("HTTP request ▸ sync") && found.includes("HTTP request ▸ list"), found.join());
    assert.ok(
      found.some((name) => /^express ▸ \d+ frames$/.test(name)),
      found.join(),
    );
    assert.ok(!found.some((name) => /^(uv_|v8::|node::)/.test(name)), found.join());
    await page.screenshot({ path: join(pictures, "lens-code.png") });
    await close(page);
  });

  test("the switch and its keys change boxes, never samples", async () => {
    const page = await show(EXPRESS, "#threads=all");
    const all = await selected(page);
    const weights = new Set();
    for (const [key, words] of [
      ["p", "+ packages"],
      ["j", "+ Node"],
      ["e", "everything"],
      ["m", "my code"],
    ]) {
      await page.keyboard.press(key);
      await drawn(page);
      assert.equal(await chosen(page), words);
      assert.deepEqual(await selected(page), all);
      const lines = (await folded(page)).trim().split("\n");
      weights.add(lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0));
      await page.screenshot({ path: join(pictures, `lens-${key}.png`) });
    }
    assert.equal(weights.size, 1, [...weights].join());
    await page.getByRole("button", { name: "+ Node" }).click();
    await drawn(page);
    assert.equal((await hashOf(page)).lens, "node");
    assert.ok((await names(page)).includes("uv_run"));
    await done(page);
  });

  test("a package opens with a click, and folds again", async () => {
    const page = await show(EXPRESS);
    const isRun = (name) => name.startsWith("express ▸ ");
    const before = await names(page);
    assert.ok(before.some(isRun));
    // The third row: all, the request, express.
    await page.locator("#flame").click({ position: { x: 30, y: 2.5 * ROW } });
    await drawn(page);
    assert.ok((await hashOf(page)).open);
    assert.ok(!(await names(page)).some(isRun));
    await page.screenshot({ path: join(pictures, "lens-open.png") });
    const link = await page.evaluate(() => location.hash);
    const other = await show(EXPRESS, link);
    assert.deepEqual(await names(other), await names(page), "a link shows the same");
    await close(other);
    await page.locator(".chip button").first().click();
    await drawn(page);
    assert.deepEqual(await names(page), before);
    await close(page);
  });

  test("a link keeps the zoom to what asked for the work", async () => {
    const page = await show(EXPRESS, "#lens=packages");
    await page.locator("#flame").click({ position: { x: 30, y: 1.5 * ROW } });
    await drawn(page);
    const name = await page.locator(".crumbs button").last().textContent();
    assert.equal(name, "HTTP request ▸ sync");
    const other = await show(EXPRESS, await page.evaluate(() => location.hash));
    assert.equal(await other.locator(".crumbs button").last().textContent(), name);
    assert.deepEqual(await boxes(other), await boxes(page));
    // The root's menu keeps the work that it asked for.
    await other.locator("#flame").click({ button: "right", position: { x: 30, y: 0.5 * ROW } });
    await other
      .locator(".menu button")
      .filter({ hasText: /^Only HTTP request ▸ sync$/ })
      .click();
    await drawn(other);
    assert.match((await hashOf(other)).entry, /^http\./);
    await close(other);
    await close(page);
  });

  test("every view follows it, also without words of the report", async () => {
    const page = await showLibrary([EXPRESS]);
    assert.equal(await chosen(page), "my code");
    const seen = {};
    for (const lens of ["m", "e"]) {
      for (const key of ["1", "2", "3", "4", "5"]) {
        await page.keyboard.press(lens);
        await page.keyboard.press(key);
        const rows = await (key === "4" ? tableRows(page) : boxes(page));
        seen[lens + key] = rows.map((cells) => cells.join(" ")).join("\n");
        await page.screenshot({ path: join(pictures, `lens-view-${lens}${key}.png`) });
      }
    }
    for (const key of ["1", "2", "3", "4", "5"]) {
      const [mine, all] = [seen[`m${key}`], seen[`e${key}`]];
      assert.match(mine, /express ▸ \d+ frames|^.*\bexpress\b/m, `view ${key}: a package is one box`);
      assert.doesNotMatch(mine, /uv_run|v8::internal|processTicksAndRejections/, `view ${key}`);
      assert.notEqual(mine, all, `view ${key}`);
    }
    await close(page);
  });
});

test("a search shows the first match and filters the table and the heat map", async () => {
  const page = await show(DEMO);
  const heat = () => page.locator("#heat-table").textContent();
  await settled(page);
  const before = await heat();
  await page.locator("#search").fill("name:^summarise$");
  await settled(page);
  assert.match(await page.locator("#current").textContent(), /^summarise /);
  assert.match(await page.locator(".matched").textContent(), /^1 match · /);
  assert.notEqual(await heat(), before);
  await page.screenshot({ path: join(pictures, "search-dims.png") });
  await page.locator("#search").fill("file:report\\.js category:^app$");
  await page.locator("#search").blur();
  await page.keyboard.press("4");
  const places = (await tableRows(page)).map((cells) => cells.at(-1));
  assert.ok(places.length > 2 && places.every((place) => place.includes("report.js")), places.join());
  await close(page);
});

test("tables: what functions caused first, entries, and more", async () => {
  const page = await show(HTTP, "#view=top&threads=all&lens=everything");
  const rows = await tableRows(page);
  const [first] = report(HTTP).own_functions;
  assert.equal(rows[0][5], first.name);
  assert.equal(rows[0][0], `${(100 * first.caused).toFixed(1)}\u00a0%`);
  assert.match(await page.locator(".more").textContent(), /^200 of [\d,]+more$/);
  await page.locator('[data-key="more"]').click();
  await settled(page);
  assert.ok((await tableRows(page)).length > 200);
  await page.locator('[data-key="by-entry"]').click();
  const entries = (await tableRows(page)).map((cells) => cells[2]);
  assert.ok(
    entries.includes("not JavaScript") && entries.some((name) => name.startsWith("HTTP request ▸ ")),
    entries.join(),
  );
  await page.screenshot({ path: join(pictures, "entries-table.png") });
  await page.keyboard.press("5");
  await drawn(page);
  assert.equal(await page.locator(".crumbs").textContent(), first.name, "callers and callees open on it");
  await close(page);
});

test("in time order the wheel zooms around the mouse", async () => {
  const page = await show(DEMO, "#view=time&range=1-3");
  await page.locator("#flame").hover({ position: { x: 400, y: 20 } });
  await page.mouse.wheel(0, -200);
  await eventually(async () => assert.notEqual((await hashOf(page)).range, "1-3"));
  const [from, to] = (await hashOf(page)).range.split("-").map(Number);
  assert.ok(from > 1 && to < 3 && Math.abs(to - from - 1.6) < 0.01, `${from}-${to}`);
  const marks = await page
    .locator("#time-axis span")
    .evaluateAll((all) => all.map((mark) => [parseFloat(mark.textContent), mark.offsetLeft]));
  const { width } = await page.locator("#flame").boundingBox();
  assert.ok(
    marks.length > 3 && marks.every(([time, x]) => Math.abs(((time - from) / (to - from)) * width - x) < 3),
    marks.join(" "),
  );
  // The keys + and - do the same around the box that the keyboard is at.
  const length = async () => (await hashOf(page)).range.split("-").reduce((start, end) => Number(end) - Number(start));
  await page.keyboard.press("f");
  await page.keyboard.press("+");
  assert.ok(Math.abs((await length()) - 1.28) < 0.01, String(await length()));
  await page.keyboard.press("-");
  await page.keyboard.press("-");
  assert.ok(Math.abs((await length()) - 2) < 0.01, String(await length()));
  await close(page);
});

test("a range is compared with the rest, or with another", async () => {
  const page = await show(DEMO);
  await firstStall(page);
  await page.locator('[data-key="compare-rest"]').click();
  await drawn(page);
  assert.equal((await hashOf(page)).against, "rest");
  assert.match(await page.locator("#against").textContent(), /^against the rest/);
  assert.match(await page.locator(".foot .legend").textContent(), /more.*less.*new.*within noise/);
  const [{ start_s, end_s }] = report(DEMO).stalls;
  const reported = report(DEMO, "--thread", "main", "--range", `${start_s}s..${end_s}s`);
  const whole = report(DEMO, "--thread", "main");
  const [is, was] = [
    reported.weight / (end_s - start_s),
    (whole.weight - reported.weight) / (whole.duration_s - (end_s - start_s)),
  ].map((weight) => cores(weight / 1e9));
  const sentence = await page.locator("#compared-whole").textContent();
  assert.ok(
    sentence.startsWith("What is selected used ") && sentence.endsWith(`: ${was} before, ${is} after.`),
    `${sentence}, not ${was} and ${is}`,
  );
  const sides = ["the rest", `${start_s.toFixed(3)}–${end_s.toFixed(3)} s`];
  assert.deepEqual(await page.locator("#halves .side-name").allTextContents(), sides);
  assert.equal(await page.locator("#compared .side-name").count(), 0, "shown once");
  assert.match(
    await page.locator("#compared .changes").textContent(),
    /^Largest changes of own time, beyond noise:\S+ [+−][\d.]+ cores, /,
  );
  await page.locator("#flame").hover({ position: { x: 40, y: 1.5 * ROW } });
  await tips(page, CHANGE_IN_CORES);
  await page.screenshot({ path: join(pictures, "compared.png") });
  await page.keyboard.press("4");
  await page.locator('[data-key="sort-change"]').click();
  await drawn(page);
  assert.deepEqual(await page.locator("#compared .side-name").allTextContents(), sides, "where no picture shows it");
  const changes = await page
    .locator("#top tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.cells[3].textContent === "within noise",
        Math.abs(Number(row.cells[2].textContent.replace("−", "-"))),
      ]),
    );
  assert.ok(changes.length > 5 && changes[0][1] > 0.1);
  assert.deepEqual(
    changes,
    [...changes].sort((a, b) => a[0] - b[0] || b[1] - a[1]),
    "what is within noise is behind all that is not",
  );
  await page.locator('[data-key="compare-stop"]').click();
  await page.locator('[data-key="compare-base"]').click();
  await drawn(page);
  assert.equal((await hashOf(page)).against, (await hashOf(page)).range);
  await close(page);
});

/**
 * A server of several recordings that is none: the page gets its answers from here. `texts` are sources by their paths.
 */
async function showLibrary(inputs, { hash = "", texts = {} } = {}) {
  const [shared, beginning, style, help] = [
    "page/dist/page.js",
    "page/dist/served.js",
    "page/style.css",
    "page/help.html",
  ].map((path) => readFileSync(join(root, path), "utf8"));
  const answers = new Map([
    [
      "/",
      `<!doctype html><meta charset="utf-8"><style>${style}</style><main id="page"></main>${help}<script>(() => {${shared}${beginning}})()</script>`,
    ],
  ]);
  const recordings = [];
  for (const [at, input] of inputs.entries()) {
    const [id, file] = [`r${at}`, join(folder, `library-${++files}.nodescope`)];
    execFileSync(program, ["export", input, "-o", file], { stdio: ["ignore", "ignore", "inherit"] });
    recordings.push({ id, name: `recording ${at} <b>`, folder: "", bytes: 1, modified_ms: 0 });
    answers.set(`/recording/${id}`, readFileSync(file));
    for await (const { header } of chunks(readFileSync(file))) {
      for (const [row, { path }] of header.sources.entries()) {
        answers.set(`/recording/${id}/source/${row}`, texts[header.strings[path]]);
      }
    }
  }
  answers.set("/recordings.json", JSON.stringify({ recordings, open: recordings.slice(0, 2).map(({ id }) => id) }));
  const answer = (route) => {
    const path = new URL(route.request().url()).pathname;
    // The page computes for itself what no program reports.
    const body = /^\/compared\/|\/page-report\.json$/.test(path) ? "null" : answers.get(path);
    return body === undefined
      ? route.fulfill({ status: 404 })
      : route.fulfill({ body, contentType: typeof body === "string" ? "text/html" : "application/octet-stream" });
  };
  const answered = async (options) => {
    const page = await browser.newPage(options);
    await page.route("http://localhost/**", answer);
    return page;
  };
  const page = await open({ newPage: answered }, `http://localhost/${hash}`, 1400);
  await page.locator("#selection").waitFor();
  await settled(page);
  return page;
}

test("a recording is compared with another, in every view", async () => {
  const [BEFORE, AFTER] = [HTTP, join(root, "corpus/node24-http/input.txt.gz")];
  const page = await showLibrary([BEFORE, AFTER, DEMO]);
  await page.keyboard.press("e");
  await drawn(page);
  await page.waitForFunction(() => document.querySelector("#halves")?.textContent.includes("recording 0"));
  const [before, now] = [BEFORE, AFTER].map((file) => report(file, "--thread", "main"));
  const self = (reported, name) =>
    reported.functions.filter((row) => row.name === name).reduce((sum, { self }) => sum + self, 0);
  const inCores = (reported, name) => cores((self(reported, name) * reported.weight) / reported.duration_s / 1e9);
  const inShares = (reported, name) => percent(self(reported, name));
  const used = (reported) => cores(reported.weight / reported.duration_s / 1e9);
  const sentence = await page.locator("#compared-whole").textContent();
  assert.match(sentence, /^The main loop used [\d.]+ cores less \(\d+\s%\): /);
  assert.ok(sentence.endsWith(`: ${used(before)} before, ${used(now)} after.`), sentence);
  assert.deepEqual(await page.locator("#halves .side-name").allTextContents(), ["recording 0 <b>", "recording 1 <b>"]);
  // A third less work: what changed is given in cores, and in shares where these are chosen.
  for (const [measure, words, unit] of [
    ["rate", inCores, " cores"],
    ["share", inShares, ""],
  ]) {
    await page.locator(`[data-key="measure-${measure}"]`).click();
    assert.equal((await hashOf(page)).measure, measure === "share" ? "share" : undefined);
    const changes = await page
      .locator("#compared .changes > span:not(.quiet)")
      .evaluateAll((all) => all.map((row) => [row.querySelector("button").textContent, row.textContent]));
    assert.ok(changes.length >= 1 && changes.length <= 4, changes.join());
    for (const [name, text] of changes) {
      const [was, is] = [words(before, name), words(now, name)];
      const [wasNone, isNone] = [before, now].map((reported) => self(reported, name) === 0);
      assert.ok(
        text.endsWith(wasNone ? ` new, ${is}${unit}` : isNone ? ` gone, ${was}${unit}` : `, ${was} → ${is}`),
        `${text}: ${was}, ${is}`,
      );
    }
  }
  await page.locator('[data-key="measure-rate"]').click();
  await drawn(page);
  await page.screenshot({ path: join(pictures, "against-recording.png") });
  assert.equal((await selected(page)).samples, now.samples, "the other recording's samples are not among the selected");
  for (const key of ["1", "3"]) {
    await page.keyboard.press(key);
    await drawn(page);
    assert.match(await page.locator(".foot .legend").textContent(), /more.*less or gone.*new.*within noise/);
    await page.locator("#flame").hover({ position: { x: 40, y: 1.5 * ROW } });
    await tips(page, CHANGE_IN_CORES);
  }
  await page.screenshot({ path: join(pictures, "against-inverted.png") });
  await page.keyboard.press("4");
  await drawn(page);
  await page.locator('[data-key="sort-self"]').click();
  const rows = () => tableRows(page);
  const [was, is, , verdict, name] = (await rows())[0];
  assert.deepEqual([was, is], [inCores(before, name), inCores(now, name)]);
  assert.match(verdict, /^(more|less|new|gone|within noise)$/);
  await page.locator('[data-key="measure-share"]').click();
  await drawn(page);
  const [inShare] = await rows();
  assert.deepEqual(inShare.slice(0, 2), [inShares(before, inShare[4]), inShares(now, inShare[4])]);
  await page.locator('[data-key="measure-rate"]').click();
  await page.locator('[data-key="sort-change"]').click();
  await drawn(page);
  const gone = (await rows()).find((row) => row[3] === "gone");
  assert.deepEqual(gone.slice(0, 2), [inCores(before, gone[4]), "0.000"], "what is gone is listed");
  await page.screenshot({ path: join(pictures, "against-top.png") });
  await page.locator('#compared [data-key="changed-0"]').click();
  await drawn(page);
  const [, changed] = await page
    .locator("#panel-changes tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.match(changed.join(" "), /^total [\d.<]+ [\d.<]+ [+−]?[\d.]+ (more|less|new|gone|within noise)$/);
  await page.locator('[data-key="panel-sandwich"]').click();
  await drawn(page);
  assert.match(await page.locator(".foot .legend").textContent(), /within noise/);
  await page.screenshot({ path: join(pictures, "against-sandwich.png") });
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await drawn(page);
  const roots = async () =>
    (await boxes(page))
      .filter(([name]) => name === "all")
      .map(samplesOf)
      .sort((a, b) => a - b);
  assert.deepEqual(
    await roots(),
    [before.samples, now.samples].sort((a, b) => a - b),
    "side by side",
  );
  const halves = await page.locator("#halves .half").allTextContents();
  assert.ok(halves[0].startsWith(`before${used(before)} coresrecording 0`), halves[0]);
  assert.ok(halves[1].startsWith(`after${used(now)} coresrecording 1`), halves[1]);
  await page.keyboard.press("b");
  assert.equal((await hashOf(page)).sides, "before");
  assert.deepEqual(await roots(), [before.samples], "before alone");
  await page.locator('[data-key="compare-stop"]').click();
  await drawn(page);
  assert.equal(await page.locator("#compared").count(), 0);
  await page.locator('select[aria-label="compare with"]').selectOption("r2");
  await page.waitForFunction(() => document.querySelector("#halves")?.textContent.includes("recording 2"));
  assert.equal((await hashOf(page)).against, "r2");
  await close(page);
});

test("a source has the weight of each line, with its text or without", async () => {
  const reported = report(DEMO, "--thread", "main");
  const SHOP = reported.lines.find(({ file }) => file.endsWith("/lib/catalogue.js")).file;
  const { name, line } = reported.functions.find((row) => row.file === SHOP && /^\w+$/.test(row.name));
  const lines = reported.lines.filter(({ file }) => file === SHOP);
  assert.ok(lines.length > 3);
  const expected = lines
    .map(({ line, self, total, self_samples }) => [percent(self), String(self_samples), percent(total), String(line)])
    .sort();
  const weights = async (page) =>
    (
      await page
        .locator("#source tbody tr[data-line]")
        .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)))
    )
      .filter(([self]) => self !== "")
      .map(([self, samples, total, , line]) => [self, samples, total, line])
      .sort();

  const page = await show(DEMO, "#view=top&lens=everything");
  await page.locator("#filter").fill(name);
  await drawn(page);
  await page.locator("#top tbody button").first().focus();
  await page.keyboard.press("s");
  await drawn(page);
  assert.equal((await hashOf(page)).view, "source");
  const note = page.locator(".picture .note").last();
  await eventually(async () =>
    assert.match(await note.textContent(), /^This file carries no source text: export with --with-source\.$/),
  );
  assert.deepEqual(await weights(page), expected);
  assert.match(await page.locator("#source-heading").textContent(), /catalogue\.jsself [\d.]+\s% \(\d+\)/);
  await page.screenshot({ path: join(pictures, "source-without-text.png") });
  await close(page);

  const text = Array.from({ length: 300 }, (_, at) => `\tline ${at + 1}; // <img src=x onerror=alert(1)> \u202e`).join(
    "\n",
  );
  const other = await showLibrary([DEMO], { texts: { [SHOP]: text } });
  await other.keyboard.press("e");
  await drawn(other);
  await other.keyboard.press("/");
  await other.keyboard.type(`^${name}$`);
  await other.keyboard.press("Enter");
  await other.locator("#flame").focus();
  await other.keyboard.press("s");
  await other.waitForFunction(() => document.querySelectorAll("#source tbody tr").length === 300);
  await settled(other);
  assert.deepEqual(await weights(other), expected);
  const row = other.locator("#source tr.wanted");
  assert.equal(await row.getAttribute("data-line"), String(line));
  assert.equal(await row.locator(".code").textContent(), `    line ${line}; // <img src=x onerror=alert(1)> \\u202e`);
  const [inside, area] = [await row.boundingBox(), await other.locator(".picture .scroll").last().boundingBox()];
  assert.ok(inside.y >= area.y && inside.y < area.y + area.height, "scrolled to the function");
  const hottest = lines.reduce((best, one) => (one.self > best.self ? one : best));
  assert.match(await other.locator(`#source tr[data-line="${hottest.line}"]`).getAttribute("class"), /hot/);
  assert.equal(await other.locator("#source img").count(), 0);
  await other.screenshot({ path: join(pictures, "source.png") });
  // The weights are those of the selection.
  await go(other, `${await other.evaluate(() => location.hash)}&range=0-1`);
  await drawn(other);
  const part = report(DEMO, "--thread", "main", "--range", "0s..1s").lines.filter(({ file }) => file === SHOP);
  const samples = part.map((one) => String(one.self_samples)).sort();
  await eventually(async () => assert.deepEqual((await weights(other)).map((cells) => cells[1]).sort(), samples));
  await close(other);
});

test("lines open in the editor that the reader chose", async () => {
  const page = await show(DEMO, "#view=source&lens=everything");
  const rows = page.locator("#source tbody tr[data-line]");
  assert.equal(await page.locator("#source a").count(), 0, "and nowhere before one is chosen");
  await page.locator('#source-heading select[aria-label="editor"]').selectOption({ label: "VS Code" });
  await settled(page);
  const file = await page.locator("#source-heading b").textContent();
  const links = await rows.evaluateAll((all) =>
    all.map((row) => [
      row.dataset.line,
      row.querySelector("a")?.getAttribute("href"),
      row.querySelector("a")?.textContent,
    ]),
  );
  assert.ok(links.length > 3 && file.startsWith("/"), file);
  for (const [line, href, text] of links) assert.deepEqual([href, text], [`vscode://file${file}:${line}:1`, line]);
  await page.locator('#source-heading select[aria-label="editor"]').selectOption({ label: "no editor" });
  await settled(page);
  assert.equal(await page.locator("#source a").count(), 0);
  await close(page);
});

test("short lists say how many there are, and a button shows the others", async () => {
  const page = await show(HTTP, "#lens=everything&view=top&sort=total&threads=all");
  await settled(page);
  const entries = page.locator("#entries button:not(.rest)");
  const [, few, all] = (await page.locator("#entries .rest").textContent()).match(/^(\d+) of (\d+) · more$/);
  assert.equal(await entries.count(), Number(few));
  await page.locator("#entries .rest").click();
  assert.equal(await entries.count(), Number(all));
  assert.ok(Number(all) > Number(few));
  const more = page.locator('[data-key="calls-more"]');
  const names = page.locator("#top tbody td button.link");
  for (let at = 0; at < 20 && !(await more.isVisible()); at++) {
    await names.nth(at).click();
    await drawn(page);
  }
  const rows = page.locator(".panel-calls > div").last().locator("li .part");
  const [, first, whole] = (await more.textContent()).match(/^(\d+) of (\d+) · more$/);
  assert.equal(await rows.count(), Number(first));
  await more.press("Enter");
  assert.equal(await rows.count(), Number(whole));
  assert.equal(await more.count(), 0);
  const parts = (await rows.allTextContents()).reduce((sum, part) => sum + parseFloat(part.replace("<", "")), 0);
  assert.ok(Math.abs(parts - 100) < 1.5, "all of it is there");
  await close(page);
});

test("the panel of a function: its time, its lines, when, its callers and callees, its tiers, by keyboard alone", async () => {
  const reported = report(DEMO, "--thread", "main");
  const { file } = reported.lines.find((row) => row.file.endsWith("/lib/catalogue.js"));
  const its = reported.functions
    .filter((row) => row.file === file && /^\w+$/.test(row.name))
    .sort((a, b) => b.self - a.self)[0];
  const text = Array.from({ length: 300 }, (_, at) => `line ${at + 1}`).join("\n");
  const page = await showLibrary([DEMO], { texts: { [file]: text } });
  const panel = page.locator("#panel");
  assert.ok(!(await panel.isVisible()));
  await page.keyboard.press("e");
  await page.keyboard.press("/");
  await page.keyboard.type(`name:^${its.name}$`);
  await page.keyboard.press("Enter");
  await page.locator("#flame").focus();
  await page.keyboard.press("Enter");
  await panel.waitFor();
  const { view, panel: isOpen, zoom } = await hashOf(page);
  assert.deepEqual([view, isOpen], [undefined, "1"], "beside the picture, which zooms as before");
  assert.equal(await panel.locator(".panel-name").textContent(), its.name);
  const figures = (await panel.locator(".panel-figures .figure").allTextContents()).join(" ");
  assert.ok(figures.startsWith(`self${percent(its.self)}(${its.self_samples})`), figures);
  assert.ok(figures.endsWith(`total${percent(its.total)}(${its.total_samples})`), figures);
  // The text of its lines, the hottest in colour and in sight.
  await page
    .locator("#panel-source .code", { hasText: `line ${its.line}` })
    .first()
    .waitFor();
  const rows = await page
    .locator("#panel-source tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const lines = reported.lines.filter(
    (row) => row.file === file && rows.some(([, , line]) => Number(line) === row.line),
  );
  assert.deepEqual(
    rows.filter(([self]) => self),
    lines
      .sort((a, b) => a.line - b.line)
      .map(({ self, total, line }) => [percent(self), percent(total), String(line), `line ${line}`]),
  );
  const hottest = lines.reduce((best, row) => (row.total > best.total ? row : best));
  const hot = page.locator(`#panel-source tr.hot[data-line="${hottest.line}"]`);
  const [row, area] = [await hot.boundingBox(), await page.locator(".panel-source").boundingBox()];
  assert.ok(row.y >= area.y && row.y < area.y + area.height);
  const when = await page.locator("#panel-when-table tbody td:last-child").allTextContents();
  assert.ok(
    when.length === 20 && Math.abs(when.reduce((sum, part) => sum + parseFloat(part.replace("<", "")), 0) - 100) < 1.5,
    when.join(),
  );
  for (const list of await panel.locator(".panel-calls > div").all()) {
    const parts = await list.locator(".part").allTextContents();
    const sum = parts.reduce((all, part) => all + parseFloat(part.replace("<", "")), 0);
    assert.ok(Math.abs(sum - 100) < 1, `callers, and callees, are all of its time: ${parts}`);
  }
  assert.match(await panel.locator(".panel-tiers").textContent(), /^ran as.*(TurboFan|Maglev|Sparkplug|interpreted)/);
  await page.screenshot({ path: join(pictures, "panel.png") });
  // The range shows which part of it all this is of.
  await go(page, `${await page.evaluate(() => location.hash)}&range=0-3`);
  const part = report(DEMO, "--thread", "main", "--range", "0s..3s").functions.find(
    (row) => row.name === its.name && row.line === its.line,
  );
  await eventually(async () =>
    assert.match(await panel.locator(".panel-figures").textContent(), new RegExp(`\\(${part.total_samples}\\)$`)),
  );
  // Tab leads into it; a caller opens in its place; Escape closes it and gives the focus back.
  await page.locator("#flame").focus();
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.id);
  assert.equal(await focused(), "panel-menu");
  const [callers, callees] = [panel.locator(".panel-calls > div").first(), panel.locator(".panel-calls > div").last()];
  const caller = await callers.locator("button").first().textContent();
  await callers.locator("button").first().press("Enter");
  await drawn(page);
  assert.equal(await panel.locator(".panel-name").textContent(), caller);
  assert.ok((await callees.locator("li").allTextContents()).some((called) => called.startsWith(its.name)));
  await panel.locator('[data-key="panel-close"]').focus();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "hidden" });
  assert.equal(await focused(), "flame");
  assert.equal((await hashOf(page)).zoom, zoom, "and nothing else");
  await back(page);
  await panel.waitFor();
  // In the table the focus goes back to the row.
  await page.keyboard.press("4");
  await settled(page);
  await page.locator("#top tbody button.link").first().press("Enter");
  await drawn(page);
  const { function: chosen } = await hashOf(page);
  await panel.locator('[data-key="panel-close"]').press("Enter");
  await panel.waitFor({ state: "hidden" });
  assert.equal(await focused(), `row-${chosen}`);
  // Of other sources there is no text.
  page.trouble = page.trouble.filter((words) => !words.includes("404"));
  await close(page);
});

test("what is shown can be saved as a picture, hostile names and all", async () => {
  const file = join(folder, "saved.folded");
  writeFileSync(file, HOSTILE.map((name, at) => `${name.replaceAll(";", ":")} ${10 + at}\n`).join(""));
  const page = await show(file, "#lens=everything");
  const download = await saved(page, "svg");
  const text = readFileSync(await download.path(), "utf8");
  // The page's own policy would forbid the picture's style.
  const blank = await newPage(browser);
  const found = await blank.evaluate((svg) => {
    const tree = new DOMParser().parseFromString(svg, "image/svg+xml");
    return {
      errors: tree.querySelectorAll("parsererror, img").length,
      scripts: tree.querySelectorAll("script").length,
      titles: [...tree.querySelectorAll("title")].map((title) => title.textContent),
    };
  }, text);
  await blank.close();
  assert.equal(found.errors, 0);
  assert.equal(found.scripts, 1, "its own");
  assert.ok(
    found.titles.some((title) => title.startsWith("<img src=x onerror=alert(1)>")),
    found.titles.join("\n"),
  );
  assert.ok(found.titles.some((title) => title.startsWith("检查订单")));
  // The blob is the page's own.
  page.trouble = page.trouble.filter((words) => !words.startsWith("request for blob:"));
  await close(page);
});

test("the selection can be saved as folded stacks", async () => {
  const page = await show(HTTP, "#range=1-2&hide=c12");
  const download = await saved(page, "folded");
  const reported = report(HTTP, "--thread", "main", "--range", "1s..2s", "--hide", "kernel");
  assert.equal(report(await download.path()).weight, reported.weight);
  page.trouble = page.trouble.filter((words) => !words.startsWith("request for blob:"));
  await close(page);
});

test("the selection can be saved as a recording", async () => {
  const names = (reported) =>
    reported.functions
      .map((row) => [row.name, row.file, row.line, row.self_samples, row.total_samples].join(" "))
      .sort();
  for (const [input, hash, ...options] of [
    [HTTP, "#range=1-2", "--thread", "main", "--range", "1s..2s"],
    [DEMO, "#range=2.5-5.25&threads=all", "--range", "2.5s..5.25s"],
    [DEMO, "#threads=all"],
    [STALLS, "#threads=all"],
    [STALLS, "#range=2-10&threads=all", "--range", "2s..10s"],
    [HTTP, "#threads=all&category=gc", "--category", "gc"],
    [
      join(root, "corpus/cpuprofile-node22-known-shares/input.cpuprofile"),
      "#threads=all&range=0.1-0.4",
      "--range",
      "0.1s..0.4s",
    ],
    [join(root, "corpus/perf-multi-event/input.txt.gz"), "#threads=all"],
  ]) {
    const page = await show(input, hash);
    const download = await saved(page, "nodescope");
    const file = join(folder, `saved-${++files}.nodescope`);
    await download.saveAs(file);
    const [reported, now] = [report(input, ...options), report(file)];
    assert.deepEqual(
      [now.samples, now.weight, now.unit, now.host, now.command],
      [reported.samples, reported.weight, reported.unit, reported.host, reported.command],
      hash,
    );
    assert.deepEqual(names(now), names(reported), hash);
    const texts = (rows) => rows.map((row) => JSON.stringify(row)).sort();
    assert.deepEqual(texts(now.lines), texts(reported.lines));
    assert.deepEqual(texts(now.threads), texts(reported.threads));
    const [from, to] = (hash.match(/range=([\d.]+)-([\d.]+)/) ?? []).slice(1).map(Number);
    if (from !== undefined)
      assert.ok(now.duration_s <= to - from + 1e-6 && now.duration_s > (to - from) / 2, `${now.duration_s} s`);
    else
      assert.deepEqual([now.stalls, now.loops, now.host_times], [reported.stalls, reported.loops, reported.host_times]);
    // Identity, and what of the loops is still known for a part.
    const who = (rows) => texts(rows.map(({ samples: _, ...row }) => row));
    assert.ok(
      who(now.processes).every((row) => who(reported.processes).includes(row)),
      hash,
    );
    assert.deepEqual([now.stalls.length, now.loops_watched], [reported.stalls.length, reported.loops_watched], hash);
    // Names that the part does not need stay behind.
    const [{ tables, lanes }] = JSON.parse(
      execFileSync(process.execPath, [join(root, "docs/read-nodescope.mjs"), file]),
    );
    // Stacks across await have other functions than those that stood on V8's stack, and a file has both.
    const physical = report(file, "--physical").functions;
    const all = new Set(
      [...now.functions, ...physical].map((row) => `${row.name} ${row.file}:${row.line}:${row.column}`),
    );
    if (lanes.length === 1) assert.equal(tables.functions, all.size, hash);
    page.trouble = page.trouble.filter((words) => !words.startsWith("request for blob:"));
    await close(page);
  }
});

describe("the event loop", () => {
  test("stalls are listed; a click selects one", async () => {
    const page = await show(DEMO);
    const reported = report(DEMO).stalls;
    const words = await page.locator("#stalls button").allTextContents();
    assert.equal(words.length, reported.length);
    assert.ok(words[0].includes(` at ${reported[0].start_s.toFixed(3)} s in ${reported[0].function}`), words[0]);
    const blocked = `the loop was blocked ${reported.length === 1 ? "1 time" : `${reported.length} times`}`;
    assert.ok((await page.locator("#stalls").textContent()).startsWith(blocked));
    await firstStall(page);
    const [from, to] = (await hashOf(page)).range.split("-").map(Number);
    assert.ok(Math.abs(from - reported[0].start_s) < 1e-6 && Math.abs(to - from - reported[0].duration_s) < 1e-6);
    await close(page);
  });

  test("what waited is distinguished from what ran, and what waited for a CPU accuses no function", async () => {
    const page = await show(STALLS);
    const words = await page.locator("#stalls button").allTextContents();
    assert.match(words[0], /^304 ms at \d+\.\d+ s, waiting for a child process: execSync in deployStatus/);
    assert.match(await page.locator("#stalls").textContent(), /^the loop was blocked 33 times/);
    await close(page);
  });

  test("without a count of turns the page says what it does not know", async () => {
    const page = await show(HTTP);
    assert.match(await page.locator("#stalls").textContent(), /^turns (were|of the event loop were) not counted/);
    await close(page);
  });
});

describe("the verdict", () => {
  test("is the report's, and a card leads to what it speaks of, then against the rest, then back", async () => {
    const page = await show(DEMO);
    const { findings, stalls } = report(DEMO);
    const [card, closing] = [page.locator(".card").first(), page.locator(".card.closing")];
    assert.equal((await card.textContent()).replaceAll("\u00a0", " "), findings[0].text.join(" "));
    assert.match(await closing.textContent(), /^Nothing else stands out\. Garbage collection took /);
    await card.locator(".card-open").click();
    await eventually(async () => assert.ok((await hashOf(page)).range));
    const [from, to] = (await hashOf(page)).range.split("-").map(Number);
    assert.deepEqual([from, to], [stalls[0].start_s, stalls[0].end_s]);
    const hash = await hashOf(page);
    assert.ok(hash.threads && hash.function);
    assert.match(
      await card.locator(".card-actions").textContent(),
      new RegExp(`1 of ${stalls.length}.*against the rest`),
    );
    await page.screenshot({ path: join(pictures, "verdict.png") });
    await card.locator('[data-key="finding-0-next"]').click();
    await eventually(async () => assert.equal(Number((await hashOf(page)).range.split("-")[0]), stalls[1].start_s));
    await card.locator(".card-open").click();
    await eventually(async () => assert.equal((await hashOf(page)).against, "rest"));
    await card.locator(".card-open").press("Enter");
    await eventually(async () => assert.equal((await hashOf(page)).range, undefined));
    await back(page);
    await eventually(async () => assert.equal((await hashOf(page)).against, "rest"));
    await close(page);
  });

  test("has three cards, and the rest with all words behind a button", async () => {
    const page = await show(STALLS);
    const reported = report(STALLS).findings;
    assert.equal(await page.locator(".card").count(), 3);
    await page.locator('[data-key="verdict-all"]').click();
    const cards = (await page.locator(".card").allTextContents()).map((text) => text.replaceAll("\u00a0", " "));
    assert.deepEqual(
      cards.slice(0, reported.length),
      reported.map(({ text }) => text.join(" ")),
    );
    assert.equal(cards.length, reported.length + 1, "and what stands behind them");
    await close(page);
  });

  test("and the map leave two thirds of the window to the flame graph", async () => {
    const CAUTION = join(root, "corpus/entries-loop/input.nodescope");
    for (const input of [DEMO, STALLS, HTTP, CAUTION]) {
      const page = await show(input, "", 1440);
      assert.equal(await page.locator(".drop.cautions").count(), Number(input === CAUTION));
      const { y } = await page.locator("#flame").boundingBox();
      assert.ok(y <= 300, `${input}: ${y}`);
      await page.emulateMedia({ colorScheme: "dark" });
      await drawn(page);
      await page.screenshot({ path: join(pictures, `head-dark-${files}.png`) });
      await page.keyboard.press("h");
      await drawn(page);
      assert.equal((await hashOf(page)).map, "folded");
      assert.ok(!(await page.locator("#heat").isVisible()));
      assert.ok((await page.locator("#flame").boundingBox()).y < y - 80);
      await page.locator('[data-key="map-fold"]').click();
      await drawn(page);
      assert.ok(await page.locator("#heat").isVisible());
      await close(page);
    }
  });
});

test("the head stays where it is, whatever is selected and compared", async () => {
  const AFTER = join(root, "tests/browser/shop-mended.nodescope");
  const two = join(folder, `page-${++files}.html`);
  execFileSync(program, ["export", AFTER, "--against", DEMO, "-o", two], { stdio: ["ignore", "ignore", "inherit"] });
  const top = async (page) => {
    await settled(page);
    return (await page.locator("#flame").boundingBox()).y;
  };
  for (const input of [DEMO, STALLS]) {
    const page = await show(input, "", 1440);
    const untouched = await top(page);
    let during;
    await drag(page, [0.3, 0.8], [0.5, 0.3], async () => (during = await top(page)));
    assert.deepEqual([during, await top(page)], [untouched, untouched], "nothing jumps while a range is dragged");
    const card = page.locator(".card .card-open").first();
    await card.click();
    await eventually(async () => assert.equal(await page.locator(".card.shown").count(), 1));
    assert.equal(await top(page), untouched, "a card is clicked");
    await card.click();
    await page.locator("#compared").waitFor();
    const compared = await top(page);
    assert.ok(compared <= 300, `${input} against the rest: ${compared}`);
    assert.equal(await page.locator(".card").count(), 1, "the card that the comparison is about");
    await close(page);
  }
  const page = await open(browser, pathToFileURL(two).href, 1440);
  await page.locator("#compared").waitFor();
  const whole = await top(page);
  assert.ok(whole <= 300, `two recordings: ${whole}`);
  await drag(page, [0.3, 0.8], [0.5, 0.3]);
  assert.equal(await top(page), whole, "and a range of them");
  await close(page);
});

test("threads, stalls and entries are those of what is selected", async () => {
  const page = await show(DEMO);
  const [longest] = report(DEMO).stalls;
  const { start_s, end_s } = longest;
  const part = async () => (await page.locator('[data-key="role-main"]').textContent()).replace("main loop ", "");
  const reported = (...options) => {
    const { threads } = report(DEMO, ...options);
    const weigh = (rows) => rows.reduce((sum, { self }) => sum + self, 0);
    return percent(weigh(threads.filter(({ role }) => role === "main")) / weigh(threads));
  };
  assert.equal(await part(), reported());
  await firstStall(page);
  const range = ["--range", `${start_s}s..${end_s}s`];
  assert.equal(await part(), reported(...range), "of the range");
  assert.notEqual(reported(...range), reported());
  assert.match(await page.locator('[data-key="stalls"]').textContent(), /^1 stall /);
  assert.match(await page.locator("#stalls").textContent(), /^in what is selected the loop was blocked 1 time/);
  assert.match(await page.locator(".side h2").first().textContent(), /^asked for by, main loop$/);
  await page.locator('[data-key="role-all"]').click();
  await drawn(page);
  assert.equal(await part(), reported(...range), "whatever threads are shown");
  assert.match(await page.locator(".side h2").first().textContent(), /^asked for by, all threads$/);
  await close(page);
});

test("the words of what is selected stay one element, that a screen reader listens to", async () => {
  const page = await show(DEMO);
  await page.evaluate(() => (window.kept = document.querySelector("#selection")));
  await firstStall(page);
  assert.match(await page.locator("#selection").textContent(), / of [\d,]+$/);
  await page.locator('[data-key="compare-rest"]').click();
  await drawn(page);
  await page.evaluate(() => (window.keptWhole = document.querySelector("#compared-whole")));
  await page.locator('[data-key="measure-share"]').click();
  await page.locator('[data-key="role-all"]').click();
  await drawn(page);
  assert.ok(
    await page.evaluate(() => {
      const [text, whole] = ["#selection", "#compared-whole"].map((id) => document.querySelector(id));
      return text === window.kept && text.isConnected && whole === window.keptWhole && whole.role === "status";
    }),
  );
  await close(page);
});

test("the list of categories says whose time it shares out: of a loop, what the report says of its garbage collection", async () => {
  const page = await show(DEMO);
  const [{ of_cpu }] = report(DEMO).gc.loops;
  assert.match(await page.locator(".side").textContent(), /self time, main loop/);
  const words = await page.locator('[data-key="category-5"] .part').textContent();
  assert.equal(words, `${(100 * of_cpu).toFixed(1)}\u00a0%`);
  await page.locator('[data-key="role-all"]').click();
  await drawn(page);
  assert.match(await page.locator(".side").textContent(), /self time, all threads/);
  await close(page);
});

test("a cell shows when, how much and for which functions; colours may be those of categories", async () => {
  const page = await show(DEMO);
  const [stall] = report(DEMO).stalls;
  const area = await page.locator("#heat").boundingBox();
  // Its columns are seconds, and its rows tenths of them: the row in the middle of the stall, from below.
  // Less than half a cell behind the last column has none of its own (heat.ts).
  const columns = Math.ceil(report(DEMO).duration_s - 0.05);
  const middle = (stall.start_s + stall.end_s) / 2;
  const x = 64 + (Math.floor(middle) + 0.5) * Math.floor((area.width - 66) / columns);
  // Under the cells are the axis and the event loop.
  await page.mouse.move(area.x + x, area.y + (area.height - 50) * (1 - (middle % 1)));
  const tip = page.locator(".heat .tip");
  await eventually(async () =>
    assert.match(
      await tip.textContent(),
      /^\d+\.\d+–\d+\.\d+ s · \d\d:\d\d:\d\d UTC\d.* of 100 ms: \d\.\d\d cores · \d+ samples/,
    ),
  );
  assert.match(await tip.textContent(), /\d\s% summarise.*stall: \d+ ms at /);
  await settled(page);
  const table = await page
    .locator("#heat-table tbody tr")
    .evaluateAll((rows) => rows.map((row) => row.cells[3].textContent));
  const stalls = report(DEMO).stalls;
  const isStalled = (column) => stalls.some(({ start_s, end_s }) => start_s < column + 1 && column < end_s);
  assert.deepEqual(
    table.map((text) => text.includes("stall: ")),
    table.map((_, column) => isStalled(column)),
  );
  await page.mouse.move(5, 5);
  const pixels = () => page.locator("#heat").evaluate((canvas) => canvas.toDataURL());
  const before = await pixels();
  await page.locator('[data-key="map by-category"]').click();
  await drawn(page);
  assert.equal((await hashOf(page))["map-by"], "category");
  assert.notEqual(await pixels(), before);
  await page.screenshot({ path: join(pictures, "map-by-category.png") });
  await page.locator('[data-key^="entry-timer"]').first().click();
  await drawn(page);
  const timers = report(DEMO, "--thread", "main", "--entry", "timer");
  assert.equal((await selected(page)).weight, timers.weight);
  await settled(page);
  const sums = await page
    .locator("#heat-table tbody tr")
    .evaluateAll((rows) => rows.map((row) => row.cells[1].textContent));
  const sum = sums.reduce(
    (all, text) => all + parseFloat(text) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[text.split(" ")[1]],
    0,
  );
  assert.ok(Math.abs(sum / timers.weight - 1) < 0.02, "the map is of what is selected");
  await close(page);
});

test("threads, roles and packages can be picked; the heat map has a band for each", async () => {
  const WORKERS = join(root, "corpus/node24-workers/input.txt.gz");
  const page = await show(WORKERS);
  const reported = report(WORKERS);
  const samples = (role) =>
    reported.threads.filter((row) => row.role === role).reduce((sum, row) => sum + row.samples, 0);
  await page.locator('[data-key="role-worker"]').click();
  assert.equal((await selected(page)).samples, samples("worker"));
  await page.locator('[data-key="role-all"]').click();
  assert.equal((await selected(page)).samples, reported.samples);
  const high = async () => (await page.locator("#heat").boundingBox()).height;
  const one = await high();
  await page.locator('select[aria-label="bands"]').selectOption("thread");
  await drawn(page);
  assert.equal((await hashOf(page)).bands, "thread");
  assert.notEqual(await high(), one);
  await page.screenshot({ path: join(pictures, "bands.png") });
  await page.locator('[data-key="each"]').click();
  const busiest = reported.threads[0];
  await page.locator('[data-key="role-worker"]').click();
  await page.getByRole("button", { name: new RegExp(`^${busiest.name} ${busiest.tid} `) }).click();
  assert.equal((await selected(page)).samples, samples("worker") - busiest.samples);
  await close(page);

  const other = await show(HTTP, "#view=top&by=package&threads=all");
  const express = report(HTTP).packages.find(({ name }) => name === "express");
  await other.locator('#top button:has-text("express")').first().click();
  assert.equal((await selected(other)).samples, express.total_samples, "one package only");
  await close(other);
});

test("idle time is in the heat map only when it is asked for", async () => {
  const IDLE = join(root, "corpus/cpuprofile-node18-http/input.cpuprofile.gz");
  const [busy, idle] = [report(IDLE).weight, report(IDLE, "--category", "idle").weight];
  const units = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  for (const [hash, part] of [
    ["#threads=all", busy],
    ["#threads=all&category=idle", idle],
  ]) {
    const page = await show(IDLE, hash);
    await settled(page);
    const sums = await page
      .locator("#heat-table tbody tr")
      .evaluateAll((rows) => rows.map((row) => row.cells[1].textContent));
    const sum = sums.reduce((all, text) => all + parseFloat(text) * units[text.split(" ")[1]], 0);
    assert.ok(Math.abs(sum / part - 1) < 0.02, `${hash}: ${sum}, not ${part}`);
    await close(page);
  }
});

test("a short recording has finer columns, and rows that can be chosen", async () => {
  const page = await show(HTTP, "#threads=all");
  const size = () => page.locator("#heat-legend").getAttribute("title");
  assert.equal(await size(), "40 ms a cell, 200 ms a column");
  await page.locator('select[aria-label="rows"]').selectOption("100");
  await drawn(page);
  assert.equal(await size(), "2 ms a cell, 200 ms a column");
  await page.locator("#heat").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal((await hashOf(page)).range, "0-0.2");
  const reported = report(HTTP, "--range", "0s..0.2s");
  assert.deepEqual(await selected(page), { samples: reported.samples, weight: reported.weight });
  await close(page);
});

test("hours have coarser columns, and every sample", async () => {
  const lines = Array.from(
    { length: 18_000 },
    (_, second) =>
      `node 7/7 [000] ${(100 + second).toFixed(6)}: 10101010 cpu-clock:\n\t1 ${second % 600 < 60 ? "burst" : "steady"} (/bin/x)\n`,
  );
  const file = join(folder, "hours.txt");
  writeFileSync(file, `${lines.join("\n")}\n`);
  const page = await show(file, "#threads=all");
  assert.match(await page.locator("#heat-legend").getAttribute("title"), /, 60 s a column$/);
  assert.match(await page.locator(".facts").textContent(), /5 h/);
  await page.locator("#heat").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowRight");
  assert.equal((await hashOf(page)).range, "0-120");
  assert.equal((await selected(page)).samples, 120);
  await page.screenshot({ path: join(pictures, "hours.png") });
  await close(page);
});

test("hostile names are only names, and stay what they are", async () => {
  const file = join(folder, "hostile.folded");
  writeFileSync(file, HOSTILE.map((name, at) => `${name.replaceAll(";", ":")};leaf${at} ${at + 1}\n`).join(""));
  for (const view of ["flame", "top", "inverted"]) {
    const page = await show(file, `#view=${view}&lens=everything`);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, iframe, object").length), 0);
    await settled(page);
    const texts = await page.evaluate(() => document.body.textContent);
    for (const name of [
      "<img src=x onerror=alert(1)>",
      "</script><script>alert(2)</script>",
      "检查订单",
      "リクエスト処理",
      "🚀rocket🧨",
      "größeÄndern",
      "__proto__",
    ]) {
      assert.ok(texts.includes(name), `${view}: ${name}`);
    }
    assert.ok(texts.includes("\\u202eto left") && !texts.includes("\u202e"), view);
    assert.ok(!texts.includes("\u001b"), view);
    await page.locator("#search").fill("img|script");
    await drawn(page);
    await page.screenshot({ path: join(pictures, `hostile-${view}.png`) });
    await close(page);
  }
});

test("a recording without times has everything but the heat map", async () => {
  const page = await show(join(root, "corpus/folded-simple/input.txt"));
  assert.match(await page.locator(".heat .note").textContent(), /no times/);
  assert.equal((await selected(page)).weight, report(join(root, "corpus/folded-simple/input.txt")).weight);
  await page.screenshot({ path: join(pictures, "no-times.png") });
  await close(page);
});

test("damaged recordings say so", async () => {
  const out = exported(DEMO);
  const page = await newPage(browser);
  const text = execFileSync("cat", [out], { maxBuffer: 1 << 28 }).toString();
  writeFileSync(out, text.replace(/(class="recording">)[A-Za-z0-9+/=]{64}/, "$1"));
  await page.goto(pathToFileURL(out).href);
  await page.locator(".note").waitFor();
  await eventually(async () =>
    assert.match(await page.locator("#page").textContent(), /cannot be shown: this is not a recording/),
  );
  await page.close();
});

test("dark mode follows the system, and can be chosen", async () => {
  const page = await show(DEMO);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const becomes = (color) => eventually(async () => assert.equal(await background(), color));
  await becomes("rgb(255, 255, 255)");
  await page.emulateMedia({ colorScheme: "dark" });
  await drawn(page);
  await becomes("rgb(22, 23, 24)");
  await page.screenshot({ path: join(pictures, "flame-dark.png") });
  await page.keyboard.press("t");
  await drawn(page);
  await becomes("rgb(255, 255, 255)");
  await close(page);
});

test("nothing leaves a narrow window", async () => {
  for (const width of [1000, 760, 480]) {
    const page = await show(DEMO, "", width);
    await resize(page, { width, height: 900 });
    await drawn(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} > ${width}`);
    await page.screenshot({ path: join(pictures, `narrow-${width}.png`) });
    await close(page);
  }
});
