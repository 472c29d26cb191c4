// One chunk of a growing recording: its header, and the rows of its tables. Knows what a chunk may hold, not what came
// before.

import { type Header, HIGH, LISTS, NONE } from "./format.ts";
import { Numbers } from "./growing-columns.ts";

/** The columns of each table. */
export const TABLES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    functions: ["name", "source", "line", "column", "module", "package", "version"],
    frames: ["function", "line", "column", "category", "tier", "inlined", "address", "symbol"],
    stacks: ["parent", "frame", "category", "call", "logical"],
    lanes: ["time_ns", "thread", "stack", "weight"],
    line_ticks: ["stack", "line", "ticks"],
    markers: ["kind", "thread", "start_ns", "end_ns", "text"],
    loops: ["thread", "start_ns", "end_ns", "polled_ns", "turns", "problem"],
    long_turns: ["kind", "thread", "start_ns", "end_ns", "run_ns", "ready_ns", "throttled_ns"],
    seconds: [
      ...["process", "start_ns", "end_ns", "run_ns", "ready_ns", "periods", "throttled_periods", "throttled_ns"],
      ...["cpu_pressure_ns", "memory_pressure_ns"],
    ],
    delays: ["thread", "start_ns", "end_ns", "delay_us", "moments"],
    pools: [
      ...["process", "start_ns", "end_ns", "threads", "looks", "busy", "full", "most_queued"],
      ...["queued_fs", "queued_dns", "queued_crypto", "queued_zlib", "queued_addon", "queued_other"],
    ],
    off_cpu: ["thread", "start_us", "length_us", "times"],
  }),
);
/** Columns that are left out where every row has the usual value. */
export const SELDOM: ReadonlyMap<string, number> = new Map([
  ["functions.version", NONE],
  ["stacks.call", 0],
  ["stacks.logical", NONE],
]);
const BYTE_COLUMNS = /^(category|call|tier|inlined|kind)$/;
const LONG_COLUMNS = /_[nu]s$|^(weight|address|turns|periods|throttled_periods)$/;

/** A header that is longer is no part of a recording. */
const LONGEST_HEADER = 8 << 20;

/** The tables of the header whose rows may be written again. */
export const REWRITTEN = ["processes", "threads"] as const;

interface TableEntry {
  name: string;
  rows: number;
  deltas?: string[];
  values?: string[];
}

/** What the header of a chunk holds; nothing of it has to be there. */
export type More = Partial<Omit<Header, "columns">> & {
  tables?: TableEntry[];
  again?: {
    processes?: Record<string, Header["processes"][number]>;
    threads?: Record<string, Header["threads"][number]>;
    tables?: TableEntry[];
  };
};

/** Rows of a table, by column. */
export interface Rows {
  name: string;
  rows: number;
  /** Of rows that are written again, which ones they are. */
  places: Uint32Array | null;
  columns: Map<string, Uint32Array>;
}

export interface Chunk {
  more: More;
  tables: Rows[];
  again: Rows[];
}

/** Reads a chunk; `lanes` came before it. */
export function readChunk(payload: Uint8Array, lanes: number): Chunk {
  const { more, length } = headerOf(payload);
  const numbers = new Numbers(payload, 4 + length);
  const allLanes = lanes + (more.lanes?.length ?? 0);
  const tables = (more.tables ?? []).map((entry) => readRows(entry, numbers, allLanes));
  const again = (more.again?.tables ?? []).map((entry) => readRows(entry, numbers, lanes));
  return { more, tables, again };
}

function headerOf(payload: Uint8Array): { more: More; length: number } {
  const length = payload.length < 4 ? Infinity : new DataView(payload.buffer, payload.byteOffset).getUint32(0, true);
  if (length > LONGEST_HEADER) throw new Error(`a header of ${length} bytes`);
  if (4 + length > payload.length) throw new Error("the header is cut off");
  const more: More = JSON.parse(new TextDecoder().decode(payload.subarray(4, 4 + length)));
  const objects: unknown[] = [more, more?.meta ?? {}, more?.meta?.losses ?? {}, more?.again ?? {}];
  const lists: unknown[] = [...LISTS.map((key) => more?.[key] ?? []), more?.tables ?? [], more?.again?.tables ?? []];
  if (!objects.every(isObject) || !lists.every(Array.isArray)) throw new Error("the header is not what it should be");
  return { more, length };
}

/** The columns of a table, or of a lane; none where it is not known. */
export function columnsOf(table: string): readonly string[] {
  return TABLES.get(table.replace(/\..*/, "")) ?? [];
}

/** Rows that are written again come with their numbers, in the column `row`. */
function readRows({ name, rows, deltas = [], values = [] }: TableEntry, numbers: Numbers, lanes: number): Rows {
  const known = columnsOf(name);
  if (known.length > 0 && rows > 0 && !isTable(name, lanes)) throw new Error(`there is no table ${name}`);
  const table: Rows = { name, rows, places: null, columns: new Map() };
  for (const column of [...deltas, ...values]) {
    const halves = numbers.column(rows, deltas.includes(column));
    if (column === "row") table.places = placesOf(halves);
    else if (known.includes(column)) {
      checkType(halves, `${name}.${column}`, typeOf(column));
      table.columns.set(`${name}.${column}`, halves);
    }
  }
  for (const column of known) addUsual(table, `${name}.${column}`);
  if (rows > 0 && table.columns.size < known.length) throw new Error(`a column of ${name} is missing`);
  if (rows === 0) table.columns.clear();
  return table;
}

/** Gives a column that was left out its usual values; NONE is -1 here. */
function addUsual({ columns, rows }: Rows, path: string): void {
  const usual = SELDOM.get(path);
  if (usual !== undefined && !columns.has(path)) columns.set(path, new Uint32Array(2 * rows).fill(usual));
}

/** Whether a table of a known kind is there: a lane has a number, any other table has none. */
function isTable(name: string, lanes: number): boolean {
  const lane = /^lanes\.(0|[1-9]\d*)$/.exec(name);
  return lane ? Number(lane[1]) < lanes : name !== "lanes" && !name.includes(".");
}

/** A number that is too large leads to no row. */
function placesOf(halves: Uint32Array): Uint32Array {
  return Uint32Array.from({ length: halves.length / 2 }, (_, row) => (halves[2 * row + 1] ? NONE : halves[2 * row]));
}

export function typeOf(column: string): "u8" | "u32" | "u64" {
  if (BYTE_COLUMNS.test(column)) return "u8";
  return LONG_COLUMNS.test(column) ? "u64" : "u32";
}

/** Only NONE, which is -1, is less than 0. */
function checkType(halves: Uint32Array, path: string, type: "u8" | "u32" | "u64"): void {
  if (type === "u64") return;
  for (let at = 0; at < halves.length; at += 2) {
    const [low, high] = [halves[at], halves[at + 1]];
    const isNone = low === HIGH - 1 && high === HIGH - 1;
    const isWrong = type === "u8" ? high > 0 || low > 255 : high > 0 && !isNone;
    if (isWrong) throw new Error(`column ${path} is of the wrong type`);
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
