// Top lists: what took the time, by function, file, package, category, line, thread or process. `self` is the weight of
// samples that ended there, `total` of samples that have it anywhere on the stack, once each. As crates/views does it.

import { APP, NONE, type Profile, samplesIn, UNKNOWN } from "../data/model.ts";
import { forEachRow, type Selection, type StackSums } from "../select/selection.ts";
import type { TopBy } from "../select/state.ts";
import type { Things } from "./diff.ts";
import { type EntryGroup, keyOfEntry } from "./entries.ts";
import { kindOfBox } from "./lens/virtual.ts";
import { versionsOf } from "./packages.ts";

export interface TopRow {
  /**
   * A row of the table that the list is by; of an entry one of the report's list; of a file 2 × source, or
   * 2 × module + 1; of a line the source.
   */
  key: number;
  /** Of a line its number; of a package the string of its version + 1, or 0. */
  line: number;
  category: number;
  self: number;
  total: number;
  selfSamples: number;
  totalSamples: number;
}

/** What does not change with the selection: to which row of the list each stack counts. */
export interface Kinds {
  /** For each stack a row, or -1. */
  of: Int32Array;
  /** Whether no caller counts to the same row. */
  isOutermost: Uint8Array;
  keys: number[];
  lines: number[];
}

/** Whether a list is of what stands on stacks, with time of its own and in all. */
export function hasOwnTime(by: TopBy): boolean {
  return by !== "thread" && by !== "process" && by !== "entry";
}

export function kindsOf(profile: Profile, by: TopBy, hidden: Uint8Array | null): Kinds {
  const size = profile.stacks.parent.length;
  const of = new Int32Array(size).fill(-1);
  const kinds: Kinds = { of, isOutermost: new Uint8Array(size), keys: [], lines: [] };
  const known = new Map<number, number>();
  const versions = by === "package" ? versionsOf(profile) : null;
  for (let stack = 0; stack < size; stack++) {
    if (hidden?.[stack]) continue;
    const [key, line] = keyOf(profile, stack, by, versions);
    if (key < 0) continue;
    const both = key * 0x100_0000 + line;
    let kind = known.get(both);
    if (kind === undefined) {
      kind = kinds.keys.length;
      known.set(both, kind);
      kinds.keys.push(key);
      kinds.lines.push(line);
    }
    of[stack] = kind;
  }
  markOutermost(profile, kinds);
  return kinds;
}

function keyOf(profile: Profile, stack: number, by: TopBy, versions: Uint32Array | null): [key: number, line: number] {
  const { functions, stacks, frames } = profile;
  const id = stacks.listed[stack];
  // What asked for the work is a root of a lens, and no function.
  if (by !== "category" && kindOfBox(profile, id) === "entry") return [-1, 0];
  switch (by) {
    case "function":
      return [id, 0];
    case "file":
      if (functions.source[id] !== NONE) return [2 * functions.source[id], 0];
      return [functions.module[id] === NONE ? -1 : 2 * functions.module[id] + 1, 0];
    case "package":
      if (functions.package[id] === NONE) return [-1, 0];
      return [functions.package[id], versions && versions[id] !== NONE ? versions[id] + 1 : 0];
    case "category":
      return [stacks.category[stack], 0];
    case "line": {
      const line = frames.line[stacks.frame[stack]];
      return [functions.source[id] === NONE || line === 0 ? -1 : functions.source[id], line];
    }
    default:
      return [-1, 0];
  }
}

/** One walk over the tree of stacks with a count of what is open: a total counts each sample once. */
function markOutermost(profile: Profile, { of, isOutermost, keys }: Kinds): void {
  const { parent } = profile.stacks;
  const size = parent.length;
  const [child, sibling] = [new Int32Array(size).fill(-1), new Int32Array(size).fill(-1)];
  let root = -1;
  for (let stack = size - 1; stack >= 0; stack--) {
    const above = parent[stack];
    sibling[stack] = above === NONE ? root : child[above];
    if (above === NONE) root = stack;
    else child[above] = stack;
  }
  const open = new Int32Array(keys.length);
  let at = root;
  while (at !== -1) {
    if (of[at] >= 0 && open[of[at]]++ === 0) isOutermost[at] = 1;
    if (child[at] !== -1) {
      at = child[at];
      continue;
    }
    while (at !== -1) {
      if (of[at] >= 0) open[of[at]]--;
      if (sibling[at] !== -1) {
        at = sibling[at];
        break;
      }
      at = parent[at] === NONE ? -1 : parent[at];
    }
  }
}

