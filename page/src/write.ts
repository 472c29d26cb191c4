// A selection as a .nodescope file of one chunk (docs/file-format.md): its samples, and the rows that they need. Times start with the
// selected range. Texts of sources are left out: only an export that was asked for them carries them.

import { NONE, type Profile } from "./model";
import { crc32, type Header, type Meta } from "./payload";
import { forEachRow, type Selection } from "./selection";

type Json = Record<string, unknown>;
type Values = Uint8Array | Uint32Array;

/** Which columns and keys lead to a row of which table. */
const LINKS = new Map(
  `threads lanes.thread markers.thread loops.thread long_turns.thread
stacks lanes.stack line_ticks.stack stacks.parent
frames stacks.frame
functions frames.function
sources functions.source sources.generated
modules functions.module
processes seconds.process threads.process
strings markers.text loops.problem frames.symbol functions.name functions.package sources.path modules.name modules.build_id threads.name processes.name processes.container processes.node_version processes.app processes.command processes.folder lanes.name`
    .split("\n")
    .flatMap((line) => {
      const [table, ...links] = line.split(" ");
      return links.map((link) => [link, table] as const);
    }),
);
/** What leads to a table stands before it. */
const ORDER =
  "loops long_turns seconds lanes markers line_ticks stacks frames functions sources modules threads processes".split(
    " ",
  );
const NEXT = 2 ** 32;

export async function selectionFile(profile: Profile, selection: Selection): Promise<Blob> {
  const { header, columns, halves } = profile.origin;
  const [start, end] = selection.range ?? [0, Infinity];
  /** Of each table the old rows that are needed, each with its new row. */
  const needed = new Map<string, Map<number, number>>();
  const rowsOf = (table: string) => needed.get(table) ?? needed.set(table, new Map()).get(table)!;
  const place = (table: string, id: number): number => {
    const rows = rowsOf(table);
    if (id === NONE || rows.has(id)) return rows.get(id) ?? NONE;
    const way = [id];
    // Callers come before their callees.
    while (table === "stacks" && !rows.has(way[0]) && way[0] !== NONE) way.unshift(profile.stacks.parent[way[0]]);
    for (const row of way) if (row !== NONE && !rows.has(row)) rows.set(row, rows.size);
    return rows.get(id)!;
  };
  const chosen = new Map<string, number[]>();
  header.lanes.forEach((_, lane) => {
    const rows: number[] = [];
    forEachRow(profile, { ...selection, lane }, (row) => rows.push(row));
    chosen.set(`lanes.${lane}`, rows);
    place("lanes", lane);
  });
  for (const table of ["markers", "loops", "long_turns"]) {
    const [from, to, thread] = ["start_ns", "end_ns", "thread"].map((name) => columns.get(`${table}.${name}`) ?? []);
    chosen.set(
      table,
      [...from.keys()].filter((row) => from[row] < end && to[row] >= start && selection.threads?.[thread[row]] !== 0),
    );
  }
  // Nobody counted for a part.
  chosen.set("seconds", selection.range ? [] : [...(columns.get("seconds.process") ?? []).keys()]);

  const pick = (name: string, table: string, key: string): Values => {
    const column = columns.get(name)!;
    if (table === "line_ticks" && !chosen.has(table))
      chosen.set(
        table,
        [...profile.lineTicks.stack.keys()].filter((row) => rowsOf("stacks").has(profile.lineTicks.stack[row])),
      );
    const rows = chosen.get(name.slice(0, name.lastIndexOf("."))) ?? [...rowsOf(table).keys()];
    const link = LINKS.get(`${table}.${key}`);
    if (column instanceof Uint8Array) return Uint8Array.from(rows, (row) => column[row]);
    if (column instanceof Uint32Array)
      return Uint32Array.from(rows, (row) => (link ? place(link, column[row]) : column[row]));
    const values = new Uint32Array(2 * rows.length);
    rows.forEach((row, at) => {
      const time = Math.max(0, Math.min(column[row], end) - start);
      const both = /^(time|start|end)_ns$/.test(key)
        ? [time % NEXT, time / NEXT]
        : key === "polled_ns" && selection.range
          ? [NONE, NONE]
          : halves.get(name)!.subarray(2 * row, 2 * row + 2);
      values.set(both, 2 * at);
    });
    return values;
  };
  const words = header.columns.map(({ name, type }) => ({
    name,
    type,
    table: name.replace(/\..*/, ""),
    key: name.slice(name.lastIndexOf(".") + 1),
  }));
  words.sort((a, b) => ORDER.indexOf(a.table) - ORDER.indexOf(b.table));
  const written = words.map(({ name, type, table, key }) => ({ name, type, values: pick(name, table, key) }));

  const tables = ["sources", "modules", "threads", "processes", "lanes"].map((table) => {
    // A map takes rows while it is walked.
    const rows: Json[] = [];
    for (const id of rowsOf(table).keys()) {
      const row = (header[table as keyof Header] as unknown as Json[])[id];
      rows.push(
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [
            key,
            key === "text"
              ? NONE
              : LINKS.has(`${table}.${key}`)
                ? place(LINKS.get(`${table}.${key}`)!, value as number)
                : value,
          ]),
        ),
      );
    }
    return [table, rows];
  });
  const strings = [...rowsOf("strings").keys()].map((id) => header.strings[id]);
  return file({ meta: metaOf(header.meta, selection.range), strings, ...Object.fromEntries(tables) }, written);
}

function metaOf(meta: Meta, range: Selection["range"]): Json {
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

async function file(header: Json, columns: { name: string; type: string; values: Values }[]): Promise<Blob> {
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
  columns.forEach(({ values }, at) =>
    payload.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start + directory[at].offset),
  );
  const stream = new Blob([payload]).stream().pipeThrough(new CompressionStream("deflate"));
  const stored = new Uint8Array(await new Response(stream).arrayBuffer());
  const first = new Uint8Array(40);
  first.set(new TextEncoder().encode("nodescop\x02\0\0\0\0\0\0\0PROF"));
  const head = new DataView(first.buffer);
  head.setUint32(20, crc32(stored), true);
  head.setBigUint64(24, BigInt(stored.length), true);
  head.setBigUint64(32, BigInt(payload.length), true);
  return new Blob([head.buffer, stored]);
}
