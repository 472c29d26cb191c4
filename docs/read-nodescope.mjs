// Reads a .nodescope file as docs/file-format.md describes it, with nothing but what browsers and Node have: Node 18, or 20.12 for
// a recording that was written while it grew.
//
//   node docs/read-nodescope.mjs FILE      prints what is in it, as JSON

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const VERSION = 2;
const NONE = 0xffffffff;
const ARRAYS = { u8: Uint8Array, u32: Uint32Array, u64: BigUint64Array };

/**
 * Yields the profiles of a file: `{ header, columns }` for each whole one, and a single one for all parts of a growing recording.
 * Throws where the file is damaged, after what came before.
 */
export async function* chunks(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (text(bytes.subarray(0, 8)) !== "nodescop") throw new Error("this is not a .nodescope file");
  const version = view.getUint32(8, true);
  if (version > VERSION) throw new Error(`format version ${version} is newer than ${VERSION}`);
  const parts = [];
  let damage;
  for (let at = 16; at < bytes.length; ) {
    const tag = text(bytes.subarray(at, at + 4));
    const isWhole = tag === "PROF";
    const start = at + (isWhole ? 24 : 16);
    if (!isWhole && tag !== "MORE") damage = "no chunk starts here";
    else if (start > bytes.length) damage = "the file ends in the middle of a chunk";
    else {
      const [length, becomes] = isWhole ? [Number(view.getBigUint64(at + 8, true))] : [view.getUint32(at + 8, true), view.getUint32(at + 12, true)];
      const stored = bytes.subarray(start, start + length);
      if (crc32(stored) !== view.getUint32(at + 4, true)) damage = "the checksum does not match";
      else if (isWhole) yield parse(await inflate([stored], "deflate"));
      else parts.push({ stored, becomes });
      if (!damage) at = start + length;
    }
    if (damage) {
      damage = `damaged at byte ${at}: ${damage}`;
      break;
    }
  }
  if (parts.length > 0) yield join(parts, await inflate([...parts.map(({ stored }) => stored), Uint8Array.of(3, 0)], "deflate-raw"));
  if (damage) throw new Error(damage);
}

/** Takes a chunk's payload apart. The columns are views of its bytes: nothing is copied. */
function parse(payload) {
  const length = Number(new DataView(payload.buffer).getBigUint64(0, true));
  const header = JSON.parse(text(payload.subarray(8, 8 + length)));
  const start = Math.ceil((8 + length) / 8) * 8;
  const column = ({ name, type, offset, length }) => [name, new ARRAYS[type](payload.buffer, start + offset, length)];
  return { header, columns: Object.fromEntries(header.columns.map(column)) };
}

/** The columns of a growing recording, by table; those of u8 and of u64, of which all others are u32. */
const TABLES = {
  functions: "name source line column module package",
  frames: "function line column category tier inlined address symbol",
  stacks: "parent frame category",
  lanes: "time_ns thread stack weight",
  line_ticks: "stack line ticks",
  markers: "kind thread start_ns end_ns text",
  loops: "thread start_ns end_ns polled_ns turns problem",
  long_turns: "kind thread start_ns end_ns run_ns ready_ns throttled_ns",
  seconds: "process start_ns end_ns run_ns ready_ns periods throttled_periods throttled_ns cpu_pressure_ns memory_pressure_ns",
  off_cpu: "thread start_us length_us times",
};
const U8 = /\.(category|tier|inlined|kind)$/;
const U64 = /_[nu]s$|\.(weight|address|turns|periods|throttled_periods)$/;

