// Takes the pictures of the page for the documents, each in both themes:
//
//   node pictures.mjs FOLDER RECORDING BEFORE AFTER LIST
//
// of a recording (the page, and a selected function), of two that are compared, and of a folder of recordings.

import { join } from "node:path";
import { endServers, launch, open, serve, settled } from "./browser.js";

const [folder, recording, before, after, list] = process.argv.slice(2);
const [WIDTH, HEIGHT] = [1440, 900];
/** The rows of an empty flame graph say nothing. */
const BELOW = 24;

/** Where the last box of the picture ends, so that nothing empty is shown. */
const endOfPicture = (page) => page.locator(".foot").evaluate((foot) => foot.getBoundingClientRect().top);

async function showPage(page) {
  await page.locator("#selection").waitFor();
  return 560;
}

/** What the first finding speaks of: it is selected from the top table, and its panel stands beside the flame graph. */
async function showFunction(page) {
  await page.locator("#selection").waitFor();
  await page.keyboard.press("4");
  await settled(page);
  await page.locator("#top tbody button.link").first().click();
  await page.keyboard.press("1");
  await page.locator(".panel").waitFor();
  return endOfPicture(page);
}

async function showCompared(page) {
  await page.locator("#compared").waitFor();
  return 600;
}

async function showList(page) {
  await page.locator("#list").waitFor();
  // Rows fill from the top.
  await page.waitForFunction(() => !document.querySelector("#list")?.textContent.includes("…"));
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
    const context = await browser.newContext({ colorScheme });
    const page = await open(context, url, WIDTH);
    const height = Math.min(HEIGHT, Math.ceil(await show(page)));
    await settled(page);
    await page.screenshot({ path: join(folder, `${name}${ending}.png`), clip: { x: 0, y: 0, width: WIDTH, height } });
    await context.close();
    await end();
  }
}
await browser.close();
endServers();
