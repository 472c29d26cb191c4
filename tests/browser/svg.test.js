// The SVG flame graph, as people use it: hover, click, search, a link that keeps what they see. The program writes it, and
// the page writes the same of what it shows.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { addressOf, eventually, exportCase, launch, open, resize } from "./browser.js";

const folder = mkdtempSync(join(tmpdir(), "nodescope-pictures-"));
let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const everything = ["--lens", "everything"];
const DEMO = "../crates/nodescope/src/demo/recording.nodescope";

let files = 0;

/** The picture that the page of a case saves, where it shows what is in the address. */
async function savedCase(name, hash) {
  const page = await open(browser, `${exportCase(name, ".html")}#${hash}`);
  await page.locator('[data-key="export"]').click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator('[data-key="svg"]').click()]);
  const file = join(folder, `${++files}.svg`);
  await download.saveAs(file);
  // The blob is the page's own.
  assert.deepEqual(
    page.trouble.filter((words) => !words.startsWith("request for blob:")),
    [],
  );
  await page.close();
  return pathToFileURL(file).href;
}

/** Who writes the picture of a case, with everything and the root at the bottom. */
const WRITERS = {
  program: (name) => exportCase(name, ".svg", ...everything),
  page: (name) => savedCase(name, "lens=everything&threads=all&up=1"),
};

