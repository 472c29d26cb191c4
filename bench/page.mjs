// How fast the page is, in headless Chromium: a made-up recording of a million samples and 200,000 stacks, as one file
// and from a server, with all frames shown and as users open it, with their own code. Behind the first picture, times are those that the page's thread was on a CPU
// for script, style and layout, in an event's handlers and the frame after them: other programs do not count. Beside
// each stands how often a fixed loop would have run in it, which is measured in the same page just before and just
// after: that number is the same on a slow machine.
//
//   node bench/page.mjs                        1,000,000 samples, 200,000 stacks
//   node bench/page.mjs 10000000 1000000       more of both
//   node bench/page.mjs 1000000 200000 100000  and so many samples beside FlameScope and speedscope (0: not at all)
//
// FLAMESCOPE      a checkout of Netflix/flamescope, to compare with
// NODESCOPE_BIN   the program (default: target/release/nodescope)
// NODESCOPE_BASE  an older build, to compare with: its page is opened in turn with ours
// CHROMIUM        the browser (default: /usr/bin/chromium)
// How long it takes to open may not grow: that is judged against the older build, because most of the time goes to the
// browser, and loops do not make one machine's comparable with another's.
// The last line counts the goals that were met and missed; with one missed the exit status is 1.
// It uses tests/browser's npm packages: (cd tests/browser && npm ci --ignore-scripts).

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";
import { comparePeers } from "./page-peers.mjs";

const root = resolve(import.meta.dirname, "..");
const require = createRequire(join(root, "tests/browser/package.json"));
const { chromium } = require("playwright-core");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/release/nodescope");
const [samples, stacks, ofPeers] = [
  process.argv[2] ?? 1_000_000,
  process.argv[3] ?? 200_000,
  process.argv[4] ?? 100_000,
].map(Number);
/** How many stacks the inverted graph is measured with. */
const MILLION = 1_000_000;
/** How often a page is opened, and how often the mouse moves. */
const [OPENINGS, MOVES] = [9, 40];
/** All of a recording, and the goals of a frame while the mouse drags: a part of the frames, and milliseconds. */
const WHOLE = "#threads=all&lens=everything";
const DRAG = [
  [0.5, 16],
  [0.95, 50],
];
/** What the page opens with. */
const CODE = "#threads=all&lens=code";
const goals = { met: 0, missed: 0 };
const FUNCTIONS = 8000;
const THREADS = 6;
const SECONDS = 600;

/** The same numbers every time. */
let seed = 1;
function random() {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
}

const NONE = 0xffffffff;

