// Two ranges, or two recordings: what changed is distinguished from noise, in lists and in pictures.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { test } from "node:test";
import { thingsDown, thingsOfCallers, thingsUp } from "../src/compute/boxes.ts";
import { Derived } from "../src/compute/derived.ts";
import { basePieces, changesOf, sumPieces } from "../src/compute/diff.ts";
import {
  calleesOf,
  callersOf,
  follow,
  fromLeaves,
  fromRoots,
  layout,
  outermost,
  pathOf,
} from "../src/compute/flame.ts";
import { throughLens } from "../src/compute/lens/lens.ts";
import { pictureOf } from "../src/compute/picture.ts";
import { kindsOf, ownKinds, topOf } from "../src/compute/top.ts";
import { buildTree, sumNodes } from "../src/compute/tree.ts";
import { join } from "../src/data/join.ts";
import { functionName } from "../src/data/model.ts";
import { sumStacks } from "../src/select/selection.ts";
import { START } from "../src/select/state.ts";
import { ALL, assertSameLists, DEMO, expected, folder, listed, NONE, open, openPage, report } from "./recordings.js";

test("what changed between two ranges is distinguished from noise", async () => {
  // A second of `steady` work, then a second in which `burst` takes half; every 10 ms a sample.
  const lines = Array.from({ length: 4000 }, (_, at) => {
    const isBurst = at >= 2000 && at % 2 === 0;
    return `node 7/7 [000] ${(100 + at / 1000).toFixed(6)}: 1000000 cpu-clock:\n\t1 ${isBurst ? "burst" : `steady${at % 3}`} (/bin/x)\n\t2 main (/bin/x)\n`;
  });
  const file = pathTo(folder, "burst.perf.txt");
  writeFileSync(file, `${lines.join("\n")}\n`);
  const profile = await open(file);
  const kinds = kindsOf(profile, "function", null);
  const name = (at) => profile.strings[profile.functions.name[kinds.keys[at]]];
  const side = (from, to) => ({ selection: ALL, pieces: [[from, to]], scale: { unit: "cores", factor: 1 } });
  const changes = (before, now) => changesOf(profile, before, now, ownKinds(profile, null, kinds), "share");
  const verdicts = (before, now) =>
    Object.fromEntries(changes(before, now).map(({ verdict }, at) => [name(at), verdict]));
  const changed = verdicts(side(0, 2e9), side(2e9, 4e9));
  assert.equal(changed.burst, "new");
  assert.equal(changed.steady0, "less");
  assert.equal(verdicts(side(2e9, 4e9), side(0, 2e9)).burst, "gone");
  assert.deepEqual(new Set(Object.values(verdicts(side(0, 1e9), side(1e9, 2e9)))), new Set(["noise"]));
  // The rest is everything but the range.
  const rest = basePieces("rest", [1e9, 2e9], profile.durationNs);
  const sums = [
    sumPieces(profile, { selection: ALL, pieces: rest }),
    sumStacks(profile, { ...ALL, range: [1e9, 2e9] }),
    sumStacks(profile, ALL),
  ];
  assert.equal(sums[0].total + sums[1].total, sums[2].total);
});

test("every box of a picture shows how it changed: the same as a picture of before has it", async () => {
  const profile = await open("node22-http");
  const [range, base] = [
    [0, 1.2e9],
    [1.2e9, 3e9],
  ];
  const side = (pieces) => ({ selection: ALL, pieces: [pieces], scale: null });
  const shape = buildTree(profile, null, sumStacks(profile, ALL));
  const sums = [base, range].map((pieces) => sumNodes(shape, sumStacks(profile, { ...ALL, range: pieces })));
  const ids = topOf(
    profile,
    sumStacks(profile, { ...ALL, range }),
    "function",
    null,
    kindsOf(profile, "function", null),
  )
    .slice(3, 8)
    .map(({ key }) => key);
  const zoomed = (make) => pathOf(make(shape, sums[1]).open(make(shape, sums[1]).root)[0]);
  const cases = [
    [fromRoots, [], (boxes, root) => thingsDown(shape, boxes, root.members)],
    [fromRoots, zoomed(fromRoots), (boxes, root) => thingsDown(shape, boxes, root.members)],
    [fromLeaves, [], (boxes) => thingsUp(shape, boxes, [])],
    [fromLeaves, zoomed(fromLeaves), (boxes) => thingsUp(shape, boxes, zoomed(fromLeaves))],
    ...ids.map((id) => [(tree, nodes) => callersOf(tree, nodes, id), [], (boxes) => thingsOfCallers(shape, boxes, id)]),
    ...ids.map((id) => [
      (tree, nodes) => calleesOf(tree, nodes, id),
      [],
      (boxes) => thingsDown(shape, boxes, outermost(shape, null, id)),
    ]),
  ];
  let compared = 0;
  for (const [make, zoom, things] of cases) {
    const [before, now] = sums.map((nodes) => make(shape, nodes));
    const root = follow(now, zoom);
    const boxes = layout(now, root, 1200, 0.5);
    const changes = changesOf(profile, side(base), side(range), things(boxes, root), "share");
    boxes.forEach(({ node }, at) => {
      const path = pathOf(node);
      const was = follow(before, path);
      const wasTotal = pathOf(was).length === path.length ? was.total : 0;
      assert.ok(Math.abs(changes[at].now - node.total / sums[1].total[0]) < 1e-9, `now ${path}`);
      assert.ok(Math.abs(changes[at].before - wasTotal / sums[0].total[0]) < 1e-9, `before ${path}`);
      compared++;
    });
  }
  assert.ok(compared > 1000, `${compared} boxes`);
});

