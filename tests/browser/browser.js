// A real browser and the real nodescope: what every test here starts from.
//
// A value that is read once must not change afterwards by itself: after a click or a key, wait until it is drawn; where
// a timer, an event of the history or an answer of a server comes between, wait until it is `settled`, use `go` and
// `back`, or ask `eventually`.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)
// CHROMIUM       the browser (default: /usr/bin/chromium)

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** How long anything may take on a loaded machine: to start the browser, to show a page, to become true. */
export const PATIENCE_MS = 120_000;
export const POLL_MS = 20;

const root = resolve(import.meta.dirname, "../..");
export const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const folder = mkdtempSync(join(tmpdir(), "nodescope-browser-"));
let files = 0;

/** Exports a case of the corpus, or another recording that is seen from there, and gives the URL of what was written. */
export function exportCase(name, ending, ...options) {
  const input = name.endsWith(".nodescope") ? join(root, "corpus", name) : join(root, "corpus", name, "input.txt.gz");
  const out = join(folder, `${basename(name)}-${++files}${ending}`);
  execFileSync(program, ["export", input, "-o", out, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  return pathToFileURL(out).href;
}

const servers = new Set();

/** Starts `nodescope view`, and gives its address and what ends it. */
export async function serve(...inputs) {
  const server = spawn(program, ["view", "--no-browser", ...inputs], { stdio: ["ignore", "pipe", "inherit"] });
  servers.add(server);
  const exit = new Promise((done) => server.once("exit", done));
  const url = await new Promise((done, fail) => {
    server.stdout.once("data", (line) => done(String(line).trim()));
    exit.then((status) => fail(new Error(`view ended with ${status}`)));
  });
  const end = () => {
    servers.delete(server);
    server.kill("SIGKILL");
    return exit;
  };
  return { url, end };
}

/** Ends the servers that still run. */
export function endServers() {
  for (const server of servers) server.kill();
}

/** Starts the browser; it stays off the network. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    timeout: PATIENCE_MS,
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

/** Counts what a page has put off: frames to draw, and timers that are not only there to clean up. */
export function countWork() {
  const { setTimeout: later, clearTimeout: cancel, requestAnimationFrame: nextFrame } = window;
  const work = new Set();
  window.setTimeout = (call, delay = 0, ...rest) => {
    const run = () => {
      work.delete(id);
      call(...rest);
    };
    const id = later(run, delay);
    if (delay < 1000) work.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    work.delete(id);
    cancel(id);
  };
  window.requestAnimationFrame = (call) => {
    const frame = {};
    work.add(frame);
    return nextFrame((time) => {
      work.delete(frame);
      call(time);
    });
  };
  window.settled = (poll) =>
    new Promise((done) => {
      const look = () => (work.size === 0 ? done() : later(look, poll));
      look();
    });
}

/** A page that waits long enough, and keeps the errors that must not happen in `page.trouble`. */
export async function newPage(context, options = undefined) {
  const page = await context.newPage(options);
  page.setDefaultTimeout(PATIENCE_MS);
  page.trouble = [];
  page.on("pageerror", (error) => page.trouble.push(error.message));
  return page;
}

/**
 * Opens a URL and keeps what must not happen in `page.trouble`: errors, unexpected dialogs, requests. `width` is for a
 * browser: the pages of a context have the size of that.
 */
export async function open(browser, url, width = 1200) {
  const page = await newPage(browser, { viewport: { width, height: 900 } });
  page.answer = undefined;
  page.on("console", (message) => message.type() === "error" && page.trouble.push(message.text()));
  page.on("request", (request) => {
    if (!request.url().startsWith(url.split(/[?#]/)[0])) page.trouble.push(`request for ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    if (dialog.type() === "prompt" && page.answer !== undefined) return dialog.accept(page.answer);
    page.trouble.push(`a dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  await page.addInitScript(countWork);
  await page.goto(url);
  // Scripts may have put off work until after the load event.
  await settled(page);
  return page;
}

/** Waits until a page that was opened here has done all that it has put off. */
export async function settled(page) {
  await withinPatience(
    page.evaluate((poll) => window.settled(poll), POLL_MS),
    "the page does not settle",
  );
}

/** Waits until a check holds, and gives what it returns. It fails with the check's own words. */
export async function eventually(check) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || Date.now() > end) throw error;
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}

/** The address as the page has it: the browser reports it later. */
export const addressOf = (page) => page.evaluate(() => location.href);

/** Gives the page another size, and waits until it is drawn so: the browser reports it to the page later. */
export async function resize(page, size) {
  await page.setViewportSize(size);
  const drawn = (width) =>
    new Promise((done) => {
      const look = () => (innerWidth === width ? requestAnimationFrame(done) : requestAnimationFrame(look));
      look();
    });
  await withinPatience(page.evaluate(drawn, size.width), `the page is not ${size.width} px wide`);
  // A page that was not opened by `open` does not count its work.
  if (await page.evaluate(() => "settled" in window)) await settled(page);
}

/** Goes to another state of the same page, and waits until it is drawn. */
export async function go(page, hash) {
  const change = (next) =>
    new Promise((done) => {
      addEventListener("hashchange", done, { once: true });
      location.hash = next;
    });
  await withinPatience(page.evaluate(change, hash), `the page does not go to ${hash}`);
  await settled(page);
}

/** One step of the history back, or forward, and waits until the page has drawn it. */
export async function back(page, steps = -1) {
  const travel = (by) =>
    new Promise((done) => {
      addEventListener("popstate", done, { once: true });
      history.go(by);
    });
  await withinPatience(page.evaluate(travel, steps), `the page does not go ${steps} steps`);
  await settled(page);
}

/** What runs in a page has no limit of its own. */
export async function withinPatience(promise, words) {
  let timer;
  const limit = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(words)), PATIENCE_MS)));
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
