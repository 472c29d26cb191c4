// What a live recording costs, with intervals: the target's CPU time per request against perf's in the same rounds, the
// recorder's CPU time in its second minute and its memory, the time from the end of a recording to the finished file,
// and what `kill -9` loses.
//
//   node bench/live.mjs [ROUNDS]      (default: 15 paired rounds at 99 and at 999 samples a second; about 12 minutes)
//   ONLY=target,recorder,end,killed   some of it
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = resolve(import.meta.dirname, "..");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/release/nodescope");
const rounds = Number(process.argv[2] ?? 15);
const only = process.env.ONLY?.split(",");
const folder = mkdtempSync(join(tmpdir(), "nodescope-live-"));
const REQUESTS = Number(process.env.REQUESTS ?? 5000);

const SERVER = `
const { createHash } = require("node:crypto");
const { gzipSync } = require("node:zlib");
function work(seed) {
  const text = JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ id: i, name: "row " + i * seed })));
  return createHash("sha256").update(gzipSync(JSON.stringify(JSON.parse(text)))).digest("hex");
}
const server = require("node:http").createServer((_, answer) => answer.end(work(Math.random())));
server.listen(0, () => console.log(server.address().port));`;
const BUSY = "for (;;) for (let i = 0; i < 1e5; i++) Math.sqrt(i);";

/** The CPU time of all threads of a process and of those that it started, in ns. */
function cpuNs(pid, withChildren = false) {
  let sum = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    try {
      sum += Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, "utf8").split(" ")[0]);
      const children = withChildren ? readFileSync(`/proc/${pid}/task/${tid}/children`, "utf8").split(" ") : [];
      for (const child of children.filter(Boolean)) sum += cpuNs(child, true);
    } catch {
      // A thread that has just ended.
    }
  }
  return sum;
}

/** The mean, and half of its 95 % interval. */
function interval(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return [mean, 2.14 * Math.sqrt(variance / values.length)];
}
const text = ([mean, half], digits = 4) => `${mean.toFixed(digits)} ± ${half.toFixed(digits)}`;

const ended = (child) =>
  new Promise((done) => ((child.exitCode ?? child.signalCode) !== null ? done() : child.once("exit", done)));

function record(pid, name, ...more) {
  const words = ["record", String(pid), "--quiet", "--overwrite", "-d", "1h", "-o", join(folder, name), ...more];
  return spawn(program, words, { stdio: "ignore" });
}

async function hasBegun(name) {
  const part = join(folder, `${name}.part`);
  while (!existsSync(part) || readFileSync(part).length < 200) await sleep(5);
}

async function target(rate) {
  const server = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  const port = Number(String(await new Promise((done) => server.stdout.once("data", done))));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
  const ask = () => new Promise((done) => http.get({ port, agent }, (answer) => answer.resume().on("end", done)));
  const many = async (count) => {
    const before = cpuNs(server.pid);
    for (let at = 0; at < count; at += 2) await Promise.all([ask(), ask()]);
    return (cpuNs(server.pid) - before) / count;
  };
  const ways = {
    alone: async () => many(REQUESTS),
    ours: async () => {
      const recorder = record(server.pid, "t.nodescope", "-F", String(rate));
      await hasBegun("t.nodescope");
      const cost = await many(REQUESTS);
      recorder.kill("SIGINT");
      await ended(recorder);
      return cost;
    },
    perf: async () => {
      const file = join(folder, "p.data");
      const perf = spawn("perf", ["record", "-q", "-g", "-F", String(rate), "-p", String(server.pid), "-o", file]);
      while (!existsSync(file)) await sleep(5);
      await sleep(200);
      const cost = await many(REQUESTS);
      perf.kill("SIGINT");
      await ended(perf);
      rmSync(file, { force: true });
      return cost;
    },
  };
  await many(3 * REQUESTS);
  const [ours, perf, both] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 ? ["ours", "alone", "perf"] : ["perf", "alone", "ours"];
    const costs = {};
    for (const way of order) costs[way] = await ways[way]();
    ours.push(costs.ours / costs.alone);
    perf.push(costs.perf / costs.alone);
    both.push(costs.ours / costs.perf);
  }
  server.kill();
  console.log(
    `target at ${rate} Hz, CPU time per request (schedstat, ${rounds} paired rounds), against alone: ` +
      `nodescope ${text(interval(ours))}, perf record -g ${text(interval(perf))}; nodescope against perf ${text(interval(both))}`,
  );
}

async function recorder() {
  const busy = spawn(process.execPath, ["-e", BUSY], { stdio: "ignore" });
  const child = record(busy.pid, "r.nodescope", "-F", "99");
  const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))[1]) / 1024;
  await hasBegun("r.nodescope");
  await sleep(60_000);
  const [parts, first] = [[], memory()];
  for (let part = 0; part < 6; part++) {
    const before = cpuNs(child.pid, true);
    await sleep(10_000);
    parts.push((cpuNs(child.pid, true) - before) / 1e8);
  }
  console.log(
    `recorder at 99 Hz, one busy thread, second minute: ${text(interval(parts), 2)} % of a core with its helper; ` +
      `${first.toFixed(0)} MB after a minute, ${memory().toFixed(0)} MB after two`,
  );
  child.kill("SIGINT");
  await ended(child);
  busy.kill();
}

async function end() {
  const busy = spawn(process.execPath, ["-e", BUSY], { stdio: "ignore" });
  const times = [];
  for (let round = 0; round < 10; round++) {
    const out = join(folder, `e${round}.nodescope`);
    const child = record(busy.pid, `e${round}.nodescope`, "-F", "99");
    await hasBegun(`e${round}.nodescope`);
    await sleep(3000);
    const start = performance.now();
    child.kill("SIGINT");
    while (!existsSync(out)) await sleep(1);
    times.push((performance.now() - start) / 1000);
    await ended(child);
  }
  busy.kill();
  console.log(
    `from Ctrl-C to the finished file: ${text(interval(times), 3)} s, the longest of ${times.length} ${Math.max(...times).toFixed(3)} s`,
  );
}

async function killed() {
  const busy = spawn(process.execPath, ["-e", BUSY], { stdio: "ignore" });
  const missing = [];
  for (let round = 0; round < 8; round++) {
    const name = `k${round}.nodescope`;
    const child = record(busy.pid, name, "-F", "99");
    await hasBegun(name);
    await sleep(3000 + 137 * round);
    child.kill("SIGKILL");
    const now = Number(process.hrtime.bigint()) / 1e9;
    await ended(child);
    const { start_clock_s, duration_s } = JSON.parse(
      execFileSync(program, ["report", "--json", join(folder, `${name}.part`)]),
    );
    missing.push(now - start_clock_s - duration_s);
  }
  busy.kill();
  console.log(
    `missing after kill -9: ${text(interval(missing), 2)} s, the most of ${missing.length} ${Math.max(...missing).toFixed(2)} s`,
  );
}

const wants = (name) => !only || only.includes(name);
if (wants("target") && spawnSync("perf", ["--version"]).error)
  console.log("skipped: the target's cost: perf is missing");
else if (wants("target")) for (const rate of (process.env.RATES ?? "99 999").split(" ").map(Number)) await target(rate);
if (wants("recorder")) await recorder();
if (wants("end")) await end();
if (wants("killed")) await killed();
rmSync(folder, { recursive: true });
