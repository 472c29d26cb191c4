// Whether stalls are found, and what watching for them costs. A program blocks its event loops in six ways and logs
// each block; each stall of 50 ms or more must have its partner in that log within 10 ms, and the other way round. A
// healthy server under load must have none. Then the recorder's CPU time with and without the watch, by its schedstat.
//
//   node bench/loops.mjs            50 blocks on each release, ten minutes of a healthy server
//   node bench/loops.mjs --short    12 blocks, and 20 seconds of the server
//
// NODESCOPE_BIN=target/debug/nodescope takes that program instead of a release build.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chunks } from "../docs/read-nodescope.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const cache = process.env.NODESCOPE_CACHE ?? join(homedir(), ".cache/nodescope");
const isShort = process.argv.includes("--short");
const BLOCKS = isShort ? 12 : 50;
const HEALTHY_S = isShort ? 20 : 600;
const COST_S = isShort ? 10 : 30;
const BLOCK_MS = 110;
const SHORTEST_MS = 50;
const NEAR_MS = 10;
const RELEASES = ["18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0"];
const say = (text) => process.stderr.write(`bench: ${text}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const nodeOf = (release) => join(cache, `node-${release}/node`);

const program = process.env.NODESCOPE_BIN ?? join(root, "target/release/nodescope");
if (!process.env.NODESCOPE_BIN)
  execFileSync("cargo", ["build", "--release", "--quiet"], { cwd: root, stdio: "inherit" });
const work = mkdtempSync(join(tmpdir(), "nodescope-loops-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

/** Starts a program and waits until it prints that it runs. */
async function start(command, words) {
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((done) => child.stdout.once("data", done));
  return child;
}

/** Records a process; `meanwhile` is called with the recorder while it does. */
async function record(pid, seconds, { env = {}, meanwhile = async () => {} } = {}) {
  const out = join(work, `${pid}.nodescope`);
  rmSync(out, { force: true });
  const recorder = spawn(program, ["record", String(pid), "-d", `${seconds}s`, "-o", out], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let messages = "";
  recorder.stderr.on("data", (text) => (messages += text));
  const ended = new Promise((done) => recorder.once("close", done));
  const [code] = [await Promise.all([ended, meanwhile(recorder)]).then(([code]) => code)];
  if (code !== 0) throw new Error(`the recorder failed: ${messages}`);
  return { out, messages };
}

/** The long turns of a recording, in milliseconds of CLOCK_MONOTONIC, and when it began and ended. */
async function turnsOf(out) {
  for await (const { header, columns } of chunks(new Uint8Array(readFileSync(out)))) {
    const start = header.meta.start_clock_s * 1e3;
    const ms = (name, row) => Number(columns[`long_turns.${name}`][row]) / 1e6;
    const rows = [...columns["long_turns.kind"]].map((kind, row) => ({
      kind,
      start: start + ms("start_ns", row),
      end: start + ms("end_ns", row),
      ready: ms("ready_ns", row),
    }));
    const watched = [...columns["loops.start_ns"]].map(Number);
    const from = start + Math.max(...watched) / 1e6;
    return { turns: rows.filter(({ kind }) => kind === 0), from, to: start + header.meta.duration_ns / 1e6 };
  }
}

function logOf(path) {
  const lines = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  return lines
    .map((line) => line.split(" "))
    .map(([kind, start, end]) => ({ kind, start: Number(start), end: Number(end) }));
}

/**
 * How many of `ones` have a partner among `others`, and which have none. On a busy machine a turn goes on after its
 * block was logged, until its thread gets a CPU again: those are counted apart.
 */
function partners(ones, others) {
  const isNear = (one, other, slack) =>
    Math.abs(one.start - other.start) <= NEAR_MS + slack && Math.abs(one.end - other.end) <= NEAR_MS + slack;
  const near = (one, slack) => others.some((other) => isNear(one, other, slack(one.ready ?? other.ready)));
  const apart = ones.filter((one) => !near(one, () => 0));
  const alone = apart.filter((one) => !near(one, (ready) => ready));
  return { count: ones.length - apart.length, starved: apart.length - alone.length, alone };
}

async function plantedBlocks(release) {
  const [log, fifo] = [join(work, `${release}.log`), join(work, `${release}.fifo`)];
  execFileSync("mkfifo", [fifo]);
  const script = join(root, "crates/nodescope/tests/program/blocks.js");
  const kinds = "child,atomics,fifo,loop,crypto,zlib,worker";
  const target = await start(nodeOf(release), [script, log, fifo, kinds, String(BLOCK_MS)]);
  const { out } = await record(target.pid, Math.ceil((BLOCKS * (BLOCK_MS + 110)) / 1000 / 1.9) + 1);
  target.kill("SIGKILL");
  const { turns, from, to } = await turnsOf(out);
  const isInside = ({ start, end }) => start > from + NEAR_MS && end < to - NEAR_MS - 50;
  const logged = logOf(log).filter((block) => block.end - block.start >= SHORTEST_MS);
  const [planted, found] = [logged.filter(isInside), turns.filter(isInside)];
  const [missed, wrong] = [partners(planted, turns), partners(found, logged)];
  const list = (rows) =>
    rows
      .map(
        ({ kind, start, end, ready }) =>
          `${kind} ${(start - from).toFixed(0)}..${(end - from).toFixed(0)} ${ready === undefined ? "" : `(waited ${ready.toFixed(0)} for a CPU)`}`,
      )
      .join(", ");
  const also = ({ starved }) => (starved > 0 ? ` (${starved} more but for time without a CPU)` : "");
  console.log(
    `Node ${release}: ${missed.count} of ${planted.length} planted blocks found${also(missed)}, ${wrong.count} of ${found.length} stalls are in the log${also(wrong)}`,
  );
  if (missed.alone.length > 0) console.log(`  not found: ${list(missed.alone)}`);
  if (wrong.alone.length > 0) console.log(`  in no log: ${list(wrong.alone)}`);
  // A turn that was only long because it got no CPU is in no log of blocks.
  const own = wrong.alone.filter(({ start, end, ready }) => end - start - ready >= SHORTEST_MS);
  return missed.alone.length + own.length;
}

// A server that logs when its own clock shows that a turn took long, and the client that asks it.
const SERVER = `
  let last = performance.now(); const late = [];
  setInterval(() => { const now = performance.now(); if (now - last > ${SHORTEST_MS}) late.push(now - last); last = now; }, 5);
  const work = () => { let sum = 0; for (let i = 0; i < 2e5; i++) sum += Math.sqrt(i); return sum; };
  require("http").createServer((_, answer) => answer.end(String(work()))).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
  process.on("SIGTERM", () => { require("fs").writeFileSync(process.argv[1], JSON.stringify(late)); process.exit(); });`;
const LOAD = `
  const http = require("http"); const agent = new http.Agent({ keepAlive: true });
  const ask = () => http.get({ port: process.argv[1], agent }, (answer) => answer.resume().on("end", () => setTimeout(ask, 10))).on("error", () => process.exit());
  for (let i = 0; i < 8; i++) ask(); console.log("asks");`;

async function healthyServer() {
  const node = nodeOf("24.21.0");
  const log = join(work, "late");
  const server = spawn(node, ["-e", SERVER, log], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise((done) => server.stdout.once("data", (text) => done(String(text).trim())));
  const load = await start(node, ["-e", LOAD, port]);
  const { out } = await record(server.pid, HEALTHY_S);
  const cost = {};
  for (const setting of ["off", "count"]) cost[setting] = await costOf(server.pid, setting);
  load.kill("SIGKILL");
  server.kill("SIGTERM");
  await new Promise((done) => server.once("close", done));
  const { turns } = await turnsOf(out);
  console.log(
    `healthy server, ${HEALTHY_S} s: ${turns.length} stalls found, ${JSON.parse(readFileSync(log, "utf8")).length} in its own log`,
  );
  for (const { start, end, ready } of turns) {
    console.log(`  ${(end - start).toFixed(1)} ms, waited ${ready.toFixed(1)} for a CPU`);
  }
  printCost("loaded server", cost);
  return turns.filter(({ start, end, ready }) => end - start - ready >= SHORTEST_MS).length;
}

/** The CPU time of the recorder and of the program that reads for it, a second, and the reads of the watch. */
async function costOf(pid, setting) {
  let share = 0;
  const meanwhile = async (recorder) => {
    const cpu = () => [recorder.pid, ...childrenOf(recorder.pid)].map(cpuNs).reduce((sum, ns) => sum + ns, 0);
    await sleep(2000);
    const [start, before] = [process.hrtime.bigint(), cpu()];
    await sleep((COST_S - 3) * 1000);
    share = (cpu() - before) / Number(process.hrtime.bigint() - start);
  };
  const { messages } = await record(pid, COST_S, { env: { NODESCOPE_WATCH: setting }, meanwhile });
  return { share, reads: Number(/read memory (\d+) times/.exec(messages)?.[1] ?? 0) / COST_S };
}

function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

function cpuNs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]);
  } catch {
    return 0;
  }
}

function printCost(what, { off, count }) {
  const percent = (share) => `${(share * 100).toFixed(2)} %`;
  console.log(
    `recorder of a ${what}: ${percent(off.share)} of a core without the watch, ${percent(count.share)} with it; ${count.reads.toFixed(0)} reads a second`,
  );
}

async function idleCost() {
  const idle = await start(nodeOf("24.21.0"), [
    "-e",
    "console.log(1); setInterval(() => { const end = Date.now() + 3; while (Date.now() < end); }, 100)",
  ]);
  const cost = {};
  for (const setting of ["off", "count"]) cost[setting] = await costOf(idle.pid, setting);
  idle.kill("SIGKILL");
  printCost("process that is nearly idle", cost);
}

let wrong = 0;
for (const release of RELEASES) {
  if (existsSync(nodeOf(release))) wrong += await plantedBlocks(release);
  else say(`Node ${release} is missing: scripts/install-test-tools.sh fetches it`);
}
wrong += await healthyServer();
await idleCost();
console.log(wrong === 0 ? "every stall is true, and none is missing" : `${wrong} stalls are missing or wrong`);
process.exit(wrong === 0 ? 0 : 1);
