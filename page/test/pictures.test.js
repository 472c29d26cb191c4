// What the pictures are made of: the order of time, the heat map, sums that follow a range, trees, focus and hiding.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { test } from "node:test";
import { ownersOf } from "../src/compute/cell.ts";
import { Derived } from "../src/compute/derived.ts";
import { fromLeaves, fromRoots, layout, pathOf } from "../src/compute/flame.ts";
import { autoRows, cellAt, columnStep, gridOf, heatOf, rangeOfCells } from "../src/compute/heat.ts";
import { sumThreads } from "../src/compute/threads.ts";
import { timeOrder } from "../src/compute/time-order.ts";
import { kindsOf, topOf } from "../src/compute/top.ts";
import { buildTree, sumNodes } from "../src/compute/tree.ts";
import { APP, CATEGORIES } from "../src/data/model.ts";
import { hiddenStacks, keptStacks, sumStacks } from "../src/select/selection.ts";
import { START } from "../src/select/state.ts";
import { ALL, DEMO, folder, NONE, open, report, run } from "./recordings.js";

test("in the order of time every sample is in a box, where it was taken", async () => {
  const profile = await open("node24-workers");
  const { time, thread, stack } = profile.lanes[0];
  for (const id of [0, 1, 2]) {
    const spans = timeOrder(profile, ALL, id, [0, profile.durationNs], 1e7, null, null);
    const rows = [...time.keys()].filter((row) => thread[row] === id && stack[row] !== NONE);
    assert.equal(
      spans.filter(({ depth }) => depth === 0).reduce((sum, { samples }) => sum + samples, 0),
      rows.length,
    );
    for (const row of rows) {
      const leaf = profile.stacks.function[stack[row]];
      assert.ok(
        spans.some((span) => span.function === leaf && span.start <= time[row] && time[row] <= span.end),
        `sample at ${time[row]}`,
      );
    }
  }
});

test("a band of the heat map has the samples of its thread", async () => {
  const profile = await open("node24-workers");
  const reported = report("node24-workers");
  const bandOf = Int32Array.from(profile.threads, (_, id) => id);
  const map = heatOf(profile, ALL, { ...gridOf(profile.durationNs, 5e7, 5), bands: profile.threads.length, bandOf });
  const size = map.columns * map.rows;
  for (const { tid, self } of reported.threads) {
    const own = profile.threads.flatMap((row, id) => (row.tid === tid ? [id] : []));
    const sum = own.reduce(
      (all, id) => all + map.cells.subarray(id * size, (id + 1) * size).reduce((a, b) => a + b, 0),
      0,
    );
    assert.ok(Math.abs(sum / reported.weight - self) < 1e-9, `thread ${tid}`);
  }
});

test("sums that follow a range are those of the range", async () => {
  for (const name of ["node22-http", DEMO, "corpus/cpuprofile-node22-known-shares/input.cpuprofile"]) {
    const profile = await open(name);
    const stacks = keptStacks(profile, [0, 2, 4], []);
    for (const chosen of [ALL, { ...ALL, stacks }]) {
      let moving;
      for (let step = 0; step < 60; step++) {
        const at = (part) => Math.round(profile.durationNs * Math.abs(Math.sin(part)));
        const range = [at(step / 9), at(step / 7 + 1)].sort((a, b) => a - b);
        moving = sumStacks(profile, { ...chosen, range }, moving);
        const fresh = sumStacks(profile, { ...chosen, range });
        assert.deepEqual([moving.total, moving.count], [fresh.total, fresh.count]);
        assert.deepEqual(moving.weight, fresh.weight);
        assert.deepEqual(moving.samples, fresh.samples);
      }
    }
  }
});

test("columns are finer in short recordings and coarser in long ones", () => {
  const step = (seconds, width = 1000) => columnStep(seconds * 1e9, width, 3, 10_101_010) / 1e9;
  assert.deepEqual(
    [0.01, 1, 2.56, 3, 6, 10, 30, 44.5, 60, 120, 600, 18_000, 86_400].map((seconds) => step(seconds)),
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1, 2, 60, 300],
  );
  for (const seconds of [19.9, 20, 29.9, 45, 61, 300]) assert.equal(step(seconds), 1, "as FlameScope has it");
  const fast = (seconds) => columnStep(seconds * 1e9, 1000, 3, 1_001_001) / 1e9;
  assert.deepEqual([0.1, 1, 3, 10].map(fast), [0.05, 0.05, 0.1, 0.5], "where samples are many");
});

