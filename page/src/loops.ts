// How event loops turned. A stall is one turn that took long, without waiting. Where nobody counted turns, samples one
// right behind another say for how long a loop was busy at most, which is no stall.

import { APP, DEPENDENCY, IDLE, type Profile } from "./model";
import { type Selection, forEachRow, sumStacks } from "./selection";
import { causedBy, hottest } from "./top";

const SHORTEST_STALL_NS = 50e6;

export interface Stretch {
  thread: number;
  start: number;
  end: number;
}

export interface Loops {
  /** Whether any loop was watched: without that, no stall means nothing. */
  isWatched: boolean;
  /** Long turns, or busy stretches where none was watched; the longest first. */
  longest: Stretch[];
}

export function loopsOf(profile: Profile, threads: Uint8Array | null, lane: number): Loops {
  const turns = profile.turns.filter((turn) => !threads || threads[turn.thread] === 1);
  const long = turns.filter((turn) => turn.text === null && turn.end - turn.start >= SHORTEST_STALL_NS);
  const longest = turns.length > 0 ? long.map(({ thread, start, end }) => ({ thread, start, end })) : busy(profile, threads, lane);
  longest.sort((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start);
  return { isWatched: turns.length > 0, longest };
}

/** Stretches of a loop's thread in which every interval has a sample; the inspector's samples of waiting are none. */
function busy(profile: Profile, threads: Uint8Array | null, lane: number): Stretch[] {
  const interval = profile.meta.interval_ns;
  if (!interval || !profile.lanes[lane]?.timed) return [];
  const isLoop = Uint8Array.from(profile.threads, ({ role }, id) => Number(["main", "worker"].includes(role) && threads?.[id] !== 0));
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
    open.set(thread[row], { thread: thread[row], start: time[row], end: time[row] + interval });
  });
  for (const stretch of open.values()) keep(stretch);
  return found;
}

/** The function of the application or its packages that caused most of a stretch; -1 where none did. */
export function culprit(profile: Profile, { thread, start, end }: Stretch, lane: number): number {
  const threads = new Uint8Array(profile.threads.length);
  threads[thread] = 1;
  const selection: Selection = { lane, range: [start, end], threads, stacks: null };
  const caused = causedBy(profile, sumStacks(profile, selection), [APP, DEPENDENCY], "function");
  return hottest(caused)?.[0] ?? -1;
}
