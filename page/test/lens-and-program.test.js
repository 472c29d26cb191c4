// The lens of the page against that of the program: the same boxes with the same weights, for every recording and lens.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { throughLens } from "../src/compute/lens/lens.ts";
import { functionName } from "../src/data/model.ts";
import { nameOfRun } from "../src/draw/words.ts";
import { LENSES, START } from "../src/select/state.ts";
import { CASES, input, NONE, openPage, run } from "./recordings.js";

const STATE = { ...START, threads: [] };
const RECORDED = ["express", "fastify", "next", "graphql", "bullmq", "vitest", "eslint", "piscina", "startup", "loop"];

/** The lines of folded stacks by path: each path once. */
function lines(text) {
  const sums = new Map();
  for (const line of text.trim().split("\n").filter(Boolean)) {
    const at = line.lastIndexOf(" ");
    // The page counts the frames of a run in all samples, the program in those that it writes.
    const path = line.slice(0, at).replace(/ ▸ \d+ frames?/g, " ▸ frames");
    sums.set(path, (sums.get(path) ?? 0) + Number(line.slice(at + 1)));
  }
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A box as the program writes it: its name, and where its function is. */
function words({ functions, sources, virtual, ...profile }, id, frames) {
  const name = nameOfRun(functionName({ functions, ...profile }, id), frames);
  const own = id < virtual.roots ? id : NONE;
  const path = own === NONE ? undefined : sources[functions.source[own]];
  const numbers = own === NONE ? [] : [functions.line[own], functions.column[own]];
  const place = path === undefined ? [] : [path, ...(numbers[0] === 0 ? [] : numbers.filter((number) => number > 0))];
  return [name, place.join(":")].filter(Boolean).join(" ").replaceAll(";", ":");
}

function foldedOf(profile) {
  const derived = new Derived(profile);
  const [tree, sums] = [derived.tree(STATE), derived.nodeSums(STATE)];
  const folded = [];
  for (let node = 1; node < tree.function.length; node++) {
    if (!(sums.self[node] > 0)) continue;
    const path = [];
    for (let at = node; at !== 0; at = tree.parent[at]) path.push(words(profile, tree.function[at], tree.run[at]));
    folded.push(`${path.reverse().join(";")} ${sums.self[node]}`);
  }
  return folded.join("\n");
}

for (const name of [...CASES, "node22-addon", ...RECORDED.map((name) => `corpus/entries-${name}/input.nodescope`)]) {
  describe(name, async () => {
    const profile = await openPage(name);
    for (const lens of LENSES.filter((lens) => lens !== "everything")) {
      test(lens, () => {
        const ours = lines(foldedOf(throughLens(profile, lens, [])));
        const theirs = lines(run("export", input(name), "--to", "folded", "--lens", lens, "-o", "-").toString());
        assert.deepEqual(ours, theirs);
      });
    }
  });
}
