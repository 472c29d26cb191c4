// Takes the pictures of the page for the documents: node pictures.mjs PAGE FOLDER
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.js";

const [file, folder] = process.argv.slice(2);
const browser = await launch();
for (const [theme, name] of [["light", "page.png"], ["dark", "page-dark.png"]]) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: theme });
  await page.goto(pathToFileURL(resolve(file)).href);
  await page.locator("#selection").waitFor();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  // What is empty below the flame graph says nothing.
  await page.screenshot({ path: join(folder, name), clip: { x: 0, y: 0, width: 1440, height: 560 } });
}
await browser.close();
