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
  again?: {
    processes?: Record<string, Header["processes"][number]>;
    threads?: Record<string, Header["threads"][number]>;
    tables?: TableEntry[];
  };
};

/** A table of a chunk that was read: its columns as halves of 64 bits, and the places of rows that are told again. */
interface Read {
  name: string;
  rows: number;
  places: Uint32Array | null;
  columns: Map<string, Uint32Array>;
}

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
off_cpu thread start_us length_us times`
    .split("\n")
    .map((line) => {
      const [table, ...columns] = line.split(" ");
      return [table, columns] as const;
    }),
);
/** Which columns and keys are ids of which table. */
const REFERS = new Map(
  Object.entries({
    strings:
      "functions.name functions.package frames.symbol markers.text loops.problem sources.path sources.text modules.name modules.build_id processes.name processes.container processes.node_version threads.name lanes.name",
    sources: "functions.source sources.generated",
    modules: "functions.module",
    functions: "frames.function",
    frames: "stacks.frame",
    stacks: "stacks.parent lanes.stack line_ticks.stack",
    processes: "threads.process seconds.process",
    threads: "lanes.thread markers.thread loops.thread long_turns.thread off_cpu.thread",
  }).flatMap(([table, columns]) => columns.split(" ").map((column) => [column, table] as const)),
);
const BYTES = /^(category|tier|inlined|kind)$/;
const LONG = /_[nu]s$|^(weight|address|turns|periods|throttled_periods)$/;
const NEXT = 2 ** 32;
/** A header that is longer is no part of a recording. */
const LONGEST_HEADER = 8 << 20;

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
  private low = 0;
  private high = 0;

  constructor(
    private bytes: Uint8Array,
    private at: number,
  ) {}

  /** The next one, or what it makes of the one before. */
  private next(isDelta: boolean) {
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

  /** The next column, as halves. */
  column(rows: number, isDelta: boolean): Uint32Array {
    // Each number has a byte at least.
    if (!(rows >= 0 && rows <= this.bytes.length - this.at))
      throw new Error("the columns are larger than what is there");
    const halves = new Uint32Array(2 * rows);
    this.low = this.high = 0;
    for (let row = 0; row < rows; row++) {
      this.next(isDelta);
      halves[2 * row] = this.low;
      halves[2 * row + 1] = this.high;
    }
    return halves;
  }
}

/** Joins chunks, in their order. */
export class Growing {
  private header: Header = {
    meta: {},
    strings: [],
    sources: [],
    modules: [],
    processes: [],
    threads: [],
    lanes: [],
    columns: [],
  };
  private columns = new Map<string, Grown>();

  constructor() {
    for (const table of TABLES.keys()) if (table !== "lanes") this.begin(table);
  }

  /** Adds the payload of a chunk. One that is bad throws before it changes anything. */
  add(payload: Uint8Array) {
    const { header } = this;
    const { more, length } = headerOf(payload);
    const lanes = header.lanes.length + (more.lanes?.length ?? 0);
    const numbers = new Numbers(payload, 4 + length);
    const tables = (more.tables ?? []).map((entry) => read(entry, numbers, lanes));
    const again = (more.again?.tables ?? []).map((entry) => read(entry, numbers, header.lanes.length));
    for (const table of again) this.checkPlaces(table, tables);
    for (const key of ["processes", "threads"] as const) {
      const rows = header[key].length + (more[key]?.length ?? 0);
      for (const row of Object.keys(more.again?.[key] ?? {}))
        if (!/^\d+$/.test(row) || Number(row) >= rows) throw new Error(`${key} has no row ${row} to be told again`);
    }

    this.checkIds(more, tables, again);

    header.meta = patched(header.meta, more.meta ?? {}) as Meta;
    for (let lane = header.lanes.length; lane < lanes; lane++) this.begin(`lanes.${lane}`);
    for (const key of LISTS) for (const row of more[key] ?? []) (header[key] as unknown[]).push(row);
    for (const key of ["processes", "threads"] as const) Object.assign(header[key], more.again?.[key]);
    for (const table of [...tables, ...again]) this.take(table);
  }

  private begin(table: string) {
    for (const column of columnsOf(table)!) this.columns.set(`${table}.${column}`, new Grown());
  }

  private checkPlaces({ name, places, columns }: Read, tables: Read[]) {
    const [first] = columns.keys();
    if (first === undefined) return;
    const rows = this.columns.get(first)!.rows + (tables.find((table) => table.name === name)?.rows ?? 0);
    if (!places || places.some((place) => place >= rows))
      throw new Error("a row is told again that was not told before");
  }

  /** Every id leads to a row of this chunk or of one before it, and a stack's caller stands before it. */
  private checkIds(more: More, tables: Read[], again: Read[]) {
    const rowsOf = (table: string) => this.columns.get(`${table}.${columnsOf(table)![0]}`)!.rows;
    const limits = new Map<string, number>(
      LISTS.map((key) => [key, this.header[key].length + (more[key]?.length ?? 0)]),
    );
    for (const table of ["functions", "frames", "stacks"])
      limits.set(table, rowsOf(table) + (tables.find(({ name }) => name === table)?.rows ?? 0));
    const check = (path: string, id: number) => {
      const table = REFERS.get(path);
      if (table && id !== NEXT - 1 && id >= limits.get(table)!)
        throw new Error(`${path} refers to row ${id} of ${table}, which has ${limits.get(table)}`);
    };
    for (const { columns } of [...tables, ...again]) {
      for (const [path, halves] of columns) {
        const plain = path.replace(/\.\d+/, "");
        if (REFERS.has(plain)) for (let at = 0; at < halves.length; at += 2) check(plain, halves[at]);
      }
    }
    for (const key of LISTS) {
      for (const row of [
        ...(more[key] ?? []),
        ...Object.values((key === "processes" || key === "threads" ? more.again?.[key] : null) ?? {}),
      ]) {
        for (const [name, id] of Object.entries(typeof row === "object" ? row : {}))
          if (typeof id === "number") check(`${key}.${name}`, id);
      }
    }
    const first = rowsOf("stacks");
    tables
      .find(({ name }) => name === "stacks")
      ?.columns.get("stacks.parent")
      ?.forEach((parent, at) => {
        if (at % 2 === 0 && parent !== NEXT - 1 && parent >= first + at / 2)
          throw new Error(`stack ${first + at / 2} stands before its caller`);
      });
  }

  private take({ rows, places, columns }: Read) {
    for (const [path, halves] of columns) {
      const grown = this.columns.get(path)!;
      const first = grown.rows;
      for (let row = 0; row < rows; row++)
        grown.set(places ? places[row] : first + row, halves[2 * row], halves[2 * row + 1]);
    }
  }

  /** What all chunks are together. */
  finish(): Payload {
    const payload: Payload = { header: this.header, columns: new Map(), halves: new Map() };
    for (const [table, lane] of [...TABLES.keys()].flatMap((table) =>
      table === "lanes" ? this.header.lanes.map((_, lane) => [table, `.${lane}`]) : [[table, ""]],
    )) {
      const time = { lanes: "time_ns", off_cpu: "start_us" }[table];
      const order = time ? ascending(this.columns.get(`${table}${lane}.${time}`)!) : null;
      for (const column of TABLES.get(table)!)
        put(payload, `${table}${lane}.${column}`, column, this.columns.get(`${table}${lane}.${column}`)!.all(order));
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
      for (let row = 0; row < column.rows; row++)
        duration = Math.max(duration, lengths ? 1000 * (column.number(row) + lengths.number(row)) : column.number(row));
    }
    return duration;
  }
}

const LISTS = ["strings", "sources", "modules", "processes", "threads", "lanes"] as const;

/** What a chunk has to say, and how long that is. */
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

/** The columns of a table; none where it is not known. */
function columnsOf(table: string): string[] | undefined {
  return TABLES.get(table.replace(/\..*/, ""));
}

/** Reads the columns of a table. Rows that are told again come with their numbers, in the column `row`. */
function read({ name, rows, deltas = [], values = [] }: TableEntry, numbers: Numbers, lanes: number): Read {
  const known = columnsOf(name);
  const lane = /^lanes\.(0|[1-9]\d*)$/.exec(name);
  if (known && rows > 0 && (lane ? Number(lane[1]) >= lanes : name === "lanes" || name.includes(".")))
    throw new Error(`there is no table ${name}`);
  const table: Read = { name, rows, places: null, columns: new Map() };
  for (const column of [...deltas, ...values]) {
    const halves = numbers.column(rows, deltas.includes(column));
    if (column === "row")
      table.places = Uint32Array.from({ length: rows }, (_, row) => (halves[2 * row + 1] ? NEXT - 1 : halves[2 * row]));
    else if (known?.includes(column))
      table.columns.set(`${name}.${column}`, fitting(halves, `${name}.${column}`, column));
  }
  if (known && rows > 0 && table.columns.size < known.length) throw new Error(`a column of ${name} is missing`);
  if (rows === 0) table.columns.clear();
  return table;
}

/** The numbers of a column, if they are such as it has: only none is less than 0. */
function fitting(halves: Uint32Array, path: string, column: string): Uint32Array {
  if (LONG.test(column)) return halves;
  const isByte = BYTES.test(column);
  for (let at = 0; at < halves.length; at += 2) {
    const [low, high] = [halves[at], halves[at + 1]];
    const isNone = low === NEXT - 1 && high === NEXT - 1;
    if (isByte ? high > 0 || low > 255 : high > 0 && !isNone) throw new Error(`column ${path} is of the wrong type`);
  }
  return halves;
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
  const doubles = Float64Array.from(
    { length: type === "u64" ? length : 0 },
    (_, row) => values[2 * row] + values[2 * row + 1] * NEXT,
  );
  // These starts are stored as their distances.
  const isStart = path === "off_cpu.start_us";
  const name = isStart ? "off_cpu.delta_us" : path;
  if (isStart) for (let row = length - 1; row > 0; row--) doubles[row] -= doubles[row - 1];
  const stored: Column =
    type === "u8" ? Uint8Array.from({ length }, low) : type === "u32" ? Uint32Array.from({ length }, low) : doubles;
  header.columns.push({ name, type, offset: 0, length });
  columns.set(name, stored);
  if (type === "u64")
    halves.set(
      name,
      isStart
        ? Uint32Array.from({ length: 2 * length }, (_, at) =>
            at % 2 ? doubles[at >> 1] / NEXT : doubles[at >> 1] % NEXT,
          )
        : values,
    );
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