test("what is a little longer than whole columns has no column for it, and no sample is lost", () => {
  const rows = 10;
  const columns = (seconds) => gridOf(seconds * 1e9, 1e9, rows).columns;
  assert.deepEqual([24, 24.036, 24.049, 24.06, 0.01].map(columns), [24, 24, 24, 25, 1]);
  const grid = gridOf(24.036e9, 1e9, rows);
  const lane = {
    timed: true,
    time: Float64Array.of(0, 23.95e9, 24.03e9),
    thread: new Uint32Array(3),
    stack: new Uint32Array(3),
    raw: new Uint32Array(3),
    weight: Float64Array.of(1, 2, 4),
  };
  const { cells } = heatOf({ lanes: [lane] }, ALL, grid);
  assert.deepEqual([cells.length, cells[0], cells[239]], [240, 1, 6]);
  // The last cell shows for how long it is.
  assert.deepEqual(rangeOfCells(grid, 239, 238), [23.8e9, 24.036e9]);
  assert.equal(cellAt(grid, 24.03e9), 239);
});

test("the parts of threads follow a range: the same as of the range alone", async () => {
  const profile = await open("node24-workers");
  let moving;
  for (let step = 0; step < 40; step++) {
    const at = (part) => Math.round(profile.durationNs * Math.abs(Math.sin(part)));
    const range = [at(step / 9), at(step / 7 + 1)].sort((a, b) => a - b);
    moving = sumThreads(profile, { ...ALL, range }, moving);
    const { weight } = sumThreads(profile, { ...ALL, range });
    assert.deepEqual(moving.weight, weight);
    assert.equal(
      weight.reduce((sum, own) => sum + own, 0),
      sumStacks(profile, { ...ALL, range }).total,
    );
  }
});

test("a cell that is full has at least five samples", () => {
  const rows = (columnNs, hertz, most = 50) => autoRows(columnNs, 1e9 / hertz, most);
  assert.deepEqual(
    [1e9, 5e8, 1e8, 5e7].map((column) => rows(column, 99)),
    [10, 8, 1, 1],
  );
  assert.deepEqual([rows(1e9, 999), rows(1e9, 999, 20), rows(60e9, 99)], [50, 20, 50]);
  for (const hertz of [19, 49, 99, 199, 999])
    for (const seconds of [0.3, 2, 7, 15, 25, 100]) {
      const column = columnStep(seconds * 1e9, 1000, 3, 1e9 / hertz);
      const count = autoRows(column, 1e9 / hertz, 50);
      assert.ok(count === 1 || (column / count / 1e9) * hertz >= 5, `${hertz} Hz, ${seconds} s: ${count} rows`);
    }
});

test("a cell has the category of most of its time, and names the functions of the application", async () => {
  const profile = await open("node22-http");
  const derived = new Derived(profile);
  const state = { ...START, threads: [] };
  const heat = derived.heat(state, 1000, 20);
  const categories = derived.heatCategories(state, heat);
  const { category } = profile.stacks;
  const [lane] = profile.lanes;
  for (const cell of [0, 7, 40]) {
    const [from, to] = rangeOfCells(heat, cell, cell);
    const rows = [...lane.time.keys()].filter((row) => lane.time[row] >= from && lane.time[row] < to);
    const of = (byte) =>
      rows.reduce((sum, row) => sum + (category[lane.stack[row]] === byte ? lane.weight[row] : 0), 0);
    const most = Math.max(...CATEGORIES.map((_, byte) => of(byte)));
    assert.equal(of(categories[cell]), most);
    const facts = derived.cells(state, heat, [from, to], null);
    assert.deepEqual([facts.weight, facts.samples], [heat.cells[cell], rows.length]);
    assert.ok(facts.functions.length <= 3 && facts.functions.every(({ weight }) => weight > 0));
  }
  const owners = ownersOf(profile);
  for (const stack of [...lane.stack].slice(0, 200)) {
    let at = stack;
    while (at !== NONE && category[at] !== APP) at = profile.stacks.parent[at];
    assert.equal(owners[stack], profile.stacks.function[at === NONE ? stack : at]);
  }
});

