// A real browser and the real nodescope: what every test here starts from.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)
// CHROMIUM       the browser (default: /usr/bin/chromium)

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const root = resolve(import.meta.dirname, "../..");
export const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const folder = mkdtempSync(join(tmpdir(), "nodescope-browser-"));
let files = 0;

/** Exports a case of the corpus and gives the URL of what was written. */
export function exportCase(name, ending, ...options) {
  const input = join(root, "corpus", name, "input.txt.gz");
  const out = join(folder, `${name}-${++files}${ending}`);
  execFileSync(program, ["export", input, "-o", out, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  return pathToFileURL(out).href;
}

/** Starts the browser; it stays off the network. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Opens a URL and keeps what must not happen in `page.trouble`: errors, dialogs nobody asked for, requests. */
export async function open(browser, url, width = 1200) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  page.trouble = [];
  page.answer = undefined;
  page.on("pageerror", (error) => page.trouble.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.trouble.push(message.text()));
  page.on("request", (request) => {
    if (!request.url().startsWith(url.split(/[?#]/)[0])) page.trouble.push(`request for ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    if (dialog.type() === "prompt" && page.answer !== undefined) return dialog.accept(page.answer);
    page.trouble.push(`a dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  await page.goto(url);
  // Scripts may have put off work until after the load event.
  await page.evaluate(() => new Promise((done) => setTimeout(done, 0)));
  return page;
}
