// A recording made by hand, as docs/file-format.md describes it: a main loop and a worker, ten seconds, with turns that
// ran, a turn that waited, a second in which the CPU limit held the process back, and a time for which it was stopped.

import { deflateSync } from "node:zlib";

const NONE = 0xffffffff;
const MS = 1e6;
const INTERVAL_MS = 10;
export const SECONDS = 10;
/** When what happens, in milliseconds. */
export const RAN = [1000, 1500];
export const BLOCKED = [3000, 3600];
export const THROTTLED = [5000, 6000];
export const STOPPED = [7000, 8000];
/** Another turn that ran, shortly before the end. */
export const LAST = [9700, 9950];
const UNKNOWN = 2n ** 64n - 1n;

const STRINGS = [
  "cpu-clock",
  "node",
  "worker",
  "/srv/shop/report.js",
  "handle",
  "summarise",
  "readConfig",
  "waits",
  "read (waiting)",
];
const [CLOCK, NODE, WORKER, SCRIPT, HANDLE, SUMMARISE, READ, WAITS, WAITING] = STRINGS.keys();
const [APP, KERNEL] = [0, 12];
const [MAIN, BESIDE] = [0, 1];

const u8 = (values) => Uint8Array.from(values);
const u32 = (values) => Uint32Array.from(values);
const u64 = (values) => BigUint64Array.from(values, BigInt);
const ns = (milliseconds) => Math.round(milliseconds * MS);
const isIn = (time, [from, to]) => time >= from && time < to;

/** handle → summarise while the turn runs, handle → readConfig before the other one, else handle; a worker beside. */
function samples() {
  const rows = [];
  for (let time = 0; time < 1000 * SECONDS; time += INTERVAL_MS) {
    if (isIn(time, STOPPED)) continue;
    if (!isIn(time, BLOCKED)) rows.push([time, MAIN, isIn(time, RAN) || isIn(time, LAST) ? 1 : 0]);
    // The worker is busy for half of each second.
    if (time % 1000 < 500) rows.push([time, BESIDE, 0]);
  }
  return rows;
}

function columnsOf(rows, waits) {
  const lane = (row, times) => ({
    [`lanes.${row}.time_ns`]: u64(times.map(([time]) => ns(time))),
    [`lanes.${row}.thread`]: u32(times.map(([, thread]) => thread)),
    [`lanes.${row}.stack`]: u32(times.map(([, , stack]) => stack)),
    [`lanes.${row}.weight`]: u64(times.map(([, , , weight = INTERVAL_MS]) => ns(weight))),
  });
  const names = [HANDLE, SUMMARISE, READ, WAITING];
  const turns = [
    [0, RAN, 500, 0, 0],
    [0, BLOCKED, 5, 5, 0],
    [2, STOPPED, 0, 0, 0],
    [0, LAST, 250, 0, 0],
  ];
  const seconds = Array.from({ length: SECONDS }, (_, at) => 1000 * at);
  const perSecond = (value) => u64(seconds.map(value));
  return {
    "functions.name": u32(names),
    "functions.source": u32([0, 0, 0, NONE]),
    "functions.line": u32([3, 30, 60, 0]),
    "functions.column": u32([1, 1, 1, 0]),
    "functions.module": u32(names.map(() => NONE)),
    "functions.package": u32(names.map(() => NONE)),
    "frames.function": u32([0, 1, 2, 3]),
    "frames.line": u32([4, 31, 61, 0]),
    "frames.column": u32([1, 1, 1, 0]),
    "frames.category": u8([APP, APP, APP, KERNEL]),
    "frames.tier": u8([5, 5, 2, 0]),
    "frames.inlined": u8([0, 0, 0, 0]),
    "frames.address": u64(names.map(() => 2n ** 63n)),
    "frames.symbol": u32(names.map(() => NONE)),
    "stacks.parent": u32([NONE, 0, 0, 2]),
    "stacks.frame": u32([0, 1, 2, 3]),
    "stacks.category": u8([APP, APP, APP, KERNEL]),
    ...lane(0, rows),
    ...lane(1, waits),
    "line_ticks.stack": u32([]),
    "line_ticks.line": u32([]),
    "line_ticks.ticks": u32([]),
    "markers.kind": u8([]),
    "markers.thread": u32([]),
    "markers.start_ns": u64([]),
    "markers.end_ns": u64([]),
    "markers.text": u32([]),
    "loops.thread": u32([MAIN]),
    "loops.start_ns": u64([0]),
    "loops.end_ns": u64([ns(1000 * SECONDS)]),
    "loops.polled_ns": u64([ns(500)]),
    "loops.turns": u64([1000]),
    "loops.problem": u32([NONE]),
    "long_turns.kind": u8(turns.map(([kind]) => kind)),
    "long_turns.thread": u32(turns.map(() => MAIN)),
    "long_turns.start_ns": u64(turns.map(([, [from]]) => ns(from))),
    "long_turns.end_ns": u64(turns.map(([, [, to]]) => ns(to))),
    "long_turns.run_ns": u64(turns.map(([, , run]) => ns(run))),
    "long_turns.ready_ns": u64(turns.map(([, , , ready]) => ns(ready))),
    "long_turns.throttled_ns": u64(turns.map(() => 0)),
    "seconds.process": u32(seconds.map(() => 0)),
    "seconds.start_ns": perSecond(ns),
    "seconds.end_ns": perSecond((start) => ns(start + 1000)),
    "seconds.run_ns": perSecond(() => ns(700)),
    "seconds.ready_ns": perSecond(() => 0),
    "seconds.periods": perSecond(() => 10),
    "seconds.throttled_periods": perSecond((start) => (isIn(start, THROTTLED) ? 6 : 0)),
    "seconds.throttled_ns": perSecond((start) => (isIn(start, THROTTLED) ? ns(400) : 0)),
    "seconds.cpu_pressure_ns": perSecond(() => UNKNOWN),
    "seconds.memory_pressure_ns": perSecond(() => UNKNOWN),
  };
}

