// Threads: how busy each was, which loop the page opens on, and the bands of the heat map.

import { IDLE, type Profile, ROLES } from "../data/model.ts";
import { forRows, rowsOf, type Selection, type Summed, stepsTo } from "../select/selection.ts";

/** More bands than this cannot be distinguished. */
export const MOST_BANDS = 12;

/** A picture of its own in the heat map. */
export interface Band {
  label: string;
  threads: number[];
}

/** The weight of each thread in a selection, without waiting. */
export interface ThreadSums extends Summed {
  weight: Float64Array;
}

/** The weight of each thread in a lane, without waiting. */
export function weightsOfThreads(profile: Profile, lane: number): Float64Array {
  return sumThreads(profile, { lane, range: null, threads: null, stacks: null }).weight;
}

/** `reuse` is an old result that is not needed any more, as for `sumStacks`. */
export function sumThreads(profile: Profile, selection: Selection, reuse?: ThreadSums): ThreadSums {
  const lane = profile.lanes[selection.lane];
  const rows = rowsOf(lane, selection);
  const steps = reuse && stepsTo(reuse, selection, rows);
  const weight = steps ? reuse.weight : new Float64Array(profile.threads.length);
  const { category } = profile.stacks;
  for (const [first, end, sign] of steps ?? [[...rows, 1]])
    forRows(lane, selection, [first, end], (row, { thread, weight: weights }, stack) => {
      if (category[stack] !== IDLE) weight[thread[row]] += sign * weights[row];
    });
  return { weight, of: selection, rows };
}

/** The same, to be used up. */
export function copyOf(sums: ThreadSums): ThreadSums {
  return { ...sums, weight: sums.weight.slice() };
}

/** All rows of the busiest main loop: a changed name opens a new row. Null where no main loop ran. */
export function busiestLoop({ threads }: Profile, weights: Float64Array): number[] | null {
  let best = -1;
  for (const [id, { role }] of threads.entries()) {
    if (role === "main" && weights[id] > (best < 0 ? 0 : weights[best])) best = id;
  }
  if (best < 0) return null;
  const { process, tid } = threads[best];
  return threads.flatMap((row, id) => (row.process === process && row.tid === tid ? [id] : []));
}

/** Threads that ran, by process or each alone, the busiest first. */
export function bandsOf(
  { threads, processes }: Profile,
  weights: Float64Array,
  shown: readonly number[] | null,
  by: "process" | "thread",
): Band[] {
  const groups = new Map<string, Band & { weight: number }>();
  for (const [id, { process, tid, name, role }] of threads.entries()) {
    if (weights[id] === 0 || (shown && !shown.includes(id))) continue;
    const key = by === "process" ? `p${process}` : `t${process}/${tid ?? name}`;
    const ofProcess = `${processes[process].name || "process"} ${processes[process].pid ?? ""}`;
    const ofThread = `${role === "other" ? name : ROLES[role]} ${tid ?? ""}`;
    const label = by === "process" ? ofProcess : ofThread;
    const group = groups.get(key) ?? { label, threads: [], weight: 0 };
    group.threads.push(id);
    group.weight += weights[id];
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.weight - a.weight);
}

/** For each thread its band, or -1. */
export function bandOfThreads(bands: readonly Band[], size: number): Int32Array {
  const of = new Int32Array(size).fill(-1);
  for (const [band, { threads }] of bands.entries()) for (const id of threads) of[id] = band;
  return of;
}
