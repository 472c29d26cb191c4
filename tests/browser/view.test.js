// `nodescope view` in a real browser: the printed address opens the list, the list opens a recording, and a browser
// without the code sees nothing. Screenshots go to target/page-screenshots.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { addressOf, endServers, eventually, launch, newPage, program, serve } from "./browser.js";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "nodescope-view-"));
const pictures = join(root, "target/page-screenshots");
const HTTP = join(root, "corpus/node22-http/input.txt.gz");
const GROWING = join(root, "crates/profile/tests/sample/growing.nodescope.part");
const DEMO = join(root, "crates/nodescope/src/demo/recording.nodescope");

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

/** A browser of its own, as another person would have; keeps what must not happen in `page.trouble`. */
async function visit(url, context = undefined) {
  context ??= await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await newPage(context);
  page.on("console", (message) => message.type() === "error" && page.trouble.push(message.text()));
  page.on("request", (request) => request.url().startsWith(new URL(url).origin) || page.trouble.push(request.url()));
  await page.goto(url);
  return page;
}

const names = (page) => page.locator("#list .list-file").allTextContents();
const row = (page, name) => page.locator("#list tbody tr", { hasText: name });
/** What a row shows, column by column, once it has been read. */
async function cells(page, name) {
  await row(page, name).locator(".list-text:not(:empty)").waitFor();
  return Object.fromEntries(
    await row(page, name)
      .locator("td")
      .evaluateAll((all) => all.map((cell) => [cell.className.replace("list-", ""), cell.innerText])),
  );
}
const lists = (page, expected) => eventually(async () => assert.deepEqual(await names(page), expected));
const samples = (page) => page.locator("#selection").evaluate((element) => Number(element.dataset.samples));

