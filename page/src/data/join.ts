// A second recording behind the first: its functions are the first one's where they are the same, so that every view
// and every comparison works on both. The ids of the first stay what they are; the lanes and threads of the second
// stand behind its own.

import { functionName, NONE, type Profile } from "./model.ts";

export function join(now: Profile, before: Profile, id: string, name: string): Profile {
  const strings = union(now.strings, before.strings);
  const sources = union(now.sources, before.sources);
  const modules = union(now.modules, before.modules);
  const functionOf = sameFunctions(now, before);
  const [lane, thread, stack] = [now.lanes.length, now.threads.length, now.stacks.parent.length];
  const processOf = (process: number) => process + now.processes.length;
  const threads = before.threads.map((row) => ({ ...row, process: processOf(row.process) }));
  const lanes = before.lanes.map((row) => ({
    ...row,
    thread: later(row.thread, thread),
    stack: later(row.stack, stack),
    raw: later(row.raw, stack),
    logical: later(row.logical, stack),
    physical: later(row.physical, stack),
  }));
  const { durationNs, startMs, report } = before;
  const intervalNs = before.meta.interval_ns ?? null;
  return {
    ...now,
    strings: strings.all,
    sources: sources.all,
    modules: modules.all,
    processes: [...now.processes, ...before.processes],
    threads: [...now.threads, ...threads],
    lanes: [...now.lanes, ...lanes],
    other: { id, name, lane, thread, durationNs, startMs, intervalNs, report },
    functions: bothFunctions(now, before, functionOf, {
      strings: strings.of,
      sources: sources.of,
      modules: modules.of,
    }),
    frames: bothFrames(now.frames, before.frames, functionOf),
    stacks: bothStacks(now, before, functionOf),
    ...bothEntries(now, before, functionOf),
    hasAwaits: now.hasAwaits || before.hasAwaits,
    lineTicks: {
      stack: behind(now.lineTicks.stack, later(before.lineTicks.stack, stack)),
      line: behind(now.lineTicks.line, before.lineTicks.line),
      ticks: behind(now.lineTicks.ticks, before.lineTicks.ticks),
    },
  };
}

/** What asked for the work in both; not known where it is known of one alone. */
function bothEntries(
  now: Profile,
  before: Profile,
  functionOf: readonly number[],
): Pick<Profile, "report" | "entries"> {
  const { report, entries } = now;
  if (!report || !entries || !before.report || !before.entries) return { report, entries: null };
  const first = report.entries.list.length;
  const added = before.report.entries.list.map((entry) => ({
    ...entry,
    function: entry.function === null ? null : functionOf[entry.function],
  }));
  const list = [...report.entries.list, ...added];
  return {
    report: { ...report, entries: { ...report.entries, list } },
    entries: behind(
      entries,
      before.entries.map((row) => row + first),
    ),
  };
}

/** Where the texts of the second stand among those of both. */
interface Places {
  strings: readonly number[];
  sources: readonly number[];
  modules: readonly number[];
}

/** Those of the first, and those of the second that are not among them. */
function bothFunctions(now: Profile, before: Profile, functionOf: readonly number[], places: Places) {
  const own = now.functions;
  const other = before.functions;
  const added = functionOf.flatMap((id, row) => (id >= own.name.length ? [row] : []));
  const both = (key: keyof Profile["functions"], of?: readonly number[]) => {
    const value = (row: number) => (of && other[key][row] !== NONE ? of[other[key][row]] : other[key][row]);
    return behind(own[key], Uint32Array.from(added, value));
  };
  return {
    name: both("name", places.strings),
    source: both("source", places.sources),
    line: both("line"),
    column: both("column"),
    module: both("module", places.modules),
    package: both("package", places.strings),
    version: both("version", places.strings),
  };
}

function bothFrames(now: Profile["frames"], before: Profile["frames"], functionOf: readonly number[]) {
  const functions = before.function.map((id) => functionOf[id]);
  return {
    function: behind(now.function, functions),
    line: behind(now.line, before.line),
    category: behind(now.category, before.category),
    tier: behind(now.tier, before.tier),
  };
}

function bothStacks(now: Profile, before: Profile, functionOf: readonly number[]) {
  const { parent, frame, category, call, function: functions } = before.stacks;
  const ids = behind(
    now.stacks.function,
    functions.map((id) => functionOf[id]),
  );
  const categories = behind(now.stacks.category, category);
  return {
    parent: behind(now.stacks.parent, later(parent, now.stacks.parent.length)),
    frame: behind(now.stacks.frame, later(frame, now.frames.function.length)),
    category: categories,
    call: behind(now.stacks.call, call),
    function: ids,
    listed: ids,
    box: categories,
    run: null,
  };
}

/** Ids of rows that stand so many rows later. */
function later(ids: Uint32Array, by: number): Uint32Array {
  return ids.map((id) => (id === NONE ? NONE : id + by));
}

function behind<T extends Uint8Array | Uint32Array>(first: T, second: T): T {
  const all = new (first.constructor as new (length: number) => T)(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** All texts, each of the second once; and the place of each of the second. */
function union(first: readonly string[], second: readonly string[]): { all: string[]; of: number[] } {
  const places = new Map(first.map((text, at) => [text, at]));
  const all = [...first];
  const of = second.map((text) => {
    const at = places.get(text) ?? all.push(text) - 1;
    places.set(text, at);
    return at;
  });
  return { all, of };
}

/**
 * For each function of the second its row among both: the same name and place, best with the same position. Where an
 * edit moved lines, those of one name that are left over are the same in their order.
 */
function sameFunctions(now: Profile, before: Profile): number[] {
  const known = byName(now);
  const found: number[] = new Array(before.functions.name.length).fill(-1);
  for (const [words, ids] of byName(before)) {
    let left = known.get(words) ?? [];
    for (const id of ids) {
      const same = left.find((other) => positionOf(now, other) === positionOf(before, id));
      if (same === undefined) continue;
      found[id] = same;
      left = left.filter((other) => other !== same);
    }
    for (const id of ids) if (found[id] < 0) found[id] = left.shift() ?? -1;
  }
  let next = now.functions.name.length;
  return found.map((id) => (id < 0 ? next++ : id));
}

function byName(profile: Profile): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  const ids = Array.from(profile.functions.name, (_, id) => id).sort(
    (a, b) => positionOf(profile, a) - positionOf(profile, b),
  );
  for (const id of ids) {
    const words = `${functionName(profile, id)}\n${placeOf(profile, id)}`;
    const group = groups.get(words);
    if (group) group.push(id);
    else groups.set(words, [id]);
  }
  return groups;
}

/**
 * The script, which the inspector reports as an address; or the binary's file name without its version, because two
 * releases of Node stand in different folders.
 */
function placeOf({ functions, sources, modules }: Profile, id: number): string {
  if (functions.source[id] !== NONE) return sources[functions.source[id]].replace("file://", "");
  const path = functions.module[id] === NONE ? "" : modules[functions.module[id]];
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replace(/\.so\b.*/, ".so")
    .replace(/^perf-\d+\.map$/, "[JIT]");
}

function positionOf({ functions }: Profile, id: number): number {
  return functions.line[id] * 0x1_0000 + functions.column[id];
}
