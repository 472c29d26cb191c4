// What runs after an await stands under the functions that await it: as the program's report has it, whether the page
// reads the recording as it was written or one that was exported; and as it was, where the reader wants that.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { test } from "node:test";
import { fromRoots } from "../src/compute/flame.ts";
import { kindsOf, topOf } from "../src/compute/top.ts";
import { buildTree, sumNodes } from "../src/compute/tree.ts";
import { functionName, profileOf, withStacks } from "../src/data/model.ts";
import { decode } from "../src/data/payload.ts";
import { sumStacks } from "../src/select/selection.ts";
import { busy, folder, openPage, program, report } from "./recordings.js";

const PROGRAM = `
function work() { const end = Date.now() + 40; while (Date.now() < end) JSON.stringify(process.versions); }
async function load() { await new Promise(setImmediate); work(); return 1; }
async function route() { return 1 + (await load()); }
(async () => { const end = Date.now() + 1500; while (Date.now() < end) await route(); })();`;

const file = pathTo(folder, "awaits.nodescope");
const words = ["record", "-q", "-F", "499", "-o", file, "--", process.execPath, "-e", PROGRAM];
const { status, stderr } = spawnSync(program, words, { encoding: "utf8" });
const isHere = status === 0 && process.arch === "x64";
const skip = isHere ? false : `awaits in the page: no recording can be made here: ${stderr.split("\n")[0]}`;

const selected = (profile) => sumStacks(profile, busy(profile));

/** Total samples by function. */
function totals(profile) {
  const rows = topOf(profile, selected(profile), "function", null, kindsOf(profile, "function", null));
  return new Map(rows.map(({ key, totalSamples }) => [functionName(profile, key), totalSamples]));
}

/** The names of the calls of a box, with how it came to be there. */
function pathsTo(profile, name) {
  const sums = selected(profile);
  const tree = buildTree(profile, null, sums);
  const graph = fromRoots(tree, sumNodes(tree, sums));
  const found = [];
  const visit = (node, path) => {
    for (const child of graph.open(node)) {
      const step = [...path, `${child.call}:${functionName(profile, child.function)}`];
      if (functionName(profile, child.function) === name) found.push(step);
      visit(child, step);
    }
  };
  visit(graph.root, []);
  return found;
}

test("the recording that grew has what the exported one has", { skip }, async () => {
  const grown = profileOf(await decode(new Uint8Array(readFileSync(file))));
  const exported = await openPage(file);
  assert.ok(grown.hasAwaits && exported.hasAwaits);
  assert.deepEqual([...totals(grown)].sort(), [...totals(exported)].sort());
});

test("routes have what they await, as in the report", { skip }, async () => {
  const profile = await openPage(file);
  const [page, reported] = [totals(profile), report(file, "-n", "0").functions];
  for (const name of ["work", "load", "route"]) {
    assert.equal(page.get(name), reported.find((row) => row.name === name)?.total_samples, name);
  }
  assert.ok(page.get("route") > 0.7 * page.get("work"));
  const awaited = pathsTo(profile, "work").filter((path) => path.some((step) => /^[12]:load$/.test(step)));
  assert.ok(awaited.length > 0, "a mark shows that route awaits load");
});

test("stacks as they were are one switch away", { skip }, async () => {
  const profile = withStacks(await openPage(file), true);
  const [page, reported] = [totals(profile), report(file, "--physical", "-n", "0").functions];
  assert.equal(page.get("work"), reported.find((row) => row.name === "work")?.total_samples);
  assert.equal(page.get("route"), reported.find((row) => row.name === "route")?.total_samples);
  assert.ok((page.get("route") ?? 0) < 0.3 * page.get("work"));
  assert.deepEqual(totals(withStacks(profile, false)), totals(await openPage(file)));
});
