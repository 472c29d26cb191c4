// Two selections against each other, as shares of each. What is within sampling noise is marked: samples in a burst are
// not independent, so the spread comes from blocks of a second (fewer, where there are not enough seconds).

import { NONE, type Profile, samplesIn } from "../data/model.ts";
import { forEachRow, type Range, type Selection, type StackSums, sumStacks } from "../select/selection.ts";

/** Half-open, in the order of time. */
export type Pieces = readonly Range[];

/** What a change is worth. */
export type Verdict = "more" | "less" | "new" | "gone" | "noise" | "unknown";

/** The weights of many things in one selection, and what their spread over blocks needs. */
export interface Spread {
  value: Float64Array;
  total: number;
  /** How many samples of one weight would tell as much: a few heavy ones prove little. */
  count: number;
  /**
   * Of each thing the sum over blocks of its weight squared, and times the block's weight; of blocks their weight
   * squared.
   */
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
}

export function spreadOf(profile: Profile, { selection, pieces }: Side, { of, count, parent }: Things): Spread {
  const room = () => new Float64Array(count);
  const spread: Spread = {
    value: room(),
    total: 0,
    count: 0,
    squares: room(),
    products: room(),
    blockSquares: 0,
    blocks: 0,
  };
  const isTimed = profile.lanes[selection.lane]?.timed ?? false;
  const own = room();
  let sampleSquares = 0;
  for (const range of isTimed ? blocksOf(pieces) : pieces.slice(0, 1)) {
    own.fill(0);
    let weight = 0;
    forEachRow(profile, { ...selection, range }, (row, lane, stack) => {
      const thing = of[stack === NONE ? of.length - 1 : stack];
      if (thing >= 0) own[thing] += lane.weight[row];
      weight += lane.weight[row];
      sampleSquares += lane.weight[row] ** 2 / Math.max(1, samplesIn(lane, row));
    });
    for (let thing = count - 1; thing >= 0; thing--) {
      if (own[thing] === 0) continue;
      if (parent && parent[thing] !== thing) own[parent[thing]] += own[thing];
      spread.value[thing] += own[thing];
      spread.squares[thing] += own[thing] * own[thing];
      spread.products[thing] += own[thing] * weight;
    }
    spread.total += weight;
    spread.blockSquares += weight * weight;
    spread.blocks++;
  }
  spread.count = sampleSquares > 0 ? spread.total ** 2 / sampleSquares : 0;
  return spread;
}

function blocksOf(pieces: Pieces): [number, number][] {
  const all = pieces.reduce((sum, [from, to]) => sum + to - from, 0);
  const count = Math.min(MOST_BLOCKS, Math.max(FEWEST_BLOCKS, Math.floor(all / 1e9)));
  return pieces.flatMap(([from, to]) => {
    const blocks = Math.max(1, Math.round(((to - from) * count) / all));
    const cut = (at: number) => from + Math.round(((to - from) * at) / blocks);
    return Array.from({ length: blocks }, (_, at): [number, number] => [cut(at), cut(at + 1)]);
  });
}

export function shareIn(spread: Spread, thing: number): number {
  return spread.total > 0 ? spread.value[thing] / spread.total : 0;
}

/**
 * The variance of a share by the blocks' distances from it. It is no smaller than that of a coin that falls by the
 * share of both selections: three samples that are all elsewhere prove little.
 */
function variance(spread: Spread, thing: number, ofBoth: number): number {
  const { squares, products, blockSquares, blocks, total, count } = spread;
  if (blocks < 2 || total === 0 || count === 0) return Infinity;
  const part = shareIn(spread, thing);
  const sum = squares[thing] - 2 * part * products[thing] + part * part * blockSquares;
  const byBlocks = ((blocks / (blocks - 1)) * Math.max(0, sum)) / (total * total);
  return Math.max(byBlocks, (ofBoth * (1 - ofBoth)) / count);
}

/** A share before and now, and what the difference is worth. */
export interface Change {
  before: number;
  now: number;
  verdict: Verdict;
}

/** How one thing changed from `before` to `now`. */
export function verdictOf(before: Spread, now: Spread, thing: number, isCounted: boolean): Change {
  const [was, is] = [shareIn(before, thing), shareIn(now, thing)];
  const of = (verdict: Verdict): Change => ({ before: was, now: is, verdict });
  if (!isCounted) return of("unknown");
  const ofBoth = (before.value[thing] + now.value[thing]) / Math.max(1, before.total + now.total);
  const error = Math.sqrt(variance(before, thing, ofBoth) + variance(now, thing, ofBoth));
  if (!(Math.abs(is - was) > CERTAIN * error)) return of("noise");
  if (was === 0 || is === 0) return of(was === 0 ? "new" : "gone");
  return of(is > was ? "more" : "less");
}

/** How all of them changed; noise can be told only from samples that were counted and have a time. */
export function changesOf(profile: Profile, before: Side, now: Side, things: Things): Change[] {
  const [was, is] = [before, now].map((side) => spreadOf(profile, side, things));
  const isCounted = [before, now].every(
    ({ selection }) => profile.lanes[selection.lane].counted && profile.lanes[selection.lane].timed,
  );
  return Array.from({ length: things.count }, (_, thing) => verdictOf(was, is, thing, isCounted));
}