/** The bytes of the .nodescope file. */
export function madeByHand() {
  const columns = columnsOf(samples(), [[BLOCKED[0], MAIN, 3, BLOCKED[1] - BLOCKED[0]]]);
  let end = 0;
  const directory = Object.entries(columns).map(([name, column]) => {
    const offset = end;
    end += Math.ceil(column.byteLength / 8) * 8;
    return { name, type: `u${8 * column.BYTES_PER_ELEMENT}`, offset, length: column.length };
  });
  const losses = { lost: 0, frames: 1, unnamed: {}, damage: [] };
  const header = JSON.stringify({
    meta: {
      format: "made by hand",
      way_in: "",
      start_unix_ns: "1794759273000000000",
      duration_ns: ns(1000 * SECONDS),
      interval_ns: ns(INTERVAL_MS),
      losses,
    },
    strings: STRINGS,
    sources: [{ path: SCRIPT, generated: NONE, text: NONE }],
    modules: [],
    processes: [{ pid: 7, inner_pid: 7, name: NODE, container: NONE, node_version: NONE }],
    threads: [
      { process: 0, tid: 7, name: NODE, role: "main" },
      { process: 0, tid: 8, name: WORKER, role: "worker" },
    ],
    lanes: [
      { name: CLOCK, unit: "ns", timed: true, counted: true },
      { name: WAITS, unit: "ns", timed: true, counted: true },
    ],
    columns: directory,
  });
  const text = Buffer.from(header);
  const start = Math.ceil((8 + text.length) / 8) * 8;
  const payload = Buffer.alloc(start + end);
  payload.fill(" ", 8, start);
  payload.writeBigUInt64LE(BigInt(text.length), 0);
  text.copy(payload, 8);
  for (const { name, offset } of directory) Buffer.from(columns[name].buffer).copy(payload, start + offset);
  return chunkOf(payload);
}

function chunkOf(payload) {
  const stored = deflateSync(payload);
  const head = Buffer.alloc(40);
  head.write("nodescop");
  head.writeUInt32LE(2, 8);
  head.write("PROF", 16);
  head.writeUInt32LE(crc32(stored), 20);
  head.writeBigUInt64LE(BigInt(stored.length), 24);
  head.writeBigUInt64LE(BigInt(payload.length), 32);
  return Buffer.concat([head, stored]);
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
