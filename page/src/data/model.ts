// What the columns mean: the profile as the views use it. Immutable; ids are rows of the tables.

import { type Column, type Meta, NONE, type Payload, required } from "./format.ts";
import type { PageReport } from "./report.ts";

export { NONE } from "./format.ts";

/** What stands before a function, by how it came to be under the one above. */
export const AWAITS = ["", "▸ await ", "▸ await (inferred) ", "after await: "] as const;

/**
 * How a box came to be under its caller, whose stacks came by one way and another: where some of them are awaited, that is
 * what a reader should know.
 */
export function callOfBoth(one: number, other: number): number {
  const isAwaited = (call: number) => call === 1 || call === 2;
  return isAwaited(other) && !isAwaited(one) ? other : one;
}

/** In the order of the bytes in the file: the word that people type, and what they read. */
export const CATEGORIES: readonly (readonly [word: string, label: string])[] = [
  ["app", "app"],
  ["dependency", "dependency"],
  ["node", "Node core"],
  ["builtin", "V8 builtin"],
  ["runtime", "V8 runtime"],
  ["gc", "garbage collection"],
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
export const NODE = 2;
export const GC = 5;
export const COMPILER = 6;
export const WASM = 8;
export const ADDON = 9;
export const LIBUV = 10;
export const KERNEL = 12;
export const IDLE = 13;
export const UNKNOWN = 14;

export const TIERS = ["–", "unmarked", "interpreted", "Sparkplug", "Maglev", "TurboFan", "Liftoff", "TurboFan (wasm)"];

export const ROLES: Record<string, string> = {
  main: "main loop",
  worker: "worker",
  pool: "thread pool",
  v8: "V8's threads",
  other: "other",
};

export interface Lane {
  name: string;
  unit: string;
  timed: boolean;
  counted: boolean;
  time: Float64Array;
  thread: Uint32Array;
  /** The stacks that are shown: `raw`, or what a lens makes of them. */
  stack: Uint32Array;
  /** The stacks by which samples are selected: `logical` or `physical`. */
  raw: Uint32Array;
  /** With the functions that await a stack as its callers, where they are known. */
  logical: Uint32Array;
  /** As they were. */
  physical: Uint32Array;
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
}

/** A time in which the turns of a loop were watched. */
export interface Watched {
  thread: number;
  start: number;
  end: number;
}

/** Functions that no recording has: the boxes that a lens makes. Rows of the functions, in three groups. */
export interface Virtual {
  /** Roots of work that no JavaScript of the user asked for. */
  roots: number;
  /** What asked for the work, in the order of the report's list. */
  entries: number;
  /** Runs of package frames. */
  packages: number;
}

/** A recording to compare with, whose lanes and threads stand behind the profile's own from these rows on. */
export interface Other {
  id: string;
  name: string;
  lane: number;
  thread: number;
  durationNs: number;
  startMs: number | null;
  /** The time between two samples, where it is known. */
  intervalNs: number | null;
  report: PageReport | null;
}

export interface Profile {
  meta: Meta;
  /** What the report says of it; null where the page has none. */
  report: PageReport | null;
  strings: string[];
  sources: string[];
  modules: string[];
  threads: Thread[];
  processes: Process[];
  lanes: Lane[];
  watched: Watched[];
  durationNs: number;
  /** Milliseconds since 1970; null where the recording does not know. */
  startMs: number | null;
  functions: {
    name: Uint32Array;
    source: Uint32Array;
    line: Uint32Array;
    column: Uint32Array;
    module: Uint32Array;
    package: Uint32Array;
    /** A string: the version of the package. */
    version: Uint32Array;
  };
  frames: { function: Uint32Array; line: Uint32Array; category: Uint8Array; tier: Uint8Array };
  stacks: {
    parent: Uint32Array;
    frame: Uint32Array;
    /** Of the frame that really ran. */
    category: Uint8Array;
    /** How it came to be under its parent: a place in AWAITS. */
    call: Uint8Array;
    function: Uint32Array;
    /** The function that lists name: another one only where the root of a lens stands for it. */
    listed: Uint32Array;
    /** The category of the box; under a lens what it called may be of another. */
    box: Uint8Array;
    /** Of a box that is a run of package frames, the most of them on a stack; else 0. Null without a lens. */
    run: Uint32Array | null;
  };
  /** Of each stack the row of what asked for its work, in the list of the report; null where that is not known. */
  entries: Uint32Array | null;
  /** Whether some stacks are known with what awaits them. */
  hasAwaits: boolean;
  lineTicks: { stack: Uint32Array; line: Uint32Array; ticks: Uint32Array };
  /** As it was stored. */
  origin: Payload;
  /** The text of each source, where the recording carries it. */
  texts: (string | null)[];
  other: Other | null;
  /** Where this is what a lens shows: the recording with its stacks as they are; else null. */
  raw: Profile | null;
  virtual: Virtual | null;
}

/** The recording with its stacks as they are: samples are selected by these. */
export function rawOf(profile: Profile): Profile {
  return profile.raw ?? profile;
}

/** The first lane, or where that is empty the first that is not: a loop that only waits has no samples of the CPU. */
export function mainLaneOf({ lanes, other }: Profile): number {
  return Math.max(
    0,
    lanes.slice(0, other?.lane).findIndex(({ time }) => time.length > 0),
  );
}

export function profileOf(origin: Payload, report: PageReport | null = null): Profile {
  const { header, columns } = origin;
  const text = (id: number) => (id === NONE ? "" : (header.strings[id] ?? ""));
  /** Columns of a table by their names. */
  const table = <T>(name: string, keys: string) => {
    const columnOf = (key: string) => required(columns.get(`${name}.${key}`), `${name}.${key}`);
    return Object.fromEntries(keys.split(" ").map((key) => [key, columnOf(key)])) as T;
  };
  const awaited = columns.get("stacks.logical");
  const lanes = header.lanes.map(({ name, unit, timed, counted }, index): Lane => {
    const { time_ns, ...own } = table<Pick<Lane, "thread" | "stack" | "weight"> & { time_ns: Float64Array }>(
      `lanes.${index}`,
      "time_ns thread stack weight",
    );
    const logical = awaited ? own.stack.map((id) => withAwaits(awaited, id)) : own.stack;
    const rest = { ...own, stack: logical, raw: logical, logical, physical: own.stack };
    const { weight } = rest;
    const equal = unit === "count" ? 0 : soleOf(weight);
    return { ...rest, name: text(name), unit, timed, counted, time: time_ns, equal };
  });
  const frames = table<Profile["frames"]>("frames", "function line category tier");
  const stacks = table<Profile["stacks"]>("stacks", "parent frame category");
  const call = Uint8Array.from(columns.get("stacks.call") ?? new Uint8Array(stacks.parent.length));
  const ids = stacks.frame.map((id) => frames.function[id]);
  const functions = table<Profile["functions"]>("functions", "name source line column module package");
  const versions = columns.get("functions.version");
  const version = versions ? Uint32Array.from(versions) : new Uint32Array(functions.name.length).fill(NONE);
  const { meta } = header;
  return {
    meta,
    report,
    strings: header.strings,
    sources: header.sources.map((row) => text(row.path)),
    modules: header.modules.map((row) => text(row.name)),
    threads: header.threads.map(({ process, tid, name, role }) => ({ process, tid, name: text(name), role })),
    processes: header.processes.map((row) => ({
      pid: row.pid,
      name: text(row.name),
      container: text(row.container),
    })),
    lanes,
    watched: watchedOf(origin),
    durationNs: Math.max(meta.duration_ns ?? 0, ...lanes.map(lastTime)),
    startMs: meta.start_unix_ns ? Number(BigInt(meta.start_unix_ns) / 1000n) / 1000 : null,
    functions: { ...functions, version },
    frames,
    stacks: { ...stacks, call, function: ids, listed: ids, box: stacks.category, run: null },
    entries: report ? entriesOf(report, stacks.parent.length) : null,
    hasAwaits: awaited !== undefined,
    lineTicks: table("line_ticks", "stack line ticks"),
    texts: header.sources.map((row) => (row.text === NONE ? null : (header.strings[row.text] ?? null))),
    other: null,
    raw: null,
    virtual: null,
    origin,
  };
}

/** Of each stack the row of its entry; null where these are not the stacks of the report. */
function entriesOf({ entries }: PageReport, size: number): Uint32Array | null {
  const rows = new Uint32Array(size);
  const runs = entries?.runs ?? [];
  let at = 0;
  for (let run = 0; run + 1 < runs.length; run += 2) {
    rows.fill(runs[run], at, at + runs[run + 1]);
    at += runs[run + 1];
  }
  return at === size && runs.every((row, place) => place % 2 === 1 || row < entries.list.length) ? rows : null;
}

/** The number that all are; 0 where they differ. A plain loop: there may be many millions. */
function soleOf(numbers: Float64Array): number {
  const first = numbers[0] ?? 0;
  for (let at = 1; at < numbers.length; at++) if (numbers[at] !== first) return 0;
  return first;
}

/** The stack with what awaits it, where that is known. */
function withAwaits(logical: Column, id: number): number {
  return id === NONE || logical[id] === NONE ? id : logical[id];
}

/** The same recording with the other kind of stacks. */
export function withStacks(profile: Profile, isPhysical: boolean): Profile {
  const lanes = profile.lanes.map((lane) => {
    const raw = isPhysical ? lane.physical : lane.logical;
    return { ...lane, stack: raw, raw };
  });
  return { ...profile, lanes };
}

/** The end of a range is open: the last sample must lie inside. */
function lastTime({ time, timed }: Lane): number {
  return timed && time.length > 0 ? time[time.length - 1] + 1 : 0;
}

/** By the table of loops; older recordings have markers alone, with a text for many quick turns. */
function watchedOf({ columns }: Payload): Watched[] {
  const column = (name: string) => columns.get(name) ?? [];
  const rows = (table: string, isIn: (row: number) => boolean) => {
    const [thread, start, end] = ["thread", "start_ns", "end_ns"].map((name) => column(`${table}.${name}`));
    return [...thread.keys()].filter(isIn).map((row) => ({ thread: thread[row], start: start[row], end: end[row] }));
  };
  const [problems, kinds, texts] = [column("loops.problem"), column("markers.kind"), column("markers.text")];
  if (problems.length + column("long_turns.kind").length > 0) return rows("loops", (row) => problems[row] === NONE);
  return rows("markers", (row) => kinds[row] === 0 && texts[row] !== NONE);
}

export function functionName(profile: Profile, id: number): string {
  return profile.strings[profile.functions.name[id]] ?? "";
}

/** Where many have no name, the place distinguishes them. */
export function functionWords(profile: Profile, id: number): string {
  const name = functionName(profile, id) || "(anonymous)";
  return name === "(anonymous)" ? `${name} ${functionPlace(profile, id).replace(/.*\//, "")}`.trim() : name;
}

/** The script or, for native code, the binary; as the report names it. */
export function functionFile(profile: Profile, id: number): string {
  const { source, module, line } = profile.functions;
  if (source[id] !== NONE) return profile.sources[source[id]];
  // Generated code that has a position but no script: "[JIT]:1" would mean nothing.
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
