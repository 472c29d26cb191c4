// A second recording behind the first: its functions are the first one's where they are the same, so that every view
// and every comparison works on both. The ids of the first stay what they are; the lanes and threads of the second
// stand behind its own.

import { functionName, type Lane, NONE, type Profile } from "./model.ts";

export function join(now: Profile, before: Profile, id: string, name: string): Profile {
  const text = union(now.strings, before.strings);
  const sources = union(now.sources, before.sources);
  const modules = union(now.modules, before.modules);
  const functionOf = sameFunctions(now, before);
  const [threads, stacks, frames] = [now.threads.length, now.stacks.parent.length, now.frames.function.length];
  const added = functionOf.flatMap((id, row) => (id >= now.functions.name.length ? [row] : []));
  const also = (own: Uint32Array, other: Uint32Array, of?: readonly number[]) => {
    const rest = Uint32Array.from(added, (row) => (of && other[row] !== NONE ? of[other[row]] : other[row]));
    return behind(own, rest);
  };
  const both = now.functions;
  const more = before.functions;
  const later = (ids: Uint32Array, by: number) => ids.map((id) => (id === NONE ? NONE : id + by));
  const lane = (own: Lane): Lane => ({ ...own, thread: later(own.thread, threads), stack: later(own.stack, stacks) });
  return {
    ...now,
    strings: text.all,
    sources: sources.all,
    modules: modules.all,
    processes: [...now.processes, ...before.processes],
    threads: [
      ...now.threads,
      ...before.threads.map((row) => ({ ...row, process: row.process + now.processes.length })),
    ],
    lanes: [...now.lanes, ...before.lanes.map(lane)],
    other: {
      id,
      name,
      lane: now.lanes.length,
      thread: threads,
      durationNs: before.durationNs,
      startMs: before.startMs,
    },
    functions: {
      name: also(both.name, more.name, text.of),
      source: also(both.source, more.source, sources.of),
      line: also(both.line, more.line),
      column: also(both.column, more.column),
      module: also(both.module, more.module, modules.of),
      package: also(both.package, more.package, text.of),
    },
    frames: {
      function: behind(
        now.frames.function,
        before.frames.function.map((id) => functionOf[id]),
      ),
      line: behind(now.frames.line, before.frames.line),
      category: behind(now.frames.category, before.frames.category),
      tier: behind(now.frames.tier, before.frames.tier),
    },
    stacks: {
      parent: behind(now.stacks.parent, later(before.stacks.parent, stacks)),
      frame: behind(now.stacks.frame, later(before.stacks.frame, frames)),
      category: behind(now.stacks.category, before.stacks.category),
      function: behind(
        now.stacks.function,
        before.stacks.function.map((id) => functionOf[id]),
      ),
    },
    lineTicks: {
      stack: behind(now.lineTicks.stack, later(before.lineTicks.stack, stacks)),
      line: behind(now.lineTicks.line, before.lineTicks.line),
      ticks: behind(now.lineTicks.ticks, before.lineTicks.ticks),
    },
  };
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
 * The script, which the inspector tells as an address; or the binary's file name without its version, because two
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
