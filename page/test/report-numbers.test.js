// Every word that the page says of a whole recording is the report's; and every number that both the program (Rust,
// crates/views) and the page (TypeScript, page/src/compute) compute is the same. These are, for the whole recording,
// for a range, for one thread, and for one thread in a range:
//
//   the selected weight and samples
//   self and total, as weights and samples: of functions, packages, categories, files, lines and threads
//   what functions of the application caused
//   the categories beside the heat map, the weights of threads and roles in the head
//   the weight of what a search matches
//   what asked for the work: kinds, functions, samples, shares and what part is inferred; the weight that one kind leaves
//   what changed between two recordings: which functions, both shares, and the verdict (of main loops, of all threads)
//
// Cores, garbage collection, stalls with their functions, busy stretches, findings and sentences are computed by
// crates/views alone.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { join as pathTo } from "node:path";
import { after, describe, test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { matchedOf } from "../src/compute/picture.ts";
import { causedBy } from "../src/compute/top.ts";
import { join } from "../src/data/join.ts";
import { changesText, changeText, wholeText } from "../src/draw/compare/words.ts";
import { share } from "../src/draw/text.ts";
import { sumStacks } from "../src/select/selection.ts";
import { START } from "../src/select/state.ts";
import {
  assertSameLists,
  busy,
  CASES,
  folder,
  input,
  open,
  openPage,
  program,
  report,
  reportText,
  WORDS,
} from "./recordings.js";

const STALLS = "tests/browser/stalls.nodescope";

/** So many findings are in the report unless all are asked for; the page has all of them. */
const REPORTED = 5;

/** The report's first lines, from the report in the page. */
function headOf({ headline, sentences, findings, closing }) {
  const numbered = findings.slice(0, REPORTED).flatMap(({ text: [first, ...rest] }, at) => {
    const number = `${at + 1}`.padEnd(3);
    return ["", `${number}${first}`, ...rest.map((text) => `   ${text}`)];
  });
  const left = findings.length - REPORTED;
  const more = left > 0 ? [`   … and ${left} more; report -n 0 shows all`] : [];
  const lines = [headline.join(" · "), ...sentences.map(({ text }) => text), ...numbered, ...more];
  return [...lines, ...(closing.length > 0 ? ["", ...closing] : []), ""].join("\n");
}

/** A second of a program that stalls and allocates. Null where this machine has no perf events. */
function recordLive() {
  const work = "() => { const end = Date.now() + 60; while (Date.now() < end) JSON.stringify(process.versions); }";
  const file = pathTo(folder, "live.nodescope");
  const node = [process.execPath, "-e", `setInterval(${work}, 150); setTimeout(process.exit, 1500)`];
  const { status, stderr } = spawnSync(program, ["record", "-q", "-o", file, "--", ...node], { encoding: "utf8" });
  if (status !== 0) console.log(`skipped: the page against a live recording: ${stderr.trim().split("\n")[0]}`);
  return status === 0 ? file : null;
}

const live = recordLive();
const RECORDINGS = [...CASES, STALLS, ...(live ? [live] : [])];

describe("the page says what the report says, word for word", () => {
  for (const name of RECORDINGS)
    test(name, async () => {
      const { report: inPage } = await openPage(name);
      const { out, err } = reportText(name);
      const head = headOf(inPage);
      assert.equal(out.slice(0, head.length), head);
      assert.match(out.slice(head.length), /^(\n|$)/);
      const warned = err.split("\n").map((line) => line.replace(/^nodescope: /, ""));
      for (const sentence of inPage.warnings) assert.ok(warned.includes(sentence), `${sentence}\n${err}`);
    });
});

/** What both compute of one selection: `state` is the page's, `options` are the report's. */
function assertSameNumbers(name, profile, state, options) {
  const derived = new Derived(profile);
  const reported = report(name, ...options);
  const selection = { ...derived.selection(state), lane: 0 };
  const sums = sumStacks(profile, selection);
  assert.deepEqual([sums.total, sums.count], [reported.weight, reported.samples]);
  assertSameLists(profile, selection, null, reported);
  assertSameCaused(profile, sums, reported);
  const categories = derived.categoryShares(state);
  for (const { name: word, self } of reported.categories) {
    assert.ok(Math.abs(share(categories[WORDS.indexOf(word)], sums.total) - self) < 1e-9, word);
  }
  assertSameEntries(name, derived, state, options, reported);
  const pattern = "node|emit";
  const found = matchedOf(derived, { ...state, search: pattern }).share;
  const matched = found === 0 ? 0 : report(name, "--search", pattern, ...options).weight;
  assert.ok(Math.abs(found - share(matched, sums.total)) < 1e-9, pattern);
}

/** Kinds and functions, and the weight where one of them is chosen. */
function assertSameEntries(name, derived, state, options, reported) {
  const { groups, total } = derived.entries(state);
  const line = (words, { samples }, part, inferred) => `${words} ${samples} ${part.toFixed(9)} ${inferred.toFixed(9)}`;
  const ours = groups.flatMap((group) => [
    line(group.kind, group, share(group.weight, total), share(group.inferred, total)),
    ...group.rows.map((row) => line(row.entry.text, row, share(row.weight, total), share(row.inferred, total))),
  ]);
  const called = ({ function: name, package: its }) => name ?? (its ? `package ${its}` : "Node itself");
  const theirs = reported.entries.flatMap((group) => {
    const [one] = groups.find(({ kind }) => kind === group.kind)?.rows[0].entry.text.split(" ▸ ") ?? [];
    const words = (row) => (group.kind === "none" ? one : `${one} ▸ ${called(row)}`);
    const rows = group.functions.map((row) => line(words(row), row, row.share, row.inferred));
    return [line(group.kind, group, group.share, group.inferred), ...rows];
  });
  assert.deepEqual(ours.sort(), theirs.sort());
  const first = groups.find(({ kind, weight }) => kind !== "none" && weight > 0);
  if (!first) return;
  const chosen = { ...derived.selection({ ...state, entry: first.kind }), lane: 0 };
  assert.equal(
    sumStacks(derived.profile, chosen).total,
    report(name, "--entry", first.kind, ...options).weight,
    first.kind,
  );
}

function assertSameCaused(profile, sums, reported) {
  const digits = (words, part) => `${words} ${part.toFixed(9)}`;
  const nameOf = (id) => profile.strings[profile.functions.name[id]];
  assert.deepEqual(
    [...causedBy(profile, sums)].map(([id, weight]) => digits(nameOf(id), share(weight, sums.total))).sort(),
    reported.own_functions.map((row) => digits(row.name, row.caused)).sort(),
  );
}

describe("the page computes what the report computes", () => {
  for (const name of RECORDINGS)
    test(name, async () => {
      const profile = await openPage(name);
      const [lane] = profile.lanes;
      const all = { ...START, threads: [] };
      assertSameNumbers(name, profile, all, []);
      const middle = lane.time[lane.time.length >> 1];
      const range = lane.timed ? [Math.floor(middle / 2), middle] : null;
      const inRange = range && ["--range", `${range[0]}ns..${range[1]}ns`];
      if (range) assertSameNumbers(name, profile, { ...all, range }, inRange);
      const tid = profile.threads[lane.thread[lane.thread.length - 1]]?.tid;
      const threads = profile.threads.flatMap((row, id) => (row.tid === tid ? [id] : []));
      if (tid != null) assertSameNumbers(name, profile, { ...all, threads }, ["--thread", String(tid)]);
      const both = { ...all, threads, range };
      const isAny = () => sumStacks(profile, { ...new Derived(profile).selection(both), lane: 0 }).count > 0;
      if (tid != null && range && isAny())
        assertSameNumbers(name, profile, both, ["--thread", String(tid), ...inRange]);
      assertSameThreads(name, profile);
    });
});

/** The head's shares of threads and roles. */
function assertSameThreads(name, profile) {
  const { threadWeights } = new Derived(profile);
  const reported = report(name);
  const total = sumStacks(profile, busy(profile)).total;
  const sumBy = (rows, key, value) => {
    const sums = new Map();
    for (const row of rows) sums.set(key(row), (sums.get(key(row)) ?? 0) + value(row));
    return new Map([...sums].filter(([, sum]) => sum > 0).map(([key, sum]) => [key, sum.toFixed(9)]));
  };
  const own = profile.threads.map((thread, id) => ({ ...thread, part: share(threadWeights[id], total) }));
  for (const key of [({ role }) => role, ({ tid, name }) => `${tid} ${name}`]) {
    const [ours, theirs] = [sumBy(own, key, ({ part }) => part), sumBy(reported.threads, key, (row) => row.self)];
    assert.deepEqual(new Map([...ours].sort()), new Map([...theirs].sort()));
  }
}

const servers = [];
after(() => {
  for (const server of servers) server.kill();
});

/** The served comparison of the second recording against the first. */
async function compared(before, now) {
  const words = ["view", "--no-browser", input(before), input(now)];
  const server = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"] });
  servers.push(server);
  const address = await new Promise((done, fail) => {
    server.stdout.once("data", (line) => done(String(line).trim()));
    server.once("exit", (status) => fail(new Error(`view ended with ${status}`)));
  });
  const entered = await fetch(address, { redirect: "manual" });
  const cookie = entered.headers.get("set-cookie").split(";")[0];
  const answer = await fetch(new URL(`/compared/1/${before === now ? 1 : 2}.json`, address), { headers: { cookie } });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

describe("what changed between two recordings is what the program finds", () => {
  const FOLDED = "corpus/folded-simple/input.txt";
  const INSPECTED = "corpus/cpuprofile-node22-known-shares/input.cpuprofile";
  for (const [before, now, isChanged] of [
    ["node22-http", "node24-http", true],
    ["node24-http", "node22-http", true],
    ["node22-gc", INSPECTED, true],
    [INSPECTED, "node22-gc", true],
    [FOLDED, "corpus/folded-annotated/input.txt", null],
    ["node22-http", "node22-http", false],
  ])
    test(`${before} → ${now}`, async () => {
      const both = join(await open(now), await open(before), "b", "before");
      const reported = await compared(before, now);
      const derived = new Derived(both);
      const ways = {
        loops: [null, "rate"],
        threads: [[], "rate"],
        loop_shares: [null, "share"],
        thread_shares: [[], "share"],
      };
      for (const [key, [threads, measure]] of Object.entries(ways)) {
        const state = { ...START, threads, measure, against: "b" };
        const top = derived.against.topChanges(state, "function");
        const unit = derived.against.rateUnit(state);
        const found = top.changes
          .map((change, at) => ({ ...change, id: top.kinds.keys[at] }))
          .filter((change) => change.verdict !== "noise" && change.before !== change.now);
        const line = (id, row, text) =>
          `${id} ${row.verdict} ${row.before.toFixed(9)} ${row.now.toFixed(9)} ${text.replaceAll("\u00a0", " ")}`;
        assert.deepEqual(
          found.map((row) => line(row.id, row, changeText(row, unit))).sort(),
          reported[key].changes.map((row) => line(row.function, row, row.text)).sort(),
        );
        assert.equal(reported[key].intro, changesText(found[0]));
        const rated = { ...state, measure: "rate" };
        const what = derived.against.areLoops(state) ? "The main loop" : "All threads";
        const whole = derived.against.wholeChange(state);
        const text = whole
          ? wholeText(what, whole, derived.against.rateUnit(rated))
          : "Of one at least it is not known how long it took: shares are compared.";
        assert.equal(reported[key].text, text.replaceAll("\u00a0", " "));
        if (isChanged !== null) assert.equal(found.length > 0, isChanged, key);
        for (const { function: id, name } of reported[key].changes) {
          const own = both.strings[both.functions.name[id]];
          assert.ok(own === "" || own === "(anonymous)" ? name.startsWith("(anonymous)") : name === own, name);
        }
      }
    });
});
