// How good a recording is.

import type { Losses } from "../data/format.ts";

/** Frames with a name, as a share; null where they were not counted. */
export function namedShare({ frames, unnamed }: Losses): number | null {
  if (!frames) return null;
  const without = Object.values(unnamed ?? {}).reduce((sum, count) => sum + count, 0);
  return 1 - without / frames;
}
