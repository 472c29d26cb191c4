// Reads a .nodescope file as docs/file-format.md describes it, with nothing but what browsers and Node have: Node 18,
// or 20.12 for a recording that was written while it grew.
//
//   node docs/read-nodescope.mjs FILE      prints what is in it, as JSON

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const VERSION = 2;
const NONE = 0xffffffff;
const LONGEST_HEADER = 8 << 20;
const ARRAYS = { u8: Uint8Array, u32: Uint32Array, u64: BigUint64Array };
const CUT_OFF = "the file ends in the middle of a chunk";
const MIXED = "a file cannot mix a whole profile and parts of a growing recording";

/**
 * Yields the profiles of a file: `{ header, columns }` for each whole one, and a single one for all parts of a growing
 * recording. Throws where the file is damaged, after what came before.
 */
export async function* chunks(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (text(bytes.subarray(0, 8)) !== "nodescop") throw new Error("this is not a .nodescope file");
  const version = view.getUint32(8, true);
  if (version > VERSION) throw new Error(`format version ${version} is newer than ${VERSION}`);
  const parts = [];
  let damage;
  let hasWhole = false;
  for (let at = 16; at < bytes.length; ) {
    const chunk = chunkAt(bytes, view, at, version);
    const what = chunk.damage ?? ((chunk.isWhole ? parts.length > 0 : hasWhole) ? MIXED : null);
    if (what) {
      damage = damaged(at, what);
      break;
    }
    if (!chunk.isWhole) parts.push({ ...chunk, at });
    else yield parse(await inflate([chunk.stored], "deflate"));
    hasWhole ||= chunk.isWhole;
    at = chunk.end;
  }
  if (parts.length > 0) {
    const joined = await join(parts);
    if (joined.profile) yield joined.profile;
    damage = joined.damage ?? damage;
  }
  if (damage) throw damage;
}

const damaged = (at, what) => new Error(`damaged at byte ${at}: ${what}`);

/** The chunk that starts there, or what is wrong with it. */
function chunkAt(bytes, view, at, version) {
  const tag = text(bytes.subarray(at, at + 4));
  const isWhole = tag === "PROF";
  const start = at + (isWhole ? 24 : 16);
  if (start > bytes.length) return { damage: CUT_OFF };
  if (!isWhole && (tag !== "MORE" || version < 2)) return { damage: "a chunk of unknown kind" };
  const [length, becomes] = isWhole ? [Number(view.getBigUint64(at + 8, true))] : [view.getUint32(at + 8, true), view.getUint32(at + 12, true)];
  const end = start + length;
  if (end > bytes.length) return { damage: CUT_OFF };
  const stored = bytes.subarray(start, end);
  if (crc32(stored) !== view.getUint32(at + 4, true)) return { damage: "the checksum does not match" };
  return { isWhole, stored, becomes, end };
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
  delays: "thread start_ns end_ns delay_us moments",
  pools: "process start_ns end_ns threads looks busy full most_queued queued_fs queued_dns queued_crypto queued_zlib queued_addon queued_other",
  off_cpu: "thread start_us length_us times",
};
/** Which columns and keys are ids of which table. */
const REFERS = new Map(
  Object.entries({
    strings: "functions.name functions.package frames.symbol markers.text loops.problem sources.path sources.text modules.name modules.build_id processes.name processes.container processes.node_version processes.app processes.command processes.folder threads.name lanes.name packages.name packages.version packages.folder",
    sources: "functions.source sources.generated",
    modules: "functions.module",
    packages: "package_uses.by package_uses.package",
    functions: "frames.function",
    frames: "stacks.frame",
    stacks: "stacks.parent lanes.stack line_ticks.stack",
    processes: "threads.process seconds.process pools.process",
    threads: "lanes.thread markers.thread loops.thread long_turns.thread delays.thread off_cpu.thread",
  }).flatMap(([table, columns]) => columns.split(" ").map((column) => [column, table])),
);
const U8 = /\.(category|tier|inlined|kind)$/;
const U64 = /_[nu]s$|\.(weight|address|turns|periods|throttled_periods)$/;

/**
 * Joins the parts of a growing recording, up to the first that is bad: the profile, and what is wrong with that part.
 */
