// What the columns mean: the profile as the views use it. Immutable; ids are rows of the tables.

import type { Header, Losses, Meta, Payload } from "./payload";

export const NONE = 0xffffffff;

/** In the order of the bytes in the file: the word that people type, and what they read. */
export const CATEGORIES: readonly (readonly [word: string, label: string])[] = [
  ["app", "app"],
  ["dependency", "dependency"],
  ["node", "Node core"],
  ["builtin", "V8 builtin"],
  ["runtime", "V8 runtime"],
  ["gc", "GC"],
  ["compiler", "compiler"],
  ["regexp", "regexp"],
  ["wasm", "wasm"],
  ["addon", "native addon"],
  ["libuv", "libuv"],
  ["system", "system library"],
  ["kernel", "kernel"],
  ["idle", "idle"],
  ["unknown", "unknown"],
];

export const APP = 0;
export const DEPENDENCY = 1;
export const GC = 5;
export const ADDON = 9;
export const IDLE = 13;
export const UNKNOWN = 14;

export const TIERS = ["–", "unmarked", "interpreted", "Sparkplug", "Maglev", "TurboFan", "Liftoff", "TurboFan (wasm)"];

export const ROLES: Record<string, string> = {
  main: "main loop",
  worker: "worker",
  pool: "libuv pool",
  v8: "V8 platform",
  other: "other",
};

const LOOP_TURN = 0;

export interface Lane {
  name: string;
  unit: string;
  timed: boolean;
  counted: boolean;
  time: Float64Array;
  thread: Uint32Array;
  stack: Uint32Array;
  weight: Float64Array;
  /** The weight that every row has, where all have the same and a row is a sample; else 0. */
  equal: number;
}

export interface Thread {
  process: number;
  tid: number | null;
  name: string;
  role: string;
}

export interface Process {
  pid: number | null;
  name: string;
  container: string;
  nodeVersion: string;
}

/** One marker of an event loop: a long turn, or many quick ones. */
export interface Turn {
  thread: number;
  start: number;
  end: number;
  /** Several quick turns, as the recording tells them; null for a single one. */
  text: string | null;
}

export interface Profile {
  meta: Meta;
  losses: Losses;
  strings: string[];
  sources: string[];
  modules: string[];
  threads: Thread[];
  processes: Process[];
  lanes: Lane[];
  turns: Turn[];
  durationNs: number;
  /** Milliseconds since 1970; null where the recording does not know. */
  startMs: number | null;
  functions: { name: Uint32Array; source: Uint32Array; line: Uint32Array; column: Uint32Array; module: Uint32Array; package: Uint32Array };
  frames: { function: Uint32Array; line: Uint32Array; category: Uint8Array; tier: Uint8Array };
  stacks: { parent: Uint32Array; frame: Uint32Array; category: Uint8Array; function: Uint32Array };
  lineTicks: { stack: Uint32Array; line: Uint32Array; ticks: Uint32Array };
  /** As it was stored. */
  origin: Payload;
  /** The text of each source, where the recording carries it. */
  texts: (string | null)[];
  /** A recording to compare with, whose lanes and threads stand behind this one's own from these rows on. */
  other: { id: string; name: string; lane: number; thread: number; durationNs: number; startMs: number | null } | null;
}

