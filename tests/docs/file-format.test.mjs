// The page docs/file-format.md, the reader docs/read-nodescope.mjs and the program must agree.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chunks, hottest } from "../../docs/read-nodescope.mjs";
import { BAD_CHUNKS, partsOf, recordingOf, samples } from "./growing-recording.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const page = readFileSync(join(root, "docs/file-format.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "nodescope-docs-"));
after(() => rmSync(folder, { recursive: true }));

// Between them: one event and several, times and none, markers, frames with lines, names beyond ASCII.
const CASES = [
  "node22-http/input.txt.gz",
  "node22-unicode/input.txt.gz",
  "perf-multi-event/input.txt.gz",
  "perf-records/input.txt.gz",
  "perf-srcline/input.txt",
  "folded-simple/input.txt",
];

const run = (...words) => execFileSync(program, words, { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });

/** The only chunk of a case's file. */
async function read(name) {
  const file = join(folder, `${name.replace("/", "-")}.nodescope`);
  run("export", join(root, "corpus", name), "-o", file);
  const all = [];
  for await (const chunk of chunks(readFileSync(file))) all.push(chunk);
  assert.equal(all.length, 1);
  return all[0];
}

/** Column → type, by the page's table. */
const documented = new Map([...page.matchAll(/^\| `([\w.]+)` \| (u\d+) \|/gm)].map(([, name, type]) => [name, type]));

/** Those that may be missing. */
const optional = [...page.matchAll(/^\| `([\w.]+)` \| u\d+ \|.*Missing where/gm)].map(([, name]) => name);

for (const name of CASES) {
  test(`${name}: the reader finds what the report has`, async () => {
    const chunk = await read(name);
    const { header, columns } = chunk;
    const report = JSON.parse(run("report", "--json", join(root, "corpus", name)));
    const [lane] = header.lanes;
    const weights = columns["lanes.0.weight"];
    const total = weights.reduce((sum, weight) => sum + weight, 0n);
    assert.equal(header.strings[lane.name], report.event);
    assert.equal(total, BigInt(report.weight));
    assert.equal(lane.unit === "count" ? Number(total) : weights.length, report.samples);
    assert.ok(columns["lanes.0.time_ns"].every((time, row, times) => row === 0 || times[row - 1] <= time));
    assert.ok(columns["stacks.parent"].every((parent, row) => parent === 0xffffffff || parent < row));
    if (lane.unit === "ns") {
      const [hottestName, samples] = hottest(chunk)[0];
      assert.ok(report.functions.some((row) => row.name === hottestName && row.self_samples === samples));
    }
  });

  test(`${name}: the page names every key and column, and no other column`, async () => {
    const { header } = await read(name);
    const columns = header.columns.map(({ name, type }) => [name.replace(/^lanes\.\d+/, "lanes.N"), type]);
    const expected = new Map(documented);
    for (const name of optional) if (!columns.some(([known]) => known === name)) expected.delete(name);
    assert.deepEqual(new Map(columns), expected);
    const keys = [header, header.meta, header.meta.losses, ...Object.values(header).map((list) => list[0])];
    for (const key of keys.flatMap((row) => (typeof row === "object" ? Object.keys(row) : []))) {
      assert.ok(page.includes(`\`${key}\``), `the page does not name the key ${key}`);
    }
  });
}

/** A recording by the inspector that ended with kill -9. */
const growing = join(root, "crates/profile/tests/sample/growing.nodescope.part");

async function readAll(bytes) {
  const found = [];
  let error = null;
  try {
    for await (const chunk of chunks(bytes)) found.push(chunk);
  } catch (thrown) {
    error = thrown.message;
  }
  return { found, error };
}

test("a growing recording is read as the program reads it", async () => {
  const file = join(folder, "grown.nodescope");
  run("export", growing, "--no-source-maps", "-o", file);
  const [
    {
      found: [grown],
      error,
    },
    {
      found: [finished],
    },
  ] = await Promise.all([growing, file].map((name) => readAll(readFileSync(name))));
  assert.equal(error, null);
  const { "off_cpu.start_us": starts, ...columns } = grown.columns;
  const { "off_cpu.delta_us": deltas, ...expected } = finished.columns;
  assert.equal(starts.length, deltas.length);
  assert.deepEqual(columns, expected);
  for (const table of ["strings", "sources", "processes", "threads", "lanes"])
    assert.deepEqual(grown.header[table], finished.header[table], table);
  assert.equal(grown.header.meta.losses.frames, finished.header.meta.losses.frames);
  assert.equal(grown.header.meta.duration_ns, finished.header.meta.duration_ns);
});

