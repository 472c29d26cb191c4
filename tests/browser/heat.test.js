// What the heat map, the lane under it and the flame graph draw, read from their pixels: a recording made by hand has a
// turn that ran, one that waited, a throttled second and a stop.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eventually, go, launch, open, program, resize, settled } from "./browser.js";
import { BLOCKED, LAST, madeByHand, RAN, SECONDS, STOPPED, THROTTLED } from "./recording.js";

const DEMO = resolve(import.meta.dirname, "../../crates/nodescope/src/demo/recording.nodescope");
const folder = mkdtempSync(join(tmpdir(), "nodescope-heat-"));
/** The map's geometry: pixels left of the cells, under them, and milliseconds of a column of this recording. */
const [LEFT, UNDER, LANE, COLUMN_MS] = [64, 50, 32, 500];
const ROW = 18;

let browser;
before(async () => {
  browser = await launch();
  writeFileSync(join(folder, "hand.nodescope"), madeByHand());
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const report = (...options) =>
  JSON.parse(
    execFileSync(program, ["report", join(folder, "hand.nodescope"), "--json", ...options], {
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );

async function show(input = join(folder, "hand.nodescope"), hash = "") {
  const out = join(folder, "page.html");
  execFileSync(program, ["export", input, "-o", out], { stdio: ["ignore", "ignore", "inherit"] });
  const page = await open(browser, pathToFileURL(out).href + hash, 1440);
  await page.locator("#selection").waitFor();
  await settled(page);
  return page;
}

/** The colours of an area of a canvas, each with how many pixels have it; the order is theirs. */
function colours(page, id, [x, y, width = 1, height = 1]) {
  return page.evaluate(
    ([canvas, area]) => {
      const { data } = document
        .getElementById(canvas)
        .getContext("2d")
        .getImageData(...area.map(Math.round));
      const counts = {};
      for (let at = 0; at < data.length; at += 4) {
        const colour = [...data.subarray(at, at + 4)].join(",");
        counts[colour] = (counts[colour] ?? 0) + 1;
      }
      return counts;
    },
    [id, [x, y, width, height]],
  );
}

/** A colour that style.css names, as pixels have it. */
const named = (page, name) =>
  page.evaluate((of) => {
    const element = document.body.appendChild(document.createElement("i"));
    element.style.color = `var(${of})`;
    const words = getComputedStyle(element).color.match(/\d+/g);
    element.remove();
    return [...words, 255].join(",");
  }, name);

/** Where a time is in the map, and how large a column is. */
async function mapOf(page) {
  const { width, height } = await page
    .locator("#heat")
    .evaluate((canvas) => ({ width: canvas.width, height: canvas.height }));
  const wide = Math.floor((width - LEFT - 2) / ((1000 * SECONDS) / COLUMN_MS));
  return { wide, high: height - UNDER, lane: height - LANE, xOf: (ms) => LEFT + (ms / COLUMN_MS) * wide };
}

const contrast = (a, b) => {
  const light = (colour) => {
    const [red, green, blue] = colour
      .split(",")
      .map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low, high] = [light(a), light(b)].sort((one, two) => one - two);
  return (high + 0.05) / (low + 0.05);
};

describe("a recording made by hand", () => {
  let page;
  let map;
  let text;
  let paper;
  before(async () => {
    page = await show();
    map = await mapOf(page);
    [text, paper] = [await named(page, "--text"), await named(page, "--page")];
  });
  after(() => page.close());

  test("is what the report says it is", () => {
    const reported = report();
    assert.deepEqual(
      reported.stalls.map(({ start_s, end_s, kind }) => [1000 * start_s, 1000 * end_s, kind]),
      [
        [...BLOCKED, "blocked"],
        [...RAN, "ran"],
        [...LAST, "ran"],
      ],
    );
    assert.equal(reported.stops.length, 1);
  });

  test("stalls are outlined, with a line of the page's colour inside", async () => {
    for (const [from] of [RAN, BLOCKED]) {
      const x = map.xOf(from);
      assert.deepEqual(Object.keys(await colours(page, "heat", [x, 8, 1, 20])), [text], `${from} ms`);
      assert.deepEqual(Object.keys(await colours(page, "heat", [x + 1, 8, 1, 20])), [paper], `${from} ms, inside`);
    }
    const beside = await colours(page, "heat", [map.xOf(2000), 8, 1, 20]);
    assert.ok(!(text in beside), "no other column is");
  });

  test("a throttled second is hatched, and no other", async () => {
    const inColumn = async (ms) =>
      Object.keys(await colours(page, "heat", [map.xOf(ms) + 3, 1, map.wide - 6, 3])).length;
    assert.equal(await inColumn(THROTTLED[0] - COLUMN_MS), 1, "a full cell has one colour");
    for (const ms of [THROTTLED[0], THROTTLED[0] + COLUMN_MS]) assert.ok((await inColumn(ms)) > 1, `${ms} ms`);
    assert.equal(await inColumn(THROTTLED[1]), 1);
  });

  test("a stop is a gap: no cells, and no ground of cells", async () => {
    const alpha = async (ms) =>
      Object.keys(await colours(page, "heat", [map.xOf(ms) + 2, 2, map.wide - 4, map.high - 4])).map(
        (colour) => colour.split(",")[3],
      );
    for (const ms of [STOPPED[0], STOPPED[0] + COLUMN_MS]) assert.deepEqual(await alpha(ms), ["0"], `${ms} ms`);
    for (const ms of [STOPPED[0] - COLUMN_MS, STOPPED[1], BLOCKED[0]])
      assert.ok(!(await alpha(ms)).includes("0"), `${ms} ms`);
  });

  test("the lane has a filled block where the thread ran, a hatched one where it waited, their names, and the watched time", async () => {
    const stall = await named(page, "--stall");
    const block = ([from, to]) => [map.xOf(from) + 2, map.lane + 4, map.xOf(to) - map.xOf(from) - 4, 18];
    assert.deepEqual(Object.keys(await colours(page, "heat", block(RAN))), [stall]);
    const waited = await colours(page, "heat", block(BLOCKED));
    assert.ok(Object.keys(waited).length > 1 && waited[paper] > 20, "hatched on the page's colour");
    const behind = async ([, to]) =>
      Object.keys(await colours(page, "heat", [map.xOf(to) + 2, map.lane + 6, 50, 16])).length;
    for (const turn of [RAN, BLOCKED]) assert.ok((await behind(turn)) > 3, "its function stands behind it");
    assert.equal(await behind([0, STOPPED[0]]), 1, "nothing stands where there is no block");
    const before = await colours(page, "heat", [map.xOf(LAST[0]) - 52, map.lane + 6, 50, 16]);
    assert.ok(Object.keys(before).length > 3, "before the last one, which has no room behind it");
    const line = await colours(page, "heat", [LEFT, map.lane + LANE - 3, 20, 1]);
    assert.deepEqual(Object.keys(line), [await named(page, "--quiet")]);
  });

  test("the colour of stalls differs from the page, and its text from it, in both themes", async () => {
    for (const theme of ["light", "dark"]) {
      await go(page, `#theme=${theme}`);
      await settled(page);
      const [stall, ground, words] = [
        await named(page, "--stall"),
        await named(page, "--page"),
        await named(page, "--stall-text"),
      ];
      assert.ok(contrast(stall, ground) >= 3, `${theme}: ${contrast(stall, ground)}`);
      assert.ok(contrast(stall, words) >= 4.5, `${theme}: ${contrast(stall, words)}`);
    }
    await go(page, "#theme=light");
  });

  test("a click on a block of the lane selects that turn, and what it waited in", async () => {
    const area = await page.locator("#heat").boundingBox();
    const click = async ([from, to]) => {
      await page.mouse.click(area.x + (map.xOf(from) + map.xOf(to)) / 2, area.y + map.lane + 10);
      return eventually(async () => {
        const hash = await page.evaluate(() => location.hash);
        assert.ok(hash.includes(`range=${from / 1000}-${to / 1000}`), hash);
        return hash;
      });
    };
    assert.match(await click(RAN), /threads=0/);
    assert.match(await click(BLOCKED), /lane=1/);
    // It is no first click of a range.
    await page.mouse.move(area.x + map.xOf(9000), area.y + 20);
    await settled(page);
    assert.match(await page.evaluate(() => location.hash), /range=3-3\.6/);
    await page.keyboard.press("Escape");
  });

  test("with the keyboard, what hover shows of cells is announced, and shown beside them", async () => {
    await go(page, "#theme=light");
    await page.keyboard.press("w");
    await page.locator("#heat:focus").waitFor();
    for (const key of ["Home", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    await settled(page);
    const announced = page.locator("#heat-announced");
    assert.equal(await announced.getAttribute("role"), "status");
    assert.match(
      await announced.textContent(),
      /^1\.00–1\.50 s · .*; 500 ms of 500 ms: 1\.00 cores · 50 samples; 100\.0\s% summarise; stall: 500 ms at /,
    );
    assert.match(await page.locator(".heat .tip").textContent(), /^1\.00–1\.50 s.*100\.0\s% summarise/);
    await page.keyboard.press("f");
    await page.locator("#flame:focus").waitFor();
    assert.equal(await page.locator(".heat .tip").isVisible(), false);
    await page.keyboard.press("Escape");
  });
});

test("a search repaints the heat map, and the tooltip names what matches", async () => {
  const page = await show();
  const map = await mapOf(page);
  const pixels = () => page.locator("#heat").evaluate((canvas) => canvas.toDataURL());
  const first = await pixels();
  await page.locator("#search").fill("name:^summarise$");
  await settled(page);
  assert.notEqual(await pixels(), first);
  const panel = await named(page, "--panel");
  assert.deepEqual(
    Object.keys(await colours(page, "heat", [map.xOf(2000) + 2, 2, map.wide - 4, map.high - 4])),
    [panel],
    "nothing of it ran then",
  );
  const area = await page.locator("#heat").boundingBox();
  const tip = page.locator(".heat .tip");
  for (const [ms, words] of [
    [2250, / s0 ns of 50 ms: 0\.00 cores · 0 samples$| UTC0 ns of 50 ms: 0\.00 cores · 0 samples$/],
    [1250, /50 ms of 50 ms: 1\.00 cores · 5 samples100\.0\s% summarise/],
  ]) {
    await page.mouse.move(area.x + map.xOf(ms), area.y + 10);
    await eventually(async () => assert.match(await tip.textContent(), words));
  }
  await page.mouse.move(5, 5);
  await page.locator("#search").fill("");
  await settled(page);
  assert.equal(await pixels(), first, "and all comes back");
  await page.close();
});

test("what is not searched for is faint, and says so in the legend", async () => {
  const page = await show(undefined, "#search=name:%5Esummarise%24");
  const [handle] = Object.keys(await colours(page, "flame", [400, 1.5 * ROW]));
  await page.locator("#search").fill("");
  await settled(page);
  const [whole] = Object.keys(await colours(page, "flame", [400, 1.5 * ROW]));
  assert.equal(whole, "98,196,84,255", "app");
  const alpha = Number(handle.split(",")[3]) / 255;
  assert.ok(alpha < 0.4 && alpha > 0.2, `${handle} beside ${whole}`);
  await page.close();
});

test("the foot of the flame graph names the categories of its boxes", async () => {
  const page = await show(DEMO);
  const legend = () => page.locator(".foot .legend > span").allTextContents();
  const mine = await legend();
  assert.equal(mine[0], "app");
  assert.ok(mine.includes("kernel") && mine.includes("garbage collection"), mine.join());
  assert.ok(!mine.includes("V8 builtin"), "no box has it under this lens");
  await page.keyboard.press("e");
  await settled(page);
  assert.ok((await legend()).includes("V8 builtin"));
  await page.locator("#search").fill("summarise");
  await settled(page);
  assert.equal((await legend())[0], "match");
  await page.close();
});

test("a box that is narrow has the function's name first", async () => {
  const drawn = async (width) => {
    const page = await show(DEMO);
    await page.evaluate(() => {
      window.drawn = [];
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        if (this.canvas.id === "flame") window.drawn.push(text);
        return fillText.call(this, text, ...rest);
      };
    });
    await resize(page, { width, height: 900 });
    await settled(page);
    const texts = await page.evaluate(() => window.drawn);
    await page.close();
    return texts;
  };
  const texts = await drawn(1439);
  assert.ok(texts.includes("▸ await listArticles"), "where there is room it is whole");
  assert.ok(
    texts.some((text) => /^▸ place/.test(text)),
    texts.join(),
  );
  assert.ok(
    !texts.some((text) => /^after? ?a?w?a?i?t?…$/.test(text) || (/^afte/.test(text.slice(0, 4)) && text.endsWith("…"))),
    texts.join(),
  );
});

test("the lists beside the map have whole rows, and two cards are equally wide", async () => {
  const page = await show(DEMO);
  for (const [width, height] of [
    [1440, 900],
    [1024, 700],
    [3840, 2160],
  ]) {
    await resize(page, { width, height });
    await settled(page);
    // The window reports its new size when it likes.
    await eventually(async () => {
      const heights = await page
        .locator(".side .list")
        .evaluateAll((lists) => lists.map((list) => [list.clientHeight, list.querySelector("button").offsetHeight]));
      for (const [list, row] of heights) assert.equal(list % row, 0, `${list} of ${row}, ${width}`);
    });
    const cards = await page
      .locator(".card")
      .evaluateAll((all) => all.map((card) => Math.round(card.getBoundingClientRect().width)));
    assert.ok(cards.length === 2 && Math.abs(cards[0] - cards[1]) <= 1, cards.join());
  }
  await resize(page, { width: 1440, height: 900 });
  await settled(page);
  // What the finding states first is why, and where: that has room. The rest is behind `in full`.
  const seen = await page
    .locator(".card-text")
    .first()
    .evaluate((text) => {
      const range = document.createRange();
      const places = [...text.querySelectorAll("a, button")].filter((place) =>
        /report\.js:\d+/.test(place.textContent),
      );
      range.selectNode(places[0]);
      return range.getBoundingClientRect().bottom <= text.getBoundingClientRect().bottom + 1;
    });
  assert.ok(seen, "the place of the cause is in sight");
  await page.close();
});
