// What callers across await cost the recorder, and how many of them are still there when they are read: by the length
// of a chain, and by how long a function runs after its await.
//
//   node bench/awaits.mjs [SECONDS]     (default: 10 for each row; about two minutes)
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const program = process.env.NODESCOPE_BIN ?? resolve(import.meta.dirname, "../target/release/nodescope");
const seconds = Number(process.argv[2] ?? 10);
const folder = mkdtempSync(join(tmpdir(), "nodescope-awaits-"));

/** Functions that await each other, `depth` of them, and work for some milliseconds behind the innermost await. */
const chain = (depth, ms) => `
const now = () => performance.now();
function work(ms) { const end = now() + ms; let sum = 0; while (now() < end) for (let i = 0; i < 500; i++) sum += Math.sqrt(i); return sum; }
const soon = () => new Promise((resolve) => setImmediate(resolve));
async function f0() { await soon(); return work(${ms}) + 1; }
${Array.from({ length: depth }, (_, at) => `async function f${at + 1}() { return 1 + (await f${at}()); }`).join("\n")}
(async () => { for (;;) await f${depth}(); })();`;
/** One function with two callers that let it work for the same time in all: one in long runs, one in short ones. */
const callers = (long, short) => `
const now = () => performance.now();
function work(ms) { const end = now() + ms; let sum = 0; while (now() < end) for (let i = 0; i < 500; i++) sum += Math.sqrt(i); return sum; }
const soon = () => new Promise((resolve) => setImmediate(resolve));
async function load(ms) { await soon(); return work(ms) + 1; }
async function inLong() { return 1 + (await load(${long})); }
async function inShort() { return 1 + (await load(${short})); }
(async () => { for (let ahead = 0; ; ) { if (ahead > 0) { ahead -= ${short}; await inShort(); } else { ahead += ${long}; await inLong(); } } })();`;
const PLAIN = "for (;;) for (let i = 0; i < 1e5; i++) Math.sqrt(i);";

/** The CPU time of all threads of a process and of those that it started, in ns. */
function cpuNs(pid) {
  let sum = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const read = (name) => readFileSync(`/proc/${pid}/task/${tid}/${name}`, "utf8").split(" ");
    try {
      sum += Number(read("schedstat")[0]);
      for (const child of read("children").filter(Boolean)) sum += cpuNs(child);
    } catch {
      // A thread that has just ended.
    }
  }
  return sum;
}

async function measure(text) {
  const target = spawn(process.execPath, ["-e", text], { stdio: "ignore" });
  const out = join(folder, "a.nodescope");
  const words = ["record", String(target.pid), "--quiet", "--overwrite", "-F", "99", "-d", "1h", "-o", out];
  const recorder = spawn(program, words, { stdio: "ignore" });
  while (!existsSync(`${out}.part`)) await sleep(5);
  await sleep(1500);
  const before = cpuNs(recorder.pid);
  await sleep(1000 * seconds);
  const used = cpuNs(recorder.pid) - before;
  const ended = new Promise((done) => recorder.once("exit", done));
  recorder.kill("SIGINT");
  await ended;
  target.kill();
  const printed = (...words) => execFileSync(program, words, { maxBuffer: 1 << 28, encoding: "utf8" });
  const report = JSON.parse(printed("report", "--json", out));
  const stacks = printed("export", out, "--to", "folded", "--async", "-o", "-").trim().split("\n");
  rmSync(out);
  const cost = { percent: used / seconds / 1e7, micros: used / 1e3 / (99 * seconds) };
  return { ...cost, awaits: report.losses.awaits ?? {}, stacks };
}

/** The part of the work that stands under a function. */
function partUnder(name, stacks) {
  let [all, under] = [0, 0];
  for (const stack of stacks.filter((text) => text.includes("work "))) {
    const weight = Number(stack.slice(stack.lastIndexOf(" ")));
    all += weight;
    if (stack.includes(`${name} `)) under += weight;
  }
  return under / all;
}

function show(what, { percent, micros, awaits }) {
  const { read = 0, inferred = 0, late = 0, unread = 0, cut = 0 } = awaits;
  const all = read + inferred + late + unread + cut;
  const share = (count) => (all ? `${((100 * count) / all).toFixed(0)} %` : "–").padStart(6);
  const cost = `${percent.toFixed(2)} % of a core, ${micros.toFixed(0)} µs a sample`.padEnd(36);
  console.log(
    `${what.padEnd(26)} ${cost} read ${share(read)}, inferred ${share(inferred)}, unknown ${share(late + unread + cut)}`,
  );
}

try {
  console.log("recorder at 99 Hz, one busy thread:");
  show("no await", await measure(PLAIN));
  for (const depth of [1, 5, 20]) show(`${depth} callers, 5 ms`, await measure(chain(depth, 5)));
  for (const ms of [0.1, 0.3, 1, 3, 30]) show(`3 callers, ${ms} ms`, await measure(chain(3, ms)));
  for (const [long, short] of [
    [10, 1],
    [3, 0.3],
    [3, 0.1],
  ]) {
    const found = await measure(callers(long, short));
    show(`runs of ${long} and ${short} ms`, found);
    const [inLong, inShort] = ["inLong", "inShort"].map((name) => 100 * partUnder(name, found.stacks));
    console.log(
      `    under the caller with long runs ${inLong.toFixed(0)} %, short ${inShort.toFixed(0)} %; each has half of the work`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
