// Which samples a view is about, and their weight by stack: what every tree and list starts from. The same rules as
// crates/views: ranges are half-open, a category keeps samples by their stack's category, a function or package keeps
// samples that have it anywhere on the stack.

import { IDLE, NONE, type Profile } from "../data/model.ts";

export type Kind = "category" | "function" | "package";

/** Something that can be hidden or kept: a category by its byte, a function by its row, a package by its string. */
export interface Item {
  kind: Kind;
  id: number;
}

/** Half-open, nanoseconds since the start. */
export type Range = readonly [number, number];

export interface Selection {
  lane: number;
  range: Range | null;
  /** For each thread 1 or 0; null for all. */
  threads: Uint8Array | null;
  /** For each stack as it is, without a lens, 1 or 0; null for all, also those samples that have no stack. */
  stacks: Uint8Array | null;
}

/** What something is the sums of, and the rows that were looked at. */
export interface Summed {
  of: Selection;
  rows: readonly [number, number];
}

/** Sums by stack. The last slot of each array is for samples without a stack. */
export interface StackSums extends Summed {
  weight: Float64Array;
  samples: Float64Array;
  /** What each sample weighs; 0 where they differ. */
  equal: number;
  total: number;
  count: number;
}

/** `reuse` is an old result that is not needed any more: its room is used again. */
export function sumStacks(profile: Profile, selection: Selection, reuse?: StackSums): StackSums {
  const size = profile.stacks.parent.length;
  const lane = profile.lanes[selection.lane];
  const rows = rowsOf(lane, selection);
  const steps = reuse && stepsTo(reuse, selection, rows);
  const sums = reuse ?? {
    weight: new Float64Array(size + 1),
    samples: new Float64Array(size + 1),
    equal: 0,
    total: 0,
    count: 0,
    of: selection,
    rows,
  };
  if (reuse && !steps) {
    sums.weight.fill(0);
    sums.samples.fill(0);
    [sums.total, sums.count] = [0, 0];
  }
  [sums.of, sums.rows] = [selection, rows];
  for (const [first, end, sign] of steps ?? [[...rows, 1]]) addRows(profile, sums, first, end, sign);
  sums.equal = lane?.equal ?? 0;
  if (sums.equal > 0) weigh(sums.weight, sums.samples, sums.equal);
  return sums;
}

/** Weights of samples that all weigh the same: in order, which is faster than adding both from place to place. */
export function weigh(weight: Float64Array, samples: Float64Array, equal: number): void {
  for (let at = 0; at < weight.length; at++) weight[at] = samples[at] * equal;
}

/** Rows to add (1) or to take away (-1). */
type Step = readonly [first: number, end: number, sign: number];

/**
 * Where only the range moved, what left it is taken away and what came in is added: weights are whole numbers, so that
 * is exact. Null where more would change than stays.
 */
export function stepsTo({ of, rows }: Summed, to: Selection, [first, end]: Summed["rows"]): Step[] | null {
  const isMoved = of.lane === to.lane && of.threads === to.threads && of.stacks === to.stacks;
  const isNear = Math.abs(first - rows[0]) + Math.abs(end - rows[1]) < end - first && first < rows[1] && rows[0] < end;
  if (!isMoved || !isNear) return null;
  return [
    [first, rows[0], 1],
    [rows[0], first, -1],
    [rows[1], end, 1],
    [end, rows[1], -1],
  ];
}

/** A plain loop, because a drag runs it in every frame over up to all samples. */
function addRows(profile: Profile, sums: StackSums, first: number, end: number, sign: number): void {
  const lane = profile.lanes[sums.of.lane];
  if (!lane) return;
  const { weight, samples, of } = sums;
  const { threads, stacks } = of;
  const { thread, stack, raw, weight: weights } = lane;
  const { equal } = lane;
  const isCount = lane.unit === "count";
  const size = weight.length - 1;
  let [total, count] = [0, 0];
  for (let row = first; row < end; row++) {
    if (threads !== null && threads[thread[row]] === 0) continue;
    // Samples without a stack are of no category and no function.
    if (stacks !== null && (raw[row] === NONE || stacks[raw[row]] === 0)) continue;
    let slot = stack[row];
    if (slot === NONE) slot = size;
    if (equal > 0) {
      // Half of the time goes to fetching from memory: counting is enough here.
      samples[slot] += sign;
      count += sign;
      continue;
    }
    const own = sign * weights[row];
    const number = isCount ? own : sign;
    weight[slot] += own;
    samples[slot] += number;
    total += own;
    count += number;
  }
  sums.total += total + count * equal;
  sums.count += count;
}

type Lane = Profile["lanes"][0];

/** Calls `each` for every selected row, in the order of time. */
export function forEachRow(
  profile: Profile,
  selection: Selection,
  each: (row: number, lane: Lane, stack: number) => void,
): void {
  const lane = profile.lanes[selection.lane];
  if (lane) forRows(lane, selection, rowsOf(lane, selection), each);
}

/** The same of some of the lane's rows, whatever the range. */
export function forRows(
  lane: Lane,
  { threads, stacks }: Selection,
  [first, end]: readonly [number, number],
  each: (row: number, lane: Lane, stack: number) => void,
): void {
  for (let row = first; row < end; row++) {
    if (threads && threads[lane.thread[row]] === 0) continue;
    const raw = lane.raw[row];
    if (stacks && (raw === NONE || stacks[raw] === 0)) continue;
    each(row, lane, lane.stack[row]);
  }
}

