// Which of the stalls that the report knows are of the threads that are shown. Where no loop of these was watched, for
// how long they were busy without a pause, which is no stall.

import type { PageReport, PageStall } from "../data/report.ts";
import type { Range } from "../select/selection.ts";

export interface Loops {
  /** Whether any loop was watched: without that, no stall means nothing. */
  isWatched: boolean;
  /** Long turns, or busy stretches where none was watched; the longest first. */
  longest: PageStall[];
}

export function loopsOf(report: PageReport | null, threads: Uint8Array | null): Loops {
  if (!report) return { isWatched: false, longest: [] };
  const isShown = (thread: number) => !threads || threads[thread] === 1;
  const isWatched = report.watched.some(isShown);
  const longest = (isWatched ? report.stalls : report.busy).filter(({ thread }) => isShown(thread));
  return { isWatched, longest };
}

/** Those of them that are in a range, or reach into it. */
export function loopsIn(loops: Loops, range: Range | null): Loops {
  if (!range) return loops;
  const [from, to] = range;
  return { ...loops, longest: loops.longest.filter(({ start_ns, end_ns }) => start_ns < to && from < end_ns) };
}
