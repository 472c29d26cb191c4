// A selection as a .nodescope file of one chunk (docs/file-format.md): its samples, and the rows that they need. Times
// start with the selected range. Texts of sources are left out: only an export that was asked for them carries them.

import { type Header, HIGH, LINKS, type Meta, NONE, required } from "../data/format.ts";
import { type Profile, rawOf } from "../data/model.ts";
import { fileOf, type StoredColumn } from "../data/write.ts";
import { forEachRow, type Range, type Selection } from "../select/selection.ts";
import { type OffCpuRow, offCpuIn } from "./off-cpu.ts";

type Json = Record<string, unknown>;

/** What leads to a table stands before it. */
const ORDER = [
  ...["loops", "long_turns", "seconds", "delays", "pools", "lanes", "markers", "off_cpu", "line_ticks", "stacks"],
  ...["frames", "functions", "sources", "modules", "threads", "processes"],
];
/** The tables of the header, likewise. */
const HEADER_TABLES = [
  ...(["sources", "modules", "package_uses", "packages"] as const),
  ...(["threads", "processes", "lanes"] as const),
] as const;
/** Columns that are a time since the start. */
const TIMES = /^(time|start|end)_ns$/;

export function selectionFile(profile: Profile, selection: Selection): Promise<Blob> {
  return new SelectionWriter(rawOf(profile), selection).file();
}

/** Of each table the old rows that are needed, each with its new row. */
class NewRows {
  private readonly tables = new Map<string, Map<number, number>>();
  /** Of each stack the rows that stand before it: its caller, and what stands for it across await. */
  private readonly before: ArrayLike<number>[];

  constructor(before: ArrayLike<number>[]) {
    this.before = before;
  }

  /** The old rows, in the order of the new ones. It grows while it is walked. */
  of(table: string): Map<number, number> {
    const known = this.tables.get(table);
    if (known) return known;
    const rows = new Map<number, number>();
    this.tables.set(table, rows);
    return rows;
  }

  /** The new row of an old one, which is needed from now on. */
  place(table: string, id: number): number {
    if (id === NONE) return NONE;
    const rows = this.of(table);
    const before = table === "stacks" ? this.before : [];
    const waiting = [id];
    for (let at = waiting.at(-1); at !== undefined; at = waiting.at(-1)) {
      const row = at;
      const missing = before.map((column) => column[row]).filter((other) => other !== NONE && !rows.has(other));
      waiting.push(...missing);
      if (missing.length > 0) continue;
      if (!rows.has(row)) rows.set(row, rows.size);
      waiting.pop();
    }
    return rows.get(id) ?? NONE;
  }
}

class SelectionWriter {
  private readonly profile: Profile;
  private readonly selection: Selection;
  /** Half-open. */
  private readonly start: number;
  private readonly end: number;
  private readonly rows: NewRows;
  /** The rows of the tables that nothing refers to. */
  private readonly chosen = new Map<string, number[]>();
  private readonly offCpu: OffCpuRow[];

  constructor(profile: Profile, selection: Selection) {
    this.profile = profile;
    this.selection = selection;
    [this.start, this.end] = selection.range ?? [0, Infinity];
    const logical = profile.origin.columns.get("stacks.logical");
    this.rows = new NewRows([profile.stacks.parent, ...(logical ? [logical] : [])]);
    this.offCpu = offCpuIn(profile.origin, selection);
    this.choose();
  }

  private choose(): void {
    const { profile, selection, chosen } = this;
    const { header, columns } = profile.origin;
    for (const lane of header.lanes.keys()) {
      const rows: number[] = [];
      forEachRow(profile, { ...selection, lane }, (row) => rows.push(row));
      chosen.set(`lanes.${lane}`, rows);
      this.rows.place("lanes", lane);
    }
    // Packages are few, and no sample refers to one that depends on others.
    for (const table of ["packages", "package_uses"] as const) {
      for (const row of (header[table] ?? []).keys()) this.rows.place(table, row);
    }
    for (const table of ["markers", "loops", "long_turns", "delays"]) chosen.set(table, this.rowsInRange(table));
    // What was counted in a second is not known for a part of it.
    for (const table of ["seconds", "pools"]) {
      chosen.set(table, selection.range ? [] : [...(columns.get(`${table}.process`) ?? []).keys()]);
    }
    chosen.set(
      "off_cpu",
      this.offCpu.map(({ row }) => row),
    );
  }

