// The stacks of one thread in the order of time: equal callers of neighbouring samples become one box. Where there are
// more samples than pixels, each pixel shows its first; a gap in the samples stays a gap.

import { NONE, type Profile } from "../data/model.ts";
import { type Range, rowsIn, type Selection } from "../select/selection.ts";

export interface Span {
  function: number;
  category: number;
  tier: number;
  depth: number;
  start: number;
  end: number;
  samples: number;
}

/** More than so many intervals without a sample are a gap. */
const LONGEST = 1.5;

export function timeOrder(
  profile: Profile,
  selection: Selection,
  thread: number,
  range: Range,
  width: number,
  hidden: Uint8Array | null,
): Span[] {
  const lane = profile.lanes[selection.lane];
  const spans: Span[] = [];
  if (!lane?.timed) return spans;
  const interval = profile.meta.interval_ns ?? medianGap(profile, selection, thread);
  const { parent, frame, category, function: functions } = profile.stacks;
  const [first, end] = rowsIn(lane.time, range);
  const pixel = (range[1] - range[0]) / Math.max(1, width);
  const open: Span[] = [];
  let [lastPixel, lastTime, length] = [-1, -1, interval];
  const path: number[] = [];
  const close = (from: number, at: number) => {
    for (const span of open.splice(from)) span.end = Math.max(span.start, Math.min(at, range[1]));
  };
  for (let row = first; row < end; row++) {
    const stack = lane.stack[row];
    if (lane.thread[row] !== thread || (selection.stacks && (stack === NONE || !selection.stacks[stack]))) continue;
    const time = lane.time[row];
    const isGap = lastTime >= 0 && time - lastTime > LONGEST * length;
    const column = Math.floor((time - range[0]) / pixel);
    const last = length;
    // A sampler that was late says so in the weight.
    length = lane.unit === "ns" ? Math.max(interval, lane.weight[row]) : interval;
    if (column === lastPixel && !isGap) {
      for (const span of open) span.samples++;
      lastTime = time;
      continue;
    }
    if (isGap) close(0, lastTime + last);
    [lastPixel, lastTime] = [column, time];
    path.length = 0;
    for (let at = stack; at !== NONE; at = parent[at]) if (!hidden?.[at]) path.push(at);
    path.reverse();
    let same = 0;
    while (same < open.length && same < path.length && open[same].function === functions[path[same]])
      open[same++].samples++;
    close(same, time);
    for (let depth = same; depth < path.length; depth++) {
      const at = path[depth];
      const tier = profile.frames.tier[frame[at]];
      const span = { function: functions[at], category: category[at], tier, depth, start: time, end: time, samples: 1 };
      open.push(span);
      spans.push(span);
    }
  }
  close(0, lastTime + length);
  return spans;
}

/** Where the recording does not say its interval. */
function medianGap(profile: Profile, selection: Selection, thread: number): number {
  const lane = profile.lanes[selection.lane];
  const gaps: number[] = [];
  let last = -1;
  for (let row = 0; row < lane.time.length && gaps.length < 10_000; row++) {
    if (lane.thread[row] !== thread) continue;
    if (last >= 0) gaps.push(lane.time[row] - last);
    last = lane.time[row];
  }
  gaps.sort((a, b) => a - b);
  return gaps[gaps.length >> 1] || 1e7;
}