/** The boxes as the page has them now; `x` and `samples` are as they were written, in percent. */
function frames(page) {
  return page.evaluate(() =>
    [...document.getElementById("boxes").children].map((box, index) => {
      const title = box.querySelector("title").textContent;
      return {
        index,
        title,
        samples: Number(title.match(/\(([\d,]+) [^(]*$/)[1].replaceAll(",", "")),
        x: parseFloat(box.getAttribute("x")),
        y: Number(box.getAttribute("y")),
        width: parseFloat(box.getAttribute("width")),
        fill: getComputedStyle(box.querySelector("rect")).fill,
        text: box.querySelector("text").textContent,
        hidden: box.style.display === "none",
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
  return page.locator("#boxes > svg").nth(index);
}

const text = (page, id) => page.locator(`#${id}`).textContent();

/** The share of the picture whose stacks have a matching box: the union of their spans. */
function matchedShare(all, pattern) {
  const name = ({ title }) => title.slice(0, title.lastIndexOf(" ("));
  const spans = all.filter((box) => pattern.test(name(box))).sort((a, b) => a.x - b.x || b.width - a.width);
  let [end, sum] = [0, 0];
  for (const { x, width } of spans) {
    if (x + width <= end + 1e-3) continue;
    sum += x + width - Math.max(x, end);
    end = x + width;
  }
  return sum;
}

/** Boxes whose text is wider than they are. */
function textsThatLeave(page) {
  return page.evaluate(() =>
    [...document.getElementById("boxes").children].flatMap((box) => {
      const [rect, words] = [box.querySelector("rect"), box.querySelector("text")];
      const room = rect.getBoundingClientRect().right - words.getBoundingClientRect().right;
      return words.textContent && room < 0 ? [`${words.textContent} ${room}`] : [];
    }),
  );
}

const search = (page, pattern) => page.locator("#search").fill(pattern);

async function matched(page) {
  return Number((await text(page, "matched")).match(/^Matched: ([\d.]+)%$/)?.[1] ?? Number.NaN);
}

/** Every box that the reader sees in the head, and the boxes that it must not touch. */
function boxes(page) {
  return page.evaluate(() => {
    const box = (element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return { what: element.textContent || element.id, left, right, top, bottom };
    };
    const shown = (element) =>
      element.id === "search" || (element.textContent.trim() && element.getClientRects().length > 0);
    const texts = [...document.querySelectorAll("#head text, #controls text, #search")].filter(shown).map(box);
    const tops = [...document.querySelectorAll("#boxes > svg > rect")].map((rect) => rect.getBoundingClientRect().top);
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

for (const [writer, draw] of Object.entries(WRITERS))
  describe(`a flame graph of the ${writer}`, () => {
    let url;
    let page;
    before(async () => {
      url = await draw("node22-http");
    });

    test("shows the details of the box under the mouse, with its full path", async () => {
      page = await open(browser, url);
      const found = await frame(page, "renderArticle ");
      await handle(page, found).hover();
      const details = /^renderArticle \/srv\/shop\/\S+\.js:\d+:\d+ \([\d,]+ samples, [\d.]+%\)$/;
      await eventually(async () => assert.match(await text(page, "details"), details));
      await page.mouse.move(5, 5);
      await eventually(async () => assert.match(await text(page, "details"), /^click: zoom/));
      assert.deepEqual(page.trouble, []);
      await page.close();
    });

    test("zooms on a click and comes back", async () => {
      page = await open(browser, url);
      const first = await frames(page);
      const target = await frame(page, "parserOnIncoming ");
      assert.ok(target.width < 90);
      await handle(page, target).click();
      await page.locator("#reset").waitFor();
      const zoomed = await frames(page);
      assert.equal(zoomed[target.index].width, 100);
      for (const [index, { hidden }] of zoomed.entries()) {
        const { x, width } = first[index];
        const outside = x >= target.x + target.width - 1e-3 || x + width <= target.x + 1e-3;
        assert.ok(hidden || !outside);
      }
      assert.match(await addressOf(page), new RegExp(`#box=${target.index}$`));
      await page.locator("#reset").click();
      await page.locator("#reset").waitFor({ state: "hidden" });
      assert.deepEqual(await frames(page), first);
      assert.ok(!(await addressOf(page)).includes("#"));
      assert.deepEqual(page.trouble, []);
      await page.close();
    });

    test("searches by regular expression and says how much matched", async () => {
      page = await open(browser, url);
      const first = await frames(page);
      for (const pattern of ["node_modules/(express|router)/", "^v8::internal::", "^uv_"]) {
        await search(page, pattern);
        const expression = new RegExp(pattern);
        const share = matchedShare(first, expression);
        await eventually(async () => assert.ok(Math.abs((await matched(page)) - share) < 0.2, `${pattern}: ${share}`));
        for (const [index, { title, fill }] of (await frames(page)).entries()) {
          const expected = expression.test(title) ? "rgb(240, 112, 240)" : first[index].fill;
          assert.equal(fill, expected, title);
        }
        assert.equal(new URLSearchParams((await addressOf(page)).split("#")[1]).get("search"), pattern);
        await page.locator("#reset").click();
        await eventually(async () => assert.deepEqual(await frames(page), first));
        assert.ok(!(await addressOf(page)).includes("#"));
      }
      await search(page, "(");
      await eventually(async () => assert.ok((await matched(page)) >= 0, "half an expression is a text"));
      await search(page, "^ALL$");
      await eventually(async () => assert.equal(await matched(page), 0));
      await search(page, "^all$");
      await eventually(async () => assert.equal(await matched(page), 100));
      assert.deepEqual(page.trouble, []);
      await page.close();
    });

    test("keeps zoom and search in its address", async () => {
      page = await open(browser, url);
      await handle(page, await frame(page, "parserOnIncoming ")).click();
      await search(page, "node_modules");
      await eventually(async () => assert.match(await text(page, "matched"), /^Matched: /));
      await page.mouse.move(5, 5);
      const [state, share] = [await frames(page), await text(page, "matched")];
      const other = await open(browser, await addressOf(page));
      assert.deepEqual(await frames(other), state);
      assert.equal(await text(other, "matched"), share);
      assert.ok(await other.locator("#reset").isVisible());
      assert.deepEqual([...page.trouble, ...other.trouble], []);
      await page.close();
      await other.close();
    });

    test("is walked through with the keyboard", async () => {
      page = await open(browser, url);
      const at = () =>
        page.evaluate(() =>
          [...document.getElementById("boxes").children].findIndex((box) => box.classList.contains("at")),
        );
      await page.keyboard.press("ArrowUp");
      assert.equal(await at(), 0);
      await page.keyboard.press("ArrowUp");
      const inner = await at();
      assert.ok(inner > 0);
      assert.equal(await text(page, "details"), (await frames(page))[inner].title);
      await page.keyboard.press("Enter");
      await eventually(async () => assert.match(await addressOf(page), new RegExp(`#box=${inner}$`)));
      await page.keyboard.press("ArrowDown");
      assert.equal(await at(), 0);
      await page.keyboard.press("/");
      await page.keyboard.type("uv_");
      await eventually(async () => assert.ok((await matched(page)) > 0));
      await page.keyboard.press("Enter");
      await page.keyboard.press("Escape");
      await eventually(async () => assert.equal(await text(page, "matched"), ""));
      await page.keyboard.press("Escape");
      await eventually(async () => assert.ok(!(await addressOf(page)).includes("#")));
      assert.deepEqual(page.trouble, []);
      await page.close();
    });

    test("keeps its texts inside the boxes", async () => {
      page = await open(browser, url);
      assert.deepEqual(await textsThatLeave(page), []);
      await page.close();
    });

    test("has a head that fits every window", async () => {
      page = await open(browser, url);
      await search(page, "node_modules");
      for (const width of [1600, 1200, 1000, 600, 420]) {
        await resize(page, { width, height: 900 });
        const isPlaced = (room) => Number(document.getElementById("boxes").getAttribute("width")) === room;
        await page.waitForFunction(isPlaced, width - 20);
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
        [...document.querySelectorAll("#legend rect")].map((rect) => ({
          fill: getComputedStyle(rect).fill,
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

describe("my code", () => {
  test("is what a picture opens with", async () => {
    const page = await open(browser, exportCase("node22-http", ".svg"));
    const all = await frames(page);
    const [root] = all;
    const roots = all.filter(({ y }) => y === root.y - 18).map(({ title }) => title);
    assert.ok(
      roots.some((title) => title.startsWith("HTTP request ▸ ")),
      roots.join("\n"),
    );
    assert.ok(!all.some(({ title }) => /^(v8::|uv_run|node::Start)/.test(title)));
    assert.match(await page.locator("#facts").textContent(), /^my code/);
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("is a readable still where scripts do not run, light and dark", async () => {
    const url = exportCase("node22-http", ".svg");
    for (const [colorScheme, paper] of [
      ["light", "rgb(250, 250, 248)"],
      ["dark", "rgb(22, 23, 24)"],
    ]) {
      const context = await browser.newContext({
        javaScriptEnabled: false,
        colorScheme,
        viewport: { width: 1000, height: 700 },
      });
      const page = await context.newPage();
      await page.goto(url);
      const fill = await page.locator("#paper").evaluate((rect) => getComputedStyle(rect).fill);
      assert.equal(fill, paper);
      assertNothingOverlaps(await boxes(page), 1000);
      assert.deepEqual(await textsThatLeave(page), []);
      // A narrow root has the function alone.
      const roots = (await frames(page)).filter(({ title }) => title.startsWith("HTTP request ▸ ("));
      assert.ok(
        roots.some(({ text: words }) => words.startsWith("▸ (anony")),
        JSON.stringify(roots),
      );
      await context.close();
    }
  });
});

/** The widths of boxes by their path from the root. The page has one box for calls and for what runs after their await. */
function widths(all) {
  const [home, last, sums] = [all[0].y, [], new Map()];
  for (const { title, y, width } of all) {
    const level = Math.abs(y - home) / 18;
    const name = title.slice(0, title.lastIndexOf(" (")).replace(/^(▸ await (\(inferred\) )?|after await: )/, "");
    last[level] = `${level > 0 ? `${last[level - 1]};` : ""}${name}`;
    sums.set(last[level], (sums.get(last[level]) ?? 0) + width);
  }
  return sums;
}

/** Of the parts of a box those below a thousandth are left out. */
const SLACK = { [DEMO]: 0.2 };

/** The text of an element of a picture's file. */
const inside = (url, tag) =>
  readFileSync(fileURLToPath(url), "utf8")
    .match(new RegExp(`<${tag}>([^]*?)</${tag}>`, "g"))
    .at(-1);

describe("the page's picture", () => {
  for (const [name, lens] of [
    ["node22-http", "code"],
    ["node22-http", "packages"],
    ["node24-workers", "code"],
    [DEMO, "code"],
  ]) {
    test(`has the boxes, the style and the script of the program's: ${name}, ${lens}`, async () => {
      const theirs = exportCase(name, ".svg", "--lens", lens);
      const ours = await savedCase(name, `lens=${lens}&threads=all&up=1`);
      for (const tag of ["style", "script"]) assert.equal(inside(ours, tag), inside(theirs, tag));
      const pages = await Promise.all([ours, theirs].map((url) => open(browser, url)));
      const [own, other] = await Promise.all(pages.map(async (page) => widths(await frames(page))));
      assert.ok(own.size > 3 && other.size > 3);
      for (const path of new Set([...own.keys(), ...other.keys()])) {
        const [ofPage, ofProgram] = [own, other].map((sums) => sums.get(path) ?? 0);
        assert.ok(Math.abs(ofPage - ofProgram) < (SLACK[name] ?? 1e-3), `${path}: ${ofPage}, ${ofProgram}`);
      }
      const head = (page) =>
        page.evaluate(() =>
          ["facts", "legend"].map((id) =>
            [...document.querySelectorAll(`#${id} text`)].map((text) => text.textContent),
          ),
        );
      const [[facts, legend], [, theirLegend]] = await Promise.all(pages.map(head));
      assert.match(facts[0], /^my code/);
      assert.deepEqual(legend, theirLegend);
      assert.ok(await pages[0].evaluate(() => document.getElementById("title").textContent.endsWith(" samples")));
      for (const page of pages) {
        assert.deepEqual(page.trouble, []);
        await page.close();
      }
    });
  }

  test("is a readable still where scripts do not run, light and dark", async () => {
    const url = await savedCase("node22-http", "");
    for (const [colorScheme, paper] of [
      ["light", "rgb(250, 250, 248)"],
      ["dark", "rgb(22, 23, 24)"],
    ]) {
      const context = await browser.newContext({
        javaScriptEnabled: false,
        colorScheme,
        viewport: { width: 1000, height: 700 },
      });
      const page = await context.newPage();
      await page.goto(url);
      assert.equal(await page.locator("#paper").evaluate((rect) => getComputedStyle(rect).fill), paper);
      assertNothingOverlaps(await boxes(page), 1000);
      assert.deepEqual(await textsThatLeave(page), []);
      assert.ok((await frames(page)).some(({ text: words }) => words.startsWith("▸ (anony")));
      await context.close();
    }
  });

  test("says what of the recording it is of", async () => {
    const page = await open(
      browser,
      await savedCase("node22-http", "lens=packages&range=0-2&category=runtime&search=render"),
    );
    const facts = await page.locator("#facts text").allTextContents();
    for (const fact of ["my code + packages", "only V8 runtime", "search: render"])
      assert.ok(facts.includes(fact), facts.join("\n"));
    assert.ok(facts.some((fact) => fact.startsWith("0.00–2.00 s of ")));
    assert.ok((await page.locator("#legend text").allTextContents()).includes("V8 runtime 100.0 %"));
    const all = await frames(page);
    const found = all.filter(({ fill }) => fill === "rgb(240, 70, 240)");
    assert.ok(found.length > 0 && found.every(({ title }) => /render/i.test(title)));
    await page.close();
  });

  test("has callers and callees on both sides of their function", async () => {
    const page = await open(browser, await savedCase("node22-http", "lens=everything&view=sandwich"));
    const all = await frames(page);
    const [root] = all;
    assert.ok(!root.title.startsWith("all "));
    assert.ok(
      (await page.locator("#facts").textContent()).includes(`callers and callees of ${root.title.split(" ")[0]}`),
    );
    const [above, below] = [all.filter(({ y }) => y === root.y - 18), all.filter(({ y }) => y === root.y + 18)];
    assert.ok(above.length > 0 && below.length > 0);
    // A callee keeps what it called, and the way to it.
    await handle(page, below[0]).click();
    await eventually(async () => assert.equal((await frames(page))[below[0].index].width, 100));
    for (const { y, hidden, index } of await frames(page)) {
      if (y < root.y) assert.ok(hidden, `${index}`);
      if (y === root.y) assert.ok(!hidden);
    }
    await page.keyboard.press("Escape");
    await eventually(async () => assert.deepEqual(await frames(page), all));
    // What the mouse is over would be named instead.
    await page.mouse.move(2, 2);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    assert.equal(await text(page, "details"), above.sort((a, b) => b.width - a.width || a.index - b.index)[0].title);
    await page.keyboard.press("ArrowDown");
    assert.equal(await text(page, "details"), root.title);
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("has as many roots as the order of time", async () => {
    const page = await open(browser, await savedCase("node22-http", "view=time"));
    const all = await frames(page);
    const roots = all.filter(({ y }) => y === all[0].y);
    assert.ok(roots.length > 10);
    assert.match(roots[0].title, /\(\d+ samples?, \d[\d.]* (ms|s|µs), [\d.]+–[\d.]+ s\)$/);
    const long = roots.sort((a, b) => b.width - a.width)[0];
    await handle(page, long).click();
    await eventually(async () => assert.equal((await frames(page))[long.index].width, 100));
    assert.equal((await frames(page)).filter(({ y, hidden }) => y === all[0].y && !hidden).length, 1);
    await page.locator("#reset").click();
    await eventually(async () => assert.equal((await frames(page))[long.index].width, long.width));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("has before and after side by side, in the colours of the change", async () => {
    const page = await open(browser, await savedCase("node22-http", "range=0-1&against=rest"));
    const all = await frames(page);
    const roots = all.filter(({ y }) => y === all[0].y);
    assert.deepEqual(
      roots.map(({ title }) => title.split(" (")[0]),
      ["before: all", "after: all"],
    );
    assert.ok(roots.every(({ width }) => width < 50));
    const legend = await page.locator("#legend text").allTextContents();
    assert.deepEqual(legend, ["more", "less or gone", "new", "within noise"]);
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("says so where nothing is selected", async () => {
    const page = await open(browser, await savedCase("node22-http", "category=wasm"));
    assert.deepEqual(
      (await frames(page)).map(({ title }) => title),
      ["all (0 samples, 100%)"],
    );
    assert.deepEqual(page.trouble, []);
    await page.close();
  });
});

describe("other shapes", () => {
  test("an icicle has its root on top", async () => {
    const page = await open(browser, exportCase("node22-http", ".svg", "--inverted", ...everything));
    const [root, leaf] = [await frame(page, "all ("), await frame(page, "parserOnIncoming ")];
    assert.ok(root.y < leaf.y);
    await handle(page, leaf).hover();
    await eventually(async () => assert.match(await text(page, "details"), /^parserOnIncoming /));
    await handle(page, leaf).click();
    await eventually(async () => assert.equal((await frame(page, "parserOnIncoming ")).width, 100));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("a fixed width stays", async () => {
    const page = await open(browser, exportCase("node22-http", ".svg", "--width", "600", ...everything));
    assert.equal(await page.evaluate(() => document.documentElement.width.baseVal.value), 600);
    assertNothingOverlaps(await boxes(page), 600);
    assert.deepEqual(await textsThatLeave(page), []);
    await handle(page, await frame(page, "node::Start ")).click();
    await eventually(async () => assert.equal((await frame(page, "node::Start ")).width, 100));
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("merged from the leaves, the functions that ran stand next to the root", async () => {
    const page = await open(browser, exportCase("node22-known-shares", ".svg", "--reverse", ...everything));
    const root = await frame(page, "all (");
    const first = (await frames(page)).filter(({ y }) => y === root.y - 18);
    const total = first.reduce((sum, { samples }) => sum + samples, 0);
    assert.ok(total > 0.9 * root.samples);
    assert.deepEqual(page.trouble, []);
    await page.close();
  });

  test("hostile names are only names", async () => {
    for (const options of [[], ["--colors", "js", "--title", "</text><script>alert(1)</script>]]>--"]]) {
      const page = await open(browser, exportCase("node22-hostile-names", ".svg", ...everything, ...options));
      assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), 1);
      assert.equal(await page.evaluate(() => document.querySelectorAll("parsererror").length), 0);
      await search(page, "<|&");
      assert.deepEqual(page.trouble, []);
      await page.close();
    }
  });

  test("Chinese, Japanese and emoji names stay whole and inside their boxes", async () => {
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