/** The columns of a recording: call trees that are deep, not wide. */
function columnsOf(samples, stacks) {
  const u32 = (length, value) => Uint32Array.from({ length }, (_, at) => value(at));
  const u8 = (length, value) => Uint8Array.from({ length }, (_, at) => value(at));
  const u64 = (length, value) => BigUint64Array.from({ length }, (_, at) => BigInt(value(at)));
  const depth = new Uint8Array(stacks);
  const parent = u32(stacks, (at) => {
    if (at < 4) return NONE;
    // Recent stacks are deeper: call trees are deep, not wide.
    let above = Math.floor(at - 1 - random() ** 3 * at);
    if (above < 0 || depth[above] > 60) above = at % 4;
    depth[at] = depth[above] + 1;
    return above;
  });
  const columns = {
    "functions.name": u32(FUNCTIONS, (at) => at + 2),
    "functions.source": u32(FUNCTIONS, (at) => at % 400),
    "functions.line": u32(FUNCTIONS, (at) => (at % 900) + 1),
    "functions.column": u32(FUNCTIONS, () => 1),
    "functions.module": u32(FUNCTIONS, () => NONE),
    "functions.package": u32(FUNCTIONS, () => NONE),
    "frames.function": u32(FUNCTIONS, (at) => at),
    "frames.line": u32(FUNCTIONS, (at) => (at % 900) + 1),
    "frames.column": u32(FUNCTIONS, () => 1),
    "frames.category": u8(FUNCTIONS, (at) => at % 13),
    "frames.tier": u8(FUNCTIONS, (at) => at % 6),
    "frames.inlined": u8(FUNCTIONS, () => 0),
    "frames.address": u64(FUNCTIONS, () => 2n ** 63n),
    "frames.symbol": u32(FUNCTIONS, () => NONE),
    "stacks.parent": parent,
    "stacks.frame": u32(stacks, () => Math.floor(random() ** 2 * FUNCTIONS)),
    "stacks.category": u8(stacks, (at) => at % 13),
    "lanes.0.time_ns": u64(samples, (at) => Math.floor((at * SECONDS * 1e9) / samples)),
    "lanes.0.thread": u32(samples, () => Math.floor(random() ** 2 * THREADS)),
    "lanes.0.stack": u32(samples, () => Math.floor(random() ** 2 * stacks)),
    "lanes.0.weight": u64(samples, () => 10_101_010),
    "line_ticks.stack": u32(0),
    "line_ticks.line": u32(0),
    "line_ticks.ticks": u32(0),
    "markers.kind": u8(0),
    "markers.thread": u32(0),
    "markers.start_ns": u64(0),
    "markers.end_ns": u64(0),
    "markers.text": u32(0),
  };
  // A stack's category is its frame's, unless a caller claims it.
  const claims = new Set([5, 6, 7, 13]);
  for (let at = 0; at < stacks; at++) {
    const own = columns["frames.category"][columns["stacks.frame"][at]];
    const above = parent[at] === NONE ? 255 : columns["stacks.category"][parent[at]];
    columns["stacks.category"][at] = claims.has(above) ? above : own;
  }
  return columns;
}

/** A .nodescope file as docs/file-format.md describes it, and how large its columns are. */
function recording(samples, stacks) {
  seed = 1;
  const strings = [
    "cpu-clock",
    "node",
    ...Array.from({ length: FUNCTIONS }, (_, at) => `function${at}`),
    ...Array.from({ length: 400 }, (_, at) => `/srv/app/node_modules/p${at}/index.js`),
  ];
  const columns = columnsOf(samples, stacks);
  let end = 0;
  const directory = Object.entries(columns).map(([name, column]) => {
    const offset = end;
    end += Math.ceil(column.byteLength / 8) * 8;
    return { name, type: `u${8 * column.BYTES_PER_ELEMENT}`, offset, length: column.length };
  });
  const header = JSON.stringify({
    meta: {
      format: "made up",
      way_in: "",
      start_unix_ns: "1794759273254160143",
      duration_ns: SECONDS * 1e9,
      interval_ns: 10101010,
      losses: { lost: 0, frames: 1, unnamed: {}, damage: [] },
    },
    strings,
    sources: Array.from({ length: 400 }, (_, at) => ({ path: 2 + FUNCTIONS + at, generated: NONE, text: NONE })),
    modules: [],
    processes: [{ pid: 1, inner_pid: 1, name: 1, container: NONE, node_version: NONE }],
    threads: Array.from({ length: THREADS }, (_, at) => ({
      process: 0,
      tid: at + 1,
      name: 1,
      role: at === 0 ? "main" : "worker",
    })),
    lanes: [{ name: 0, unit: "ns", timed: true, counted: true }],
    columns: directory,
  });
  const bytes = Buffer.from(header);
  const start = Math.ceil((8 + bytes.length) / 8) * 8;
  const payload = Buffer.alloc(start + end, " ", "latin1");
  payload.fill(0, start);
  payload.writeBigUInt64LE(BigInt(bytes.length), 0);
  bytes.copy(payload, 8);
  for (const { name, offset } of directory) Buffer.from(columns[name].buffer).copy(payload, start + offset);
  const stored = deflateSync(payload, { level: 1 });
  const head = Buffer.alloc(40);
  head.write("nodescop");
  head.writeUInt32LE(1, 8);
  head.write("PROF", 16);
  head.writeUInt32LE(crc32(stored), 20);
  head.writeBigUInt64LE(BigInt(stored.length), 24);
  head.writeBigUInt64LE(BigInt(payload.length), 32);
  return { bytes: Buffer.concat([head, stored]), columnBytes: end };
}

