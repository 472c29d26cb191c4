// What npm's shim costs: a start of nodescope through it, where the program ends at once, against `node -e 0`. Both
// take turns, because the machine has faster and slower minutes. What else runs there only adds to a time, so the ratio
// of the lower quartiles counts.
//
//   node bench/npm.mjs [ROUNDS]     (default 60; exit status 1 where a ratio is above 1.3)

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const cache = process.env.NODESCOPE_CACHE ?? join(homedir(), ".cache/nodescope");
const rounds = Number(process.argv[2] ?? 60);
const MOST = 1.3;
// Without process.execve, and with it.
const RELEASES = ["18.20.8", "20.20.2", "22.23.3", "24.21.0", "26.10.0"];

/** The packages as npm installs them, with a program that does nothing. */
function install() {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true }));
  const holder = join(folder, `node_modules/@nodescope/${process.platform}-${process.arch}`);
  mkdirSync(holder, { recursive: true });
  cpSync("/bin/true", join(holder, "nodescope"), { dereference: true });
  const shim = join(folder, "node_modules/nodescope");
  cpSync(join(root, "packaging/npm/nodescope"), shim, { recursive: true });
  return join(shim, "nodescope.js");
}

function milliseconds(node, args) {
  const start = process.hrtime.bigint();
  const { status } = spawnSync(node, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`${node} ${args.join(" ")}: ${status}`);
  return Number(process.hrtime.bigint() - start) / 1e6;
}

const lowerQuartile = (values) => [...values].sort((a, b) => a - b)[values.length >> 2];

/** The commands take turns; the first of each only warms caches up. */
function compare(node, shim) {
  const [plain, shimmed] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    const times = [milliseconds(node, ["-e", "0"]), milliseconds(node, [shim, "--version"])];
    if (round === 0) continue;
    plain.push(times[0]);
    shimmed.push(times[1]);
  }
  return [lowerQuartile(plain), lowerQuartile(shimmed)];
}

const shim = install();
let worst = 0;
console.log("Node       node -e 0    shim   ratio");
for (const release of RELEASES) {
  const node = join(cache, `node-${release}`, "node");
  if (!existsSync(node)) {
    console.log(`${release.padEnd(8)}  skipped: scripts/install-test-tools.sh fetches it`);
    continue;
  }
  const [plain, shimmed] = compare(node, shim);
  worst = Math.max(worst, shimmed / plain);
  const [left, right] = [plain, shimmed].map((time) => `${time.toFixed(1)} ms`.padStart(9));
  console.log(`${release.padEnd(8)}   ${left} ${right}   ${(shimmed / plain).toFixed(2)}`);
}
process.exitCode = worst > MOST ? 1 : 0;
