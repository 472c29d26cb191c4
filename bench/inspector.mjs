// What recording through the inspector costs a large application under load: a server that has TypeScript's compiler
// loaded. The same run, the same interval: first a plain client (Profiler.start, wait, Profiler.stop), then nodescope.
// Requests are counted in rounds of short recordings, because the machine has faster and slower minutes: each is
// compared with the time without a recording beside it.
//
//   node bench/inspector.mjs [SECONDS [ROUNDS]]     (default 60 each, and 8 rounds of 3 × 10)

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const cache = process.env.NODESCOPE_CACHE ?? join(homedir(), ".cache/nodescope");
const node = join(cache, "node-24.21.0/node");
const seconds = Number(process.argv[2] ?? 60);
const rounds = Number(process.argv[3] ?? 8);
const ROUND_S = 10;
const INTERVAL_US = 10101; // that of 99 samples a second
const say = (text) => process.stderr.write(`bench: ${text}\n`);

if (!existsSync(node)) {
  say("Node 24 is missing: scripts/install-test-tools.sh fetches it");
  process.exit(3);
}
if (typeof WebSocket === "undefined") {
  execFileSync(node, process.argv.slice(1), { stdio: "inherit" });
  process.exit();
}

const program = process.env.NODESCOPE_BIN ?? join(root, "target/release/nodescope");
if (!process.env.NODESCOPE_BIN)
  execFileSync("cargo", ["build", "--release", "--quiet"], { cwd: root, stdio: "inherit" });
const folder = join(cache, "bench/typescript");
if (!existsSync(join(folder, "package"))) {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync("npm", ["pack", "--silent", "typescript@5.9.3"], {
    cwd: folder,
    encoding: "utf8",
  }).trim();
  execFileSync("tar", ["-xzf", archive], { cwd: folder });
}

// Each request compiles a little; now and then one checks types, which touches most of the compiler.
const server = `
  const ts = require(${JSON.stringify(join(folder, "package"))});
  const text = "export class A<T> { constructor(private t: T) {} map<U>(f: (t: T) => U) { return new A(f(this.t)); } }\\n".repeat(20);
  const host = ts.createCompilerHost({});
  const check = () => ts.createProgram(["a.ts"], { noLib: true }, { ...host, getSourceFile: (name) => ts.createSourceFile(name, text, 99) }).getSemanticDiagnostics().length;
  let count = 0;
  require("http").createServer((_, answer) => {
    const out = ++count % 20 ? ts.transpileModule(text, {}).outputText.length : check();
    answer.end(String(out));
  }).listen(0, function () { console.log(this.address().port); });`;
const target = spawn(node, ["--inspect-port=0", "-e", server], { stdio: ["ignore", "pipe", "ignore"] });
const port = Number(await new Promise((resolve) => target.stdout.once("data", resolve)));
const work = mkdtempSync(join(tmpdir(), "nodescope-bench-"));
process.on("exit", () => {
  target.kill("SIGKILL");
  rmSync(work, { recursive: true });
});

let answered = 0;
let isLoaded = true;
const ask = async () => {
  while (isLoaded) {
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    answered++;
  }
};
const load = [ask(), ask()];
const rest = (time_s) => new Promise((over) => setTimeout(over, time_s * 1000));
const rate = async (during) => {
  const [start, before] = [performance.now(), answered];
  await during(ROUND_S);
  return ((answered - before) / (performance.now() - start)) * 1000;
};

