// The page's own arithmetic against the program's: trees, lists, shares, stalls and searches of the same recordings must be
// the same numbers. Runs what ships, page/dist/ui.js, without a browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as pathTo, resolve } from "node:path";
import { after, describe, test } from "node:test";
import vm from "node:vm";
import { BAD_CHUNKS, partsOf, recordingOf, samples } from "../docs/growing-recording.mjs";

const root = resolve(import.meta.dirname, "../..");
const program = process.env.NODESCOPE_BIN ?? pathTo(root, "target/debug/nodescope");
const folder = mkdtempSync(pathTo(tmpdir(), "nodescope-views-"));
after(() => rmSync(folder, { recursive: true }));

vm.runInThisContext(readFileSync(pathTo(root, "page/dist/ui.js"), "utf8"), { filename: "ui.js" });
const {
  autoRows, columnStep, timeOrder, CATEGORY_COLORS, TIER_COLORS, linesOf, GROUP, MATCH, colorOfChange, colorOfName, ramp, themed, basePieces, changesOf, sumPieces, thingsDown,
  thingsOfCallers, thingsUp, calleesOf, callersOf, follow, fromLeaves, fromRoots, layout, outermost, pathOf, gridOf, heatOf,
  rangeOfCells, culprit, loopsOf, hiddenStacks, keptStacks, sumStacks, matchedWeight, matching, START, fromHash, toHash, duration,
  percent, share, shown, causedBy, kindsOf, ownKinds, topOf, topOfThreads, buildTree, sumNodes, decode, profileOf,
  join,
} = globalThis.nodescope;