export function profileOf(origin: Payload): Profile {
  const { header, columns } = origin;
  const numbers = (name: string) => required(columns.get(name), name) as Uint32Array;
  const bytes = (name: string) => required(columns.get(name), name) as Uint8Array;
  const doubles = (name: string) => required(columns.get(name), name) as Float64Array;
  const text = (id: number) => (id === NONE ? "" : (header.strings[id] ?? ""));
  const lanes = header.lanes.map((lane, index): Lane => {
    const column = (name: string) => `lanes.${index}.${name}`;
    const weight = doubles(column("weight"));
    return {
      name: text(lane.name),
      unit: lane.unit,
      timed: lane.timed,
      counted: lane.counted,
      time: doubles(column("time_ns")),
      thread: numbers(column("thread")),
      stack: numbers(column("stack")),
      weight,
      equal: lane.unit !== "count" && weight.every((own) => own === weight[0]) ? (weight[0] ?? 0) : 0,
    };
  });
  const frames = {
    function: numbers("frames.function"),
    line: numbers("frames.line"),
    category: bytes("frames.category"),
    tier: bytes("frames.tier"),
  };
  const frame = numbers("stacks.frame");
  const { meta } = header;
  return {
    meta,
    losses: meta.losses ?? {},
    strings: header.strings,
    sources: header.sources.map((row) => text(row.path)),
    modules: header.modules.map((row) => text(row.name)),
    threads: header.threads.map(({ process, tid, name, role }) => ({ process, tid, name: text(name), role })),
    processes: header.processes.map((row) => ({
      pid: row.pid,
      name: text(row.name),
      container: text(row.container),
      nodeVersion: text(row.node_version),
    })),
    lanes,
    turns: turnsOf(header, numbers, bytes, doubles),
    durationNs: Math.max(meta.duration_ns ?? 0, ...lanes.map(lastTime)),
    startMs: meta.start_unix_ns ? Number(BigInt(meta.start_unix_ns) / 1000n) / 1000 : null,
    functions: {
      name: numbers("functions.name"),
      source: numbers("functions.source"),
      line: numbers("functions.line"),
      column: numbers("functions.column"),
      module: numbers("functions.module"),
      package: numbers("functions.package"),
    },
    frames,
    stacks: {
      parent: numbers("stacks.parent"),
      frame,
      category: bytes("stacks.category"),
      function: frame.map((id) => frames.function[id]),
    },
    lineTicks: { stack: numbers("line_ticks.stack"), line: numbers("line_ticks.line"), ticks: numbers("line_ticks.ticks") },
    texts: header.sources.map((row) => (row.text === NONE ? null : (header.strings[row.text] ?? null))),
    other: null,
    origin,
  };
}

function required<T>(column: T | undefined, name: string): T {
  if (column === undefined) throw new Error(`the recording has no column ${name}`);
  return column;
}

/** The end of a range is open: the last sample must lie inside. */
function lastTime({ time, timed }: Lane): number {
  return timed && time.length > 0 ? time[time.length - 1] + 1 : 0;
}

function turnsOf(
  header: Header,
  numbers: (name: string) => Uint32Array,
  bytes: (name: string) => Uint8Array,
  doubles: (name: string) => Float64Array,
): Turn[] {
  const [kind, thread, text] = [bytes("markers.kind"), numbers("markers.thread"), numbers("markers.text")];
  const [start, end] = [doubles("markers.start_ns"), doubles("markers.end_ns")];
  const turns: Turn[] = [];
  kind.forEach((value, row) => {
    if (value !== LOOP_TURN) return;
    const words = text[row] === NONE ? null : (header.strings[text[row]] ?? "");
    turns.push({ thread: thread[row], start: start[row], end: end[row], text: words });
  });
  return turns;
}

export function functionName(profile: Profile, id: number): string {
  return profile.strings[profile.functions.name[id]] ?? "";
}

/** Where many have no name, the place tells them apart. */
export function functionWords(profile: Profile, id: number): string {
  const name = functionName(profile, id) || "(anonymous)";
  return name === "(anonymous)" ? `${name} ${functionPlace(profile, id).replace(/.*\//, "")}`.trim() : name;
}

/** The script or, for native code, the binary; as the report says it. */
export function functionFile(profile: Profile, id: number): string {
  const { source, module, line } = profile.functions;
  if (source[id] !== NONE) return profile.sources[source[id]];
  // Generated code that has a position but no script: "[JIT]:1" would say nothing.
  return module[id] !== NONE && line[id] === 0 ? profile.modules[module[id]] : "";
}

export function functionPlace(profile: Profile, id: number): string {
  const file = functionFile(profile, id);
  const line = profile.functions.line[id];
  return file && line > 0 ? `${file}:${line}` : file;
}

export function functionPackage(profile: Profile, id: number): string {
  const name = profile.functions.package[id];
  return name === NONE ? "" : (profile.strings[name] ?? "");
}

/** How many samples a row stands for. */
export function samplesIn(lane: Lane, row: number): number {
  return lane.unit === "count" ? lane.weight[row] : 1;
}
