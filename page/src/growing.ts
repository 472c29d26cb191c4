// A recording that was written while it grew → the same payload that a finished one has. Each chunk has the rows that came since
// the one before; ids count over all of them, and all are one deflate stream (docs/file-format.md).

import type { Column, Header, Meta, Payload } from "./payload";

interface TableEntry {
  name: string;
  rows: number;
  deltas?: string[];
  values?: string[];
}

/** What a chunk has to say; nothing of it has to be there. */
type More = Partial<Omit<Header, "columns">> & {
  tables?: TableEntry[];
  again?: { processes?: Record<string, Header["processes"][number]>; threads?: Record<string, Header["threads"][number]>; tables?: TableEntry[] };
};

/** The columns of each table. */
const TABLES = new Map(
  `functions name source line column module package
frames function line column category tier inlined address symbol
stacks parent frame category
lanes time_ns thread stack weight
line_ticks stack line ticks
markers kind thread start_ns end_ns text
loops thread start_ns end_ns polled_ns turns problem
long_turns kind thread start_ns end_ns run_ns ready_ns throttled_ns
seconds process start_ns end_ns run_ns ready_ns periods throttled_periods throttled_ns cpu_pressure_ns memory_pressure_ns
off_cpu thread start_us length_us times`.split("\n").map((line) => {
    const [table, ...columns] = line.split(" ");
    return [table, columns] as const;
  }),
);
const BYTES = /^(category|tier|inlined|kind)$/;
const LONG = /_[nu]s$|^(weight|address|turns|periods|throttled_periods)$/;
const NEXT = 2 ** 32;

/** A column that grows, as halves of 64 bits: the low one, the high one. */
class Grown {
  private halves = new Uint32Array(64);
  rows = 0;

  set(row: number, low: number, high: number) {
    if (2 * row + 2 > this.halves.length) {
      const wider = new Uint32Array(2 * this.halves.length);
      wider.set(this.halves);
      this.halves = wider;
    }
    this.halves[2 * row] = low;
    this.halves[2 * row + 1] = high;
    this.rows = Math.max(this.rows, row + 1);
  }

  low(row: number): number {
    return this.halves[2 * row];
  }

  number(row: number): number {
    return this.halves[2 * row] + this.halves[2 * row + 1] * NEXT;
  }

  /** All halves, of these rows or of all in their order. */
  all(order: Uint32Array | null): Uint32Array {
    if (!order) return this.halves.slice(0, 2 * this.rows);
    const halves = new Uint32Array(2 * order.length);
    order.forEach((from, to) => halves.set(this.halves.subarray(2 * from, 2 * from + 2), 2 * to));
    return halves;
  }
}

/** Reads numbers of 7 bits a byte, whose lowest bit is the sign. */
class Numbers {
  low = 0;
  high = 0;

  constructor(
    private bytes: Uint8Array,
    private at: number,
  ) {}

  /** The next one, or what it makes of the one before. */
  next(isDelta: boolean) {
    let low = 0;
    let high = 0;
    for (let shift = 0, byte = 0x80; byte >= 0x80; shift += 7) {
      if (this.at >= this.bytes.length || shift > 63) throw new Error("a column ends too early");
      byte = this.bytes[this.at++];
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) high = bits >>> 4;
      if (shift > 28) high |= bits << (shift - 32);
    }
    const sign = -(low & 1);
    low = (((low >>> 1) | (high << 31)) ^ sign) >>> 0;
    high = ((high >>> 1) ^ sign) >>> 0;
    if (isDelta) {
      low += this.low;
      high += this.high + (low >= NEXT ? 1 : 0);
    }
    this.low = low >>> 0;
    this.high = high >>> 0;
  }

  restart() {
    this.low = this.high = 0;
  }
}

/** Joins chunks, in their order. */
export class Growing {
  private header: Header = { meta: {}, strings: [], sources: [], modules: [], processes: [], threads: [], lanes: [], columns: [] };
  private columns = new Map<string, Grown>();

  constructor() {
    for (const table of TABLES.keys()) if (table !== "lanes") this.begin(table);
  }

