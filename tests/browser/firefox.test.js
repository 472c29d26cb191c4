// What nodescope writes, in Firefox: it is drawn, shows what the program reports, and follows mouse and keyboard. The
// other files of this folder test the same in Chromium, in depth.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eventually, program, withinPatience } from "./browser.js";
import { firefox, launch } from "./firefox.js";

const root = resolve(import.meta.dirname, "../..");
const DEMO = join(root, "crates/nodescope/src/demo/recording.nodescope");
const ROW = 18;
/** What the heat map has left and right of its cells, in pixels. */
const [LEFT, BESIDE] = [64, 72];
const skip = firefox ? false : "there is no firefox-esr; install it, or set FIREFOX to a browser";

const report = (...options) =>
  JSON.parse(
    execFileSync(program, ["report", DEMO, "--json", ...options], {
      maxBuffer: 1 << 28,
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
const selected = async (page) =>
  Number(await page.evaluate(() => document.querySelector("#selection").dataset.samples));
const samplesOf = ([, , words]) => Number(words.match(/total [\d.<]+\s% \(([\d,]+)\)/)[1].replaceAll(",", ""));
const digits = (part) => `${(100 * part).toFixed(1)}\u00a0%`;

/** How many colours a canvas has. */
function coloursOf(id) {
  const canvas = document.getElementById(id);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}

describe("in Firefox", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-in-firefox-"));
  let browser;
  before(async () => {
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  function exported(ending) {
    const out = join(folder, `demo${ending}`);
    if (!existsSync(out))
      execFileSync(program, ["export", DEMO, "-o", out], { stdio: ["ignore", "ignore", "inherit"] });
    return pathToFileURL(out).href;
  }

  async function show(hash = "") {
    const page = await browser.open(exported(".html") + hash);
    return shown(page);
  }

  /** Once the recording is read and all that comes after the picture is there, too. */
  async function shown(page) {
    await page.place("#selection");
    await page.settled();
    return page;
  }

  describe("the page of one file", () => {
    test("draws the heat map and the flame graph, and shows what the report says", async () => {
      const page = await show();
      const reported = report("--thread", "main");
      assert.equal(await selected(page), reported.samples);
      for (const id of ["heat", "flame"]) assert.ok((await page.evaluate(coloursOf, id)) > 5, id);
      const [card] = await page.texts(".card");
      assert.equal(card.replaceAll("\u00a0", " "), report().findings[0].text.join(" "));
      assert.equal((await page.texts("#stalls button")).length, report().stalls.length);
      await page.close();
    });

    test("has the report's functions in its boxes and tables", async () => {
      const page = await show("#lens=everything&view=inverted");
      const { functions } = report("--thread", "main");
      const [all, ...boxes] = await page.rows("#flame-table");
      assert.equal(samplesOf(all), report("--thread", "main").samples);
      // Inverted, what ran stands under the root, a box for each function.
      for (const { name, self_samples } of functions.slice(0, 5)) {
        assert.ok(
          boxes.some((box) => box[0] === name && samplesOf(box) === self_samples),
          name,
        );
      }
      await page.press("4");
      await page.click('[data-key="sort-self"]');
      const rows = (await page.rows("#top")).slice(0, 30);
      const expected = functions
        .slice(0, 30)
        .map((row) => [row.name, row.self_samples, digits(row.total), row.total_samples]);
      assert.deepEqual(
        rows.map(([, , self, total, samples, name]) => [name, Number(self), total, Number(samples)]),
        expected,
      );
      await page.close();
    });

    test("selects a range by a drag, and counts what the report counts", async () => {
      const page = await show();
      const area = await page.place("#heat");
      const at = (part, height) => [area.x + LEFT + part * (area.width - BESIDE), area.y + height];
      await page.drag([at(0.1, 30), at(0.4, 10)]);
      const { range } = await page.hash();
      const reported = report("--thread", "main", "--range", `${range.replace("-", "s..")}s`);
      assert.ok(reported.samples > 0 && reported.samples < report("--thread", "main").samples, range);
      assert.equal(await selected(page), reported.samples);
      assert.equal(samplesOf((await page.rows("#flame-table"))[0]), reported.samples);
      await page.press("Escape");
      assert.equal((await page.hash()).range, undefined);
      await page.close();
    });

    test("searches, and says how much matched", async () => {
      const page = await show();
      const [whole, part] = [report("--thread", "main"), report("--thread", "main", "--search", "^summarise$")];
      await page.press("/");
      await page.press("name:^summarise$");
      assert.equal(await page.text(".matched"), `1 match · ${digits(part.weight / whole.weight)}`);
      await page.press("Enter");
      assert.match(await page.text("#current"), /^summarise /);
      await page.close();
    });

    test("changes the lens by keys, never the samples", async () => {
      const page = await show();
      const all = await selected(page);
      const names = new Set();
      for (const [key, words] of [
        ["p", "+ packages"],
        ["j", "+ Node"],
        ["e", "everything"],
        ["m", "my code"],
      ]) {
        await page.press(key);
        assert.equal(await page.text('[aria-label="lens"] [aria-pressed="true"]'), words);
        assert.equal(await selected(page), all);
        names.add((await page.rows("#flame-table")).map(([name]) => name).join("\n"));
      }
      assert.equal(names.size, 3, "the demo calls no packages");
      await page.close();
    });

    test("shows a function beside the picture after a click", async () => {
      const page = await show("#lens=everything");
      await page.click("#flame", [40, 2.5 * ROW]);
      assert.equal((await page.hash()).panel, "1");
      const name = await page.text("#panel .panel-name");
      const row = report("--thread", "main").functions.find((one) => one.name === name);
      assert.ok(
        (await page.text("#panel .panel-figures")).includes(
          `total${digits(row.total)}(${row.total_samples.toLocaleString("en")})`,
        ),
        name,
      );
      await page.click('[data-key="panel-close"]');
      assert.equal((await page.hash()).panel, undefined);
      await page.close();
    });

    test("saves what is shown as a picture", async () => {
      const page = await show();
      await page.click('[data-key="export"]');
      await page.click('[data-key="svg"]');
      const name = await eventually(() => {
        const [done] = readdirSync(browser.downloads).filter((file) => file.endsWith(".svg"));
        assert.ok(done && readdirSync(browser.downloads).length === 1, readdirSync(browser.downloads).join());
        return done;
      });
      const text = await eventually(() => {
        const found = readFileSync(join(browser.downloads, name), "utf8");
        assert.match(found, /<\/svg>\s*$/);
        return found;
      });
      assert.ok(text.includes("summarise"));
      await page.close();
    });

    test("walks from box to box by keys, and shows which", async () => {
      const page = await show();
      await page.press("f");
      assert.equal(await page.evaluate(() => document.activeElement.id), "flame");
      assert.match(await page.text("#current"), /^all/);
      await page.press("ArrowDown");
      const first = await page.text("#current");
      await page.press("ArrowRight");
      const second = await page.text("#current");
      const names = (await page.rows("#flame-table")).map(([name]) => name);
      for (const words of [first, second])
        assert.ok(
          names.some((name) => words.startsWith(`${name}   `)),
          words,
        );
      assert.notEqual(first, second);
      await page.press("Enter");
      assert.equal((await page.hash()).zoom.split(".").length, 1);
      assert.ok(second.startsWith(`${await page.text(".crumbs button:last-child")}   `), second);
      await page.press("Backspace");
      assert.equal((await page.hash()).zoom, undefined);
      await page.close();
    });

    test("shows one thread in the order of time, and zooms by keys", async () => {
      const page = await show("#view=time&range=1-3");
      assert.ok((await page.evaluate(coloursOf, "flame")) > 5);
      const [first] = await page.texts("#time-axis span");
      assert.match(first, /^1\.?0* s/);
      await page.press("f");
      await page.press("+");
      const [from, to] = (await page.hash()).range.split("-").map(Number);
      assert.ok(from >= 1 && to <= 3 && Math.abs(to - from - 1.6) < 0.01, `${from}-${to}`);
      await page.close();
    });

    test("is dark when that is chosen", async () => {
      const page = await show();
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await page.evaluate((id) => document.getElementById(id).toDataURL(), "flame");
      assert.equal(await background(), "rgb(255, 255, 255)");
      await page.press("t");
      await eventually(async () => assert.equal(await background(), "rgb(22, 23, 24)"));
      assert.notEqual(await page.evaluate((id) => document.getElementById(id).toDataURL(), "flame"), light);
      await page.close();
    });
  });

  test("a page that is served opens with the same samples", async () => {
    const server = spawn(program, ["view", "--no-browser", DEMO], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const address = await withinPatience(
        new Promise((done) => server.stdout.once("data", (line) => done(String(line).trim()))),
        "view does not start",
      );
      const page = await shown(await browser.open(address));
      assert.equal(await selected(page), report("--thread", "main").samples);
      for (const id of ["heat", "flame"]) assert.ok((await page.evaluate(coloursOf, id)) > 5, id);
      assert.equal(await page.evaluate(() => location.search), "", "the code is not in the address");
      await page.close();
    } finally {
      server.kill();
    }
  });

  test("the list shows what is in a folder, and compares two of them", async () => {
    const recordings = join(folder, "recordings");
    mkdirSync(recordings);
    copyFileSync(DEMO, join(recordings, "demo.nodescope"));
    copyFileSync(join(import.meta.dirname, "stalls.nodescope"), join(recordings, "stalls.nodescope"));
    const server = spawn(program, ["view", "--no-browser", recordings], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const address = await withinPatience(
        new Promise((done) => server.stdout.once("data", (line) => done(String(line).trim()))),
        "view does not start",
      );
      const page = await browser.open(address);
      await page.place("#list tbody tr");
      await eventually(async () => {
        const shown = await page.texts("#list .list-finding .list-text");
        assert.ok(shown.length === 2 && shown.every(Boolean), shown.join(" | "));
      });
      const findings = (await page.texts("#list .list-finding .list-text")).map((text) =>
        text.replaceAll("\u00a0", " "),
      );
      const [reported] = report().findings;
      assert.ok(
        findings.some((text) => text.startsWith(reported.text[0].replace(/\.$/, ""))),
        findings.join(" | "),
      );
      for (const row of [1, 2]) await page.click(`#list tbody tr:nth-child(${row}) label`);
      await page.press("c");
      await page.place("#compared");
      await page.settled();
      assert.match(await page.text("#compared"), /(cores|shares)/);
      assert.deepEqual(await page.texts("#halves b"), ["before", "after"]);
      assert.ok((await page.evaluate(coloursOf, "flame")) > 5);
      await page.close();
    } finally {
      server.kill();
    }
  });

  test("the SVG picture zooms and searches", async () => {
    const page = await browser.open(exported(".svg"));
    const boxes = () =>
      page.evaluate(() =>
        [...document.getElementById("boxes").children].map((box) => ({
          title: box.querySelector("title").textContent,
          width: parseFloat(box.getAttribute("width")),
        })),
      );
    const first = await boxes();
    const at = first.findIndex(({ title, width }) => /summarise/.test(title) && width < 90);
    await page.click(`#boxes > :nth-child(${at + 1})`);
    await eventually(async () => assert.equal((await boxes())[at].width, 100));
    await page.click("#reset");
    await eventually(async () => assert.deepEqual(await boxes(), first));
    await page.press("/");
    await page.press("summarise");
    await eventually(async () =>
      assert.ok(Number((await page.text("#matched")).match(/^Matched: ([\d.]+)%$/)?.[1]) > 0),
    );
    await page.close();
  });
});
