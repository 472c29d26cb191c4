// Stalls of the event loop, and what caused them, as the report says them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { culprit, loopsOf } from "../src/compute/loops.ts";
import { RAN } from "../src/data/model.ts";
import { START } from "../src/select/state.ts";
import { DEMO, open, report } from "./recordings.js";

test("stalls and what caused them are those of the report", async () => {
  // Of before loops had tables, and with stalls that ran, were blocked, throttled, or of which nothing is known.
  for (const recording of [DEMO, "tests/browser/stalls.nodescope"]) {
    const profile = await open(recording);
    const told = report(recording);
    const found = loopsOf(profile, null, 0);
    assert.equal(found.isWatched, told.loops_watched);
    assert.ok(found.longest.length > 0);
    const words = found.longest.map((stretch) => [stretch.start / 1e9, (stretch.end - stretch.start) / 1e9]);
    assert.deepEqual(
      words,
      told.stalls.map(({ start_s, duration_s }) => [start_s, duration_s]),
    );
    const culprits = found.longest.map((stretch) => culprit(profile, stretch, 0));
    assert.deepEqual(
      culprits.map((id) => (id < 0 ? null : profile.strings[profile.functions.name[id]])),
      told.stalls.map((row) => row.function),
    );
  }
});

test("who waits is not busy", async () => {
  const profile = { ...(await open("node24-http")), turns: [] };
  const IDLE = 13; // as in docs/file-format.md
  const category = profile.stacks.category.map(() => IDLE);
  assert.deepEqual(loopsOf({ ...profile, stacks: { ...profile.stacks, category } }, null, 0).longest, []);
  const busy = Uint8Array.from(profile.stacks.category, () => 0);
  assert.ok(loopsOf({ ...profile, stacks: { ...profile.stacks, category: busy } }, null, 0).longest.length > 0);
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

test("stacks that slept accuse no function of a turn that ran, whichever lane is shown", async () => {
  const profile = await open("tests/browser/stalls.nodescope");
  const { longest } = loopsOf(profile, null, 0);
  const culprits = (of, lane) => longest.map((stretch) => culprit(of, stretch, lane));
  assert.deepEqual(culprits(profile, 1), culprits(profile, 0));
  const waiting = await openWaiting();
  const ran = longest.filter(({ spent }) => spent === RAN);
  assert.ok(ran.length > 0);
  assert.ok(ran.every((stretch) => culprit(waiting, stretch, 1) === -1));
});