  /** Adds the payload of a chunk. */
  add(payload: Uint8Array) {
    const length = new DataView(payload.buffer, payload.byteOffset).getUint32(0, true);
    const more: More = JSON.parse(new TextDecoder().decode(payload.subarray(4, 4 + length)));
    const { header } = this;
    header.meta = patched(header.meta, more.meta ?? {}) as Meta;
    for (const key of ["strings", "sources", "modules", "processes", "threads", "lanes"] as const) {
      for (const row of more[key] ?? []) (header[key] as unknown[]).push(row);
    }
    for (let lane = header.lanes.length - (more.lanes?.length ?? 0); lane < header.lanes.length; lane++) this.begin(`lanes.${lane}`);
    const numbers = new Numbers(payload, 4 + length);
    for (const entry of more.tables ?? []) this.rows(entry, numbers, false);
    for (const entry of more.again?.tables ?? []) this.rows(entry, numbers, true);
    for (const [row, process] of Object.entries(more.again?.processes ?? {})) header.processes[Number(row)] = process;
    for (const [row, thread] of Object.entries(more.again?.threads ?? {})) header.threads[Number(row)] = thread;
  }

  private begin(table: string) {
    for (const column of TABLES.get(table.replace(/\..*/, ""))!) this.columns.set(`${table}.${column}`, new Grown());
  }

  /** Reads the columns of a table. Rows that are told again come with their numbers, in the first column. */
  private rows({ name, rows, deltas = [], values = [] }: TableEntry, numbers: Numbers, isAgain: boolean) {
    const places: number[] = [];
    for (const column of [...deltas, ...values]) {
      const grown = this.columns.get(`${name}.${column}`);
      const first = grown?.rows ?? 0;
      const isDelta = deltas.includes(column);
      numbers.restart();
      for (let row = 0; row < rows; row++) {
        numbers.next(isDelta);
        if (isAgain && column === "row") places.push(numbers.low);
        else grown?.set(isAgain ? placeOf(places[row], first) : first + row, numbers.low, numbers.high);
      }
    }
  }

  /** What all chunks are together. */
  finish(): Payload {
    const payload: Payload = { header: this.header, columns: new Map(), halves: new Map() };
    for (const [table, lane] of [...TABLES.keys()].flatMap((table) => (table === "lanes" ? this.header.lanes.map((_, lane) => [table, `.${lane}`]) : [[table, ""]]))) {
      const time = { lanes: "time_ns", off_cpu: "start_us" }[table];
      const order = time ? ascending(this.columns.get(`${table}${lane}.${time}`)!) : null;
      for (const column of TABLES.get(table)!) put(payload, `${table}${lane}.${column}`, column, this.columns.get(`${table}${lane}.${column}`)!.all(order));
    }
    const { meta } = this.header;
    meta.duration_ns = this.latest(meta.duration_ns ?? 0);
    return payload;
  }

  /** The recording lasts until its last row. */
  private latest(duration: number): number {
    for (const [name, column] of this.columns) {
      const lengths = name === "off_cpu.start_us" ? this.columns.get("off_cpu.length_us")! : null;
      if (!lengths && !/\.(time|end)_ns$/.test(name)) continue;
      for (let row = 0; row < column.rows; row++) duration = Math.max(duration, lengths ? 1000 * (column.number(row) + lengths.number(row)) : column.number(row));
    }
    return duration;
  }
}

function placeOf(row: number | undefined, rows: number): number {
  if (row === undefined || row >= rows) throw new Error("a row is told again that was not told before");
  return row;
}

/** The rows by their times; null where they are sorted. */
function ascending(times: Grown): Uint32Array | null {
  const order = Uint32Array.from({ length: times.rows }, (_, row) => row);
  if (order.every((row) => row === 0 || times.number(row - 1) <= times.number(row))) return null;
  return order.sort((a, b) => times.number(a) - times.number(b) || a - b);
}

/** Puts a column where finished recordings have it. */
function put({ header, columns, halves }: Payload, path: string, column: string, values: Uint32Array) {
  const length = values.length / 2;
  const low = (_: unknown, row: number) => values[2 * row];
  const type = BYTES.test(column) ? "u8" : LONG.test(column) ? "u64" : "u32";
  const doubles = Float64Array.from({ length: type === "u64" ? length : 0 }, (_, row) => values[2 * row] + values[2 * row + 1] * NEXT);
  // These starts are stored as their distances.
  const isStart = path === "off_cpu.start_us";
  const name = isStart ? "off_cpu.delta_us" : path;
  if (isStart) for (let row = length - 1; row > 0; row--) doubles[row] -= doubles[row - 1];
  const stored: Column = type === "u8" ? Uint8Array.from({ length }, low) : type === "u32" ? Uint32Array.from({ length }, low) : doubles;
  header.columns.push({ name, type, offset: 0, length });
  columns.set(name, stored);
  if (type === "u64") halves.set(name, isStart ? Uint32Array.from({ length: 2 * length }, (_, at) => (at % 2 ? doubles[at >> 1] / NEXT : doubles[at >> 1] % NEXT)) : values);
}

/** A JSON merge patch (RFC 7396). */
function patched(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = patched(result[key], value);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