test("two recordings side by side: each keeps its numbers, and a function is the same in both", async () => {
  const [now, before] = [await open("node24-http"), await open("node22-http")];
  const both = join(now, before, "b", "before");
  assert.equal(both.other.lane, now.lanes.length);
  assertSameLists(both, ALL, null, report("node24-http"));
  const other = { ...ALL, lane: both.other.lane };
  const reported = report("node22-http");
  assert.equal(sumStacks(both, other).total, reported.weight);
  assert.deepEqual(listed(both, other, "function"), expected(reported.functions));
  assert.deepEqual(
    listed(both, other, "line"),
    expected(reported.lines, ({ file, line }) => `${file}:${line}`),
  );
  const kinds = kindsOf(both, "function", null);
  const sides = [
    { selection: other, pieces: [[0, both.other.durationNs]], scale: null },
    { selection: ALL, pieces: [[0, both.durationNs]], scale: null },
  ];
  const changes = changesOf(both, ...sides, ownKinds(both, null, kinds), "share");
  const changeOf = (name) => changes[kinds.keys.findIndex((key) => both.strings[both.functions.name[key]] === name)];
  for (const name of ["renderArticle", "LoadIC"]) {
    assert.ok(Math.abs(changeOf(name).before - reported.functions.find((row) => row.name === name).self) < 1e-9, name);
    assert.ok(
      Math.abs(changeOf(name).now - report("node24-http").functions.find((row) => row.name === name).self) < 1e-9,
      name,
    );
  }
  // A recording against itself: nothing new, nothing gone, nothing else.
  const twice = join(now, now, "c", "again");
  assert.equal(twice.functions.name.length, now.functions.name.length);
  // Through the inspector, scripts have addresses instead of paths.
  const addressed = now.sources.map((path) => (path.startsWith("/") ? `file://${path}` : path));
  assert.notDeepEqual(addressed, now.sources);
  assert.equal(
    join(now, { ...now, sources: addressed }, "d", "inspected").functions.name.length,
    now.functions.name.length,
  );
  const same = kindsOf(twice, "function", null);
  const [a, b] = [0, twice.other.lane].map((lane) => ({
    selection: { ...ALL, lane },
    pieces: [[0, now.durationNs]],
    scale: null,
  }));
  assert.deepEqual(
    new Set(changesOf(twice, a, b, ownKinds(twice, null, same), "share").map(({ verdict }) => verdict)),
    new Set(["noise"]),
  );
});

/** The recording without its samples on whose stack a function is. */
function without(profile, name) {
  const { parent, function: functions } = profile.stacks;
  const has = parent.map(() => 0);
  for (const [stack, id] of functions.entries()) {
    has[stack] = Number(functionName(profile, id) === name || (parent[stack] !== NONE && has[parent[stack]] === 1));
  }
  const lanes = profile.lanes.map((lane) => {
    const isLeft = (_, row) => lane.stack[row] === NONE || has[lane.stack[row]] === 0;
    const columns = Object.entries(lane).filter(([, value]) => ArrayBuffer.isView(value));
    return { ...lane, ...Object.fromEntries(columns.map(([key, column]) => [key, column.filter(isLeft)])) };
  });
  return { ...profile, lanes };
}

test("where a function is mended, all that it has nothing to do with is grey, by the second", async () => {
  const before = await openPage(DEMO);
  const both = join(without(before, "summarise"), before, "b", "before");
  const derived = new Derived(throughLens(both, "code", []));
  const nameOf = ({ function: id }) => (id === NONE ? "all" : functionName(derived.profile, id));
  const boxes = (measure) => {
    const { rows } = pictureOf(derived, { ...START, against: "b", measure }, 1440);
    return rows.flat().map((box) => ({ box, path: pathOf(box.node).join(), verdict: box.change.verdict }));
  };
  const byRate = boxes("rate");
  const mended = byRate.filter(({ box }) => nameOf(box) === "summarise").map(({ path }) => path);
  assert.ok(mended.length > 0);
  const isOf = ({ path }) => mended.some((other) => other.startsWith(path) || path.startsWith(other));
  assert.ok(byRate.filter(isOf).some(({ verdict }) => verdict === "gone"));
  assert.ok(byRate.filter(isOf).some(({ box, verdict }) => nameOf(box) === "aggregateOrders" && verdict === "less"));
  const others = byRate.filter((row) => !isOf(row));
  assert.ok(others.length > 50, `${others.length} boxes`);
  assert.deepEqual(
    others.filter(({ verdict }) => verdict !== "noise").map(({ box }) => nameOf(box)),
    [],
  );
  // Shares of what is left are larger, whatever was mended.
  assert.ok(boxes("share").some((row) => !isOf(row) && row.verdict === "more"));
});
