// The lens: other stacks, the same samples. What docs/page.md promises of it, on real recordings.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { describe, test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { fromRoots, pathOf } from "../src/compute/flame.ts";
import { throughLens } from "../src/compute/lens/lens.ts";
import { pictureOf } from "../src/compute/picture.ts";
import { selectionFile } from "../src/compute/selection-file.ts";
import { timeOrder } from "../src/compute/time-order.ts";
import { causedBy } from "../src/compute/top.ts";
import { join } from "../src/data/join.ts";
import { functionName, profileOf } from "../src/data/model.ts";
import { decode } from "../src/data/payload.ts";
import { foldedOf } from "../src/draw/save.ts";
import { LENSES, START } from "../src/select/state.ts";
import { CASES, DEMO, folder, input, NONE, open, openPage, run } from "./recordings.js";

const STATE = { ...START, threads: [] };
const EXPRESS = "corpus/entries-express/input.nodescope";

/** Folded stacks of a state, as paths with their weights. */
function folded(profile, state = STATE) {
  const text = foldedOf({ profile, derived: new Derived(profile), state });
  const lines = text.trim().split("\n").filter(Boolean);
  return lines.map((line) => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at).split(";"), Number(line.slice(at + 1))];
  });
}

const sum = (rows) => rows.reduce((all, [, weight]) => all + weight, 0);
const packageOf = (profile, name) => profile.strings.indexOf(name);
const rootsOf = (profile) => new Set(folded(profile).map(([path]) => path[0]));
const lensed = LENSES.slice(0, -1);

for (const name of [...CASES, EXPRESS, "corpus/entries-graphql/input.nodescope", "node22-addon"]) {
  describe(name, async () => {
    const [withReport, withoutReport] = [await openPage(name), await open(name)];

    for (const [words, raw] of Object.entries({ "with the report": withReport, without: withoutReport })) {
      test(`every lens has all of the weight, by category and by entry, ${words}`, () => {
        const [plain, ...others] = ["everything", ...lensed].map((lens) => new Derived(throughLens(raw, lens, [])));
        assert.deepEqual(
          folded(plain.profile).map(([path]) => path.join(";")),
          folded(raw).map(([path]) => path.join(";")),
        );
        for (const derived of others) {
          assert.equal(derived.sums(STATE).total, plain.sums(STATE).total);
          assert.equal(sum(folded(derived.profile)), sum(folded(plain.profile)));
          assert.deepEqual(derived.categoryShares(STATE), plain.categoryShares(STATE));
          assert.deepEqual(derived.entries(STATE), plain.entries(STATE));
        }
      });
    }

    test("selections keep the same samples under every lens", () => {
      const package_ = withReport.functions.package.find((id) => id !== NONE);
      const focus = package_ === undefined ? [] : [{ kind: "package", id: package_ }];
      const own = withReport.stacks.function[withReport.stacks.category.indexOf(0)];
      for (const change of [{ categories: [0, 5] }, { categories: [3] }, { focus }, { entry: "http" }, { own }]) {
        const state = { ...STATE, ...change };
        if (change.own !== undefined) state.focus = [{ kind: "function", id: own }];
        const totals = LENSES.map((lens) => new Derived(throughLens(withReport, lens, [])).sums(state).count);
        assert.equal(new Set(totals).size, 1, `${JSON.stringify(change)}: ${totals}`);
      }
    });

    test("each lens shows the boxes of the one before, and more", () => {
      const sizes = LENSES.map((lens) => folded(throughLens(withReport, lens, [])).length);
      assert.deepEqual(
        sizes,
        [...sizes].sort((a, b) => a - b),
      );
    });

    test("what the application caused is the same, and pictures hold everything", () => {
      const caused = (derived) => [...causedBy(derived.profile, derived.sums(STATE))].sort((a, b) => a[0] - b[0]);
      const plain = new Derived(throughLens(withReport, "everything", []));
      for (const lens of lensed) {
        const derived = new Derived(throughLens(withReport, lens, []));
        assert.deepEqual(caused(derived), caused(plain));
        for (const view of ["flame", "inverted"]) {
          const { root } = pictureOf(derived, { ...STATE, view }, 1200);
          assert.equal(root.total, derived.sums(STATE).total);
        }
        const self = derived.top(STATE, "function").reduce((all, row) => all + row.self, 0);
        assert.ok(self <= derived.sums(STATE).total);
      }
    });
  });
}

test("roots are what asked for the work, and what stands beside", async () => {
  const raw = await openPage(EXPRESS);
  const beside = [
    "garbage collection",
    "kernel",
    "compiler",
    "idle",
    "unknown",
    "Node.js",
    "thread pool",
    "V8's threads",
  ];
  const entries = raw.report.entries.list.map(({ text }) => text);
  for (const lens of lensed) {
    const roots = rootsOf(throughLens(raw, lens, []));
    assert.ok(roots.has("HTTP request ▸ list") && roots.has("HTTP request ▸ sync"), [...roots].join());
    for (const root of roots) assert.ok(beside.includes(root) || entries.includes(root), root);
  }
});