const run = (...words) => execFileSync(program, words, { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
const input = (name) => (name.includes("/") ? resolve(root, name) : pathTo(root, "corpus", name, "input.txt.gz"));
const DEMO = "crates/nodescope/src/demo/recording.nodescope";
const CASES = ["node22-http", "node24-workers", "node22-gc", "node22-wasm", "perf-multi-event", "corpus/folded-simple/input.txt", "corpus/cpuprofile-node22-known-shares/input.cpuprofile", DEMO];
const NONE = 0xffffffff;

let files = 0;
async function open(name) {
  const file = pathTo(folder, `${++files}.nodescope`);
  run("export", input(name), "-o", file);
  return profileOf(await decode(new Uint8Array(readFileSync(file))));
}

const report = (name, ...options) => JSON.parse(run("report", input(name), "--json", ...options));
/** Relative luminance as WCAG 2 defines it. */
function luminance(color) {
  const [red, green, blue] = color.map((channel) => (channel <= 0.04045 * 255 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const WORDS = ["app", "dependency", "node", "builtin", "runtime", "gc", "compiler", "regexp", "wasm", "addon", "libuv", "system", "kernel", "idle", "unknown"];
const ALL = { lane: 0, range: null, threads: null, stacks: null };

/** What the report is about: all but waiting. */
const busy = (profile) => ({ ...ALL, stacks: keptStacks(profile, [], []) });

/** The rows of a list, as comparable texts. */
function listed(profile, chosen, by, hidden = null) {
  const sums = sumStacks(profile, chosen);
  const rows = by === "thread" ? topOfThreads(profile, chosen, by) : topOf(profile, sums, by, hidden, kindsOf(profile, by, hidden));
  const { functions, strings, sources, modules } = profile;
  const name = ({ key, line }) =>
    ({
      function: () => strings[functions.name[key]],
      file: () => (key % 2 === 0 ? sources[key / 2] : modules[(key - 1) / 2]),
      package: () => strings[key],
      category: () => WORDS[key],
      line: () => `${sources[key]}:${line}`,
      thread: () => profile.threads[key].name,
    })[by]();
  const digits = (part) => part.toFixed(9);
  return rows.map((row) => `${name(row)} ${row.selfSamples} ${row.totalSamples} ${digits(share(row.self, sums.total))} ${digits(share(row.total, sums.total))}`).sort();
}

function expected(rows, name = (row) => row.name) {
  return rows.map((row) => `${name(row)} ${row.self_samples} ${row.total_samples} ${row.self.toFixed(9)} ${row.total.toFixed(9)}`).sort();
}

function assertSameLists(profile, chosen, hidden, told) {
  assert.deepEqual(listed(profile, chosen, "function", hidden), expected(told.functions));
  assert.deepEqual(listed(profile, chosen, "package", hidden), expected(told.packages));
  assert.deepEqual(listed(profile, chosen, "category", hidden), expected(told.categories));
  assert.deepEqual(listed(profile, chosen, "file", hidden), expected(told.files));
  assert.deepEqual(listed(profile, chosen, "line", hidden), expected(told.lines, ({ file, line }) => `${file}:${line}`));
  const threads = told.threads.map(({ name, samples, self }) => `${name} ${samples} ${samples} ${self.toFixed(9)} ${self.toFixed(9)}`);
  assert.deepEqual(listed(profile, chosen, "thread"), threads.sort());
}

for (const name of CASES) {
  describe(name, async () => {
    const profile = await open(name);
    const ALL = busy(profile);
    const isTimed = profile.lanes[0].timed;

    test("lists are those of the report", () => {
      const told = report(name);
      const sums = sumStacks(profile, ALL);
      assert.equal(sums.total, told.weight);
      assert.equal(sums.count, told.samples);
      assertSameLists(profile, ALL, null, told);
    });

    test("a source's lines are those of the report, and a text does not change them", () => {
      const all = topOf(profile, sumStacks(profile, ALL), "line", null, kindsOf(profile, "line", null));
      const told = report(name).lines;
      const text = "x\n".repeat(5000);
      for (const source of new Set(all.map(({ key }) => key))) {
        const rows = all.filter(({ key }) => key === source);
        const numbers = (lines) => lines.filter(({ row }) => row).map(({ number, row }) => `${number} ${row.selfSamples} ${row.totalSamples}`).sort();
        const expected = told.filter(({ file }) => file === profile.sources[source]).map((row) => `${row.line} ${row.self_samples} ${row.total_samples}`).sort();
        // Sources of one path are one file for the report.
        if (profile.sources.filter((path) => path === profile.sources[source]).length > 1) continue;
        assert.deepEqual(numbers(linesOf(rows, null, 1)), expected);
        const shown = linesOf(rows, text, 1);
        assert.deepEqual(numbers(shown), expected);
        assert.equal(shown.reduce((sum, { skipped }) => sum + 1 + skipped, 0), shown.at(-1).number);
      }
    });

    if (isTimed) test("a range is half-open", () => {
      const middle = profile.lanes[0].time[profile.lanes[0].time.length >> 1];
      const range = [Math.floor(middle / 2), middle];
      const told = report(name, "--range", `${range[0]}ns..${range[1]}ns`);
      const chosen = { ...ALL, range };
      assert.equal(sumStacks(profile, chosen).total, told.weight);
      assertSameLists(profile, chosen, null, told);
    });

    test("hiding gives to the caller, and a category picks by the stack", () => {
      const hidden = hiddenStacks(profile, [2, 3, 12].map((id) => ({ kind: "category", id })));
      assertSameLists(profile, ALL, hidden, report(name, "--hide", "node,builtin,kernel"));
      const present = WORDS.findIndex((_, byte) => sumStacks(profile, { ...ALL, stacks: keptStacks(profile, [byte], []) }).count > 0);
      const chosen = { ...ALL, stacks: keptStacks(profile, [present], []) };
      assertSameLists(profile, chosen, null, report(name, "--category", WORDS[present]));
    });

    test("what was searched for has the report's weight", () => {
      for (const pattern of ["node", "^v8::", "(?i)EMIT|stream"]) {
        const shape = buildTree(profile, null, sumStacks(profile, ALL));
        const sums = sumNodes(shape, sumStacks(profile, ALL));
        const found = matchedWeight(shape, sums, matching(profile, pattern), 0);
        const told = found === 0 ? { weight: 0 } : report(name, "--search", pattern);
        assert.equal(found, told.weight, pattern);
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
      for (const row of topOf(profile, sums, "function", null, kindsOf(profile, "function", null))) assert.equal(own.get(row.key) ?? 0, row.self);
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

    test("what functions and packages caused is in the report", () => {
      const told = report(name);
      const sums = sumStacks(profile, ALL);
      const digits = (map, nameOf) => [...map].map(([key, weight]) => `${nameOf(key)} ${(weight / sums.total).toFixed(9)}`).sort();
      const own = causedBy(profile, sums, [0], "function");
      const rows = told.own_functions.map((row) => `${row.name} ${row.caused.toFixed(9)}`);
      assert.deepEqual(digits(own, (key) => profile.strings[profile.functions.name[key]]), rows.sort());
      const packages = told.packages.filter(({ caused }) => caused > 0).map((row) => `${row.name} ${row.caused.toFixed(9)}`);
      assert.deepEqual(digits(causedBy(profile, sums, [0, 1, 9], "package"), (key) => profile.strings[key]), packages.sort());
    });

    if (isTimed) test("the heat map holds every sample, in the cell of its time", () => {
      for (const rows of [10, 50, 100]) {
        const map = heatOf(profile, ALL, gridOf(profile.durationNs, 1e9, rows));
        assert.equal(map.cells.reduce((sum, cell) => sum + cell, 0), sumStacks(profile, ALL).total);
        const busiest = map.cells.indexOf(map.max);
        const range = rangeOfCells(map, busiest, busiest);
        assert.equal(sumStacks(profile, { ...ALL, range }).total, map.max);
      }
    });
  });
}

test("in the order of time every sample is in a box, where it was taken", async () => {
  const profile = await open("node24-workers");
  const { time, thread, stack } = profile.lanes[0];
  for (const id of [0, 1, 2]) {
    const spans = timeOrder(profile, ALL, id, [0, profile.durationNs], 1e7, null);
    const rows = [...time.keys()].filter((row) => thread[row] === id && stack[row] !== NONE);
    assert.equal(spans.filter(({ depth }) => depth === 0).reduce((sum, { samples }) => sum + samples, 0), rows.length);
    for (const row of rows) {
      const leaf = profile.stacks.function[stack[row]];
      assert.ok(spans.some((span) => span.function === leaf && span.start <= time[row] && time[row] <= span.end), `sample at ${time[row]}`);
    }
  }
});

test("a band of the heat map has the samples of its thread", async () => {
  const profile = await open("node24-workers");
  const told = report("node24-workers");
  const bandOf = Int32Array.from(profile.threads, (_, id) => id);
  const map = heatOf(profile, ALL, { ...gridOf(profile.durationNs, 5e7, 5), bands: profile.threads.length, bandOf });
  const size = map.columns * map.rows;
  for (const { tid, self } of told.threads) {
    const own = profile.threads.flatMap((row, id) => (row.tid === tid ? [id] : []));
    const sum = own.reduce((all, id) => all + map.cells.subarray(id * size, (id + 1) * size).reduce((a, b) => a + b, 0), 0);
    assert.ok(Math.abs(sum / told.weight - self) < 1e-9, `thread ${tid}`);
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
  assert.deepEqual([0.01, 1, 2.56, 3, 6, 10, 30, 44.5, 60, 120, 600, 18_000, 86_400].map((seconds) => step(seconds)), [0.05, 0.05, 0.05, 0.05, 0.1, 0.2, 0.5, 1, 1, 1, 2, 60, 300]);
  for (const seconds of [2.5, 3, 7, 29.9, 45, 61, 300]) assert.ok(seconds / step(seconds) > 44 && seconds / step(seconds) <= 333, `${seconds} s`);
  assert.deepEqual([1e9, 5e8, 1e8, 5e7, 1e6].map((column) => autoRows(column, 10_101_010)), [50, 25, 5, 5, 5]);
});

test("stalls and what caused them are those of the report", async () => {
  // Of before loops had tables, and with stalls that ran, were blocked, throttled, or of which nothing is known.
  for (const recording of [DEMO, "tests/browser/stalls.nodescope"]) {
    const profile = await open(recording);
    const told = report(recording);
    const found = loopsOf(profile, null, 0);
    assert.equal(found.isWatched, told.loops_watched);
    assert.ok(found.longest.length > 0);
    const words = found.longest.map((stretch) => [stretch.start / 1e9, (stretch.end - stretch.start) / 1e9]);
    assert.deepEqual(words, told.stalls.map(({ start_s, duration_s }) => [start_s, duration_s]));
    const culprits = found.longest.map((stretch) => culprit(profile, stretch, 0));
    assert.deepEqual(culprits.map((id) => (id < 0 ? null : profile.strings[profile.functions.name[id]])), told.stalls.map((row) => row.function));
  }
});

test("folded stacks are the paths of the tree", async () => {
  const file = pathTo(folder, "plain.folded");
  writeFileSync(file, "main;parse;read 3\nmain;parse 2\nmain;render;parse;read 5\nother 1\nmain;parse;read;parse 4\n");
  const profile = await open(file);
  const sums = sumStacks(profile, ALL);
  const shape = buildTree(profile, null, sums);
  const graph = fromRoots(shape, sumNodes(shape, sums));
  const path = (node) => pathOf(node).map((id) => profile.strings[profile.functions.name[id]]).join(";");
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

test("what changed between two ranges is told from noise", async () => {
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
  const side = (from, to) => ({ selection: ALL, pieces: [[from, to]] });
  const changes = (before, now) => changesOf(profile, before, now, ownKinds(profile, null, kinds));
  const verdicts = (before, now) => Object.fromEntries(changes(before, now).map(({ verdict }, at) => [name(at), verdict]));
  const changed = verdicts(side(0, 2e9), side(2e9, 4e9));
  assert.equal(changed.burst, "new");
  assert.equal(changed.steady0, "less");
  assert.equal(verdicts(side(2e9, 4e9), side(0, 2e9)).burst, "gone");
  assert.deepEqual(new Set(Object.values(verdicts(side(0, 1e9), side(1e9, 2e9)))), new Set(["noise"]));
  // The rest is everything but the range.
  const rest = basePieces("rest", [1e9, 2e9], profile.durationNs);
  const sums = [sumPieces(profile, { selection: ALL, pieces: rest }), sumStacks(profile, { ...ALL, range: [1e9, 2e9] }), sumStacks(profile, ALL)];
  assert.equal(sums[0].total + sums[1].total, sums[2].total);
});

test("every box of a picture says how it changed: the same as a picture of before has it", async () => {
  const profile = await open("node22-http");
  const [range, base] = [[0, 1.2e9], [1.2e9, 3e9]];
  const side = (pieces) => ({ selection: ALL, pieces: [pieces] });
  const shape = buildTree(profile, null, sumStacks(profile, ALL));
  const sums = [base, range].map((pieces) => sumNodes(shape, sumStacks(profile, { ...ALL, range: pieces })));
  const ids = topOf(profile, sumStacks(profile, { ...ALL, range }), "function", null, kindsOf(profile, "function", null)).slice(3, 8).map(({ key }) => key);
  const zoomed = (make) => pathOf(make(shape, sums[1]).open(make(shape, sums[1]).root)[0]);
  const cases = [
    [fromRoots, [], (boxes, root) => thingsDown(shape, boxes, root.members)],
    [fromRoots, zoomed(fromRoots), (boxes, root) => thingsDown(shape, boxes, root.members)],
    [fromLeaves, [], (boxes) => thingsUp(shape, boxes, [])],
    [fromLeaves, zoomed(fromLeaves), (boxes) => thingsUp(shape, boxes, zoomed(fromLeaves))],
    ...ids.map((id) => [(tree, nodes) => callersOf(tree, nodes, id), [], (boxes) => thingsOfCallers(shape, boxes, id)]),
    ...ids.map((id) => [(tree, nodes) => calleesOf(tree, nodes, id), [], (boxes) => thingsDown(shape, boxes, outermost(shape, null, id))]),
  ];
  let compared = 0;
  for (const [make, zoom, things] of cases) {
    const [before, now] = sums.map((nodes) => make(shape, nodes));
    const root = follow(now, zoom);
    const boxes = layout(now, root, 1200, 0.5);
    const changes = changesOf(profile, side(base), side(range), things(boxes, root));
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
  const told = report("node22-http");
  assert.equal(sumStacks(both, other).total, told.weight);
  assert.deepEqual(listed(both, other, "function"), expected(told.functions));
  assert.deepEqual(listed(both, other, "line"), expected(told.lines, ({ file, line }) => `${file}:${line}`));
  const kinds = kindsOf(both, "function", null);
  const sides = [{ selection: other, pieces: [[0, both.other.durationNs]] }, { selection: ALL, pieces: [[0, both.durationNs]] }];
  const changes = changesOf(both, ...sides, ownKinds(both, null, kinds));
  const changeOf = (name) => changes[kinds.keys.findIndex((key) => both.strings[both.functions.name[key]] === name)];
  for (const name of ["renderArticle", "LoadIC"]) {
    assert.ok(Math.abs(changeOf(name).before - told.functions.find((row) => row.name === name).self) < 1e-9, name);
    assert.ok(Math.abs(changeOf(name).now - report("node24-http").functions.find((row) => row.name === name).self) < 1e-9, name);
  }
  // A recording against itself: nothing new, nothing gone, nothing else.
  const twice = join(now, now, "c", "again");
  assert.equal(twice.functions.name.length, now.functions.name.length);
  // Through the inspector, scripts have addresses instead of paths.
  const addressed = now.sources.map((path) => (path.startsWith("/") ? `file://${path}` : path));
  assert.notDeepEqual(addressed, now.sources);
  assert.equal(join(now, { ...now, sources: addressed }, "d", "inspected").functions.name.length, now.functions.name.length);
  const same = kindsOf(twice, "function", null);
  const [a, b] = [0, twice.other.lane].map((lane) => ({ selection: { ...ALL, lane }, pieces: [[0, now.durationNs]] }));
  assert.deepEqual(new Set(changesOf(twice, a, b, ownKinds(twice, null, same)).map(({ verdict }) => verdict)), new Set(["noise"]));
});

test("the address keeps everything, and nonsense in it is ignored", () => {
  const full = {
    ...START, view: "top", lane: 1, range: [12_310_000_000, 13_830_000_001], base: [0, 5_000_000_000], isBefore: true, threads: [0, 3], categories: [5, 13], search: "a&b=ü#%", zoom: [1, 22],
    focus: [{ kind: "package", id: 7 }], hidden: [{ kind: "category", id: 3 }, { kind: "function", id: 12 }], function: 9, source: [4, 43], colorBy: "tier", isUpward: true, by: "line",
    sort: "total", filter: "x y", rows: 25, bands: "thread", theme: "dark",
  };
  assert.deepEqual(fromHash(`#${toHash(full)}`), full);
  assert.deepEqual(fromHash(`#${toHash({ ...full, threads: [] })}`).threads, []);
  const against = { ...START, against: "a1/b=c.nodescope" };
  assert.deepEqual(fromHash(`#${toHash(against)}`), against);
  assert.deepEqual(fromHash(""), START);
  assert.equal(toHash(START), "");
  assert.deepEqual(fromHash("#view=zzz&range=9-1&lane=-4&zoom=a.b&hide=q1.f&rows=1e9&%&search=%E0%A4&colour=__proto__"), { ...START });
});

test("texts: control and direction characters are shown by number, the rest stays", () => {
  assert.equal(shown("a\u001b[31mb\u202ec\u0000\n"), "a\\x1b[31mb\\u202ec\\x00\\x0a");
  assert.equal(shown("检查 größeÄndern 🚀 <b>"), "检查 größeÄndern 🚀 <b>");
  assert.deepEqual([1520e6, 266e6, 1e3, 30e9, 119.7e9, 600e9, 7.3e12, 14399e9].map(duration), ["1.52 s", "266 ms", "1 µs", "30.0 s", "2 min", "10 min", "2 h 2 min", "4 h"]);
  assert.deepEqual([0, 0.0001, 0.1234, 1].map(percent), ["0.0\u00a0%", "<0.1\u00a0%", "12.3\u00a0%", "100.0\u00a0%"]);
});

test("colours are those of the other pictures, and black text can be read on all of them", () => {
  const rust = readFileSync(pathTo(root, "crates/views/src/palette.rs"), "utf8");
  const rows = [...rust.matchAll(/\(Category::\w+, \[(\d+), (\d+), (\d+)\]\)/g)].map((row) => row.slice(1).map(Number));
  assert.deepEqual(CATEGORY_COLORS.map((color) => [...color]), rows);
  const names = Array.from({ length: 500 }, (_, at) => colorOfName(`package-${at}`));
  const changes = ["more", "new", "noise"].flatMap((verdict) => [-1, -0.5, 0, 0.5, 1].map((change) => colorOfChange(verdict, change)));
  for (const color of [...changes, ...CATEGORY_COLORS, ...TIER_COLORS, ...names, GROUP, MATCH]) {
    for (const isDark of [false, true]) {
      const contrast = (luminance(themed(color, isDark)) + 0.05) / 0.05;
      assert.ok(contrast >= 4.5, `${color}: ${contrast}`);
    }
  }
});

test("the heat map's ramp rises evenly in lightness", () => {
  for (const isDark of [false, true]) {
    // CIE lightness, from luminance.
    const lightness = Array.from({ length: 11 }, (_, step) => 116 * Math.cbrt(luminance(ramp(step / 10, isDark))) - 16);
    const steps = lightness.slice(1).map((value, at) => (value - lightness[at]) * (isDark ? 1 : -1));
    assert.ok(Math.min(...steps) > 3 && Math.max(...steps) < 10, `${steps.map((step) => step.toFixed(1))}`);
  }
});

test("a damaged recording is refused, wherever a bit has changed", async () => {
  const whole = new Uint8Array(readFileSync(resolve(root, DEMO)));
  await decode(whole);
  for (const at of [40, 41, 42, 43, whole.length >> 1, whole.length - 3, whole.length - 2, whole.length - 1]) {
    const damaged = whole.slice();
    damaged[at] ^= 1;
    await assert.rejects(decode(damaged), /damaged at byte 16: the checksum does not match/, `byte ${at}`);
  }
});

/** A recording by the inspector that ended with kill -9. */
const GROWING = "crates/profile/tests/sample/growing.nodescope.part";

test("a growing recording is the one that it becomes", async () => {
  const [grown, finished] = [profileOf(await decode(new Uint8Array(readFileSync(resolve(root, GROWING))))), await open(GROWING)];
  const { origin: { header, columns, halves }, ...profile } = grown;
  const { origin, ...expected } = finished;
  assert.deepEqual(columns, new Map([...columns.keys()].map((name) => [name, origin.columns.get(name)])));
  assert.deepEqual(halves, new Map([...halves.keys()].map((name) => [name, origin.halves.get(name)])));
  assert.deepEqual(new Set(columns.keys()), new Set(origin.columns.keys()));
  assert.deepEqual(header.processes, origin.header.processes);
  for (const key of ["strings", "threads", "lanes", "functions", "stacks", "lineTicks", "turns", "durationNs"]) assert.deepEqual(profile[key], expected[key], key);
  assert.ok(profile.lanes[0].time.length > 400);
});

test("a growing recording opens up to its last whole chunk, and says where it is damaged", async () => {
  const whole = new Uint8Array(readFileSync(resolve(root, GROWING)));
  const rows = profileOf(await decode(whole)).lanes[0].time.length;
  const cut = profileOf(await decode(whole.slice(0, -20)));
  assert.ok(cut.lanes[0].time.length > 0 && cut.lanes[0].time.length < rows);
  assert.match(cut.losses.damage.join(), /^damaged at byte \d+: the file ends in the middle of a chunk$/);
  const flipped = whole.slice();
  flipped[whole.length - 20] ^= 1;
  assert.match(profileOf(await decode(flipped)).losses.damage.join(), /the checksum does not match$/);
  await assert.rejects(decode(whole.slice(0, 200)), /damaged at byte 16/);
});

test("a growing recording whose later chunk is bad under a right checksum opens up to there", async () => {
  const parts = partsOf(readFileSync(resolve(root, GROWING))).slice(0, 3);
  const before = profileOf(await decode(recordingOf(parts).bytes));
  for (const [what, bad] of BAD_CHUNKS) {
    const { bytes, starts } = recordingOf([...parts, bad, samples(1)]);
    const read = profileOf(await decode(bytes));
    assert.match(read.losses.damage.join(), new RegExp(`^damaged at byte ${starts[3]}: .`), what);
    for (const key of ["strings", "threads", "stacks", "durationNs"]) assert.deepEqual(read[key], before[key], `${what}: ${key}`);
    assert.deepEqual(read.lanes[0].time, before.lanes[0].time, what);
    await assert.rejects(decode(recordingOf([bad]).bytes), /damaged at byte 16: ./, what);
  }
  const old = recordingOf(parts).bytes;
  old[8] = 1;
  await assert.rejects(decode(old), /damaged at byte 16: no chunk starts here/);
});

test("shares are of the time in which something ran", async () => {
  const name = "corpus/cpuprofile-node26-gc/input.cpuprofile";
  const profile = await open(name);
  const IDLE = 13; // as in docs/file-format.md
  const told = report(name);
  const idle = sumStacks(profile, { ...ALL, stacks: keptStacks(profile, [IDLE], []) });
  const without = sumStacks(profile, { ...ALL, stacks: null }).count - sumStacks(profile, busy(profile)).count;
  assert.ok(idle.count > 0 && idle.count <= without);
  assert.equal(sumStacks(profile, busy(profile)).total, told.weight);
  assert.equal(report(name, "--category", "idle").weight, idle.total);
  assert.ok(told.categories.every(({ name }) => name !== "idle"));
});

test("who waits is not busy", async () => {
  const profile = { ...(await open("node24-http")), turns: [] };
  const IDLE = 13; // as in docs/file-format.md
  const category = profile.stacks.category.map(() => IDLE);
  assert.deepEqual(loopsOf({ ...profile, stacks: { ...profile.stacks, category } }, null, 0).longest, []);
  const busy = Uint8Array.from(profile.stacks.category, () => 0);
  assert.ok(loopsOf({ ...profile, stacks: { ...profile.stacks, category: busy } }, null, 0).longest.length > 0);
});
