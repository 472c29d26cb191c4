// Which of the stalls that the report knows are of the threads that are shown. Where no loop of these was watched, for
// how long they were busy without a pause, which is no stall.

import type { Said, SaidStall } from "../data/said.ts";

export interface Loops {
  /** Whether any loop was watched: without that, no stall means nothing. */
  isWatched: boolean;
  /** Long turns, or busy stretches where none was watched; the longest first. */
  longest: SaidStall[];
}

export function loopsOf(said: Said | null, threads: Uint8Array | null): Loops {
  if (!said) return { isWatched: false, longest: [] };
  const isShown = (thread: number) => !threads || threads[thread] === 1;
  const isWatched = said.watched.some(isShown);
  const longest = (isWatched ? said.stalls : said.busy).filter(({ thread }) => isShown(thread));
  return { isWatched, longest };
}