/** Profiler.start and Profiler.stop, and the CPU time of the main thread that each takes. */
async function plain(seconds) {
  process.kill(target.pid, "SIGUSR1");
  let list;
  const listening = () =>
    execFileSync("ss", ["-ltnpH"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(`pid=${target.pid},`));
  for (let i = 0; i < 100 && !list; i++) {
    await rest(0.05);
    for (const line of listening()) {
      const found = Number(/:(\d+)\s/.exec(line)?.[1]);
      if (found !== port) list = await (await fetch(`http://127.0.0.1:${found}/json/list`)).json();
    }
  }
  const socket = new WebSocket(list[0].webSocketDebuggerUrl);
  await new Promise((open) => (socket.onopen = open));
  const waiting = new Map();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.([result, data.length]);
  };
  const call = (method, params = {}) =>
    new Promise((answer) => {
      waiting.set(++last, answer);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  const cpu = () =>
    call("Runtime.evaluate", { expression: "(({user, system}) => (user + system) / 1000)(process.threadCpuUsage())" });
  const measured = async (method) => {
    // All three are handled in one go.
    const [[before], [, bytes], [after]] = await Promise.all([cpu(), call(method), cpu()]);
    return [after.result.value - before.result.value, bytes];
  };
  await call("Profiler.enable");
  await call("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  const [start_ms] = await measured("Profiler.start");
  await rest(seconds);
  const [stop_ms, bytes] = await measured("Profiler.stop");
  await call("Runtime.evaluate", { expression: "setTimeout(() => process._debugEnd(), 200)" });
  socket.close();
  await rest(1);
  return { start_ms, stop_ms, bytes };
}

async function ours(seconds) {
  const out = join(work, "a.nodescope");
  const recorder = spawn(
    program,
    ["record", String(target.pid), "--via", "inspector", "-d", `${seconds}s`, "-F", "99", "--overwrite", "-o", out],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let messages = "";
  recorder.stderr.on("data", (text) => (messages += text));
  const status = await new Promise((ended) => recorder.on("exit", ended));
  if (status !== 0) throw new Error(messages);
}
const costOf = () =>
  JSON.parse(execFileSync(program, ["report", "--json", join(work, "a.nodescope")], { maxBuffer: 1 << 28 })).cost;

await rest(10); // everything is compiled
const peer = await plain(seconds);
await ours(seconds);
const cost = costOf();
const kinds = { alone: rest, plain, ours };
const rates = { alone: [], plain: [], ours: [] };
for (let round = 0; round < rounds; round++) {
  const names = Object.keys(kinds);
  for (let i = 0; i < names.length; i++) {
    const name = names[(i + round) % names.length];
    rates[name].push(await rate(kinds[name]));
  }
}
isLoaded = false;
await Promise.all(load);
const ms = (ns) => (ns / 1e6).toFixed(1);
const mean = (list) => list.reduce((sum, one) => sum + one, 0) / list.length;
/** The share of requests lost, with twice its standard error. */
const lost = (found) => {
  const shares = found.map((one, round) => (1 - one / rates.alone[round]) * 100);
  const spread = Math.sqrt(mean(shares.map((one) => (one - mean(shares)) ** 2)) / (shares.length - 1));
  return `${mean(shares).toFixed(1)} ± ${(2 * spread).toFixed(1)} %`;
};
console.log(`TypeScript's compiler under load, ${seconds} s, an interval of 10 ms, CPU ms of the main thread`);
console.log(
  `  plain client: start ${peer.start_ms.toFixed(1)}, stop ${peer.stop_ms.toFixed(1)} (${(peer.bytes / 1e6).toFixed(1)} MB)`,
);
const mean_ns = (cost.total_cpu_ns - cost.start_cpu_ns - cost.list_cpu_ns - cost.end_cpu_ns) / cost.windows;
console.log(
  `  nodescope:    start ${ms(cost.start_cpu_ns)}, a list of all functions (getBestEffortCoverage) ${ms(cost.list_cpu_ns)}, the end of ${cost.windows} windows ${ms(mean_ns)} each, at most ${ms(cost.window_cpu_ns)}, the end of profiling ${ms(cost.end_cpu_ns)}`,
);
const against = (ns) => (ns / 1e6 / peer.stop_ms).toFixed(2);
console.log(
  `  a window's end takes ${against(mean_ns)} of a plain stop, the longest ${against(cost.window_cpu_ns)} (goal: 0.33, and 25 ms)`,
);
console.log(`  V8 forgets all code when profiling ends, in a plain stop, too: ${against(cost.end_cpu_ns)} of it`);
console.log(
  `  requests lost in recordings of ${ROUND_S} s, start and end included, of ${mean(rates.alone).toFixed(0)}/s: plain client ${lost(rates.plain)}, nodescope ${lost(rates.ours)}`,
);
process.exit();
