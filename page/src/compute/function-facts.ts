// What is known of one function in a selection, beside its callers and callees: when it ran, how V8 ran it, and on which
// lines. By stacks as they were sampled, so that it is the same under every lens.

import { NONE, type Profile, rawOf, TIERS } from "../data/model.ts";
import { forEachRow, type Selection } from "../select/selection.ts";
import type { Things } from "./diff.ts";

export interface FunctionFacts {
  /** The weight of it and of all that it called, over the whole recording; empty where there are no times. */
  times: Float64Array;
  /** The same in the selection, by the tier of its innermost frame. */
  tiers: Float64Array;
  /** The first and the last line that a frame of it in the selection is at; null where no line is known. */
  lines: readonly [number, number] | null;
}

/** Of each stack the frame of its innermost call of the function; NONE where there is none. */
function framesOf({ stacks }: Profile, id: number): Uint32Array {
  const { parent, frame, function: functions } = stacks;
  const frames = new Uint32Array(parent.length).fill(NONE);
  for (let stack = 0; stack < frames.length; stack++) {
    if (functions[stack] === id) frames[stack] = frame[stack];
    else if (parent[stack] !== NONE) frames[stack] = frames[parent[stack]];
  }
  return frames;
}

export function functionFacts(profile: Profile, selection: Selection, id: number, columns: number): FunctionFacts {
  const raw = rawOf(profile);
  const frames = framesOf(raw, id);
  const { durationNs } = profile;
  const isTimed = profile.lanes[selection.lane]?.timed ?? false;
  const times = new Float64Array(isTimed ? columns : 0);
  const tiers = new Float64Array(TIERS.length);
  const [from, to] = selection.range ?? [0, Infinity];
  let [first, last] = [Infinity, 0];
  forEachRow(profile, { ...selection, range: null }, (row, lane) => {
    const stack = lane.raw[row];
    const frame = stack === NONE ? NONE : frames[stack];
    if (frame === NONE) return;
    const [weight, time] = [lane.weight[row], lane.time[row]];
    if (isTimed) times[Math.min(columns - 1, Math.floor((time * columns) / durationNs))] += weight;
    if (isTimed && (time < from || time >= to)) return;
    tiers[raw.frames.tier[frame]] += weight;
    const line = raw.frames.line[frame];
    if (line > 0) [first, last] = [Math.min(first, line), Math.max(last, line)];
  });
  return { times, tiers, lines: last > 0 ? [first, last] : null };
}

/** What of a comparison is of the function: all of it, and in that its own time. */
export function thingsOfFunction({ stacks }: Profile, id: number): Things {
  const { parent, listed } = stacks;
  const of = new Int32Array(parent.length + 1).fill(-1);
  for (let stack = 0; stack < parent.length; stack++) {
    if (listed[stack] === id) of[stack] = 1;
    else if (parent[stack] !== NONE && of[parent[stack]] >= 0) of[stack] = 0;
  }
  return { of, count: 2, parent: Int32Array.of(0, 0) };
}
