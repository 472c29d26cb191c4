// Stalls of the event loop from the report in the page; the page picks those of the threads that are shown.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { loopsIn, loopsOf } from "../src/compute/loops.ts";
import { START } from "../src/select/state.ts";
import { DEMO, open, openPage, report } from "./recordings.js";

test("stalls and what caused them are those of the report", async () => {
  // Of before loops had tables, and with stalls that ran, were blocked, throttled, or of which nothing is known.
  for (const recording of [DEMO, "tests/browser/stalls.nodescope"]) {
    const profile = await openPage(recording);
    const reported = report(recording);
    const found = loopsOf(profile.report, null);
    assert.equal(found.isWatched, reported.loops_watched);
    assert.ok(found.longest.length > 0);
    assert.deepEqual(
      found.longest.map((row) => [row.start_ns / 1e9, row.end_ns / 1e9, profile.threads[row.thread].tid]),
      reported.stalls.map((row) => [row.start_s, row.end_s, row.tid]),
    );
    const name = (id) => (id === null ? null : profile.strings[profile.functions.name[id]]);
    assert.deepEqual(
      found.longest.map((row) => name(row.function)),
      reported.stalls.map((row) => row.function),
    );
  }
});

test("of the threads that are shown, and of no other", async () => {
  const { report: its, threads } = await openPage("tests/browser/stalls.nodescope");
  const all = loopsOf(its, null).longest;
  const only = (thread) => Uint8Array.from(threads, (_, id) => Number(id === thread));
  const parts = threads.map((_, thread) => loopsOf(its, only(thread)));
  assert.equal(
    parts.reduce((sum, { isWatched, longest }) => sum + (isWatched ? longest.length : 0), 0),
    all.length,
  );
  for (const [thread, { isWatched }] of parts.entries()) assert.equal(isWatched, its.watched.includes(thread));
});

test("of the range that is selected, also those that reach into it", async () => {
  const { report: its } = await openPage("tests/browser/stalls.nodescope");
  const loops = loopsOf(its, null);
  const [, { start_ns, end_ns }] = loops.longest;
  const middle = (start_ns + end_ns) / 2;
  assert.equal(loopsIn(loops, null), loops);
  assert.deepEqual(loopsIn(loops, [middle, middle + 1]).longest, [loops.longest[1]]);
  assert.deepEqual(loopsIn(loops, [start_ns, end_ns]).longest, [loops.longest[1]], "half-open");
  assert.ok(loopsIn(loops, [end_ns, end_ns + 1]).isWatched);
});

test("without a report there are no stalls, and none are claimed to be absent", async () => {
  const profile = await open("tests/browser/stalls.nodescope");
  assert.deepEqual(loopsOf(profile.report, null), { isWatched: false, longest: [] });
});

test("a loop that was not watched is busy for as long as it has samples one behind another", async () => {
  const profile = await openPage("node24-http");
  const { isWatched, longest } = loopsOf(profile.report, null);
  assert.equal(isWatched, report("node24-http").loops_watched);
  const [{ time, thread }] = profile.lanes;
  for (const row of longest) {
    const inside = [...time.keys()].filter(
      (at) => thread[at] === row.thread && time[at] >= row.start_ns && time[at] < row.end_ns,
    );
    assert.ok(row.end_ns - row.start_ns >= 50e6 && inside.length > 1, row.text);
  }
});

/** As a loop that only waits is recorded: no sample of the CPU, and stacks that it slept in. */
async function openWaiting() {
  const profile = await open("tests/browser/stalls.nodescope");
  const [clock, waits] = profile.lanes;
  assert.deepEqual([clock.name, waits.name], ["cpu-clock", "waits"]);
  const none = { time: clock.time.slice(0, 0), thread: clock.thread.slice(0, 0), stack: clock.stack.slice(0, 0) };
  return { ...profile, lanes: [{ ...clock, ...none, weight: clock.weight.slice(0, 0) }, waits] };
}

test("a recording without samples of the CPU opens on the lane that has some", async () => {
  const profile = await openWaiting();
  const derived = new Derived(profile);
  assert.equal(derived.lane(START), 1);
  assert.equal(derived.sums({ ...START, threads: [] }).count, profile.lanes[1].time.length);
  const full = new Derived(await open("tests/browser/stalls.nodescope"));
  assert.deepEqual(
    [0, 1, 7].map((lane) => full.lane({ ...START, lane })),
    [0, 1, 0],
  );
});
