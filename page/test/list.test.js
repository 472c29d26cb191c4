// The list of recordings: what is read when, how rows are ordered, and what of their paths is left out.

import assert from "node:assert/strict";
import { test } from "node:test";

const { RecordingList } = await import("../src/data/recording-list.ts");
const { COLUMNS, commonFolder, inOrder } = await import("../src/draw/list/columns.ts");

const file = (id, modifiedMs = 0, bytes = 1, name = `${id}.nodescope.part`) => ({
  id,
  name,
  folder: "",
  bytes,
  modifiedMs,
});

/** A library whose files and clock the test moves. */
function listOf(recordings, tookMs = 0) {
  const clock = { now: 1e6 };
  const asked = [];
  const library = {
    recordings,
    next: null,
    known: async () => ({}),
    changed: async () => library.next,
    summary: async (id) => {
      asked.push(id);
      clock.now += tookMs;
      return { problem: `of ${id}` };
    },
  };
  return { list: new RecordingList(library, () => clock.now), library, clock, asked };
}

/** Reads everything that is due. */
async function readAll({ list }) {
  for (let row = list.next(list.rows); row; row = list.next(list.rows)) await list.read(row);
}

test("a recording is read once, and again when its file has changed", async () => {
  const made = listOf([file("1"), file("2")]);
  const { list, library, clock, asked } = made;
  await readAll(made);
  assert.deepEqual([asked, list.unread], [["1", "2"], 0]);
  library.next = [file("3"), file("1", 5, 9), file("2")];
  assert.equal(await list.look(), true);
  // A new file is read at once, one that has changed after a while, and its row stays until then.
  await readAll(made);
  assert.deepEqual(asked, ["1", "2", "3"]);
  assert.deepEqual(
    list.rows.map(({ summary }) => summary?.problem),
    ["of 3", "of 1", "of 2"],
  );
  assert.deepEqual(
    list.rows.map((row) => list.isGrowing(row)),
    [false, true, false],
  );
  clock.now += 2000;
  await readAll(made);
  assert.deepEqual(asked, ["1", "2", "3", "1"]);
  library.next = null;
  assert.equal(await list.look(), false);
  clock.now += 10_000;
  assert.ok(list.rows.every((row) => !list.isGrowing(row)));
});

test("a large recording that grows is read for a small part of the time", async () => {
  const made = listOf([file("1")], 1000);
  const { list, library, clock, asked } = made;
  const start = clock.now;
  while (clock.now < start + 200_000) {
    library.next = [file("1", clock.now)];
    await list.look();
    await readAll(made);
    clock.now += 2000;
  }
  assert.ok(asked.length >= 5 && asked.length <= 11, `read ${asked.length} times in 200 seconds`);
});

test("rows are in the order of a column, and what is not known is last", () => {
  const gist = (start_ms, stall) => ({ gist: { start_ms, worst_stall: stall && { value: stall, text: "" } } });
  const rows = [
    { ...file("unread", 2e3), summary: null },
    { ...file("old"), summary: gist(1e3, 0.5) },
    { ...file("new"), summary: gist(9e3, 0.1) },
    { ...file("unwatched"), summary: gist(3e3, null) },
  ];
  const column = (wanted) => COLUMNS.find(({ key }) => key === wanted);
  const order = (key, isReversed = false) => inOrder(rows, column(key), isReversed, true).map(({ id }) => id);
  assert.deepEqual(order("time"), ["new", "unwatched", "unread", "old"]);
  assert.deepEqual(order("time", true), ["old", "unread", "unwatched", "new"]);
  // Files are written one after another here: the order of the names.
  const written = rows.map((row, at) => ({ ...row, modifiedMs: 1e3 * at }));
  const whileReading = inOrder(written, column("time"), false, false).map(({ id }) => id);
  assert.deepEqual(whileReading, ["unwatched", "new", "old", "unread"], "a row that is read stays where it is");
  assert.deepEqual(order("stall"), ["old", "new", "unwatched", "unread"]);
  assert.deepEqual(order("stall", true), ["new", "old", "unwatched", "unread"]);
});

test("the folder that all rows are in is left out", () => {
  const common = (...folders) => commonFolder(folders.map((folder) => ({ folder })));
  assert.equal(common("/srv/a/x", "/srv/a/y", "/srv/a"), "/srv/a");
  assert.equal(common("/srv/ab", "/srv/ac"), "/srv");
  assert.equal(common("a", "b"), "");
  assert.equal(common("", "a"), "");
  assert.equal(common("deep/er"), "deep/er");
  assert.equal(common(), "");
});