  private rowsInRange(table: string): number[] {
    const { columns } = this.profile.origin;
    const column = (name: string) => columns.get(`${table}.${name}`) ?? [];
    const [from, to, thread] = [column("start_ns"), column("end_ns"), column("thread")];
    const isIn = (row: number) => from[row] < this.end && to[row] >= this.start;
    return [...from.keys()].filter((row) => isIn(row) && this.selection.threads?.[thread[row]] !== 0);
  }

  file(): Promise<Blob> {
    const { header } = this.profile.origin;
    const words = header.columns.map(({ name, type }) => ({ name, type, table: name.replace(/\..*/, "") }));
    words.sort((a, b) => ORDER.indexOf(a.table) - ORDER.indexOf(b.table));
    const written = words.map(({ name, type, table }): StoredColumn => {
      const key = name.slice(name.lastIndexOf(".") + 1);
      return { name, type, values: this.valuesOf(name, table, key) };
    });
    const tables = HEADER_TABLES.map((table) => [table, this.headerRows(table)]);
    const strings = [...this.rows.of("strings").keys()].map((id) => header.strings[id]);
    const meta = metaOf(header.meta, this.selection.range);
    return fileOf({ meta, strings, ...Object.fromEntries(tables) }, written);
  }

  /** The old rows of a table or lane that are written. */
  private rowsOf(name: string, table: string): number[] {
    if (table === "line_ticks" && !this.chosen.has(table)) {
      const { stack } = this.profile.lineTicks;
      const stacks = this.rows.of("stacks");
      this.chosen.set(
        table,
        [...stack.keys()].filter((row) => stacks.has(stack[row])),
      );
    }
    return this.chosen.get(name.slice(0, name.lastIndexOf("."))) ?? [...this.rows.of(table).keys()];
  }

  private valuesOf(name: string, table: string, key: string): Uint8Array | Uint32Array {
    const column = required(this.profile.origin.columns.get(name), name);
    const rows = this.rowsOf(name, table);
    const link = LINKS.get(`${table}.${key}`);
    if (column instanceof Uint8Array) return Uint8Array.from(rows, (row) => column[row]);
    if (column instanceof Uint32Array) {
      return Uint32Array.from(rows, (row) => (link ? this.rows.place(link, column[row]) : column[row]));
    }
    const values = new Uint32Array(2 * rows.length);
    for (const [at, row] of rows.entries()) values.set(this.halvesOf(name, table, key, row, at), 2 * at);
    return values;
  }

  /** A number of 64 bits: the low half, the high half. */
  private halvesOf(name: string, table: string, key: string, row: number, at: number): ArrayLike<number> {
    const { columns, halves } = this.profile.origin;
    if (TIMES.test(key)) {
      const time = columns.get(name)?.[row] ?? 0;
      return halvesOfNumber(Math.max(0, Math.min(time, this.end) - this.start));
    }
    if (key === "polled_ns" && this.selection.range) return [NONE, NONE];
    if (table === "off_cpu" && key === "delta_us") {
      return halvesOfNumber(this.offCpu[at].startUs - (this.offCpu[at - 1]?.startUs ?? 0));
    }
    if (table === "off_cpu" && key === "length_us") return halvesOfNumber(this.offCpu[at].lengthUs);
    const stored = halves.get(name);
    return stored ? stored.subarray(2 * row, 2 * row + 2) : halvesOfNumber(required(columns.get(name), name)[row]);
  }

  private headerRows(table: (typeof HEADER_TABLES)[number]): Json[] {
    const old = this.profile.origin.header[table as keyof Header] as unknown as Json[];
    const placed = (key: string, value: unknown) => {
      if (key === "text") return NONE;
      const link = LINKS.get(`${table}.${key}`);
      return link ? this.rows.place(link, value as number) : value;
    };
    const rows: Json[] = [];
    for (const id of this.rows.of(table).keys()) {
      rows.push(Object.fromEntries(Object.entries(old[id]).map(([key, value]) => [key, placed(key, value)])));
    }
    return rows;
  }
}

function halvesOfNumber(value: number): [number, number] {
  return [value % HIGH, value / HIGH];
}

function metaOf(meta: Meta, range: Range | null): Json {
  const losses = { ...meta.losses, unclosed: null };
  if (!range) return { ...meta, losses };
  return {
    ...meta,
    start_unix_ns: meta.start_unix_ns ? String(BigInt(meta.start_unix_ns) + BigInt(Math.round(range[0]))) : null,
    start_clock_s: meta.start_clock_s == null ? null : meta.start_clock_s + range[0] / 1e9,
    duration_ns: Math.max(0, Math.min(range[1], meta.duration_ns ?? range[1]) - range[0]),
    losses: { ...losses, cpu_ns: null, hidden_kernel_ns: 0 },
  };
}