function crc32(bytes) {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = (byte >>> 1) ^ (0xedb88320 & -(byte & 1));
    return byte;
  });
  let crc = -1;
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 255];
  return ~crc >>> 0;
}

/** In the page: a fixed amount of work, mostly reads and writes of a few megabytes. */
function loop(turns) {
  window.column ??= new Uint32Array(500_000).map((_, at) => Math.imul(at, 2654435761));
  const { column } = window;
  const sums = new Float64Array(4096);
  for (let turn = 0; turn < turns; turn++)
    for (let at = 0; at < column.length; at++) sums[column[at] & 4095] += column[at];
  return sums[0];
}

const TURNS = 40;
async function loopTime(tab) {
  await tab.evaluate(loop, TURNS);
  const before = await spent(tab);
  await tab.evaluate(loop, TURNS);
  return ((await spent(tab)).task - before.task) / TURNS;
}

/** A tab that reports how long its thread was on a CPU. */
async function newTab(browser) {
  const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  tab.clock = await tab.context().newCDPSession(tab);
  await tab.clock.send("Performance.enable", { timeDomain: "threadTicks" });
  return tab;
}

/** Milliseconds on a CPU up to now: of script, style and layout, and of all tasks. */
async function spent({ clock }) {
  const { metrics } = await clock.send("Performance.getMetrics");
  const of = (...names) =>
    1000 * metrics.reduce((sum, { name, value }) => (names.includes(name) ? sum + value : sum), 0);
  return { script: of("ScriptDuration", "RecalcStyleDuration", "LayoutDuration"), task: of("TaskDuration") };
}

/** The time of each of some acts, with the frame in which its change is drawn. `ready` is not timed. */
async function timed(tab, count, act, ready = async () => {}) {
  const times = [];
  for (let at = 0; at < count; at++) {
    await ready(at);
    const before = await spent(tab);
    await act(at);
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    times.push((await spent(tab)).script - before.script);
  }
  return times;
}

/** Shows another state of the page. */
function go(tab, hash) {
  return tab.evaluate((next) => {
    history.replaceState(null, "", next);
    window.dispatchEvent(new PopStateEvent("popstate"));
  }, hash);
}

/** A drag with the mouse over the heat map, from its first tenth to its end. */
async function dragged(tab) {
  const { x, y, width } = await tab.locator("#heat").boundingBox();
  const at = (part) => [x + 70 + part * (width - 90), y + 12];
  await tab.mouse.move(...at(0.1));
  await tab.mouse.down();
  const times = await timed(tab, MOVES, (move) => tab.mouse.move(...at(0.1 + (0.9 * (move + 1)) / MOVES)));
  await tab.mouse.up();
  return times;
}

/** The mouse over the flame graph, from box to box. */
async function hovered(tab) {
  const { x, y, width } = await tab.locator("#flame").boundingBox();
  return timed(tab, 3 * MOVES, (at) => tab.mouse.move(x + 2 + ((at * 61) % (width - 4)), y + 18 * (0.5 + (at % 12))));
}

/** Clicks on boxes of the flame graph, each from the whole picture. */
async function clicked(tab) {
  const { x, y, width } = await tab.locator("#flame").boundingBox();
  const click = (at) => tab.mouse.click(x + ((at * 97) % (width / 2)), y + 18 * (1.5 + (at % 8)));
  return timed(tab, MOVES, click, () => go(tab, WHOLE));
}

/** The time below which that part of the times lies. */
function quantile(times, part) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

