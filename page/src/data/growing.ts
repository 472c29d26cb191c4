// A recording that was written while it grew → the same payload that a finished one has. Each chunk has the rows that
// came since the one before; ids count over all of them, and all are one deflate stream (docs/file-format.md).

import {
  type Column,
  doublesOf,
  type Header,
  isExact,
  LINKS,
  LISTS,
  type Meta,
  NONE,
  type Payload,
  required,
} from "./format.ts";
import {
  type Chunk,
  columnsOf,
  isObject,
  type More,
  REWRITTEN,
  type Rows,
  readChunk,
  SELDOM,
  TABLES,
  typeOf,
} from "./growing-chunk.ts";
import { GrownColumn } from "./growing-columns.ts";

/** The columns that these tables are sorted by. */
const SORTED_BY: Record<string, string> = { lanes: "time_ns", off_cpu: "start_us" };

/** Joins chunks, in their order. */
export class Growing {
  private readonly header: Required<Header> = {
    meta: {},
    strings: [],
    sources: [],
    modules: [],
    packages: [],
    package_uses: [],
    processes: [],
    threads: [],
    lanes: [],
    columns: [],
  };
  private readonly columns = new Map<string, GrownColumn>();

  constructor() {
    for (const table of TABLES.keys()) if (table !== "lanes") this.begin(table);
  }

  /** Adds the payload of a chunk. One that is bad throws before it changes anything. */
  add(payload: Uint8Array): void {
    const { header } = this;
    const chunk = readChunk(payload, header.lanes.length);
    this.checkRewritten(chunk);
    this.checkIds(chunk);
    const { more, tables, again } = chunk;
    const lanes = header.lanes.length;
    header.meta = patched(header.meta, more.meta ?? {}) as Meta;
    for (const key of LISTS) for (const row of more[key] ?? []) (header[key] as unknown[]).push(row);
    for (const key of REWRITTEN) Object.assign(header[key], more.again?.[key]);
    for (let lane = lanes; lane < header.lanes.length; lane++) this.begin(`lanes.${lane}`);
    for (const table of [...tables, ...again]) this.take(table);
  }

  private begin(table: string): void {
    for (const column of columnsOf(table)) this.columns.set(`${table}.${column}`, new GrownColumn());
  }

  private column(path: string): GrownColumn {
    return required(this.columns.get(path), path);
  }

  /** The rows that a table of columns has. */
  private rowsOf(table: string): number {
    return this.column(`${table}.${columnsOf(table)[0]}`).rows;
  }

  /** A row that is written again was written before, or in this chunk. */
  private checkRewritten({ more, tables, again }: Chunk): void {
    for (const { name, places, columns } of again) {
      if (columns.size === 0) continue;
      const rows = this.rowsOf(name) + addedTo(name, tables);
      const isKnown = places?.every((place) => place < rows) ?? false;
      if (!isKnown) throw new Error("a row is replaced that was not written before");
    }
    for (const key of REWRITTEN) {
      const rows = this.header[key].length + (more[key]?.length ?? 0);
      for (const row of Object.keys(more.again?.[key] ?? {})) {
        if (!/^\d+$/.test(row) || Number(row) >= rows) throw new Error(`${key} has no row ${row} to be replaced`);
      }
    }
  }

  /** Every id leads to a row of this chunk or of one before it, and a stack's caller stands before it. */
  private checkIds({ more, tables, again }: Chunk): void {
    const limits = new Map<string, number>();
    for (const key of LISTS) limits.set(key, this.header[key].length + (more[key]?.length ?? 0));
    for (const table of ["functions", "frames", "stacks"]) {
      limits.set(table, this.rowsOf(table) + addedTo(table, tables));
    }
    const check = (path: string, id: number) => {
      const table = LINKS.get(path) ?? "";
      const limit = limits.get(table) ?? Infinity;
      if (id !== NONE && id >= limit) throw new Error(`${path} refers to row ${id} of ${table}, which has ${limit}`);
    };
    for (const { columns } of [...tables, ...again]) checkColumns(columns, check);
    for (const key of LISTS) for (const row of rowsIn(more, key)) checkRow(key, row, check);
    checkCallers(this.rowsOf("stacks"), tables);
  }

  private take({ rows, places, columns }: Rows): void {
    for (const [path, halves] of columns) {
      const column = this.column(path);
      const first = column.rows;
      for (let row = 0; row < rows; row++) {
        column.set(places ? places[row] : first + row, halves[2 * row], halves[2 * row + 1]);
      }
    }
  }

