// The page beside its peers, in one run on one recording: FlameScope's server-side range, which reads the file again,
// and speedscope's import of what we export. Called by bench/page.mjs.
//
// FLAMESCOPE  a checkout of Netflix/flamescope (measured: be26595); without it FlameScope is skipped

import { execFileSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";

const FUNCTIONS = 2000;
const STACKS = 20_000;
const SECONDS = 600;
const DEEPEST = 40;
/** Ranges that people select: a second and a half here and there, and a minute. */
const RANGES = [
  ...Array.from({ length: 8 }, (_, at) => [at * 70 + 0.5, at * 70 + 2]),
  ...Array.from({ length: 8 }, (_, at) => [at * 65, at * 65 + 60]),
];

/** FlameScope's own functions without its web server: they are what a request waits for. */
const DRIVER = `
import json, sys, time, types
checkout, path, ranges = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
def module(name, **parts):
    made = types.ModuleType(name)
    made.__dict__.update(parts)
    sys.modules[name] = made
    return made
module("flask", abort=sys.exit)
module("magic", from_file=lambda path, mime: "text/plain")
module("cachetools", cached=lambda cache: lambda function: function, LRUCache=lambda maxsize: None)
config = module("app.config", PROFILE_DIR="/")
module("app", __path__=[checkout + "/app"], config=config)
from app.perf.heatmap import perf_read_offsets
from app.perf.flame_graph import perf_generate_flame_graph
def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
def count(node):
    return node["v"] + sum(map(count, node["c"]))
sys.setrecursionlimit(10000)
heat, offsets = timed(lambda: perf_read_offsets(path))
first = perf_generate_flame_graph(path, *ranges[0])
times = [timed(lambda: perf_generate_flame_graph(path, *one)) for one in ranges]
print(json.dumps({"heat": heat, "samples": len(offsets.offsets), "ranges": [s for s, _ in times], "counts": [count(tree) for _, tree in times]}))
`;

/** A perf script text: the same every time. */
function writeText(path, samples) {
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const stacks = [];
  for (let at = 0; at < STACKS; at++) {
    const above = at < 4 ? [] : stacks[Math.max(0, Math.floor(at - 1 - random() ** 3 * at))];
    const line = `\t    ${(4096 + at).toString(16)} function${Math.floor(random() ** 2 * FUNCTIONS)} (/usr/bin/server)\n`;
    stacks.push(above.length >= DEEPEST ? [line] : [line, ...above]);
  }
  const texts = stacks.map((lines) => lines.join(""));
  const file = openSync(path, "w");
  let text = "";
  for (let at = 0; at < samples; at++) {
    text += `server 7/7 [000] ${(1000 + ((at + 0.5) * SECONDS) / samples).toFixed(6)}: 10101010 cpu-clock:\n${texts[Math.floor(random() ** 2 * STACKS)]}\n`;
    if (text.length > 1 << 24 || at === samples - 1) {
      writeSync(file, text);
      text = "";
    }
  }
  closeSync(file);
}

/** In the page: how long the script takes in a frame that shows another state; the canvas is drawn in it. */
async function frames(hashes) {
  const times = [];
  for (const hash of hashes) {
    history.replaceState(null, "", hash);
    times.push(
      await new Promise((done) => {
        let start;
        requestAnimationFrame(() => (start = performance.now()));
        window.dispatchEvent(new PopStateEvent("popstate"));
        requestAnimationFrame(() => done(performance.now() - start));
      }),
    );
  }
  return times;
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** How long speedscope takes from the address to a table of functions. */
async function speedscope(browser, release, profile) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname.slice(1));
    const path = name === "profile" ? profile : join(release, name.replaceAll("..", ""));
    if (!existsSync(path)) return response.writeHead(404).end();
    return response
      .writeHead(200, { "content-type": types[extname(name)] ?? "application/octet-stream" })
      .end(readFileSync(path));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${server.address().port}`;
  try {
    const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await tab.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/profile`)}&view=sandwich`);
    const shown = await tab.waitForFunction(
      () => [...document.querySelectorAll("td")].some((cell) => /%\)$/.test(cell.textContent)) && performance.now(),
      null,
      { timeout: 300_000 },
    );
    const time = await shown.jsonValue();
    await tab.close();
    return time;
  } finally {
    server.close();
  }
}

/** `require` finds speedscope. */
export async function comparePeers({ browser, folder, program, require, samples }) {
  const [text, page, json] = ["peers.txt", "peers.html", "peers.speedscope.json"].map((name) => join(folder, name));
  writeText(text, samples);
  const start = performance.now();
  execFileSync(program, ["export", text, "-o", page], { stdio: "ignore" });
  const exported = performance.now() - start;
  execFileSync(program, ["export", text, "-o", json], { stdio: "ignore" });
  const opened = [];
  const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  for (let round = 0; round < 5; round++) {
    await tab.goto("about:blank");
    await tab.goto(`${pathToFileURL(page).href}#threads=all`);
    await tab.locator("#selection").waitFor();
    opened.push(await tab.evaluate(() => performance.getEntriesByName("nodescope-shown")[0].startTime));
  }
  const hashes = RANGES.map(([from, to]) => `#threads=all&range=${from}-${to}`);
  await tab.evaluate(frames, hashes.slice(0, 3));
  const redrawn = await tab.evaluate(frames, hashes);
  await tab.close();
  console.log(`\nbeside its peers, ${samples.toLocaleString("en")} samples of perf script text:`);
  console.log(
    `nodescope: text to page ${(exported / 1000).toFixed(2)} s, first picture ${(median(opened) / 1000).toFixed(2)} s, new range drawn ${median(redrawn).toFixed(1)} ms`,
  );
  flameScope(text, exported + median(opened), redrawn);
  const release = join(dirname(require.resolve("speedscope/package.json")), "dist/release");
  const times = [];
  for (let round = 0; round < 3; round++) times.push(await speedscope(browser, release, json));
  console.log(
    `speedscope: opens the same in ${(median(times) / 1000).toFixed(2)} s: ${(median(times) / median(opened)).toFixed(1)} times as long`,
  );
}

function flameScope(text, opened, redrawn) {
  const checkout = process.env.FLAMESCOPE;
  if (!checkout) return console.log("skipped: FlameScope: FLAMESCOPE names no checkout of Netflix/flamescope");
  let measured;
  try {
    measured = JSON.parse(
      execFileSync("python3", ["-c", DRIVER, checkout, text, JSON.stringify(RANGES)], { maxBuffer: 1 << 26 }),
    );
  } catch (error) {
    return console.log(`skipped: FlameScope: ${error.message.split("\n")[0]}`);
  }
  const range = 1000 * median(measured.ranges);
  console.log(
    `FlameScope: heat map ${measured.heat.toFixed(2)} s: ${((1000 * measured.heat) / opened).toFixed(1)} times as long as from text to our picture;`,
  );
  return console.log(
    `            new range ${range.toFixed(0)} ms on the server alone: ${(range / median(redrawn)).toFixed(0)} times as long as ours on the screen`,
  );
}