test("folded stacks are the paths of the tree", async () => {
  const file = pathTo(folder, "plain.folded");
  writeFileSync(file, "main;parse;read 3\nmain;parse 2\nmain;render;parse;read 5\nother 1\nmain;parse;read;parse 4\n");
  const profile = await open(file);
  const sums = sumStacks(profile, ALL);
  const shape = buildTree(profile, null, sums);
  const graph = fromRoots(shape, sumNodes(shape, sums));
  const path = (node) =>
    pathOf(node)
      .map((id) => profile.strings[profile.functions.name[id]])
      .join(";");
  const boxes = layout(graph, graph.root, 1000, 0);
  const ours = boxes.filter(({ node }) => node.self > 0).map(({ node }) => `${path(node)} ${node.self}`);
  assert.deepEqual(ours.sort(), run("export", file, "-o", "-", "--to", "folded").toString().trim().split("\n").sort());
  // The heaviest first.
  assert.deepEqual(graph.open(graph.open(graph.root)[0]).map(path), ["main;parse", "main;render"]);
});

test("focus keeps stacks through a function, hiding a function gives to its caller", async () => {
  const profile = await open("node22-http");
  const id = profile.stacks.function[profile.lanes[0].stack.find((stack) => stack !== NONE)];
  const kept = keptStacks(profile, [], [{ kind: "function", id }]);
  const sums = sumStacks(profile, { ...ALL, stacks: kept });
  const rows = topOf(profile, sumStacks(profile, ALL), "function", null, kindsOf(profile, "function", null));
  assert.equal(sums.total, rows.find((row) => row.key === id).total);
  const hidden = hiddenStacks(profile, [{ kind: "function", id }]);
  const whole = sumStacks(profile, ALL);
  const shape = buildTree(profile, hidden, whole);
  assert.ok(!shape.function.includes(id));
  assert.equal(sumNodes(shape, whole).total[0], whole.total);
});

test("inverted, what ran little is one box, with the same boxes in it", async () => {
  for (const name of ["node22-http", DEMO]) {
    const profile = await open(name);
    const sums = sumStacks(profile, ALL);
    const shape = buildTree(profile, null, sums);
    const nodes = sumNodes(shape, sums);
    const facts = ({ parent: _, members, weights, samples, children: __, ...rest }) => [
      rest,
      [...members],
      [...(weights ?? [])],
      [...(samples ?? [])],
    ];
    const whole = fromLeaves(shape, nodes);
    const all = whole.open(whole.root);
    const part = 0.02;
    const graph = fromLeaves(shape, nodes, { id: 1e9, part });
    const shown = graph.open(graph.root);
    const other = shown.at(-1);
    assert.equal(other, graph.closed);
    const small = all.filter(({ total }) => total < part * whole.root.total);
    assert.ok(small.length > 2 && small.length < all.length);
    assert.equal(
      other.total,
      small.reduce((sum, { total }) => sum + total, 0),
    );
    const apart = [...shown.slice(0, -1), ...graph.open(other)];
    for (const node of all) whole.open(node);
    for (const node of apart) graph.open(node);
    assert.deepEqual(apart.map(facts), all.map(facts));
    for (const [at, node] of apart.entries())
      assert.deepEqual(graph.open(node).map(facts), whole.open(all[at]).map(facts));
  }
});

test("sums that are used again are those of new ones, also where totals were asked for before", async () => {
  const profile = await open(DEMO);
  const shape = buildTree(profile, null, sumStacks(profile, ALL));
  const parts = [0, 1, 2].map((at) => [(at * profile.durationNs) / 4, ((at + 2) * profile.durationNs) / 4]);
  let moving;
  for (const range of parts) {
    const sums = sumStacks(profile, { ...ALL, range });
    moving = sumNodes(shape, sums, moving);
    const own = sumNodes(shape, sums);
    for (const key of ["self", "selfSamples", "total", "totalSamples"]) assert.deepEqual(moving[key], own[key], key);
  }
});
