// The page's lists, trees, shares and searches against the program's own: the same numbers of the same recordings.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { calleesOf, callersOf, fromLeaves, fromRoots, layout } from "../src/compute/flame.ts";
import { gridOf, heatOf, loadOf, rangeOfCells } from "../src/compute/heat.ts";
import { searchFor } from "../src/compute/search.ts";
import { linesOf } from "../src/compute/source-lines.ts";
import { kindsOf, topOf } from "../src/compute/top.ts";
import { buildTree, sumNodes } from "../src/compute/tree.ts";
import { hiddenStacks, keptStacks, sumStacks } from "../src/select/selection.ts";
import { ALL, assertSameLists, busy, CASES, open, report, WORDS } from "./recordings.js";

for (const name of CASES) {
  describe(name, async () => {
    const profile = await open(name);
    const ALL = busy(profile);
    const isTimed = profile.lanes[0].timed;

    test("lists are those of the report", () => {
      const reported = report(name);
      const sums = sumStacks(profile, ALL);
      assert.equal(sums.total, reported.weight);
      assert.equal(sums.count, reported.samples);
      assertSameLists(profile, ALL, null, reported);
    });

    test("a source's lines are those of the report, and a text does not change them", () => {
      const all = topOf(profile, sumStacks(profile, ALL), "line", null, kindsOf(profile, "line", null));
      const reported = report(name).lines;
      const text = "x\n".repeat(5000);
      for (const source of new Set(all.map(({ key }) => key))) {
        const rows = all.filter(({ key }) => key === source);
        const numbers = (lines) =>
          lines
            .filter(({ row }) => row)
            .map(({ number, row }) => `${number} ${row.selfSamples} ${row.totalSamples}`)
            .sort();
        const expected = reported
          .filter(({ file }) => file === profile.sources[source])
          .map((row) => `${row.line} ${row.self_samples} ${row.total_samples}`)
          .sort();
        // Sources of one path are one file for the report.
        if (profile.sources.filter((path) => path === profile.sources[source]).length > 1) continue;
        assert.deepEqual(numbers(linesOf(rows, null, 1)), expected);
        const shown = linesOf(rows, text, 1);
        assert.deepEqual(numbers(shown), expected);
        assert.equal(
          shown.reduce((sum, { skipped }) => sum + 1 + skipped, 0),
          shown.at(-1).number,
        );
      }
    });

    if (isTimed)
      test("a range is half-open", () => {
        const middle = profile.lanes[0].time[profile.lanes[0].time.length >> 1];
        const range = [Math.floor(middle / 2), middle];
        const reported = report(name, "--range", `${range[0]}ns..${range[1]}ns`);
        const chosen = { ...ALL, range };
        assert.equal(sumStacks(profile, chosen).total, reported.weight);
        assertSameLists(profile, chosen, null, reported);
      });

    test("hiding gives to the caller, and a category picks by the stack", () => {
      const hidden = hiddenStacks(
        profile,
        [2, 3, 12].map((id) => ({ kind: "category", id })),
      );
      assertSameLists(profile, ALL, hidden, report(name, "--hide", "node,builtin,kernel"));
      const present = WORDS.findIndex(
        (_, byte) => sumStacks(profile, { ...ALL, stacks: keptStacks(profile, [byte], []) }).count > 0,
      );
      const chosen = { ...ALL, stacks: keptStacks(profile, [present], []) };
      assertSameLists(profile, chosen, null, report(name, "--category", WORDS[present]));
    });

    test("what was searched for has the report's weight", () => {
      for (const pattern of ["node", "^v8::", "(?i)EMIT|stream"]) {
        const { stacks } = searchFor(profile, pattern);
        const isIn = ALL.stacks ? stacks.map((own, stack) => own & ALL.stacks[stack]) : stacks;
        const found = sumStacks(profile, { ...ALL, stacks: isIn }).total;
        const reported = found === 0 ? { weight: 0 } : report(name, "--search", pattern);
        assert.equal(found, reported.weight, pattern);
      }
    });

    test("trees from the roots and from the leaves hold all of it", () => {
      const sums = sumStacks(profile, ALL);
      const shape = buildTree(profile, null, sums);
      const nodes = sumNodes(shape, sums);
      for (const make of [fromRoots, fromLeaves]) {
        const graph = make(shape, nodes);
        assert.equal(graph.root.total, sums.total);
        const boxes = layout(graph, graph.root, 1200, 0);
        const byNode = new Map(boxes.map(({ node, x, width }) => [node, { x, width }]));
        for (const { node, x, width } of boxes) {
          const children = graph.open(node);
          const below = children.reduce((sum, child) => sum + child.total, 0);
          assert.ok(below <= node.total);
          if (make === fromRoots && node !== graph.root) assert.equal(node.self + below, node.total);
          for (const child of children) {
            const box = byNode.get(child);
            assert.ok(box.x >= x - 1e-6 && box.x + box.width <= x + width + 1e-6);
          }
        }
      }
      // The functions under an inverted root are those of the report, by their own time.
      const graph = fromLeaves(shape, nodes);
      const own = new Map();
      for (const node of graph.open(graph.root)) own.set(node.function, node.self);
      for (const row of topOf(profile, sums, "function", null, kindsOf(profile, "function", null)))
        assert.equal(own.get(row.key) ?? 0, row.self);
    });

    test("callers and callees of a function have its total", () => {
      const sums = sumStacks(profile, ALL);
      const shape = buildTree(profile, null, sums);
      const nodes = sumNodes(shape, sums);
      const rows = topOf(profile, sums, "function", null, kindsOf(profile, "function", null));
      for (const row of rows.slice(0, 40)) {
        assert.equal(calleesOf(shape, nodes, row.key).root.total, row.total);
        assert.equal(callersOf(shape, nodes, row.key).root.total, row.total);
      }
    });

    if (isTimed)
      test("the heat map holds every sample, in the cell of its time", () => {
        for (const rows of [10, 50, 100]) {
          const map = heatOf(profile, ALL, gridOf(profile.durationNs, 1e9, rows));
          assert.equal(
            map.cells.reduce((sum, cell) => sum + cell, 0),
            sumStacks(profile, ALL).total,
          );
          const busiest = map.cells.findIndex((_, at) => loadOf(map, at) === map.max);
          const range = rangeOfCells(map, busiest, busiest);
          assert.equal(sumStacks(profile, { ...ALL, range }).total, map.cells[busiest]);
        }
      });
  });
}

test("shares are of the time in which something ran", async () => {
  const name = "corpus/cpuprofile-node26-gc/input.cpuprofile";
  const profile = await open(name);
  const IDLE = 13; // as in docs/file-format.md
  const reported = report(name);
  const idle = sumStacks(profile, { ...ALL, stacks: keptStacks(profile, [IDLE], []) });
  const without = sumStacks(profile, { ...ALL, stacks: null }).count - sumStacks(profile, busy(profile)).count;
  assert.ok(idle.count > 0 && idle.count <= without);
  assert.equal(sumStacks(profile, busy(profile)).total, reported.weight);
  assert.equal(report(name, "--category", "idle").weight, idle.total);
  assert.ok(reported.categories.every(({ name }) => name !== "idle"));
});