describe("a folder", () => {
  const recordings = join(folder, "recordings");
  const hostile = "</script><img src=x onerror=alert(1)>.nodescope";
  let page;
  let url;
  before(async () => {
    mkdirSync(join(recordings, "yesterday"), { recursive: true });
    copyFileSync(DEMO, join(recordings, "demo.nodescope"));
    copyFileSync(HTTP, join(recordings, "yesterday/http.txt.gz"));
    copyFileSync(DEMO, join(recordings, "yesterday", hostile.replaceAll("/", "∕")));
    const damaged = readFileSync(DEMO);
    damaged[damaged.length - 1] ^= 0xff;
    writeFileSync(join(recordings, "damaged.nodescope"), damaged);
    const names = [
      "demo.nodescope",
      "yesterday/http.txt.gz",
      `yesterday/${hostile.replaceAll("/", "∕")}`,
      "damaged.nodescope",
    ];
    for (const [row, name] of names.entries()) {
      utimesSync(join(recordings, name), 1.79e9 - 60 * row, 1.79e9 - 60 * row);
    }
    ({ url } = await serve(recordings));
    page = await visit(url);
    await page.locator("#list").waitFor();
  });

  test("is a list, the newest first, without the code in the address", async () => {
    assert.equal(new URL(await addressOf(page)).search, "");
    assert.match(await page.locator(".head .facts").textContent(), /^4 recordings in .*recordings$/);
    assert.equal(await page.locator("#list th[aria-sort=descending]").textContent(), "when (UTC) ▾");
    // Two know when they began; of the others it is known when they were written.
    await eventually(async () => assert.equal(await page.locator(".list-reading").textContent(), ""));
    const times = await page.locator("#list tbody .list-time").allTextContents();
    assert.deepEqual(times, [...times].sort().reverse());
    const all = [
      "damaged.nodescope",
      "demo.nodescope",
      `yesterday/${hostile.replaceAll("/", "∕")}`,
      "yesterday/http.txt.gz",
    ];
    assert.deepEqual((await names(page)).sort(), all.sort());
    await page.screenshot({ path: join(pictures, "view-list.png") });
    assert.deepEqual(page.trouble, []);
  });

  test("shows of each what the report says first, and of a damaged one what is wrong", async () => {
    const report = JSON.parse(execFileSync(program, ["report", DEMO, "--json"], { maxBuffer: 1 << 28 }));
    const demo = await cells(page, "demo.nodescope");
    assert.ok(demo.finding.replaceAll("\u00a0", " ").startsWith(report.findings[0].text[0]), demo.finding);
    assert.equal(demo.cores, report.cores_busy.toFixed(2));
    assert.match(demo.stall, /^[\d.]+ m?s$/);
    assert.match(demo.gc, /^[\d.]+ %$/);
    assert.match(demo.name, new RegExp(`^${report.processes[0].app} pid \\d+\\s+demo\\.nodescope\\s+[\\d.]+ kB$`));
    const http = await cells(page, "http.txt.gz");
    assert.deepEqual([http.time, http.stall], ["2026-09-21 14:12:20", "–"]);
    assert.match((await cells(page, "damaged.nodescope")).finding, /checksum does not match/);
    assert.equal(await row(page, "damaged.nodescope").locator(".list-wrong").count(), 1);
  });

  test("is sorted, filtered and walked by keyboard", async () => {
    const stalls = page.locator("#list th", { hasText: "worst stall" });
    await stalls.locator("button").click();
    await eventually(async () => assert.equal(await stalls.getAttribute("aria-sort"), "descending"));
    const known = (await names(page)).map((name) => name.includes("demo") || name.includes("onerror"));
    assert.deepEqual(known, [true, true, false, false]);
    await stalls.locator("button").click();
    await eventually(async () => assert.equal(await stalls.getAttribute("aria-sort"), "ascending"));
    await page.keyboard.press("/");
    await page.keyboard.type("yesterday/h");
    await lists(page, ["yesterday/http.txt.gz"]);
    // The address keeps it.
    await page.reload();
    await page.locator("#list").waitFor();
    await lists(page, ["yesterday/http.txt.gz"]);
    assert.equal(await page.locator("#filter").inputValue(), "yesterday/h");
    await page.locator("#filter").press("Escape");
    await eventually(async () => assert.equal((await names(page)).length, 4));
    await page.locator("#filter").press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    const focused = () => page.evaluate(() => document.activeElement.querySelector(".list-file")?.textContent);
    await eventually(async () => assert.equal(await focused(), (await names(page))[0]));
    await page.keyboard.press("End");
    await eventually(async () => assert.equal(await focused(), (await names(page)).at(-1)));
    assert.deepEqual(page.trouble, []);
  });

  test("compares two that are picked, the newer against the older", async () => {
    await page.goto(new URL("/", url).href);
    await row(page, "demo.nodescope").locator("label").click();
    await page.getByText("pick another one to compare").waitFor();
    await row(page, "http.txt.gz").locator("a").focus();
    await page.keyboard.press("Space");
    await page.locator(".list-compare .action").waitFor();
    await eventually(async () => assert.equal(await page.locator("#list .picked").count(), 2));
    const shown = await names(page);
    await page.keyboard.press("c");
    await page.locator("#compared").waitFor();
    const [newer, older] = shown.filter((name) => /demo|http/.test(name)).map((name) => name.split("/").at(-1));
    assert.equal(await page.title(), `${newer} · nodescope`);
    await page.getByText(older).first().waitFor();
    await page.goBack();
    // What was picked is in the address.
    await eventually(async () => assert.equal(await page.locator("#list .picked").count(), 2));
    await page.locator('[data-key="unpick"]').click();
    await eventually(async () => assert.equal(await page.locator("#list .picked").count(), 0));
    assert.deepEqual(page.trouble, []);
  });

  test("opens a recording, which stays after a reload, and the list again", async () => {
    await page.locator("#list a", { hasText: "http.txt.gz" }).click();
    await page.locator("#selection").waitFor();
    const report = JSON.parse(
      execFileSync(program, ["report", HTTP, "--json", "--thread", "main"], { maxBuffer: 1 << 28 }),
    );
    assert.equal(await samples(page), report.samples);
    assert.equal(await page.title(), "http.txt.gz · nodescope");
    await page.keyboard.press("4");
    await page.locator("#top").waitFor();
    const address = await addressOf(page);
    await page.reload();
    await page.locator("#top").waitFor();
    assert.equal(await addressOf(page), address);
    assert.equal(await samples(page), report.samples);
    await page.screenshot({ path: join(pictures, "view-recording.png") });
    await page.locator("#all").click();
    await page.locator("#list").waitFor();
    await page.goBack();
    await page.locator("#top").waitFor();
    assert.deepEqual(page.trouble, []);
  });

  test("shows a new recording and one that grows by itself, and says what is wrong with a damaged one", async () => {
    await page.goto(new URL("/", url).href);
    await page.locator("#list").waitFor();
    writeFileSync(join(recordings, "new.nodescope.part"), readFileSync(GROWING).subarray(0, -1500));
    const size = () => row(page, "new.nodescope.part").locator(".list-size").textContent();
    const first = await size();
    await page.evaluate(() => (window.isSame = true));
    writeFileSync(join(recordings, "new.nodescope.part"), readFileSync(GROWING));
    await page.locator(".list-growing", { hasText: "recording now" }).waitFor();
    assert.notEqual(await size(), first);
    rmSync(join(recordings, "new.nodescope.part"));
    await eventually(async () => assert.equal(await row(page, "new.nodescope.part").count(), 0));
    assert.equal(await page.evaluate(() => window.isSame), true, "the page was not loaded again");
    await page.locator("#list a", { hasText: "damaged.nodescope" }).click();
    assert.match(await page.locator("[role=alert]").textContent(), /checksum does not match/);
    await page.locator("#all").click();
    await page.locator("#list").waitFor();
    await page.locator("#list a", { hasText: "onerror" }).click();
    await page.locator("#selection").waitFor();
  });

  test("is nothing to a browser without the code", async () => {
    const { origin } = new URL(url);
    for (const address of [
      url,
      `${origin}/`,
      `${origin}/recordings.json`,
      `${origin}/recording/1`,
      `${origin}/?recording=1`,
    ]) {
      const stranger = await visit(address);
      const text = await stranger.evaluate(() => document.body.textContent);
      assert.ok(/nodescope/.test(text) && text.length < 200 && !/http\.txt|demo/.test(text), text);
      await stranger.context().close();
    }
  });

  test("is nothing to another site in the same browser", async () => {
    const site = await newPage(page.context());
    const { origin } = new URL(url);
    await site.route("http://other.example/", (route) =>
      route.fulfill({ contentType: "text/html", body: "<title>other</title>" }),
    );
    await site.goto("http://other.example/");
    const seen = await site.evaluate(async (origin) => {
      const asked = await fetch(`${origin}/recordings.json`, { credentials: "include" }).then(
        (answer) => answer.text(),
        () => "refused",
      );
      const blind = await fetch(`${origin}/recordings.json`, { credentials: "include", mode: "no-cors" }).then(
        ({ type }) => type,
        () => "refused",
      );
      const loaded = await new Promise((done) => {
        const script = document.createElement("script");
        script.src = `${origin}/recordings.json`;
        script.onload = () => done("loaded");
        script.onerror = () => done("refused");
        document.head.append(script);
      });
      const frame = document.createElement("iframe");
      frame.src = `${origin}/`;
      const framed = await new Promise((done) => {
        frame.onload = () => done(frame.contentDocument?.body.textContent ?? "closed");
        document.body.append(frame);
      });
      return { asked, blind, loaded, framed };
    }, origin);
    assert.equal(seen.asked, "refused");
    assert.equal(seen.loaded, "refused");
    assert.ok(["refused", "opaque"].includes(seen.blind), seen.blind);
    assert.equal(seen.framed, "closed");
    await site.close();
  });
});

