// Takes the pictures of the page for the documents, each in both themes:
//
//   node pictures.mjs FOLDER RECORDING BEFORE AFTER LIST
//
// of a recording (the page, and a selected function), of two that are compared, and of a folder of recordings. Beside
// them it writes what they are of, so that a test finds pictures of a page that is not there any more.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ARE_OF, whatPicturesAreOf } from "../docs/pictures-are-of.mjs";
import { endServers, eventually, go, launch, open, serve, settled } from "./browser.js";

const [folder, recording, before, after, list] = process.argv.slice(2);
const [WIDTH, HEIGHT] = [1440, 900];
/** The rows of an empty flame graph show nothing. */
const BELOW = 24;
/** Where a PNG has its width: behind its signature and the head of its first chunk. */
const PNG_WIDTH = 16;

/** Where the last box of the picture ends, so that nothing empty is shown. */
const endOfPicture = (page) => page.locator(".foot").evaluate((foot) => foot.getBoundingClientRect().top);

async function showPage(page) {
  await page.locator("#selection").waitFor();
  return 560;
}

/** What the first finding speaks of, in the whole recording: its panel stands beside the flame graph. */
async function showFunction(page) {
  const href = await page.locator(".card .card-open").first().getAttribute("href");
  const [, id] = href.match(/[#&]function=(\d+)/);
  await go(page, `#function=${id}&panel=1`);
  await page.locator(".panel .source .code:not(:empty)").first().waitFor();
  return endOfPicture(page);
}

async function showCompared(page) {
  await page.locator("#compared").waitFor();
  return 600;
}

async function showList(page) {
  await page.locator("#list tbody tr").first().waitFor();
  await eventually(async () => assert.equal(await page.locator(".list-reading").textContent(), ""));
  return page.locator("#list").evaluate((rows, below) => rows.getBoundingClientRect().bottom + below, BELOW);
}

const SHOTS = [
  ["page", [recording], showPage],
  ["function", [recording], showFunction],
  ["compare", [before, after], showCompared],
  ["list", [list], showList],
];

const browser = await launch();
for (const [name, inputs, show] of SHOTS) {
  for (const [colorScheme, ending] of [
    ["light", ""],
    ["dark", "-dark"],
  ]) {
    const { url, end } = await serve(...inputs);
    // Pages of a context have the size that it has.
    const context = await browser.newContext({ colorScheme, viewport: { width: WIDTH, height: HEIGHT } });
    const page = await open(context, url);
    const height = Math.min(HEIGHT, Math.ceil(await show(page)));
    await settled(page);
    const clip = { x: 0, y: 0, width: WIDTH, height };
    const png = await page.screenshot({ path: join(folder, `${name}${ending}.png`), clip });
    assert.equal(png.readUInt32BE(PNG_WIDTH), WIDTH, `${name} is as wide as the window`);
    await context.close();
    await end();
  }
}
await browser.close();
endServers();
writeFileSync(ARE_OF, whatPicturesAreOf());
