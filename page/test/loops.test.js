// Stalls of the event loop, and what caused them, as the report says them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { culprit, loopsOf } from "../src/compute/loops.ts";
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