async function join(parts) {
  const header = { meta: {}, strings: [], sources: [], modules: [], packages: [], package_uses: [], processes: [], threads: [], lanes: [] };
  const lists = {}; // column → BigInts
  Object.keys(TABLES).filter((table) => table !== "lanes").forEach((table) => begin(lists, table));
  const { payload, count } = await payloadOf(parts);
  let damage = count < parts.length ? damaged(parts[count].at, "the compressed data is broken, or has another length than it claims") : null;
  let taken = 0;
  for (let start = 0; taken < count; taken++) {
    try {
      addPart(header, lists, payload.subarray(start, (start += parts[taken].becomes)));
    } catch (error) {
      damage = damaged(parts[taken].at, error.message);
      break;
    }
  }
  return { profile: taken > 0 ? finish(header, lists) : null, damage };
}

/** What the parts become, and how many of them are good: all, mostly; else the good ones are found by halving. */
async function payloadOf(parts) {
  const first = async (count) => {
    const length = parts.slice(0, count).reduce((sum, { becomes }) => sum + becomes, 0);
    const payload = await inflate([...parts.slice(0, count).map(({ stored }) => stored), Uint8Array.of(3, 0)], "deflate-raw").catch(() => null);
    return payload?.length === length ? payload : null;
  };
  let payload = await first(parts.length);
  if (payload) return { payload, count: parts.length };
  let count = 0;
  for (let bad = parts.length; bad - count > 1; ) {
    const middle = (count + bad) >> 1;
    const found = await first(middle);
    if (found) [payload, count] = [found, middle];
    else bad = middle;
  }
  return { payload, count };
}

function begin(lists, table) {
  for (const column of columnsOf(table)) lists[`${table}.${column}`] = [];
}

function columnsOf(table) {
  return TABLES[table.split(".")[0]].split(" ");
}

/**
 * Adds a part: rows are added, or replaced where they are written again. A part that is bad throws before it changes
 * anything.
 */
function addPart(header, lists, part) {
  const length = part.length < 4 ? Infinity : new DataView(part.buffer, part.byteOffset).getUint32(0, true);
  if (length > LONGEST_HEADER) throw new Error(`a header of ${length} bytes`);
  if (4 + length > part.length) throw new Error(CUT_OFF);
  const more = JSON.parse(text(part.subarray(4, 4 + length)));
  if (![more, more?.meta ?? {}, more?.meta?.losses ?? {}, more?.again ?? {}].every(isObject)) throw new Error("the header is not what it should be");
  const added = ["strings", "sources", "modules", "packages", "package_uses", "processes", "threads", "lanes"].map((key) => [key, listOf(more[key])]);
  const fresh = {};
  listOf(more.lanes).forEach((_, lane) => begin(fresh, `lanes.${header.lanes.length + lane}`));
  const numbers = numbersOf(part.subarray(4 + length));
  const all = { ...lists, ...fresh };
  const tables = listOf(more.tables).map((table) => readTable(table, numbers, part.length, all));
  const again = listOf(more.again?.tables).map((table) => readTable(table, numbers, part.length, lists));
  for (const { name, places, columns } of again) {
    const rows = columns.length > 0 ? lists[columns[0][0]].length + (tables.find((table) => table.name === name)?.rows ?? 0) : 0;
    if (columns.length > 0) checkPlaces(name, places ?? [-1], rows);
  }
  for (const key of ["processes", "threads"]) checkPlaces(key, Object.keys(more.again?.[key] ?? {}), header[key].length + listOf(more[key]).length);
  const limits = Object.fromEntries(added.map(([key, rows]) => [key, header[key].length + rows.length]));
  for (const table of ["functions", "frames", "stacks"]) limits[table] = lists[`${table}.${columnsOf(table)[0]}`].length + (tables.find(({ name }) => name === table)?.rows ?? 0);
  for (const [path, values] of [...tables, ...again].flatMap(({ columns }) => columns)) checkIds(path, values, limits, lists["stacks.parent"].length);
  for (const [key, rows] of [...added, ...["processes", "threads"].map((key) => [key, Object.values(more.again?.[key] ?? {})])]) {
    for (const row of rows.filter(isObject)) for (const [name, id] of Object.entries(row)) if (typeof id === "number") checkIds(`${key}.${name}`, [id], limits);
  }

  header.meta = merged(header.meta, more.meta ?? {});
  for (const [key, rows] of added) for (const row of rows) header[key].push(row);
  for (const key of ["processes", "threads"]) Object.assign(header[key], more.again?.[key]);
  Object.assign(lists, fresh);
  for (const [name, values] of tables.flatMap(({ columns }) => columns)) for (const value of values) lists[name].push(value);
  for (const { places, columns } of again) for (const [name, values] of columns) values.forEach((value, row) => (lists[name][places[row]] = value));
}