test("a page is handed on as one file, of one recording or of two; a link is for this machine", async () => {
  const exported = (name, ...words) => {
    const out = join(folder, name);
    execFileSync(program, ["export", ...words, "-o", out], { stdio: ["ignore", "ignore", "inherit"] });
    return readFileSync(out, "utf8");
  };
  const saved = async (page) => {
    await page.locator('[data-key="export"]').click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator('[data-key="page"]').click()]);
    return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
  };
  const one = await visit((await serve(DEMO)).url);
  await one.locator("#selection").waitFor();
  assert.deepEqual(await saved(one), ["recording.html", exported("one.html", DEMO)]);
  const address = new URL("/recording/1/page.html", await addressOf(one)).href;
  assert.equal((await fetch(address)).status, 403, "not for who has no cookie");
  await one.locator('[data-key="export"]').click();
  const link = one.locator('[data-key="copy-link"]');
  assert.match(await link.textContent(), /this machine alone/);
  await one.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("forbidden"));
  });
  // The words go soon: the wait begins before the click.
  const isShown = () => document.querySelector('[data-key="export"]').textContent === "cannot copy here ▾";
  const shown = one.waitForFunction(isShown);
  await link.click();
  await shown;
  assert.deepEqual(one.trouble, []);
  const [context, paths] = [await browser.newContext({ viewport: { width: 1400, height: 900 } }), []];
  context.on("request", (request) => paths.push(new URL(request.url()).pathname));
  const two = await visit((await serve(HTTP, DEMO)).url, context);
  await two.locator("#compared").waitFor();
  assert.equal(paths.filter((path) => path === "/compared/1/2.json").length, 1, "it is fetched once, and shown once");
  assert.deepEqual(await saved(two), ["recording.html", exported("two.html", DEMO, "--against", HTTP)]);
  assert.deepEqual(two.trouble, []);
});