test("every part of a growing recording is read up to its last whole chunk", async () => {
  const bytes = readFileSync(growing);
  let samples = 0;
  for (const share of [0.4, 0.6, 0.8, 1]) {
    const { found, error } = await readAll(bytes.subarray(0, Math.floor(share * bytes.length)));
    if (share < 1) assert.match(error, /^damaged at byte \d+: the file ends in the middle of a chunk$/);
    else assert.equal(error, null);
    const rows = found[0].columns["lanes.0.stack"].length;
    assert.ok(rows > samples, `${rows} after ${samples}`);
    samples = rows;
  }
});

test("a later chunk that is bad under a right checksum leaves what came before", async () => {
  const parts = partsOf(readFileSync(growing)).slice(0, 3);
  const {
    found: [before],
  } = await readAll(recordingOf(parts).bytes);
  for (const [what, bad] of BAD_CHUNKS) {
    const { bytes, starts } = recordingOf([...parts, bad, samples(1)]);
    const { found, error } = await readAll(bytes);
    assert.match(error ?? "", new RegExp(`^damaged at byte ${starts[3]}: .`), what);
    assert.deepEqual(found, [before], what);
    const alone = await readAll(recordingOf([bad]).bytes);
    assert.deepEqual(alone.found, [], what);
    assert.match(alone.error, /^damaged at byte 16: ./, what);
  }
});

test("a growing recording may have many rows, late times and any patch", async () => {
  const parts = partsOf(readFileSync(growing));
  const patches = [{ host: "a" }, { host: { name: { first: "b" } } }, { host: { name: "c", port: null } }];
  const { bytes } = recordingOf([
    ...parts,
    ...patches.map((meta) => ({ header: { meta } })),
    samples(300_000, "lanes.0", undefined, [1, 0, 0, 1]),
    samples(1, "lanes.0", undefined, [2 ** 44, 0, 0, 1]),
  ]);
  const {
    found: [{ header, columns }],
    error,
  } = await readAll(bytes);
  assert.equal(error, null);
  assert.ok(columns["lanes.0.stack"].length > 300_000);
  assert.deepEqual(header.meta.host, { name: "c" });
  assert.equal(header.meta.duration_ns, 2 ** 44);
});

test("the two kinds of chunks do not mix, and version 1 has only one", async () => {
  const file = join(folder, "mixed.nodescope");
  run("export", growing, "--no-source-maps", "-o", file);
  const [whole, more] = [file, growing].map((name) => readFileSync(name));
  for (const [first, second] of [
    [whole, more],
    [more, whole],
  ]) {
    const { found, error } = await readAll(Buffer.concat([first, second.subarray(16)]));
    assert.equal(found.length, 1);
    assert.match(
      error,
      new RegExp(`^damaged at byte ${first.length}: a file cannot mix a whole profile and parts of a growing`),
    );
  }
  const old = Uint8Array.from(more);
  old[8] = 1;
  assert.deepEqual(await readAll(old), { found: [], error: "damaged at byte 16: a chunk of unknown kind" });
});

test("columns stand at multiples of 8", async () => {
  const { header, columns } = await read("node22-http/input.txt.gz");
  for (const { name, offset } of header.columns) {
    assert.equal(offset % 8, 0, name);
    assert.equal(columns[name].byteOffset % 8, 0, name);
  }
});

test("a file that is newer, foreign or damaged is refused", async () => {
  const name = "perf-records/input.txt.gz";
  await read(name);
  const good = readFileSync(join(folder, `${name.replace("/", "-")}.nodescope`));
  const broken = (byte, value) => {
    const bytes = Uint8Array.from(good);
    bytes[byte] = value;
    return bytes;
  };
  const open = async (bytes) => {
    for await (const _ of chunks(bytes));
  };
  await open(good);
  await assert.rejects(open(broken(8, 3)), /newer/);
  await assert.rejects(open(broken(0, 0)), /not a .nodescope file/);
  await assert.rejects(open(broken(16, 0)), /damaged at byte 16/);
  await assert.rejects(open(broken(good.length - 1, good.at(-1) ^ 1)), /checksum/);
  await assert.rejects(open(good.subarray(0, good.length - 1)), /the file ends in the middle of a chunk/);
});
