// Recordings as files: damaged ones, and those that were written while they grew.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { BAD_CHUNKS, partsOf, recordingOf, samples } from "../../tests/docs/growing-recording.mjs";
import { doublesOf, isExact } from "../src/data/format.ts";
import { profileOf } from "../src/data/model.ts";
import { crc32, decode } from "../src/data/payload.ts";
import { DEMO, open, root } from "./recordings.js";

test("a damaged recording is refused, wherever a bit has changed", async () => {
  const whole = new Uint8Array(readFileSync(resolve(root, DEMO)));
  await decode(whole);
  for (const at of [40, 41, 42, 43, whole.length >> 1, whole.length - 3, whole.length - 2, whole.length - 1]) {
    const damaged = whole.slice();
    damaged[at] ^= 1;
    await assert.rejects(decode(damaged), /damaged at byte 16: the checksum does not match/, `byte ${at}`);
  }
});

test("the checksum is that of zip files, at every length", () => {
  const bytes = new TextEncoder().encode("123456789");
  assert.equal(crc32(bytes), 0xcbf43926);
  assert.equal(crc32(bytes.subarray(0, 0)), 0);
  assert.equal(crc32(bytes.subarray(0, 1)), 0x83dcefb7);
  assert.equal(crc32(bytes.subarray(0, 4)), 0x9be3e0a3);
  assert.equal(crc32(bytes.subarray(0, 6)), 0x0972d361);
});

test("numbers of 64 bits become doubles in their own place where these are exact", () => {
  const numbers = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n];
  const halves = new Uint32Array(BigUint64Array.from(numbers).buffer);
  assert.ok(isExact(halves));
  assert.deepEqual([...doublesOf(halves, new Float64Array(halves.buffer))], numbers.map(Number));
  assert.ok(!isExact(new Uint32Array(BigUint64Array.from([1n, 2n ** 53n + 1n]).buffer)));
});

/** A recording by the inspector that ended with kill -9. */
const GROWING = "crates/profile/tests/sample/growing.nodescope.part";

test("a growing recording is the one that it becomes", async () => {
  const [grown, finished] = [
    profileOf(await decode(new Uint8Array(readFileSync(resolve(root, GROWING))))),
    await open(GROWING),
  ];
  const {
    origin: { header, columns, halves },
    ...profile
  } = grown;
  const { origin, ...expected } = finished;
  assert.deepEqual(columns, new Map([...columns.keys()].map((name) => [name, origin.columns.get(name)])));
  assert.deepEqual(halves, new Map([...halves.keys()].map((name) => [name, origin.halves.get(name)])));
  assert.deepEqual(new Set(columns.keys()), new Set(origin.columns.keys()));
  assert.deepEqual(header.processes, origin.header.processes);
  for (const key of ["strings", "threads", "lanes", "functions", "stacks", "lineTicks", "turns", "durationNs"])
    assert.deepEqual(profile[key], expected[key], key);
  assert.ok(profile.lanes[0].time.length > 400);
});

test("a growing recording opens up to its last whole chunk, and says where it is damaged", async () => {
  const whole = new Uint8Array(readFileSync(resolve(root, GROWING)));
  const rows = profileOf(await decode(whole)).lanes[0].time.length;
  const cut = profileOf(await decode(whole.slice(0, -20)));
  assert.ok(cut.lanes[0].time.length > 0 && cut.lanes[0].time.length < rows);
  assert.match(cut.meta.losses.damage.join(), /^damaged at byte \d+: the file ends in the middle of a chunk$/);
  const flipped = whole.slice();
  flipped[whole.length - 20] ^= 1;
  assert.match(profileOf(await decode(flipped)).meta.losses.damage.join(), /the checksum does not match$/);
  await assert.rejects(decode(whole.slice(0, 200)), /damaged at byte 16/);
});

test("a growing recording whose later chunk is bad under a right checksum opens up to there", async () => {
  const parts = partsOf(readFileSync(resolve(root, GROWING))).slice(0, 3);
  const before = profileOf(await decode(recordingOf(parts).bytes));
  for (const [what, bad] of BAD_CHUNKS) {
    const { bytes, starts } = recordingOf([...parts, bad, samples(1)]);
    const read = profileOf(await decode(bytes));
    assert.match(read.meta.losses.damage.join(), new RegExp(`^damaged at byte ${starts[3]}: .`), what);
    for (const key of ["strings", "threads", "stacks", "durationNs"])
      assert.deepEqual(read[key], before[key], `${what}: ${key}`);
    assert.deepEqual(read.lanes[0].time, before.lanes[0].time, what);
    await assert.rejects(decode(recordingOf([bad]).bytes), /damaged at byte 16: ./, what);
  }
  const old = recordingOf(parts).bytes;
  old[8] = 1;
  await assert.rejects(decode(old), /damaged at byte 16: no chunk starts here/);
});
