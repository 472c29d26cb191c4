// The SVG flame graph, as people use it: hover, click, search, a link that keeps what they see.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { addressOf, eventually, exportCase, launch, open } from "./browser.js";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** The frames as the page has them now. */
function frames(page) {
  return page.evaluate(() =>
    [...document.getElementById("frames").children].map((group, index) => {
      const rect = group.querySelector("rect");
      return {
        index,
        title: group.querySelector("title").textContent,
        x: Number(rect.getAttribute("fg:x")),
        samples: Number(rect.getAttribute("fg:w")),
        y: Number(rect.getAttribute("y")),
        width: parseFloat(rect.getAttribute("width")),
        fill: rect.getAttribute("fill"),
        hidden: group.classList.contains("hide"),
      };
    }),
  );
}

/** The widest frame of that name. */
async function frame(page, name) {
  const found = (await frames(page)).filter(({ title }) => title.startsWith(name));
  return found.sort((a, b) => b.samples - a.samples)[0];
}

/** A handle for the mouse. */
function handle(page, { index }) {
  return page.locator("#frames > *").nth(index);
}

const text = (page, id) => page.locator(`#${id}`).textContent();

/** The share of the picture whose stacks have a matching frame: the union of their spans. */
function matchedShare(all, pattern) {
  const total = Math.max(...all.map(({ samples }) => samples));
  const spans = all.filter(({ title }) => pattern.test(title)).sort((a, b) => a.x - b.x || b.samples - a.samples);
  let [end, sum] = [0, 0];
  for (const { x, samples } of spans) {
    if (x + samples <= end) continue;
    sum += x + samples - Math.max(x, end);
    end = x + samples;
  }
  return ((100 * sum) / total).toFixed(1);
}

/** Frames whose text is wider than they are. */
function textsThatLeave(page) {
  return page.evaluate(() =>
    [...document.getElementById("frames").children].flatMap((group) => {
      const [rect, words] = [group.querySelector("rect"), group.querySelector("text")];
      const room = rect.getBoundingClientRect().right - words.getBoundingClientRect().right;
      return words.textContent && room < 0 ? [group.querySelector("title").textContent] : [];
    }),
  );
}

async function search(page, pattern) {
  page.answer = pattern;
  await page.locator("#search").click();
}

/** Every box that the reader sees in the head, and the boxes that it must not touch. */
function boxes(page) {
  return page.evaluate(() => {
    const box = (element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return { what: element.textContent || element.id, left, right, top, bottom };
    };
    const shown = (element) => element.textContent.trim() && element.getClientRects().length > 0;
    document.getElementById("unzoom").classList.remove("hide");
    document.getElementById("search").firstChild.nodeValue = "Reset Search";
    const texts = [...document.querySelectorAll("#head text, #search, #unzoom")].filter(shown).map(box);
    const tops = [...document.querySelectorAll("#frames rect")].map((rect) => rect.getBoundingClientRect().top);
    return { texts, top: Math.min(...tops), width: window.innerWidth };
  });
}

function assertNothingOverlaps({ texts, top }, width) {
  for (const [index, a] of texts.entries()) {
    assert.ok(a.left >= 0 && a.right <= width, `"${a.what}" leaves the picture: ${a.left} to ${a.right}`);
    assert.ok(a.bottom <= top + 1, `"${a.what}" covers frames: ${a.bottom} > ${top}`);
    for (const b of texts.slice(index + 1)) {
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
      assert.ok(apart, `"${a.what}" covers "${b.what}"`);
    }
  }
}