test("a root stands for its function where that comes first, and lists have the function", async () => {
  const raw = await openPage(DEMO);
  const profile = throughLens(raw, "code", []);
  const nightly = folded(profile).filter(([path]) => path[0] === "timer ▸ nightlyReport");
  assert.ok(nightly.length > 0);
  for (const [path] of nightly) assert.notEqual(path[1], "nightlyReport");
  const totalOf = (derived) =>
    derived.top(STATE, "function").find(({ key }) => functionName(derived.profile, key) === "nightlyReport")?.total;
  assert.equal(totalOf(new Derived(profile)), totalOf(new Derived(throughLens(raw, "everything", []))));
  assert.equal(totalOf(new Derived(profile)), sum(nightly));
});

test("frames of packages that follow each other are one box, which opens", async () => {
  const raw = await openPage(EXPRESS);
  const express = packageOf(raw, "express");
  const closed = folded(throughLens(raw, "code", []));
  const runs = closed.flatMap(([path]) => path.filter((name) => name.startsWith("express ▸ ")));
  assert.ok(runs.length > 0);
  for (const name of runs) assert.match(name, /^express ▸ \d+ frames?$/);
  for (const [path] of closed) {
    path.forEach((name, at) => {
      if (/ ▸ \d+ frames?$/.test(name)) assert.ok(!/ ▸ \d+ frames?$/.test(path[at + 1] ?? ""), path.join(";"));
    });
  }
  const open = folded(throughLens(raw, "code", [express]));
  assert.ok(!open.some(([path]) => path.some((name) => name.startsWith("express ▸ "))));
  assert.equal(sum(open), sum(closed));
  // A run that begins with another package stays one box, whatever is in it.
  assert.ok(open.some(([path]) => path.some((name) => name.startsWith("router ▸ "))));
});

test("the kernel and garbage collection are one box each, and V8 has none", async () => {
  const paths = folded(throughLens(await openPage(DEMO), "code", [])).map(([path]) => path);
  assert.ok(paths.some((path) => path.length > 1 && path.at(-1) === "garbage collection"));
  for (const path of paths) {
    for (const name of ["kernel", "garbage collection"]) {
      const at = path.indexOf(name);
      if (at >= 0) assert.equal(at, path.length - 1, path.join(";"));
    }
    if (path[0] !== "thread pool") assert.ok(!path.some((name) => /^(v8::|uv_|node::)/.test(name)), path.join(";"));
  }
  assert.ok(
    paths.some((path) => path[0] === "thread pool" && path.length > 2),
    "the pool shows what it does",
  );
});

test("without the report JavaScript stands directly under the root of all", async () => {
  const paths = folded(throughLens(await open(DEMO), "code", [])).map(([path]) => path);
  assert.ok(paths.some(([first]) => first === "nightlyReport"));
  assert.ok(paths.some(([first]) => first === "thread pool"));
});

test("in the order of time every sample is under its root", async () => {
  const profile = throughLens(await openPage(DEMO), "code", []);
  const { time, thread, stack } = profile.lanes[0];
  const id = profile.threads.findIndex(({ role }) => role === "main");
  const all = { lane: 0, range: null, threads: null, stacks: null };
  const spans = timeOrder(profile, all, id, [0, profile.durationNs], 1e7, null, null);
  const rows = [...time.keys()].filter((row) => thread[row] === id && stack[row] !== NONE);
  assert.ok(rows.length > 100);
  assert.equal(
    spans.filter(({ depth }) => depth === 0).reduce((count, { samples }) => count + samples, 0),
    rows.length,
  );
});

test("functions that a lens makes have the same ids under every lens", async () => {
  const raw = await openPage(EXPRESS);
  const ids = ["code", "packages", "node"].map((lens) => {
    const derived = new Derived(throughLens(raw, lens, []));
    const graph = fromRoots(derived.tree(STATE), derived.nodeSums(STATE));
    const names = graph.open(graph.root).map((node) => [functionName(derived.profile, node.function), pathOf(node)[0]]);
    return Object.fromEntries(names.sort());
  });
  assert.deepEqual(ids[0], ids[1]);
  assert.deepEqual(ids[0], ids[2]);
});