/** The list of functions, files … by the sums of a selection, most self weight first. */
export function topOf(profile: Profile, sums: StackSums, by: TopBy, hidden: Uint8Array | null, kinds: Kinds): TopRow[] {
  const { parent, frame, category, box } = profile.stacks;
  const [ended, endedSamples] = [sums.weight.slice(), sums.samples.slice()];
  const [whole, wholeSamples] = [sums.weight.slice(), sums.samples.slice()];
  for (let stack = parent.length - 1; stack >= 0; stack--) {
    const above = parent[stack];
    if (above === NONE) continue;
    whole[above] += whole[stack];
    wholeSamples[above] += wholeSamples[stack];
    if (hidden?.[stack]) {
      // What is hidden gives its own to its caller.
      ended[above] += ended[stack];
      endedSamples[above] += endedSamples[stack];
    }
  }
  const rows: (TopRow | undefined)[] = new Array(kinds.keys.length);
  for (let stack = 0; stack < parent.length; stack++) {
    const kind = kinds.of[stack];
    if (kind < 0 || wholeSamples[stack] === 0) continue;
    const shown = by === "category" ? category[stack] : box[stack];
    const own = by === "function" ? profile.frames.category[frame[stack]] : shown;
    rows[kind] ??= newRow(kinds.keys[kind], kinds.lines[kind], own);
    const row = rows[kind];
    row.self += ended[stack];
    row.selfSamples += endedSamples[stack];
    if (kinds.isOutermost[stack]) {
      row.total += whole[stack];
      row.totalSamples += wholeSamples[stack];
    }
  }
  const list = rows.filter((row): row is TopRow => row !== undefined);
  return sortRows(by === "line" && list.length === 0 ? linesByTicks(profile, sums) : list);
}

/** To which row each stack's own weight counts: that of a hidden frame is its caller's. */
export function ownKinds(profile: Profile, hidden: Uint8Array | null, kinds: Kinds): Things {
  const { parent } = profile.stacks;
  const of = new Int32Array(parent.length + 1).fill(-1);
  for (let stack = 0; stack < parent.length; stack++) {
    of[stack] = hidden?.[stack] && parent[stack] !== NONE ? of[parent[stack]] : kinds.of[stack];
  }
  return { of, count: kinds.keys.length, parent: null };
}

/** Threads or processes. */
export function topOfThreads(profile: Profile, selection: Selection, by: TopBy): TopRow[] {
  const rows = new Map<number, TopRow>();
  forEachRow(profile, selection, (at, lane) => {
    const thread = lane.thread[at];
    const key = by === "process" ? profile.threads[thread].process : thread;
    let row = rows.get(key);
    if (!row) {
      row = newRow(key, 0, UNKNOWN);
      rows.set(key, row);
    }
    addWhole(row, lane.weight[at], samplesIn(lane, at));
  });
  return sortRows([...rows.values()]);
}

/** As rows of a list: the first entry of each kind and function, with the weight of all. */
export function topOfEntries({ report }: Profile, groups: readonly EntryGroup[]): TopRow[] {
  const keys = report?.entries.list.map(keyOfEntry) ?? [];
  return groups.flatMap(({ rows }) =>
    rows.map(({ key, weight, samples }) => ({
      key: keys.indexOf(key),
      line: 0,
      category: UNKNOWN,
      ...{ self: weight, total: weight, selfSamples: samples, totalSamples: samples },
    })),
  );
}

/** Ticks have no time and no thread: they share out the weight of their stack. */
function linesByTicks(profile: Profile, sums: StackSums): TopRow[] {
  const { stack, line, ticks } = profile.lineTicks;
  const all = new Map<number, number>();
  for (const [at, id] of stack.entries()) all.set(id, (all.get(id) ?? 0) + ticks[at]);
  const rows = new Map<string, TopRow>();
  for (const [at, id] of stack.entries()) {
    const source = profile.functions.source[profile.stacks.listed[id]];
    if (source === NONE || !(sums.weight[id] > 0)) continue;
    const key = `${source}:${line[at]}`;
    const row = rows.get(key) ?? newRow(source, line[at], profile.stacks.box[id]);
    rows.set(key, row);
    const part = ticks[at] / Math.max(1, all.get(id) ?? 0);
    addWhole(row, Math.floor(sums.weight[id] * part), Math.floor(sums.samples[id] * part));
  }
  return [...rows.values()];
}

/** What each function of the application caused: its own time and that of all it called, up to the next such function. */
export function causedBy(profile: Profile, sums: StackSums): Map<number, number> {
  const { parent, box: category, listed: functions } = profile.stacks;
  const nearest = new Int32Array(parent.length);
  const caused = new Map<number, number>();
  for (let stack = 0; stack < parent.length; stack++) {
    const inherited = parent[stack] === NONE ? -1 : nearest[parent[stack]];
    const isOwn = category[stack] === APP && kindOfBox(profile, functions[stack]) === "function";
    nearest[stack] = isOwn ? stack : inherited;
    if (sums.weight[stack] === 0 || nearest[stack] < 0) continue;
    const id = functions[nearest[stack]];
    caused.set(id, (caused.get(id) ?? 0) + sums.weight[stack]);
  }
  return caused;
}

function newRow(key: number, line: number, category: number): TopRow {
  return { key, line, category, self: 0, total: 0, selfSamples: 0, totalSamples: 0 };
}

function addWhole(row: TopRow, weight: number, samples: number): void {
  row.self += weight;
  row.total += weight;
  row.selfSamples += samples;
  row.totalSamples += samples;
}

function sortRows(rows: TopRow[]): TopRow[] {
  return rows.sort((a, b) => b.self - a.self || b.total - a.total || a.key - b.key || a.line - b.line);
}

/** The row with the most weight. */
export function hottest(weights: Map<number, number>): [number, number] | null {
  let best: [number, number] | null = null;
  for (const row of weights) if (!best || row[1] > best[1]) best = row;
  return best;
}