/** Joins the parts of a growing recording: rows are added, or replaced where they are told again. */
function join(parts, payload) {
  const header = { meta: {}, strings: [], sources: [], modules: [], processes: [], threads: [], lanes: [] };
  const lists = {}; // column → BigInts
  const begin = (table) => TABLES[table.split(".")[0]].split(" ").forEach((column) => (lists[`${table}.${column}`] = []));
  Object.keys(TABLES).filter((table) => table !== "lanes").forEach(begin);
  let start = 0;
  for (const { becomes } of parts) {
    const part = payload.subarray(start, (start += becomes));
    const length = new DataView(part.buffer, part.byteOffset).getUint32(0, true);
    const more = JSON.parse(text(part.subarray(4, 4 + length)));
    merge(header.meta, more.meta ?? {});
    for (const key of ["strings", "sources", "modules", "processes", "threads", "lanes"]) {
      for (const row of more[key] ?? []) if (header[key].push(row) && key === "lanes") begin(`lanes.${header.lanes.length - 1}`);
    }
    for (const key of ["processes", "threads"]) Object.assign(header[key], more.again?.[key]);
    const numbers = numbersOf(part.subarray(4 + length));
    for (const table of more.tables ?? []) addRows(table, numbers, lists, false);
    for (const table of more.again?.tables ?? []) addRows(table, numbers, lists, true);
  }
  const columns = {};
  for (const [name, list] of Object.entries(lists)) {
    if (U8.test(name)) columns[name] = Uint8Array.from(list, Number);
    else columns[name] = U64.test(name) ? BigUint64Array.from(list) : Uint32Array.from(list, (value) => Number(BigInt.asUintN(32, value)));
  }
  header.lanes.forEach((_, lane) => sort(columns, `lanes.${lane}`, "time_ns"));
  sort(columns, "off_cpu", "start_us");
  return { header, columns };
}

/** Rows that are told again have their numbers in a column `row`, which is the first. */
function addRows({ name, rows, deltas = [], values = [] }, numbers, lists, isAgain) {
  let places;
  for (const column of [...deltas, ...values]) {
    let last = 0n;
    const read = Array.from({ length: rows }, () => (last = deltas.includes(column) ? BigInt.asIntN(64, last + numbers.next().value) : numbers.next().value));
    const list = lists[`${name}.${column}`];
    if (isAgain && column === "row") places = read.map(Number);
    else if (isAgain) read.forEach((value, row) => list && (list[places[row]] = value));
    else list?.push(...read);
  }
}

/** Numbers of 7 bits a byte, the lowest first; 0, 1, 2, 3 … stand for 0, -1, 1, -2 … */
function* numbersOf(bytes) {
  let number = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    number |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) continue;
    yield number & 1n ? -(number >> 1n) - 1n : number >> 1n;
    [number, shift] = [0n, 0n];
  }
}

/** A JSON merge patch (RFC 7396). */
function merge(target, patch) {
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete target[key];
    else if (typeof value !== "object" || Array.isArray(value)) target[key] = value;
    else merge((target[key] = Object.assign({}, target[key])), value);
  }
}

/** Puts the rows of a table into the order of their times. */
function sort(columns, table, time) {
  const times = columns[`${table}.${time}`];
  const order = [...times.keys()].sort((a, b) => Number(times[a] - times[b]) || a - b);
  for (const column of TABLES[table.split(".")[0]].split(" ")) columns[`${table}.${column}`] = columns[`${table}.${column}`].map((_, row, all) => all[order[row]]);
}

async function inflate(stored, format) {
  const stream = new Blob(stored).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function text(bytes) {
  return new TextDecoder().decode(bytes);
}

/** The CRC-32 of zlib, gzip and PNG. */
function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}

/** The samples of a lane by the function that ran, most first: what reading the columns looks like. */
export function hottest({ header, columns }, lane = 0) {
  const counts = new Map();
  for (const stack of columns[`lanes.${lane}.stack`]) {
    if (stack === NONE) continue; // a sample without a stack
    const name = header.strings[columns["functions.name"][columns["frames.function"][columns["stacks.frame"][stack]]]];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function summary(chunk) {
  const { header, columns } = chunk;
  const tables = Object.fromEntries(["strings", "sources", "modules", "processes", "threads"].map((name) => [name, header[name].length]));
  for (const [table, column] of Object.entries({ functions: "name", frames: "function", stacks: "frame", markers: "kind" })) {
    tables[table] = columns[`${table}.${column}`].length;
  }
  // Older files have these times as markers.
  tables.off_cpu = columns["off_cpu.thread"]?.length ?? 0;
  const lanes = header.lanes.map(({ name, unit }, lane) => ({
    name: header.strings[name],
    unit,
    rows: columns[`lanes.${lane}.stack`].length,
    weight: String(columns[`lanes.${lane}.weight`].reduce((sum, weight) => sum + weight, 0n)),
    hottest: hottest(chunk, lane)[0],
  }));
  return { format: header.meta.format, tables, lanes };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const all = [];
  try {
    for await (const chunk of chunks(await readFile(process.argv[2]))) all.push(summary(chunk));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
  console.log(JSON.stringify(all, null, 2));
}
