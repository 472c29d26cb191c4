// The page shows recordings that are empty, very small or very large as well as others: at three sizes of the window,
// light and dark, nothing leaves the window, and what is left out is named. Screenshots go to
// target/page-screenshots.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { endServers, eventually, go, launch, newPage, open, program, resize, serve, settled } from "./browser.js";

const folder = mkdtempSync(join(tmpdir(), "nodescope-extremes-"));
const pictures = resolve(import.meta.dirname, "../../target/page-screenshots");
const WINDOWS = [
  [1024, 700, "light"],
  [1440, 900, "light"],
  [1440, 900, "dark"],
  [3840, 2160, "dark"],
];
/** A profile without a sample. */
const EMPTY = {
  nodes: [{ id: 1, callFrame: { functionName: "(root)", scriptId: "0", url: "", lineNumber: -1, columnNumber: -1 } }],
  startTime: 0,
  endTime: 4e6,
  samples: [],
  timeDeltas: [],
};

let browser;
before(async () => {
  browser = await launch();
  mkdirSync(pictures, { recursive: true });
});
after(async () => {
  await browser.close();
  endServers();
  rmSync(folder, { recursive: true });
});

/** A sample as `perf script` writes it. */
function sample({ name = "node", pid = 7, tid = pid, s = 0, stack = ["handle"] }) {
  const frames = stack.map(
    (of, at) => `\t${at + 1} JS:*${of} /srv/shop/server.js:${at + 3}:1 (/tmp/perf-${pid}.map)\n`,
  );
  return `${name} ${pid}/${tid} [000] ${(100 + s).toFixed(6)}: 10101010 cpu-clock:\n${frames.join("")}\n`;
}

/** So many samples, ten milliseconds apart. */
const samples = (count, of) => Array.from({ length: count }, (_, at) => sample({ s: at / 100, ...of(at) })).join("");

async function show(name, text) {
  const [input, out] = [join(folder, name), join(folder, `${name}.html`)];
  writeFileSync(input, text);
  execFileSync(program, ["export", input, "-o", out], { stdio: ["ignore", "ignore", "inherit"] });
  const page = await open(browser, pathToFileURL(out).href);
  await page.locator("#selection").waitFor();
  return page;
}

/** Nothing leaves the window, whatever its size, and the picture has a third of it at least. */
async function fits(page, name, { main = "#flame", isDrawn = () => settled(page) } = {}) {
  for (const [width, height, colorScheme] of WINDOWS) {
    await resize(page, { width, height });
    await page.emulateMedia({ colorScheme });
    await isDrawn();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${name}: ${wide} of ${width}`);
    const { height: high } = await page.locator(main).boundingBox();
    assert.ok(high > height / 3, `${name}: ${high} of ${height}`);
    if (width < 3000) await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
  }
}

test("one sample, and a few", async () => {
  for (const [count, words] of [
    [1, "1 sample"],
    [7, "7 samples"],
  ]) {
    const page = await show(
      `few-${count}.txt`,
      samples(count, () => ({})),
    );
    assert.equal(await page.locator(".heat .note").textContent(), `${words}: too few for a heat map.`);
    assert.ok(!(await page.locator("#heat").isVisible()));
    assert.match(await page.locator(".drop.cautions").textContent(), new RegExp(`^Only ${words}: too few`));
    await fits(page, `extreme-few-${count}`);
    for (const view of ["time", "inverted", "top", "sandwich", "source"]) {
      await go(page, `#view=${view}`);
      await settled(page);
    }
    assert.deepEqual(page.trouble, []);
    await page.close();
  }
});

test("a selection without a sample says so, and leads back", async () => {
  const page = await show(
    "none.txt",
    samples(100, () => ({})),
  );
  await go(page, "#category=wasm");
  assert.match(await page.locator(".picture .note").textContent(), /^No sample is selected\./);
  await page.locator('[data-key="show-all"]').click();
  await page.locator("#flame").waitFor();
  await eventually(async () => assert.equal(await page.locator("#selection").textContent(), "all 100 samples"));
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test("300 threads: the busiest have a band and a button each, and the others are counted", async () => {
  const of = (at) => ({
    tid: at % 300 === 0 ? 7 : 1000 + (at % 300),
    name: at % 300 === 0 ? "node" : `job-${at % 300}`,
    stack: [`task${at % 40}`, "run"],
  });
  const page = await show("threads.txt", samples(3000, of));
  await fits(page, "extreme-threads");
  await resize(page, { width: 1440, height: 900 });
  await page.locator('[data-key="each"]').click();
  assert.match(
    await page.locator(".threads .each").textContent(),
    /and 240 that were less busy: the top table has all, by thread$/,
  );
  assert.ok((await page.locator("#flame").boundingBox()).y < 500, "the picture is in sight");
  await go(page, "#threads=all&bands=thread");
  await eventually(async () => assert.equal(await page.locator("#band-count").textContent(), "busiest 12 of 300"));
  await go(page, "#threads=all&view=top&by=thread");
  await settled(page);
  assert.match(await page.locator(".more").textContent(), /^200 of 300/);
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test("64 processes: the busiest have a band each", async () => {
  const page = await show(
    "processes.txt",
    samples(3200, (at) => ({ pid: 2000 + (at % 64), stack: [`task${at % 20}`, "handle"] })),
  );
  assert.match(await page.locator(".facts").textContent(), /64 processes/);
  await fits(page, "extreme-processes");
  await go(page, "#threads=all&bands=process");
  await eventually(async () => assert.equal(await page.locator("#band-count").textContent(), "busiest 12 of 64"));
  assert.deepEqual(page.trouble, []);
  await page.close();
});

test("a folder of 500 recordings fills from the top, and an empty one says that it is", async () => {
  const recordings = join(folder, "recordings");
  mkdirSync(recordings);
  for (let at = 0; at < 500; at++) {
    const path = join(recordings, at === 0 ? "empty.cpuprofile" : `shop-${at}.txt`);
    writeFileSync(path, at === 0 ? JSON.stringify(EMPTY) : samples(30, () => ({ s: at })));
    utimesSync(path, 1.79e9 - at, 1.79e9 - at);
  }
  const { url, end } = await serve(recordings);
  const context = await browser.newContext();
  const page = await newPage(context);
  await page.goto(url);
  assert.match(await page.locator(".head .facts").textContent(), /^500 recordings in /);
  const rows = page.locator("#list tbody tr");
  await rows.nth(20).locator(".list-text:not(:empty)").waitFor();
  const first = (await page.locator("#list .list-file").allTextContents()).slice(0, 20);
  assert.deepEqual(first, ["empty.cpuprofile", ...Array.from({ length: 19 }, (_, at) => `shop-${at + 1}.txt`)]);
  assert.match(await rows.first().locator(".list-wrong").textContent(), /there is not one sample in it/);
  await fits(page, "extreme-list", { main: "#list", isDrawn: () => rows.first().isVisible() });
  assert.deepEqual(page.trouble, []);
  await rows.first().locator("a").click();
  assert.match(
    await page.locator("[role=alert]").textContent(),
    /^This cannot be shown: .*there is not one sample in it/,
  );
  await page.screenshot({ path: join(pictures, "extreme-empty.png") });
  await page.locator("#all").click();
  await rows.first().waitFor();
  await context.close();
  await end();
});