test("one file is shown at once, two are compared", async () => {
  const one = await visit((await serve(HTTP)).url);
  await one.locator("#selection").waitFor();
  assert.equal(await one.locator("#all").count(), 0);
  assert.match(await one.locator(".facts").textContent(), /^perf script/);
  assert.match(await one.locator(".facts").textContent(), /1\.17 cores busy · 695 samples/);
  assert.match(await one.locator("#verdict").textContent(), /^whole recording.*Garbage collection took /);
  assert.deepEqual(one.trouble, []);
  const two = await visit((await serve(HTTP, DEMO)).url);
  await two.locator("#selection").waitFor();
  await two.getByText("input.txt.gz").first().waitFor();
  // What changed is reported by the program, as long as nothing narrows it.
  const reported = await two.evaluate(async () => (await fetch("/compared/1/2.json")).json());
  assert.notDeepEqual(reported.loops, reported.threads);
  const texts = async (selector) =>
    (await two.locator(selector).allTextContents()).map((text) => text.replaceAll("\u00a0", " "));
  const compared = async () => [...(await texts("#compared-whole")), ...(await texts("#compared .changes > span"))];
  const words = ({ text, intro, changes }) => [
    text,
    intro,
    ...changes.slice(0, 4).map((row) => `${row.name} ${row.text}`),
  ];
  const shows = (part) => eventually(async () => assert.deepEqual(await compared(), words(part)));
  await two.keyboard.press("e");
  await shows(reported.loops);
  await two.locator('[data-key="role-all"]').click();
  await shows(reported.threads);
  await two.locator('[data-key="measure-share"]').click();
  await shows({ ...reported.thread_shares, text: reported.threads.text });
  await two.locator("#all").waitFor();
  await two.screenshot({ path: join(pictures, "view-compare.png") });
  await two.locator("#all").click();
  await two.locator("#list").waitFor();
  // Of their paths, what they share is left out.
  const both = ["corpus/node22-http/input.txt.gz", "crates/nodescope/src/demo/recording.nodescope"];
  await eventually(async () => assert.deepEqual((await names(two)).sort(), both));
  assert.deepEqual(two.trouble, []);
});

test("sources come from this machine", async () => {
  const script = join(folder, "app.js");
  writeFileSync(script, "// first line\nfunction hot() {\n  return 42;\n}\n");
  const frame = { functionName: "hot", scriptId: "1", url: script, lineNumber: 1, columnNumber: 9 };
  const profile = {
    nodes: [
      {
        id: 1,
        callFrame: { functionName: "(root)", scriptId: "0", url: "", lineNumber: -1, columnNumber: -1 },
        children: [2],
      },
      { id: 2, callFrame: frame, positionTicks: [{ line: 3, ticks: 3 }] },
    ],
    startTime: 0,
    endTime: 4000,
    samples: [2, 2, 2],
    timeDeltas: [1000, 1000, 1000],
  };
  const file = join(folder, "a.cpuprofile");
  writeFileSync(file, JSON.stringify(profile));
  const page = await visit((await serve(file)).url);
  await page.locator("#selection").waitFor();
  await page.goto(`${await addressOf(page)}#view=source&source=0.3`);
  await page.reload();
  await page.getByText("return 42;").waitFor();
  assert.equal(await page.locator(".fact-text").count(), 0);
  assert.deepEqual(page.trouble, []);
  // A page that is a file holds the text only if the user asked for it, and then the page says so.
  const [plain, carrying] = [join(folder, "plain.html"), join(folder, "carrying.html")];
  execFileSync(program, ["export", file, "-o", plain]);
  execFileSync(program, ["export", file, "-o", carrying, "--with-source"], { stdio: "ignore" });
  rmSync(script);
  const single = await visit(`${pathToFileURL(carrying).href}#view=source&source=0.3`);
  await single.getByText("return 42;").waitFor();
  assert.equal(await single.locator(".fact-text").textContent(), "with source text");
  await single.goto(`${pathToFileURL(plain).href}#view=source&source=0.3`);
  await single.getByText("carries no source text").waitFor();
  assert.equal(await single.locator(".fact-text").count(), 0);
});

test("the page says that a server has ended", async () => {
  const { url, end } = await serve(HTTP, DEMO);
  const page = await visit(url);
  await page.locator("#selection").waitFor();
  await page.goto(new URL("/?recording=1", url).href);
  await page.locator("#selection").waitFor();
  await end();
  await page.evaluate(() => (location.hash = "#against=2"));
  await page.getByText("nodescope does not answer").waitFor();
});