function listOf(value) {
  if (!Array.isArray(value ?? [])) throw new Error("the header is not what it should be");
  return value ?? [];
}

function checkPlaces(table, places, rows) {
  for (const row of places) if (!/^\d+$/.test(row) || Number(row) >= rows) throw new Error(`${table} has no row ${row} to be replaced`);
}

/** Every id leads to a row of this part or of one before it, and a stack's caller stands before it. */
function checkIds(path, ids, limits, firstStack) {
  const column = path.replace(/\.\d+/, "");
  const limit = limits[REFERS.get(column)];
  if (limit === undefined) return;
  ids.forEach((id, row) => {
    const most = column === "stacks.parent" ? firstStack + row : limit;
    if (id != -1 && id != NONE && id >= most) throw new Error(`${path} refers to row ${id}, and there are ${most}`);
  });
}

/**
 * Reads a table. Rows that are written again have their numbers in a column `row`. Columns that are not known are
 * passed over.
 */
function readTable({ name, rows, deltas = [], values = [] }, numbers, most, lists) {
  if (!(rows >= 0 && rows <= most)) throw new Error("the columns are larger than what is there");
  const table = { name, rows, places: null, columns: [] };
  for (const column of [...deltas, ...values]) {
    const path = `${name}.${column}`;
    let last = 0n;
    const read = Array.from({ length: rows }, () => {
      const { value, done } = numbers.next();
      if (done) throw new Error("the columns are larger than what is there");
      return (last = deltas.includes(column) ? BigInt.asIntN(64, last + value) : value);
    });
    if (column === "row") table.places = read.map(Number);
    else if (lists[path] && !read.every((value) => fits(value, path))) throw new Error(`column ${path} is of the wrong type`);
    else if (lists[path]) table.columns.push([path, read]);
  }
  const isKnown = Object.hasOwn(TABLES, name.split(".")[0]);
  if (isKnown && rows > 0 && new Set(table.columns.map(([path]) => path)).size !== columnsOf(name).length) throw new Error(`a column of ${name} is missing`);
  return table;
}

function fits(value, path) {
  if (U64.test(path)) return true;
  return U8.test(path) ? value >= 0n && value < 256n : value >= -1n && value <= 0xffffffffn;
}

/** The lists as columns, sorted by time; the recording lasts until its last row. */
function finish(header, lists) {
  const columns = {};
  for (const [name, list] of Object.entries(lists)) {
    if (U8.test(name)) columns[name] = Uint8Array.from(list, Number);
    else columns[name] = U64.test(name) ? BigUint64Array.from(list) : Uint32Array.from(list, (value) => Number(BigInt.asUintN(32, value)));
  }
  header.lanes.forEach((_, lane) => sort(columns, `lanes.${lane}`, "time_ns"));
  sort(columns, "off_cpu", "start_us");
  let last = BigInt(header.meta.duration_ns ?? 0);
  const lasts = (time) => (last = time > last ? time : last);
  for (const name of Object.keys(columns).filter((name) => /\.(time|end)_ns$/.test(name))) columns[name].forEach(lasts);
  columns["off_cpu.start_us"].forEach((start, row) => lasts(1000n * (start + columns["off_cpu.length_us"][row])));
  header.meta.duration_ns = Number(last);
  return { header, columns };
}

/** Numbers of 7 bits a byte, the lowest first; 0, 1, 2, 3 … stand for 0, -1, 1, -2 … */
function* numbersOf(bytes) {
  let number = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    if (shift > 63n) throw new Error("a number has more than 64 bits");
    number |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) continue;
    yield number & 1n ? -(number >> 1n) - 1n : number >> 1n;
    [number, shift] = [0n, 0n];
  }
}

/** A JSON merge patch (RFC 7396). */
function merged(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Puts the rows of a table into the order of their times. */
function sort(columns, table, time) {
  const times = columns[`${table}.${time}`];
  const order = [...times.keys()].sort((a, b) => Number(times[a] - times[b]) || a - b);
  for (const column of columnsOf(table)) columns[`${table}.${column}`] = columns[`${table}.${column}`].map((_, row, all) => all[order[row]]);
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
