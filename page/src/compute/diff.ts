// Two selections against each other: what each used a second, or the shares of each. What is within sampling noise is
// marked. The rule stands in docs/page.md ("Before and after"), and crates/views/src/compare has the same one.

import { type Lane, NONE, type Profile, samplesIn } from "../data/model.ts";
import type { Verdict } from "../data/report.ts";
import { forEachRow, type Range, type Selection, type StackSums, sumStacks } from "../select/selection.ts";

/** Half-open, in the order of time. */
export type Pieces = readonly Range[];

/** What is compared: what was used in a second of recording, or shares of all that was used. */
export type Measure = "rate" | "share";

/** Of what a rate is: CPU seconds, bytes or events in a second. */
export type RateUnit = "cores" | "bytes" | "events";

/** What a lane's weight is as a rate, and what to multiply it with; null where no rate can be had. */
export interface Scale {
  unit: RateUnit;
  factor: number;
}

/** The weights of many things in one selection, and what their spread over blocks needs. */
export interface Spread {
  value: Float64Array;
  /** What values are parts of: all weight, or for a rate the time. */
  total: number;
  weight: number;
  /** What a sample weighs: the sum of their squares by their sum, because a few heavy ones prove little. */
  size: number;
  /** Of each thing the sum over blocks of its weight squared, and times the block's whole; of blocks their whole squared. */
  squares: Float64Array;
  products: Float64Array;
  blockSquares: number;
  blocks: number;
}

const FEWEST_BLOCKS = 5;
const MOST_BLOCKS = 20;
/** A change counts from so many standard errors on. */
const CERTAIN = 2;

/** What to compare with: another range, or everything but the selected one. */
export function basePieces(base: Range | "rest", range: Range | null, durationNs: number): Pieces {
  if (base !== "rest") return [base];
  const [from, to] = range ?? [0, 0];
  return (
    [
      [0, from],
      [to, durationNs],
    ] as const
  ).filter(([start, end]) => end > start);
}

export function sumPieces(profile: Profile, { selection, pieces }: Side): StackSums {
  const sums = pieces.map((range) => sumStacks(profile, { ...selection, range }));
  const all = sums[0] ?? sumStacks(profile, { ...selection, range: [0, 0] });
  for (const other of sums.slice(1)) {
    for (let stack = 0; stack < all.weight.length; stack++) {
      all.weight[stack] += other.weight[stack];
      all.samples[stack] += other.samples[stack];
    }
    all.total += other.total;
    all.count += other.count;
  }
  return all;
}

/**
 * Each stack's own weight counts to one thing, or to none (-1); behind the last stack stands that of samples without
 * one.
 */
export interface Things {
  of: Int32Array;
  count: number;
  /** What a thing is part of: an earlier one, or itself; null where things have no parts. */
  parent: Int32Array | null;
}

/** Some samples, and the times that they are taken from. */
export interface Side {
  selection: Selection;
  pieces: Pieces;
  /** How a weight becomes a rate; null where it cannot. */
  scale: Scale | null;
}

/** A sample counts for `intervalNs` where its lane counts samples alone; without that and without times there is no rate. */
export function scaleOf(lane: Lane | undefined, intervalNs: number | null, pieces: Pieces): Scale | null {
  if (!lane || lengthOf(pieces) <= 0) return null;
  if (lane.unit === "ns") return { unit: "cores", factor: 1 };
  if (lane.unit === "count") return intervalNs ? { unit: "cores", factor: intervalNs } : null;
  return { unit: lane.unit === "bytes" ? "bytes" : "events", factor: 1e9 };
}

/** The unit of rates that both sides have; null where only shares can be compared. */
export function commonUnit(before: Side, now: Side): RateUnit | null {
  const [was, is] = [before.scale?.unit ?? null, now.scale?.unit ?? null];
  return was === is ? is : null;
}

export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, [from, to]) => sum + to - from, 0);
}

export function spreadOf(
  profile: Profile,
  { selection, pieces, scale }: Side,
  { of, count, parent }: Things,
  measure: Measure,
): Spread {
  const room = () => new Float64Array(count);
  const spread: Spread = {
    value: room(),
    total: 0,
    weight: 0,
    size: 0,
    squares: room(),
    products: room(),
    blockSquares: 0,
    blocks: 0,
  };
  const isTimed = profile.lanes[selection.lane]?.timed ?? false;
  const factor = scale?.factor ?? 1;
  const own = room();
  let sampleSquares = 0;
  for (const range of isTimed ? blocksOf(pieces) : pieces.slice(0, 1)) {
    own.fill(0);
    let weight = 0;
    forEachRow(profile, { ...selection, range }, (row, lane, stack) => {
      const thing = of[stack === NONE ? of.length - 1 : stack];
      const its = lane.weight[row] * factor;
      if (thing >= 0) own[thing] += its;
      weight += its;
      sampleSquares += its ** 2 / Math.max(1, samplesIn(lane, row));
    });
    addBlock(spread, own, parent, weight, measure === "rate" ? range[1] - range[0] : weight);
  }
  spread.size = spread.weight > 0 ? sampleSquares / spread.weight : 0;
  return spread;
}