function summary(times, loopMs) {
  const loops = loopMs === undefined ? "" : `, ${(quantile(times, 0.5) / loopMs).toFixed(1)} loops`;
  return `median ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)} ms${loops}`;
}

/** What the page keeps, after a collection: objects and columns. */
async function keptBytes(tab) {
  const session = await tab.context().newCDPSession(tab);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize + backingStorageSize;
}

/** Starts the server; gives its address, and how long it took to have one. */
async function serve(...files) {
  const start = performance.now();
  const server = spawn(program, ["view", "--no-browser", ...files], { stdio: ["ignore", "pipe", "ignore"] });
  const address = await new Promise((done) => server.stdout.once("data", (line) => done(String(line).trim())));
  return { server, address, ms: performance.now() - start };
}

/** How long it takes until a page shows its first picture. */
async function paint(tab, url) {
  await tab.goto("about:blank");
  await tab.goto(url);
  await tab.locator("#selection").waitFor();
  return tab.evaluate(() => performance.getEntriesByName("nodescope-shown")[0].startTime);
}

/** Writes a recording and its page; gives the page's address. */
function exported(input, name, by = program) {
  const page = join(folder, name);
  execFileSync(by, ["export", input, "-o", page], { stdio: ["ignore", "ignore", "inherit"] });
  return pathToFileURL(page).href;
}

/** The words for a goal, which is counted. */
function judged(isMet) {
  goals[isMet ? "met" : "missed"]++;
  return isMet ? "met" : "MISSED";
}

/** A line of times, with their goals where there are some: [part of the times, milliseconds]. */
async function printTimes(tab, title, take, wanted = []) {
  const before = await loopTime(tab);
  const times = await take();
  const loopMs = (before + (await loopTime(tab))) / 2;
  const verdict = wanted.map(([part, ms]) => `, p${part * 100} ≤ ${ms} ms ${judged(quantile(times, part) <= ms)}`);
  console.log(`${title.padEnd(30)}${summary(times, loopMs)}${verdict.join("")}`);
  return times;
}

/** The same for other states of the page; the first three only warm it up. */
function measure(tab, title, hashes, wanted) {
  const take = async () => (await timed(tab, hashes.length, (at) => go(tab, hashes[at]))).slice(3);
  return printTimes(tab, title, take, wanted);
}

/** Ranges as in a drag: each a little later than the last. */
const ranges = (seconds, more = "") =>
  Array.from({ length: MOVES }, (_, at) => `${WHOLE}&range=${at * 3}-${at * 3 + seconds}${more}`);

async function served(tab, input) {
  const { server, address, ms } = await serve(input);
  try {
    const times = [];
    await paint(tab, address + CODE);
    for (let round = 0; round < OPENINGS; round++) times.push(await paint(tab, `${new URL(address).origin}/${CODE}`));
    console.log(`from a file to an address:    ${ms.toFixed(0)} ms`);
    console.log(`first picture, served:        ${summary(times)}`);
  } finally {
    server.kill();
  }
}

/** Opens a page as users do and with all frames, in turn with that of an older build where there is one. */
async function opened(tab, page, base) {
  for (const [title, hash] of [
    ["my code", CODE],
    ["everything", WHOLE],
  ]) {
    const [ours, theirs] = [[], []];
    const before = await loopTime(tab);
    for (let round = 0; round < OPENINGS; round++) {
      ours.push(await paint(tab, page + hash));
      if (base) theirs.push(await paint(tab, base + hash));
    }
    const loopMs = (before + (await loopTime(tab))) / 2;
    console.log(`first picture, ${title}:`.padEnd(30) + summary(ours, loopMs) + ratio(ours, theirs));
  }
}

function ratio(ours, theirs) {
  if (theirs.length === 0) return "";
  const part = quantile(ours, 0.5) / quantile(theirs, 0.5);
  return `; before ${quantile(theirs, 0.5).toFixed(1)} ms: ${part.toFixed(2)} of it, ≤ 1 ${judged(part <= 1)}`;
}

