// A selection saved as a recording: what is in its tables beside the samples, which `report` does not show.

import assert from "node:assert/strict";
import { test } from "node:test";
import { selectionFile } from "../src/compute/selection-file.ts";
import { profileOf } from "../src/data/model.ts";
import { decode } from "../src/data/payload.ts";
import { ALL, DEMO, NONE, open } from "./recordings.js";

async function saved(profile, selection) {
  const file = await selectionFile(profile, selection);
  return profileOf(await decode(new Uint8Array(await file.arrayBuffer())));
}

/** Rows of the table, with starts since the beginning. */
function offCpu({ origin: { columns } }) {
  const [thread, delta, length, times] = ["thread", "delta_us", "length_us", "times"].map((name) => [
    ...columns.get(`off_cpu.${name}`),
  ]);
  let start = 0;
  return delta.map((us, row) => {
    start += us;
    return { thread: thread[row], start, length: length[row], times: times[row] };
  });
}

const keyOf = ({ threads }, { thread }) => `${threads[thread].tid} ${threads[thread].name}`;
const words = (profile, rows) => rows.map((row) => `${keyOf(profile, row)} ${row.start} ${row.length} ${row.times}`);

test("times off the CPU are saved with everything", async () => {
  const profile = await open(DEMO);
  const all = offCpu(profile);
  assert.ok(all.length > 100);
  const file = await saved(profile, ALL);
  assert.deepEqual(words(file, offCpu(file)), words(profile, all));
});

test("times off the CPU are saved with a range and with threads, and cut at its ends", async () => {
  const profile = await open(DEMO);
  const [from, to] = [1_234_567_000, 3_000_001_000];
  const chosen = offCpu(profile)[0].thread;
  const threads = Uint8Array.from(profile.threads, (_, id) => Number(id === chosen));
  const file = await saved(profile, { ...ALL, range: [from, to], threads });
  const expected = offCpu(profile)
    .filter(({ thread }) => thread === chosen)
    .filter(({ start, length, times }) => start < to / 1e3 && (times > 1 ? start : start + length) >= from / 1e3)
    .map(({ start, length, times, ...row }) => {
      const [first, end] = [Math.max(start, from / 1e3), Math.min(start + length, to / 1e3)];
      return { ...row, start: first - from / 1e3, length: times > 1 ? length : end - first, times };
    });
  assert.ok(expected.length > 10);
  assert.ok(expected.length < offCpu(profile).length / 2);
  assert.deepEqual(words(file, offCpu(file)), words(profile, expected));
});

test("packages keep their versions", async () => {
  const profile = await open("node22-pnpm");
  const versions = ({ functions, strings }) =>
    new Set(
      Array.from(functions.version, (id, row) =>
        id === NONE ? "" : `${strings[functions.package[row]]} ${strings[id]}`,
      ),
    );
  const file = await saved(profile, ALL);
  assert.ok(versions(profile).has("@babel/core 7.26.9"), [...versions(profile)].join());
  assert.deepEqual(versions(file), versions(profile));
  const folders = ({ origin: { header } }) => header.packages.map(({ folder }) => header.strings[folder]);
  assert.ok(folders(profile).length > 3);
  assert.deepEqual(folders(file), folders(profile));
});
