// The stacks of one thread in the order of time: equal callers of neighbouring samples become one box. Where there are
// more samples than pixels, each pixel shows its first; a gap in the samples stays a gap.

import { NONE, type Profile } from "../data/model.ts";
import { type Range, rowsIn, type Selection } from "../select/selection.ts";

export interface Span {
  function: number;
  category: number;
  tier: number;
  depth: number;
  /** Of a run of package frames, the most of them on a stack; else 0. */
  run: number;
  start: number;
  end: number;
  samples: number;
  /** Whether one of its samples matches what is searched for. */
  isFound: boolean;
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
  matching: Uint8Array | null,
): Span[] {
  const lane = profile.lanes[selection.lane];
  if (!lane?.timed) return [];
  const interval = profile.meta.interval_ns ?? medianGap(profile, selection, thread);
  const [first, end] = rowsIn(lane.time, range);
  const pixel = (range[1] - range[0]) / Math.max(1, width);
  const spans = new Spans(profile, hidden, range[1]);
  let [lastPixel, lastTime, length] = [-1, -1, interval];
  for (let row = first; row < end; row++) {
    const [stack, raw] = [lane.stack[row], lane.raw[row]];
    if (lane.thread[row] !== thread || (selection.stacks && (raw === NONE || !selection.stacks[raw]))) continue;
    const time = lane.time[row];
    const isGap = lastTime >= 0 && time - lastTime > LONGEST * length;
    if (isGap) spans.close(0, lastTime + length);
    const column = Math.floor((time - range[0]) / pixel);
    const isFound = raw !== NONE && matching?.[raw] === 1;
    if (column === lastPixel && !isGap) spans.count(isFound);
    else spans.add(stack, time, isFound);
    // The weight shows when the sampler was late, and when its rate was higher.
    length = lane.unit === "ns" ? lane.weight[row] || interval : interval;
    [lastPixel, lastTime] = [column, time];
  }
  spans.close(0, lastTime + length);
  return spans.all;
}

/** The boxes so far, and those that are open: one for each function on the stack of the last sample. */
class Spans {
  readonly all: Span[] = [];
  private readonly open: Span[] = [];
  /** Used again for every sample. */
  private readonly path: number[] = [];
  private readonly profile: Profile;
  private readonly hidden: Uint8Array | null;
  private readonly end: number;

  constructor(profile: Profile, hidden: Uint8Array | null, end: number) {
    this.profile = profile;
    this.hidden = hidden;
    this.end = end;
  }

  /** Another sample of the same boxes. */
  count(isFound: boolean): void {
    for (const span of this.open) {
      span.samples++;
      span.isFound ||= isFound;
    }
  }

  /** Ends the boxes from this depth on. */
  close(depth: number, time: number): void {
    for (const span of this.open.splice(depth)) span.end = Math.max(span.start, Math.min(time, this.end));
  }

  /** A sample: boxes of the same callers go on, the others end, and new ones begin. */
  add(stack: number, time: number, isFound: boolean): void {
    const { frames, stacks } = this.profile;
    const path = this.pathOf(stack);
    let same = 0;
    while (same < path.length && this.open[same]?.function === stacks.function[path[same]]) same++;
    if (same < this.open.length) this.close(same, time);
    this.count(isFound);
    for (let depth = same; depth < path.length; depth++) {
      const at = path[depth];
      const tier = frames.tier[stacks.frame[at]];
      const [id, category] = [stacks.function[at], stacks.box[at]];
      const run = stacks.run?.[at] ?? 0;
      const span = { function: id, category, tier, depth, run, start: time, end: time, samples: 1, isFound };
      this.open.push(span);
      this.all.push(span);
    }
  }

  /** From the root, without what is hidden. */
  private pathOf(stack: number): number[] {
    const { parent } = this.profile.stacks;
    const { path } = this;
    path.length = 0;
    for (let at = stack; at !== NONE; at = parent[at]) if (!this.hidden?.[at]) path.push(at);
    return path.reverse();
  }
}

/** Where the recording does not give its interval. */
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