async function usual(tab, page) {
  await paint(tab, page + WHOLE);
  await printTimes(tab, "a drag over the heat map:", () => dragged(tab), DRAG);
  await go(tab, CODE);
  await printTimes(tab, "a drag, my code:", () => dragged(tab), DRAG);
  await go(tab, WHOLE);
  await measure(tab, "new range of 1.5 s:", ranges(1.5), DRAG);
  await measure(tab, "new range of 60 s:", ranges(60), DRAG);
  await measure(tab, "new range of 480 s:", ranges(480), DRAG);
  const apart = Array.from(
    { length: MOVES },
    (_, at) => `${WHOLE}&range=${(at * 271) % 300}-${((at * 271) % 300) + (at % 2 ? 60 : 290)}`,
  );
  await measure(tab, "ranges far apart, 60–290 s:", apart);
  await measure(
    tab,
    "my code, 480 s:",
    ranges(480, "&lens=code").map((hash) => hash.replace("&lens=everything", "")),
  );
  await measure(tab, "inverted, 480 s:", ranges(480, "&view=inverted"));
  await measure(tab, "top table, 480 s:", ranges(480, "&view=top"));
  await measure(tab, "time order, 60 s:", ranges(60, "&view=time"));
  await printTimes(tab, "zoom by a click:", () => clicked(tab));
  await go(tab, WHOLE);
  await printTimes(tab, "hover:", () => hovered(tab), [[0.5, 4]]);
}

async function memory(tab, page, columnBytes) {
  const words = async (title) => {
    const kept = await keptBytes(tab);
    console.log(
      `${title.padEnd(30)}${(kept / 1e6).toFixed(0)} MB, ${(kept / columnBytes).toFixed(2)} × the columns of the file, ≤ 3 ${judged(kept <= 3 * columnBytes)}`,
    );
  };
  await words("memory after all this:");
  await paint(tab, page + CODE);
  await words("memory, my code:");
  await paint(tab, page + WHOLE);
  await words("memory, everything:");
}

/**
 * Callers under what they called, of a call tree of a million nodes; in turn with an older build where there is one.
 */
async function inverted(tab, page, base) {
  const hashes = ranges(480, "&view=inverted");
  await paint(tab, page + WHOLE);
  const ours = await measure(tab, `inverted, ${MILLION.toLocaleString("en")} stacks:`, hashes, [[0.5, 48]]);
  if (!base) return;
  await paint(tab, base + WHOLE);
  const theirs = await measure(tab, "  of the older build:", hashes);
  console.log(`  ${(quantile(ours, 0.5) / quantile(theirs, 0.5)).toFixed(2)} of it is ours`);
}

const folder = mkdtempSync(join(tmpdir(), "nodescope-bench-page-"));
const base = process.env.NODESCOPE_BASE;
try {
  const [input, large] = [join(folder, "big.nodescope"), join(folder, "million.nodescope")];
  const { bytes, columnBytes } = recording(samples, stacks);
  writeFileSync(input, bytes);
  const page = exported(input, "big.html");
  console.log(
    `${samples.toLocaleString("en")} samples, ${stacks.toLocaleString("en")} stacks: ${(statSync(join(folder, "big.html")).size / 1e6).toFixed(1)} MB of HTML`,
  );
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu"],
  });
  try {
    const tab = await newTab(browser);
    await served(tab, input);
    await opened(tab, page, base && exported(input, "base.html", base));
    await usual(tab, page);
    await memory(tab, page, columnBytes);
    writeFileSync(large, recording(samples, MILLION).bytes);
    await inverted(tab, exported(large, "million.html"), base && exported(large, "million-base.html", base));
    await tab.close();
    if (ofPeers > 0) await comparePeers({ browser, folder, program, require, samples: ofPeers });
  } finally {
    await browser.close();
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`goals: ${goals.met} met, ${goals.missed} missed`);
process.exitCode = goals.missed > 0 ? 1 : 0;
