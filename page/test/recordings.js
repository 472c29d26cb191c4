// Recordings for the tests, as the page reads them, and what the program's report says of the same ones.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as pathTo, resolve } from "node:path";
import { after } from "node:test";
import { kindsOf, topOf, topOfThreads } from "../src/compute/top.ts";
import { profileOf } from "../src/data/model.ts";
import { decode, fromBase64 } from "../src/data/payload.ts";
import { share } from "../src/draw/text.ts";
import { keptStacks, sumStacks } from "../src/select/selection.ts";

export const root = resolve(import.meta.dirname, "../..");
export const program = process.env.NODESCOPE_BIN ?? pathTo(root, "target/debug/nodescope");
export const folder = mkdtempSync(pathTo(tmpdir(), "nodescope-views-"));
after(() => rmSync(folder, { recursive: true }));

export const run = (...words) =>
  execFileSync(program, words, { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
export const input = (name) =>
  name.includes("/") ? resolve(root, name) : pathTo(root, "corpus", name, "input.txt.gz");
export const DEMO = "crates/nodescope/src/demo/recording.nodescope";
export const CASES = [
  "node22-http",
  "node22-pnpm",
  "node24-workers",
  "node22-gc",
  "node22-wasm",
  "perf-multi-event",
  "corpus/folded-simple/input.txt",
  "corpus/cpuprofile-node22-known-shares/input.cpuprofile",
  DEMO,
];
export const NONE = 0xffffffff;

let files = 0;
export async function open(name) {
  const file = pathTo(folder, `${++files}.nodescope`);
  run("export", input(name), "-o", file);
  return profileOf(await decode(new Uint8Array(readFileSync(file))));
}

/** As a page that is one file has it: with the words of the report. */
export async function openPage(name) {
  const file = pathTo(folder, `${++files}.html`);
  run("export", input(name), "-o", file);
  const page = readFileSync(file, "utf8");
  const pieces = [...page.matchAll(/class="recording">([^<]*)</g)].map(([, text]) => text);
  const [, words] = page.match(/id="report-words">([^<]*)</);
  return profileOf(await decode(fromBase64(pieces.join(""))), JSON.parse(words));
}

/** The report as text, in lines that are not broken. */
export function reportText(name) {
  const env = { ...process.env, COLUMNS: "100000", NO_COLOR: "1" };
  const { status, stdout, stderr } = spawnSync(program, ["report", input(name)], { env, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return { out: stdout, err: stderr };
}

export const report = (name, ...options) => JSON.parse(run("report", input(name), "--json", ...options));
export const WORDS = [
  "app",
  "dependency",
  "node",
  "builtin",
  "runtime",
  "gc",
  "compiler",
  "regexp",
  "wasm",
  "addon",
  "libuv",
  "system",
  "kernel",
  "idle",
  "unknown",
];
export const ALL = { lane: 0, range: null, threads: null, stacks: null };

/** What the report is about: all but waiting. */
export const busy = (profile) => ({ ...ALL, stacks: keptStacks(profile, [], []) });

/** The rows of a list, as comparable texts. */
export function listed(profile, chosen, by, hidden = null) {
  const sums = sumStacks(profile, chosen);
  const rows =
    by === "thread"
      ? topOfThreads(profile, chosen, by)
      : topOf(profile, sums, by, hidden, kindsOf(profile, by, hidden));
  const { functions, strings, sources, modules } = profile;
  const name = ({ key, line }) =>
    ({
      function: () => strings[functions.name[key]],
      file: () => (key % 2 === 0 ? sources[key / 2] : modules[(key - 1) / 2]),
      package: () => (line > 0 ? `${strings[key]} ${strings[line - 1]}` : strings[key]),
      category: () => WORDS[key],
      line: () => `${sources[key]}:${line}`,
      thread: () => profile.threads[key].name,
    })[by]();
  const digits = (part) => part.toFixed(9);
  return rows
    .map(
      (row) =>
        `${name(row)} ${row.selfSamples} ${row.totalSamples} ${digits(share(row.self, sums.total))} ${digits(share(row.total, sums.total))}`,
    )
    .sort();
}

export function expected(rows, name = (row) => row.name) {
  return rows
    .map(
      (row) => `${name(row)} ${row.self_samples} ${row.total_samples} ${row.self.toFixed(9)} ${row.total.toFixed(9)}`,
    )
    .sort();
}

export function assertSameLists(profile, chosen, hidden, reported) {
  assert.deepEqual(listed(profile, chosen, "function", hidden), expected(reported.functions));
  const versioned = ({ name, version }) => (version ? `${name} ${version}` : name);
  assert.deepEqual(listed(profile, chosen, "package", hidden), expected(reported.packages, versioned));
  assert.deepEqual(listed(profile, chosen, "category", hidden), expected(reported.categories));
  assert.deepEqual(listed(profile, chosen, "file", hidden), expected(reported.files));
  assert.deepEqual(
    listed(profile, chosen, "line", hidden),
    expected(reported.lines, ({ file, line }) => `${file}:${line}`),
  );
  const threads = reported.threads.map(
    ({ name, samples, self }) => `${name} ${samples} ${samples} ${self.toFixed(9)} ${self.toFixed(9)}`,
  );
  assert.deepEqual(listed(profile, chosen, "thread"), threads.sort());
}
