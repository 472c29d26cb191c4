// Debian's Firefox, over WebDriver BiDi on a WebSocket. This file owns the browser, its profile and the few commands
// that the tests need. Playwright 1.65 sends what Firefox ESR does not know, and puppeteer-core needs a newer Node than
// we do; this needs one small package, `ws`, as Node 20 has no WebSocket.
//
// FIREFOX  the browser (default: the firefox-esr or firefox in PATH); without one the tests are skipped

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import WebSocket from "ws";
import { countWork, eventually, POLL_MS, withinPatience } from "./browser.js";

/** What a profile of its own sets: a light page, downloads without a question, and nothing from the network. */
const PREFERENCES = {
  "layout.css.prefers-color-scheme.content-override": 1,
  "browser.download.folderList": 2,
  "browser.download.useDownloadDir": true,
  "browser.download.always_ask_before_handling_new_types": false,
  "browser.download.alwaysOpenPanel": false,
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.safebrowsing.downloads.enabled": false,
  "browser.safebrowsing.update.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.getAddons.cache.enabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "remote.active-protocols": 1,
  "services.settings.server": "data:,",
  "toolkit.telemetry.enabled": false,
};
/** Keys that are no characters, as WebDriver calls them. */
const KEYS = { Backspace: "\uE003", Enter: "\uE007", Escape: "\uE00C", ArrowRight: "\uE014", ArrowDown: "\uE015" };
/** A drag has moves between its ends. */
const STEPS = 6;

/** The browser, or nothing. */
export const firefox =
  process.env.FIREFOX ??
  ["firefox-esr", "firefox"].find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0);