/** Sums by what each stack belongs to: its category, its entry. */
export interface KeySums extends Summed {
  weight: Float64Array;
  samples: Float64Array;
}

/** What stacks belong to. */
export interface Keys {
  /** Of each stack. */
  of: ArrayLike<number>;
  /** Of samples without a stack. */
  none: number;
  /** How many keys there are. */
  count: number;
}

/**
 * `sums` by key. `reuse` is an old result that is not needed any more: where the range moved by little, only what came in
 * and left is looked at.
 */
export function sumByKey(profile: Profile, sums: StackSums, keys: Keys, reuse?: KeySums): KeySums {
  const { of, rows } = sums;
  const steps = reuse && stepsTo(reuse, of, rows);
  if (!reuse || !steps) return { weight: ofKeys(keys, sums.weight), samples: ofKeys(keys, sums.samples), of, rows };
  for (const [first, end, sign] of steps) addKeys(profile, reuse, keys, of, [first, end], sign);
  return { ...reuse, of, rows };
}

/** A plain loop, as that of `addRows`: the places of stacks are fetched from all over the memory. */
function addKeys(
  { lanes }: Profile,
  { weight, samples }: KeySums,
  keys: Keys,
  { lane: id, threads, stacks }: Selection,
  [first, end]: readonly [number, number],
  sign: number,
): void {
  const { thread, stack, raw, weight: weights, unit } = lanes[id];
  const isCount = unit === "count";
  for (let row = first; row < end; row++) {
    if (threads !== null && threads[thread[row]] === 0) continue;
    if (stacks !== null && (raw[row] === NONE || stacks[raw[row]] === 0)) continue;
    const key = stack[row] === NONE ? keys.none : keys.of[stack[row]];
    const own = sign * weights[row];
    weight[key] += own;
    samples[key] += isCount ? own : sign;
  }
}

function ofKeys({ of, none, count }: Keys, values: Float64Array): Float64Array {
  const sums = new Float64Array(count);
  const size = values.length - 1;
  for (let stack = 0; stack < size; stack++) sums[of[stack]] += values[stack];
  sums[none] += values[size];
  return sums;
}

/** The rows of a lane that are in the selected range. */
export function rowsOf(lane: Profile["lanes"][0] | undefined, { range }: Selection): [number, number] {
  return lane ? rowsIn(lane.time, lane.timed ? range : null) : [0, 0];
}

/** Samples are sorted by time, so a range of times is a range of rows. */
export function rowsIn(times: Float64Array, range: Range | null): [number, number] {
  if (!range) return [0, times.length];
  const first = partition(times, range[0]);
  return [first, Math.max(first, partition(times, range[1]))];
}

/** How many times are smaller. */
function partition(times: Float64Array, bound: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Of a recording as it is, the stacks whose samples are kept: of one of the categories, or of all but those of waiting, with every item of
 * `focus` in them, and only where `asked` is 1.
 */
export function keptStacks(
  profile: Profile,
  categories: readonly number[],
  focus: readonly Item[],
  asked: Uint8Array | null = null,
): Uint8Array | null {
  const { category, parent } = profile.stacks;
  const isAny = categories.length === 0;
  if (isAny && focus.length === 0 && !asked && !category.includes(IDLE)) return null;
  const kept = Uint8Array.from(category, (byte) => Number(isAny ? byte !== IDLE : categories.includes(byte)));
  if (asked) for (let stack = 0; stack < kept.length; stack++) kept[stack] &= asked[stack];
  for (const item of focus) {
    const has = topmost(profile, item);
    for (let stack = 0; stack < has.length; stack++) {
      if (parent[stack] !== NONE && has[parent[stack]]) has[stack] = 1;
      kept[stack] &= has[stack];
    }
  }
  return kept;
}

/** The stacks whose topmost frame is hidden; null when nothing is. */
export function hiddenStacks(profile: Profile, hidden: readonly Item[]): Uint8Array | null {
  if (hidden.length === 0) return null;
  const all = new Uint8Array(profile.stacks.parent.length);
  for (const item of hidden) {
    const has = topmost(profile, item);
    const isRoot = (stack: number) => item.kind === "category" && isLensRoot(profile, stack);
    for (let stack = 0; stack < all.length; stack++) if (has[stack] && !isRoot(stack)) all[stack] = 1;
  }
  return all;
}

/** What a lens puts everything under has no caller to give its time to. */
function isLensRoot({ stacks, virtual }: Profile, stack: number): boolean {
  return stacks.parent[stack] === NONE && virtual !== null && stacks.function[stack] >= virtual.roots;
}

/** For each stack, whether its topmost frame is of the item. */
function topmost(profile: Profile, { kind, id }: Item): Uint8Array {
  const { box: category, function: functions } = profile.stacks;
  const packages = profile.functions.package;
  const has = new Uint8Array(category.length);
  for (let stack = 0; stack < has.length; stack++) {
    const value =
      kind === "category" ? category[stack] : kind === "function" ? functions[stack] : packages[functions[stack]];
    has[stack] = value === id ? 1 : 0;
  }
  return has;
}

/** 1 for each of these rows. */
export function maskOf(ids: readonly number[], size: number): Uint8Array {
  const mask = new Uint8Array(size);
  for (const id of ids) if (id < size) mask[id] = 1;
  return mask;
}