  /** What all chunks are together. */
  finish(): Payload {
    const payload: Payload = { header: this.header, columns: new Map(), halves: new Map() };
    for (const [table, columns] of TABLES) {
      const names = table === "lanes" ? this.header.lanes.map((_, lane) => `lanes.${lane}`) : [table];
      const time = SORTED_BY[table];
      for (const name of names) {
        const order = time ? this.column(`${name}.${time}`).ascending() : null;
        for (const column of columns) {
          const halves = this.column(`${name}.${column}`).all(order);
          if (!isUsual(`${name}.${column}`, halves)) put(payload, name, column, halves);
        }
      }
    }
    const { meta } = this.header;
    meta.duration_ns = Math.max(meta.duration_ns ?? 0, this.latestNs());
    return payload;
  }

  /** The recording lasts until its last row. */
  private latestNs(): number {
    let latest = 0;
    for (const [name, column] of this.columns) {
      if (!/\.(time|end)_ns$/.test(name)) continue;
      for (let row = 0; row < column.rows; row++) latest = Math.max(latest, column.number(row));
    }
    const [starts, lengths] = [this.column("off_cpu.start_us"), this.column("off_cpu.length_us")];
    for (let row = 0; row < starts.rows; row++) {
      latest = Math.max(latest, 1000 * (starts.number(row) + lengths.number(row)));
    }
    return latest;
  }
}

/** Whether finished recordings leave a column out. */
function isUsual(path: string, halves: Uint32Array): boolean {
  const usual = SELDOM.get(path);
  return usual !== undefined && halves.every((half, at) => at % 2 === 1 || half === usual);
}

/** The rows that a chunk adds to a table. */
function addedTo(table: string, tables: readonly Rows[]): number {
  return tables.find(({ name }) => name === table)?.rows ?? 0;
}

type Check = (path: string, id: number) => void;

function checkColumns(columns: ReadonlyMap<string, Uint32Array>, check: Check): void {
  for (const [path, halves] of columns) {
    const plain = path.replace(/\.\d+/, "");
    if (LINKS.has(plain)) for (let at = 0; at < halves.length; at += 2) check(plain, halves[at]);
  }
}

/** The rows of a table of the header, with those that are written again. */
function rowsIn(more: More, key: (typeof LISTS)[number]): unknown[] {
  const again = key === "processes" || key === "threads" ? more.again?.[key] : undefined;
  return [...(more[key] ?? []), ...Object.values(again ?? {})];
}

function checkRow(key: (typeof LISTS)[number], row: unknown, check: Check): void {
  if (key === "strings" && typeof row === "string") return;
  if (key === "strings" || !isObject(row)) throw new Error(`a row of ${key} is not what it should be`);
  for (const [name, id] of Object.entries(row)) if (typeof id === "number") check(`${key}.${name}`, id);
}

function checkCallers(first: number, tables: readonly Rows[]): void {
  const stacks = tables.find(({ name }) => name === "stacks");
  const parents = stacks?.columns.get("stacks.parent") ?? new Uint32Array();
  for (let row = 0; row < parents.length / 2; row++) {
    const parent = parents[2 * row];
    if (parent !== NONE && parent >= first + row) throw new Error(`stack ${first + row} stands before its caller`);
  }
}

/** Puts a column where finished recordings have it. */
function put(payload: Payload, table: string, column: string, halves: Uint32Array): void {
  if (table === "off_cpu" && column === "start_us") {
    putStarts(payload, halves);
    return;
  }
  const name = `${table}.${column}`;
  const type = typeOf(column);
  const length = halves.length / 2;
  const low = (_: unknown, row: number) => halves[2 * row];
  const stored: Record<typeof type, () => Column> = {
    u8: () => Uint8Array.from({ length }, low),
    u32: () => Uint32Array.from({ length }, low),
    u64: () => doublesOf(halves),
  };
  payload.header.columns.push({ name, type, offset: 0, length });
  payload.columns.set(name, stored[type]());
  if (type === "u64" && !isExact(halves)) payload.halves.set(name, halves);
}

/** These starts are stored as their distances. */
function putStarts({ header, columns }: Payload, starts: Uint32Array): void {
  const name = "off_cpu.delta_us";
  const deltas = doublesOf(starts);
  for (let row = deltas.length - 1; row > 0; row--) deltas[row] -= deltas[row - 1];
  header.columns.push({ name, type: "u64", offset: 0, length: deltas.length });
  columns.set(name, deltas);
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