test("lines and saved selections are those of the recording", async () => {
  const raw = await openPage(DEMO);
  const bytes = async (profile, selection) =>
    new Uint8Array(await (await selectionFile(profile, selection)).arrayBuffer());
  const [lens, plain] = ["code", "everything"].map((name) => new Derived(throughLens(raw, name, [])));
  const state = { ...STATE, range: [1e9, 3e9], categories: [0, 3] };
  const saved = await bytes(lens.profile, lens.selection(state));
  assert.deepEqual(saved, await bytes(plain.profile, plain.selection(state)));
  assert.ok(profileOf(await decode(saved)).stacks.parent.length > 100);
  // What a line called counts to it: the more so the less is shown.
  const line = (derived) => derived.top(STATE, "line").filter(({ category }) => category === 0);
  assert.ok(line(lens).length > 10);
  const keys = (rows) => new Set(rows.map(({ key, line: number }) => `${key}:${number}`));
  const known = keys(plain.top(STATE, "line"));
  for (const key of keys(line(lens))) assert.ok(known.has(key), key);
});

test("two recordings have one set of roots", async () => {
  const [now, before] = [await openPage(EXPRESS), await openPage("corpus/entries-koa/input.nodescope")];
  const both = throughLens(join(now, before, "b", "before"), "code", []);
  const derived = new Derived(both);
  assert.deepEqual(folded(both), folded(throughLens(now, "code", [])));
  const changes = derived.against.topChanges({ ...STATE, against: "b" }, "function");
  assert.ok(changes.changes.length > 3);
});

/** A recording of such stacks. */
function written(name, text) {
  const path = pathTo(folder, name);
  writeFileSync(path, `${text}\n`);
  return path;
}

/** Which lens a picture names as the one that it opened with. */
function lensOfPicture(name) {
  const [, first] = run("export", input(name), "--to", "svg", "-o", "-")
    .toString()
    .match(/<g id="facts"><g [^>]*><text>([^<]*)/);
  const labels = { "my code": "code", "my code + packages": "packages", "my code + packages + Node": "node" };
  return labels[first] ?? "everything";
}

for (const [name, lens] of [
  [DEMO, "code"],
  [EXPRESS, "code"],
  ["corpus/entries-webpack/input.nodescope", "code"],
  ["corpus/entries-next/input.nodescope", "code"],
  // A real command-line tool that runs no code of its user.
  ["corpus/entries-tsc/input.nodescope", "packages"],
  // Without any names of JavaScript.
  ["node22-noflags", "everything"],
  // Without tiers.
  ["corpus/pprof-datadog-time/input.pb", "code"],
  [written("own.folded", "list (/srv/shop.js:12:3) 5\nhandle (/srv/node_modules/express/index.js:5:1) 5"), "code"],
  // A program of packages alone.
  [written("package.folded", "handle (/srv/node_modules/express/index.js:5:1) 5"), "packages"],
  // Node's own JavaScript alone.
  [written("node.folded", "processTimers (node:internal/timers:5:1);clear (node:internal/timers:9:1) 5"), "everything"],
])
  test(`page and picture open with what suits the recording: ${name}, ${lens}`, async () => {
    assert.equal((await openPage(name)).report.lens, lens);
    assert.equal(lensOfPicture(name), lens);
  });

test("hiding moves weight to callers, and leaves the roots", async () => {
  const profile = throughLens(await openPage(DEMO), "code", []);
  const whole = folded(profile);
  const hidden = folded(profile, { ...STATE, hidden: [{ kind: "category", id: 12 }] });
  assert.equal(sum(hidden), sum(whole));
  assert.ok(whole.some(([path]) => path.length > 1 && path.at(-1) === "kernel"));
  assert.ok(!hidden.some(([path]) => path.length > 1 && path.at(-1) === "kernel"));
});

test("inverted, what ran for less than half a percent is one box that opens", async () => {
  const derived = new Derived(throughLens(await openPage(DEMO), "everything", []));
  const state = { ...STATE, view: "inverted" };
  const { rows, root } = pictureOf(derived, state, 1200);
  const other = rows[1].at(-1);
  assert.equal(functionName(derived.profile, other.function), "other");
  for (const box of rows[1].slice(0, -1)) assert.ok(box.node.total >= 0.005 * root.total);
  assert.equal(
    rows[1].reduce((all, box) => all + box.node.total, 0),
    root.total,
  );
  assert.ok(!rows.slice(2).some((row) => row.some((box) => box.x >= other.x)), "nothing is under it");
  const zoomed = pictureOf(derived, { ...state, zoom: [other.function] }, 1200);
  assert.ok(zoomed.rows[1].length > 20 && zoomed.rows.length > 3);
  assert.equal(zoomed.root.total, other.node.total);
});

test("callers and callees open on the function that caused most", async () => {
  const derived = new Derived(throughLens(await openPage(DEMO), "code", []));
  const state = { ...STATE, view: "sandwich" };
  const { rows, home } = pictureOf(derived, state, 1200);
  assert.equal(functionName(derived.profile, rows[home][0].function), "exportReport");
  // A function of Node has no box here, and the page says why.
  const id = derived.profile.raw.stacks.function.find((row) => functionName(derived.profile, row) === "processTimers");
  assert.match(pictureOf(derived, { ...state, function: id }, 1200).note, /press e for everything/);
});