/** Starts Firefox with a profile of its own. */
export async function launch() {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-firefox-"));
  const [profile, downloads] = [join(folder, "profile"), join(folder, "downloads")];
  for (const path of [profile, downloads]) mkdirSync(path);
  const preferences = Object.entries({ ...PREFERENCES, "browser.download.dir": downloads });
  writeFileSync(
    join(profile, "user.js"),
    preferences.map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""),
  );
  // Firefox refuses to run as root in the home of another user, and leaves files there.
  const env = { ...process.env, HOME: folder, MOZ_CRASHREPORTER_DISABLE: "1" };
  const child = spawn(firefox, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((done) => child.once("exit", done).once("error", done));
  const stop = async () => {
    child.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const connection = await Connection.open(
      `${await withinPatience(addressOf(child), "Firefox does not start")}/session`,
    );
    return new Firefox(connection, downloads, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Where a new Firefox listens, which it prints among other words. */
function addressOf(child) {
  return new Promise((done, fail) => {
    let words = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      words += text;
      const found = words.match(/WebDriver BiDi listening on (ws:\S+)\s/);
      if (found) done(found[1]);
    });
    child.once("error", fail);
    child.once("exit", (status) => fail(new Error(`Firefox ended with ${status}: ${words}`)));
  });
}

/** Commands with their answers, and events. */
class Connection {
  static async open(address) {
    const socket = new WebSocket(address);
    await withinPatience(
      new Promise((done, fail) => socket.once("open", done).once("error", fail)),
      "Firefox does not answer",
    );
    const connection = new Connection(socket);
    await connection.send("session.new", { capabilities: { alwaysMatch: { unhandledPromptBehavior: "dismiss" } } });
    return connection;
  }

  constructor(socket) {
    this.socket = socket;
    this.waiting = new Map();
    this.listeners = new Set();
    this.last = 0;
    socket.on("message", (text) => this.take(JSON.parse(text)));
    socket.on("close", () => {
      for (const { fail } of this.waiting.values()) fail(new Error("Firefox has gone"));
    });
  }

  take(message) {
    if (message.type === "event") {
      for (const listen of this.listeners) listen(message.method, message.params);
      return;
    }
    const { done, fail } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.type === "success") done(message.result);
    else fail(new Error(`${message.error}: ${message.message}`));
  }

  send(method, params) {
    this.last += 1;
    const id = this.last;
    const answer = new Promise((done, fail) => this.waiting.set(id, { done, fail }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return withinPatience(answer, `Firefox does not answer ${method}`);
  }
}

class Firefox {
  constructor(connection, downloads, stop) {
    Object.assign(this, { connection, downloads, stop });
  }

  /** Opens a URL and keeps what must not happen in `trouble`: errors, dialogs, requests. */
  async open(url, { width = 1400, height = 900 } = {}) {
    const { connection } = this;
    const { context } = await connection.send("browsingContext.create", { type: "tab" });
    const page = new Page(connection, context, url);
    await connection.send("browsingContext.setViewport", { context, viewport: { width, height } });
    await connection.send("script.addPreloadScript", { contexts: [context], functionDeclaration: String(countWork) });
    await connection.send("session.subscribe", {
      contexts: [context],
      events: ["log.entryAdded", "network.beforeRequestSent", "browsingContext.userPromptOpened"],
    });
    await connection.send("browsingContext.navigate", { context, url, wait: "complete" });
    await page.settled();
    return page;
  }

  close() {
    return this.stop();
  }
}

class Page {
  constructor(connection, context, url) {
    Object.assign(this, { connection, context, trouble: [] });
    const own = url.startsWith("http") ? new URL(url).origin : url.split(/[?#]/)[0];
    this.listen = (method, params) => {
      if ((params.context ?? params.source?.context) !== context) return;
      const words = troubleOf(method, params, own);
      if (words) this.trouble.push(words);
    };
    connection.listeners.add(this.listen);
  }

  /** What a function gives in the page; arguments and result are JSON. */
  async evaluate(run, ...values) {
    const functionDeclaration = `async () => JSON.stringify(await (${run})(...${JSON.stringify(values)}))`;
    const answer = await this.connection.send("script.callFunction", {
      functionDeclaration,
      target: { context: this.context },
      awaitPromise: true,
    });
    if (answer.type === "exception") throw new Error(answer.exceptionDetails.text);
    return answer.result.type === "undefined" ? undefined : JSON.parse(answer.result.value);
  }

  /** Waits until the page has done all that it has put off. */
  settled() {
    return this.evaluate((poll) => window.settled(poll), POLL_MS);
  }

  text(selector) {
    return this.evaluate((wanted) => document.querySelector(wanted)?.textContent ?? null, selector);
  }

  texts(selector) {
    return this.evaluate(
      (wanted) => [...document.querySelectorAll(wanted)].map((element) => element.textContent),
      selector,
    );
  }

  /** The cells of each row. */
  rows(selector) {
    return this.evaluate(
      (wanted) =>
        [...document.querySelectorAll(`${wanted} tbody tr`)].map((row) =>
          [...row.cells].map((cell) => cell.title || cell.textContent),
        ),
      selector,
    );
  }

  /** Where an element is, once it can be seen. */
  place(selector) {
    return eventually(async () => {
      const found = await this.evaluate((wanted) => {
        const element = document.querySelector(wanted);
        if (!element?.checkVisibility()) return null;
        element.scrollIntoView({ block: "nearest", inline: "nearest" });
        const { x, y, width, height } = element.getBoundingClientRect();
        return { x, y, width, height };
      }, selector);
      assert.ok(found, `${selector} cannot be seen`);
      return found;
    });
  }

  /** A click into the middle of an element, or so many pixels into it. */
  async click(selector, into = undefined) {
    const { x, y, width, height } = await this.place(selector);
    await this.drag([into ? [x + into[0], y + into[1]] : [x + width / 2, y + height / 2]]);
  }

  /** Presses the mouse at the first point, and lets it go at the last. */
  async drag(points) {
    const move = ([x, y]) => ({ type: "pointerMove", x: Math.round(x), y: Math.round(y) });
    const between = points.slice(1).flatMap(([x, y], at) =>
      Array.from({ length: STEPS }, (_, step) => {
        const [fromX, fromY] = points[at];
        const part = (step + 1) / STEPS;
        return move([fromX + part * (x - fromX), fromY + part * (y - fromY)]);
      }),
    );
    const actions = [move(points[0]), { type: "pointerDown", button: 0 }, ...between, { type: "pointerUp", button: 0 }];
    await this.act({ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions });
    await this.settled();
  }

  /** Presses keys: a name, or characters one after the other. */
  async press(keys) {
    const values = KEYS[keys] ? [KEYS[keys]] : [...keys];
    const actions = values.flatMap((value) => [
      { type: "keyDown", value },
      { type: "keyUp", value },
    ]);
    await this.act({ type: "key", id: "keyboard", actions });
    await this.settled();
  }

  act(...actions) {
    return this.connection.send("input.performActions", { context: this.context, actions });
  }

  /** The page's state as its address has it. */
  async hash() {
    const words = (await this.evaluate(() => location.hash)).slice(1).split("&").filter(Boolean);
    return Object.fromEntries(words.map((word) => word.split("=").map(decodeURIComponent)));
  }

  /** Fails where something happened that must not. */
  async close() {
    assert.deepEqual(this.trouble, []);
    this.connection.listeners.delete(this.listen);
    await this.connection.send("browsingContext.close", { context: this.context });
  }
}

/** What is wrong with an event, if anything. */
function troubleOf(method, params, own) {
  if (method === "log.entryAdded") return params.level === "error" ? params.text : null;
  if (method === "browsingContext.userPromptOpened") return `a dialog: ${params.message}`;
  const { url } = params.request;
  // What the page brings itself comes from nowhere.
  return url.startsWith(own) || /^(blob|data):/.test(url) ? null : `request for ${url}`;
}