/** `whole` is what the block's weights are parts of: its weight, or for a rate its time. */
function addBlock(spread: Spread, own: Float64Array, parent: Int32Array | null, weight: number, whole: number): void {
  for (let thing = own.length - 1; thing >= 0; thing--) {
    if (own[thing] === 0) continue;
    if (parent && parent[thing] !== thing) own[parent[thing]] += own[thing];
    spread.value[thing] += own[thing];
    spread.squares[thing] += own[thing] * own[thing];
    spread.products[thing] += own[thing] * whole;
  }
  spread.weight += weight;
  spread.total += whole;
  spread.blockSquares += whole * whole;
  spread.blocks++;
}

function blocksOf(pieces: Pieces): [number, number][] {
  const all = lengthOf(pieces);
  const count = Math.min(MOST_BLOCKS, Math.max(FEWEST_BLOCKS, Math.floor(all / 1e9)));
  return pieces.flatMap(([from, to]) => {
    const blocks = Math.max(1, Math.round(((to - from) * count) / all));
    const cut = (at: number) => from + Math.round(((to - from) * at) / blocks);
    return Array.from({ length: blocks }, (_, at): [number, number] => [cut(at), cut(at + 1)]);
  });
}

/** A rate, or a share. */
export function valueIn(spread: Spread, thing: number): number {
  return spread.total > 0 ? spread.value[thing] / spread.total : 0;
}

/** One thing in both selections together: its value, and the part of all weight that is elsewhere. */
interface OfBoth {
  value: number;
  elsewhere: number;
}

/**
 * The variance of a value by the blocks' distances from it: samples in a burst are not independent. It is no smaller
 * than chance makes it that lets each sample fall here or elsewhere as in both together, and no smaller than a sample.
 */
function variance(spread: Spread, thing: number, ofBoth: OfBoth): number {
  const { squares, products, blockSquares, blocks, total, size } = spread;
  if (blocks < 2 || total === 0) return Infinity;
  const part = valueIn(spread, thing);
  const sum = squares[thing] - 2 * part * products[thing] + part * part * blockSquares;
  const byBlocks = ((blocks / (blocks - 1)) * Math.max(0, sum)) / (total * total);
  const ofOne = size / total;
  return Math.max(byBlocks, ofBoth.value * ofBoth.elsewhere * ofOne, ofOne * ofOne);
}

/** A value before and now, and what the difference is worth. */
export interface Change {
  before: number;
  now: number;
  verdict: Verdict;
}

/** How one thing changed from `before` to `now`. */
function verdictOf(before: Spread, now: Spread, thing: number, isCounted: boolean): Change {
  const [was, is] = [valueIn(before, thing), valueIn(now, thing)];
  const of = (verdict: Verdict): Change => ({ before: was, now: is, verdict });
  if (!isCounted) return of("unknown");
  const all = before.value[thing] + now.value[thing];
  const value = all / Math.max(1, before.total + now.total);
  const ofBoth = { value, elsewhere: 1 - all / Math.max(1, before.weight + now.weight) };
  const error = Math.sqrt(variance(before, thing, ofBoth) + variance(now, thing, ofBoth));
  if (!(Math.abs(is - was) > CERTAIN * error)) return of("noise");
  if (was === 0 || is === 0) return of(was === 0 ? "new" : "gone");
  return of(is > was ? "more" : "less");
}

/** A side without a sample would have sampled as the other one: it proves no more than that. */
function sized(spread: Spread, { size }: Spread): Spread {
  return spread.size > 0 ? spread : { ...spread, size };
}

/** How all of them changed; noise is known only from samples that were counted and have a time. */
export function changesOf(profile: Profile, before: Side, now: Side, things: Things, measure: Measure): Change[] {
  const [was, is] = [before, now].map((side) => spreadOf(profile, side, things, measure));
  const isCounted = [before, now].every(
    ({ selection }) => profile.lanes[selection.lane].counted && profile.lanes[selection.lane].timed,
  );
  const [first, second] = [sized(was, is), sized(is, was)];
  return Array.from({ length: things.count }, (_, thing) => verdictOf(first, second, thing, isCounted));
}

/** Every stack counts to one thing: the change of the whole. */
export function everything({ stacks }: Profile): Things {
  return { of: new Int32Array(stacks.parent.length + 1), count: 1, parent: null };
}