describe("a flame graph", () => {
  let url;
  let page;
  before(() => {
    url = exportCase("node22-http", ".svg");
  });

  test("shows the details of the frame under the mouse, with its full path", async () => {
    page = await open(browser, url);
    const found = await frame(page, "renderArticle ");
    await handle(page, found).hover();
    const details = /^Function: renderArticle \/srv\/shop\/\S+\.js:\d+:\d+ \([\d,]+ samples, [\d.]+%\)$/;
    await eventually(async () => assert.match(await text(page, "details"), details));
    await page.mouse.move(5, 5);
    await eventually(async () => assert.equal((await text(page, "details")).trim(), ""));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("zooms on a click and comes back", async () => {
    page = await open(browser, url);
    const first = await frames(page);
    const target = await frame(page, "parserOnIncoming ");
    assert.ok(target.width < 90);
    await handle(page, target).click();
    await page.locator("#unzoom").waitFor();
    const zoomed = await frames(page);
    const same = (all) => all[target.index];
    assert.equal(same(zoomed).width, 100);
    for (const { hidden, x, samples } of zoomed) {
      const outside = x >= target.x + target.samples || x + samples <= target.x;
      assert.ok(hidden || !outside);
    }
    assert.match(await addressOf(page), new RegExp(`[?&]x=${target.x}&y=${target.y}$`));
    await page.locator("#unzoom").click();
    await page.locator("#unzoom").waitFor({ state: "hidden" });
    assert.deepEqual(await frames(page), first);
    assert.ok(!(await addressOf(page)).includes("x="));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("searches by regular expression and says how much matched", async () => {
    page = await open(browser, url);
    const first = await frames(page);
    for (const pattern of ["node_modules/(express|router)/", "^v8::internal::", "^uv_"]) {
      await search(page, pattern);
      const expression = new RegExp(pattern);
      await eventually(async () => assert.equal(await text(page, "matched"), `Matched: ${matchedShare(first, expression)}%`));
      const now = await frames(page);
      for (const [index, { title, fill }] of now.entries()) {
        const expected = expression.test(title) ? "rgb(230,0,230)" : first[index].fill;
        assert.equal(fill, expected, title);
      }
      assert.ok((await addressOf(page)).endsWith(`s=${encodeURIComponent(pattern)}`));
      await page.locator("#search").click();
      await eventually(async () => assert.deepEqual(await frames(page), first));
      assert.ok(!(await addressOf(page)).includes("s="));
    }
    page.answer = "^all ";
    await page.keyboard.press("Control+f");
    await eventually(async () => assert.equal(await text(page, "matched"), "Matched: 100%"));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("keeps zoom and search in its address", async () => {
    page = await open(browser, url);
    await handle(page, await frame(page, "parserOnIncoming ")).click();
    await search(page, "node_modules");
    await eventually(async () => assert.match(await text(page, "matched"), /^Matched: /));
    const [state, matched] = [await frames(page), await text(page, "matched")];
    const other = await open(browser, await addressOf(page));
    assert.deepEqual(await frames(other), state);
    assert.equal(await text(other, "matched"), matched);
    assert.ok(await other.locator("#unzoom").isVisible());
    assert.deepEqual([...page.trouble, ...other.trouble], []);
    await page.close();
    await other.close();
  });

  test("keeps its texts inside the frames", async () => {
    page = await open(browser, url);
    assert.deepEqual(await textsThatLeave(page), []);
    await page.close();
  });

  test("has a head that fits every window", async () => {
    page = await open(browser, url);
    for (const width of [1600, 1200, 1000, 600]) {
      await page.setViewportSize({ width, height: 900 });
      const isPlaced = (x) => document.getElementById("search").x.baseVal[0].value === x;
      await page.waitForFunction(isPlaced, width - 10);
      assertNothingOverlaps(await boxes(page), width);
      const legend = (await boxes(page)).texts.map(({ what }) => what).join("\n");
      assert.match(legend, /^dependency [\d.]+ %$/m);
      assert.match(legend, /^kernel [\d.]+ %$/m);
    }
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("says in the legend what its colours mean", async () => {
    page = await open(browser, url);
    const swatches = await page.evaluate(() =>
      [...document.querySelectorAll("#head .wide rect")].map((rect) => ({
        fill: rect.getAttribute("fill"),
        text: rect.nextElementSibling.textContent,
      })),
    );
    const meaning = new Map(swatches.map(({ fill, text: words }) => [fill, words.replace(/ [<\d.]+ %$/, "")]));
    const rows = [
      ["renderArticle /srv/shop/", "app"],
      ["parserOnIncoming node:", "Node core"],
      ["JSEntryTrampoline", "V8 builtin"],
      ["v8::internal::Execution::Call", "V8 runtime"],
      ["uv_run", "libuv"],
    ];
    for (const [name, category] of rows) {
      assert.equal(meaning.get((await frame(page, name)).fill), category, name);
    }
    const shares = swatches.map(({ text: words }) => Number(words.match(/([\d.]+) %$/)[1]));
    const sum = shares.reduce((total, share) => total + share, 0);
    assert.ok(Math.abs(sum - 100) < 1, `shares add up to ${sum}`);
    await page.close();
  });
});

describe("other shapes", () => {
  test("an icicle has its root and the details on top", async () => {
    const page = await open(browser, exportCase("node22-http", ".svg", "--inverted"));
    const [root, leaf] = [await frame(page, "all ("), await frame(page, "parserOnIncoming ")];
    assert.ok(root.y < leaf.y);
    await handle(page, leaf).hover();
    await eventually(async () => assert.match(await text(page, "details"), /^Function: parserOnIncoming /));
    const details = await page.locator("#details").boundingBox();
    const legend = await page.locator("#head").boundingBox();
    assert.ok(details.y + details.height <= root.y + 1);
    assert.ok(details.y + 4 >= legend.y + legend.height, "the legend covers the details");
    await handle(page, leaf).click();
    await eventually(async () => assert.equal((await frame(page, "parserOnIncoming ")).width, 100));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("a fixed width stays", async () => {
    const page = await open(browser, exportCase("node22-http", ".svg", "--width", "600"));
    assert.equal(await page.evaluate(() => document.documentElement.width.baseVal.value), 600);
    assertNothingOverlaps(await boxes(page), 600);
    assert.deepEqual(await textsThatLeave(page), []);
    await handle(page, await frame(page, "node::Start ")).click();
    await eventually(async () => assert.equal((await frame(page, "node::Start ")).width, 100));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("merged from the leaves, the functions that ran stand next to the root", async () => {
    const page = await open(browser, exportCase("node22-known-shares", ".svg", "--reverse"));
    const root = await frame(page, "all (");
    const first = (await frames(page)).filter(({ y }) => y === root.y - 16);
    const total = first.reduce((sum, { samples }) => sum + samples, 0);
    assert.ok(total > 0.9 * root.samples);
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("hostile names are only names", async () => {
    for (const options of [[], ["--colors", "js", "--title", "</text><script>alert(1)</script>]]>--"]]) {
      const page = await open(browser, exportCase("node22-hostile-names", ".svg", ...options));
      assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), 1);
      assert.equal(await page.evaluate(() => document.querySelectorAll("parsererror").length), 0);
      await search(page, "<|&");
      assert.deepEqual(page.trouble, []);
      await page.close();
    }
  });

  test("Chinese, Japanese and emoji names stay whole and inside their frames", async () => {
    const page = await open(browser, exportCase("node22-unicode", ".svg"));
    const names = (await frames(page)).map(({ title }) => title).join("\n");
    assert.match(names, /[\u4e00-\u9fff\u3040-\u30ff]/);
    assert.match(names, /größeÄndern|вычислить/);
    assert.doesNotMatch(names, /\ufffd/);
    assert.deepEqual(await textsThatLeave(page), []);
    assert.deepEqual(page.trouble, []);
    await page.close();
  });
});
