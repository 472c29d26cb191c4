// A selection as a .nodescope file of one chunk (docs/file-format.md): its samples, and the rows that they need. Times start with the
// selected range. Texts of sources are left out: only an export that was asked for them carries them.

import { type Profile, NONE } from "./model";
import { type Header, type Payload, crc32 } from "./payload";
import { type Selection, forEachRow } from "./selection";

type Json = Record<string, unknown>;

/** Which columns and keys lead to a row of which table. */
const LINKS = `line_ticks.stack>stacks markers.thread>threads markers.text>strings stacks.parent>stacks stacks.frame>frames
frames.function>functions frames.symbol>strings functions.name>strings functions.source>sources functions.module>modules
functions.package>strings sources.generated>sources sources.path>strings modules.name>strings modules.build_id>strings
threads.process>processes threads.name>strings processes.name>strings processes.container>strings processes.node_version>strings
lanes.name>strings`.split(/\s/).map((link) => link.split(/[.>]/));

/** The rows of each table that stay, and where they go. */
class Kept {
  private readonly used = new Map<string, Uint8Array>();
  private readonly places = new Map<string, Uint32Array>();

  constructor(private readonly size: (table: string) => number) {}

  mask(table: string): Uint8Array {
    let mask = this.used.get(table);
    if (!mask) this.used.set(table, (mask = new Uint8Array(this.size(table))));
    return mask;
  }

  rows(table: string): number[] {
    return Array.from(this.mask(table).keys()).filter((row) => this.mask(table)[row]);
  }

  place(table: string, row: number): number {
    let places = this.places.get(table);
    if (!places) {
      let next = 0;
      this.places.set(table, (places = Uint32Array.from(this.mask(table), (isUsed) => (isUsed ? next++ : NONE))));
    }
    return row === NONE ? NONE : places[row];
  }
}

export async function selectionFile(profile: Profile, selection: Selection): Promise<Blob> {
  const { origin } = profile;
  const { header } = origin;
  const { range } = selection;
  const [start, end] = range ?? [0, profile.durationNs];
  const kept = new Kept((table) => rowsOf(header, table)?.length ?? header.columns.find(({ name }) => name.startsWith(`${table}.`))!.length);
  const rows = new Map<string, number[]>();
  header.lanes.forEach((_, lane) => {
    const own: number[] = [];
    forEachRow(profile, { ...selection, lane }, (row, { thread }, stack) => {
      own.push(row);
      kept.mask("threads")[thread[row]] = 1;
      if (stack !== NONE) kept.mask("stacks")[stack] = 1;
    });
    rows.set(`lanes.${lane}`, own);
    kept.mask("lanes")[lane] = 1;
  });
  const number = (name: string) => origin.columns.get(name) as Float64Array;
  const [from, to, thread] = [number("markers.start_ns"), number("markers.end_ns"), origin.columns.get("markers.thread")!];
  from.forEach((_, row) => (kept.mask("markers")[row] = Number(from[row] < end && to[row] >= start && selection.threads?.[thread[row]] !== 0)));
  follow(origin, kept);
  const columns = header.columns.map(({ name, type }) => {
    const table = name.slice(0, name.lastIndexOf("."));
    return { name, type, values: picked(origin, kept, name, rows.get(table) ?? kept.rows(table), start, end) };
  });
  return file(newHeader(header, kept, range), columns);
}

/** A table that is JSON. */
function rowsOf(header: Header, table: string): Json[] | undefined {
  return header[table as "columns"] as unknown as Json[] | undefined;
}

/** Marks what marked rows lead to. A table is complete when the links to it were followed: callers stand before callees. */
function follow({ header, columns }: Payload, kept: Kept): void {
  const ticks = columns.get("line_ticks.stack")!;
  const [stacks, parent] = [kept.mask("stacks"), columns.get("stacks.parent")!];
  for (let stack = stacks.length - 1; stack >= 0; stack--) if (stacks[stack] && parent[stack] !== NONE) stacks[parent[stack]] = 1;
  ticks.forEach((stack, row) => (kept.mask("line_ticks")[row] = stacks[stack]));
  for (const [of, name, to] of LINKS) {
    const column = columns.get(`${of}.${name}`) ?? rowsOf(header, of)!.map((row) => row[name] as number);
    kept.mask(of).forEach((isUsed, row) => isUsed && column[row] !== NONE && (kept.mask(to)[column[row]] = 1));
  }
}

