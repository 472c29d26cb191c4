// How event loops turned. A stall is one turn that took long. Where turns were not counted, samples one right behind
// another say for how long a loop was busy at most, which is no stall.

import { APP, BLOCKED, DEPENDENCY, IDLE, type Lane, type Profile, RAN } from "../data/model.ts";
import { forEachRow, sumStacks } from "../select/selection.ts";
import { causedBy, hottest } from "./top.ts";

const SHORTEST_STALL_NS = 50e6;

export interface Stretch {
  thread: number;
  start: number;
  end: number;
  spent: number;
}

export interface Loops {
  /** Whether any loop was watched: without that, no stall means nothing. */
  isWatched: boolean;
  /** Long turns, or busy stretches where none was watched; the longest first. */
  longest: Stretch[];
}

export function loopsOf(profile: Profile, threads: Uint8Array | null, lane: number): Loops {
  const turns = profile.turns.filter((turn) => !threads || threads[turn.thread] === 1);
  const long = turns.filter((turn) => turn.isLong && turn.end - turn.start >= SHORTEST_STALL_NS);
  const longest: Stretch[] = turns.length > 0 ? long : busy(profile, threads, lane);
  longest.sort((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start);
  return { isWatched: turns.length > 0, longest };
}

/** Stretches of a loop's thread in which every interval has a sample; the inspector's samples of waiting are none. */
function busy(profile: Profile, threads: Uint8Array | null, lane: number): Stretch[] {
  const interval = profile.meta.interval_ns;
  if (!interval || !profile.lanes[lane]?.timed) return [];
  const isLoop = Uint8Array.from(profile.threads, ({ role }, id) =>
    Number(["main", "worker"].includes(role) && threads?.[id] !== 0),
  );
  const open = new Map<number, Stretch>();
  const found: Stretch[] = [];
  const keep = (stretch: Stretch) => stretch.end - stretch.start >= SHORTEST_STALL_NS && found.push(stretch);
  const stacks = profile.stacks.category.map((byte) => Number(byte !== IDLE));
  forEachRow(profile, { lane, range: null, threads: isLoop, stacks }, (row, { time, thread }) => {
    const last = open.get(thread[row]);
    if (last && time[row] - last.end < interval) {
      last.end = time[row] + interval;
      return;
    }
    if (last) keep(last);
    open.set(thread[row], { thread: thread[row], start: time[row], end: time[row] + interval, spent: RAN });
  });
  for (const stretch of open.values()) keep(stretch);
  return found;
}

/** The function of the application, or else of a package, that caused most of a stretch; -1 where none did. */
export function culprit(profile: Profile, stretch: Stretch, lane: number): number {
  const its = laneOf(profile, stretch.spent, lane);
  if (its < 0) return -1;
  const threads = new Uint8Array(profile.threads.length);
  threads[stretch.thread] = 1;
  const range = [stretch.start, stretch.end] as const;
  const sums = sumStacks(profile, { lane: its, range, threads, stacks: null });
  const most = (category: number) => hottest(causedBy(profile, sums, [category], "function"));
  return (most(APP) ?? most(DEPENDENCY))?.[0] ?? -1;
}

/**
 * The lane that says what a stretch did; -1 where none does. What ran has samples in the lane that is shown, which must
 * not be that of waiting; what was blocked is named by its sleeping stacks; what waited for a CPU accuses no function.
 */
function laneOf({ lanes }: Profile, spent: number, lane: number): number {
  const isWaits = ({ name }: Lane) => name === "waits";
  if (spent === BLOCKED) return lanes.findIndex(isWaits);
  if (spent !== RAN) return -1;
  return lanes[lane] && isWaits(lanes[lane]) ? lanes.findIndex((other) => !isWaits(other)) : lane;
}