/** The rows of a column with the ids of the new file; what is 64 bits wide in two halves. */
function picked(origin: Payload, kept: Kept, name: string, rows: readonly number[], start: number, end: number): Uint8Array | Uint32Array {
  const column = origin.columns.get(name)!;
  const [table, key] = [name.replace(/\..*/, ""), name.slice(name.lastIndexOf(".") + 1)];
  if (column instanceof Uint8Array) return Uint8Array.from(rows, (row) => column[row]);
  if (column instanceof Uint32Array) {
    const to = table === "lanes" ? `${key}s` : LINKS.find((link) => link[0] === table && link[1] === key)?.[2];
    return Uint32Array.from(rows, (row) => (to ? kept.place(to, column[row]) : column[row]));
  }
  const halves = origin.halves.get(name)!;
  if (!/^(time|start|end)_ns$/.test(key)) return Uint32Array.from({ length: 2 * rows.length }, (_, at) => halves[2 * rows[at >> 1] + (at & 1)]);
  const times = new Uint32Array(2 * rows.length);
  rows.forEach((row, at) => {
    const time = Math.max(0, Math.min(column[row], table === "markers" ? end : Infinity) - start);
    [times[2 * at], times[2 * at + 1]] = [time % NEXT, time / NEXT];
  });
  return times;
}

const NEXT = 2 ** 32;

function newHeader(header: Header, kept: Kept, range: Selection["range"]): Json {
  const { meta } = header;
  const table = (name: string) => {
    const links = LINKS.filter(([of]) => of === name);
    return kept.rows(name).map((at) => {
      const row = rowsOf(header, name)![at];
      return { ...row, ...Object.fromEntries(links.map(([, key, to]) => [key, kept.place(to, row[key] as number)])) };
    });
  };
  const losses = { ...meta.losses, unclosed: null };
  const whole = { ...meta, losses };
  const part = range && {
    ...whole,
    start_unix_ns: meta.start_unix_ns ? String(BigInt(meta.start_unix_ns) + BigInt(Math.round(range[0]))) : null,
    start_clock_s: meta.start_clock_s == null ? null : meta.start_clock_s + range[0] / 1e9,
    duration_ns: Math.max(0, Math.min(range[1], meta.duration_ns ?? range[1]) - range[0]),
    // Nobody counted these for a part.
    losses: { ...losses, cpu_ns: null, hidden_kernel_ns: 0 },
  };
  const tables = ["modules", "processes", "threads", "lanes"].map((name) => [name, table(name)]);
  const sources = table("sources").map((row) => ({ ...row, text: NONE }));
  return { meta: part ?? whole, strings: kept.rows("strings").map((row) => header.strings[row]), sources, ...Object.fromEntries(tables) };
}

async function file(header: Json, columns: { name: string; type: string; values: Uint8Array | Uint32Array }[]): Promise<Blob> {
  let size = 0;
  const directory = columns.map(({ name, type, values }) => {
    const offset = size;
    size += Math.ceil(values.byteLength / 8) * 8;
    return { name, type, offset, length: type === "u64" ? values.length / 2 : values.length };
  });
  const json = new TextEncoder().encode(JSON.stringify({ ...header, columns: directory }));
  const start = Math.ceil((8 + json.length) / 8) * 8;
  const payload = new Uint8Array(start + size);
  new DataView(payload.buffer).setBigUint64(0, BigInt(json.length), true);
  payload.fill(0x20, 8, start).set(json, 8);
  columns.forEach(({ values }, at) => payload.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start + directory[at].offset));
  const stream = new Blob([payload]).stream().pipeThrough(new CompressionStream("deflate"));
  const stored = new Uint8Array(await new Response(stream).arrayBuffer());
  const first = new Uint8Array(40);
  first.set(new TextEncoder().encode("nodescop\x01\0\0\0\0\0\0\0PROF"));
  const head = new DataView(first.buffer);
  head.setUint32(20, crc32(stored), true);
  head.setBigUint64(24, BigInt(stored.length), true);
  head.setBigUint64(32, BigInt(payload.length), true);
  return new Blob([head.buffer, stored]);
}
