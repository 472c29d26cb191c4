// What the big picture shows, whatever the view: boxes in rows. Pure: recording, state and width in, boxes out.

import { rawOf } from "../data/model.ts";
import type { Range } from "../select/selection.ts";
import type { State } from "../select/state.ts";
import { thingsDown, thingsOfCallers, thingsUp } from "./boxes.ts";
import type { Derived } from "./derived.ts";
import { type Change, lengthOf } from "./diff.ts";
import {
  type Box,
  calleesOf,
  callersOf,
  type FlameNode,
  follow,
  type Graph,
  layout,
  outermost,
  pathOf,
} from "./flame.ts";
import { isMatch, type Search } from "./search.ts";
import { type Span, timeOrder } from "./time-order.ts";
import type { NodeSums, Tree } from "./tree.ts";

/** Narrower boxes are left out. */
const LEAST_WIDTH = 0.5;
/** Time order shows no less: two samples of a thousand a second. */
const LEAST_TIME_NS = 2e6;

export interface ShownBox {
  x: number;
  width: number;
  row: number;
  function: number;
  category: number;
  tier: number;
  tiers: number;
  node: FlameNode | null;
  span: Span | null;
  /** Since what it is compared with. */
  change: Change | null;
  /** Whether its widths and numbers are those of what the selection is compared with. */
  isBefore: boolean;
}

export interface Picture {
  /** By row, from left to right. */
  rows: ShownBox[][];
  /** What fills the width; null in the order of time. */
  root: FlameNode | null;
  /** The pictures that stand side by side, with the change of what fills each. */
  halves: { isBefore: boolean; change: Change | null }[];
  /** The row that the eye should start at. */
  home: number;
  /** Why there is nothing to see. */
  note: string;
}

export function pictureOf(derived: Derived, state: State, width: number): Picture {
  if (state.view === "time") return timePicture(derived, state, width);
  const id = state.view === "sandwich" ? derived.chosenFunction(state) : null;
  if (state.view === "sandwich" && (id === null || !derived.isKnownFunction(id)))
    return nothing("No sample is selected.");
  const all = sidesOf(derived, state).map((isBefore) =>
    id === null ? graphHalf(derived, state, isBefore) : sandwichHalf(derived, state, isBefore, id),
  );
  const shown = all[all.length - 1].root;
  if (all.every(({ root }) => root.totalSamples === 0)) {
    const note = id !== null && isLeftOut(derived, id) ? LEFT_OUT : noteOf(id);
    return { ...nothing(note), root: shown };
  }
  const own = (width - GAP * (all.length - 1)) / all.length;
  const most = Math.max(...all.map(({ value }) => value));
  const laid = all.map((half) => (half.root.totalSamples === 0 ? [] : half.lay((own * half.value) / most)));
  const home = laid.flat().reduce((most, { row }) => Math.max(most, -row), 0);
  const boxes = laid.flatMap((half, at) =>
    half.map(({ box, row, change }) => shownBox(box, at * (own + GAP), row + home, change, all[at].isBefore)),
  );
  const picture = stacked(boxes, shown, state.isUpward && id === null, "");
  const halves = all.map(({ isBefore }, at) => ({
    isBefore,
    change: laid[at].find(({ row }) => row === 0)?.change ?? null,
  }));
  return { ...picture, halves, home: id === null ? picture.home : home };
}

/** Pixels between before and after. */
export const GAP = 12;

/** Which pictures stand side by side: of what the selection is compared with, and of itself. */
export function sidesOf({ against }: Derived, state: State): boolean[] {
  if (state.view === "time" || !against.base(state)) return [false];
  return state.sides === "both" ? [true, false] : [state.sides === "before"];
}

function noteOf(id: number | null): string {
  return id === null ? "No sample is selected." : "This function is not in the selection.";
}

function nothing(note: string): Picture {
  return { rows: [], root: null, halves: [], home: 0, note };
}

/** A box with its row from that of the root; what stands above the root has a negative one. */
interface Laid {
  box: Box;
  row: number;
  change: Change | null;
}

/** One of the pictures that stand side by side. */
interface Half {
  isBefore: boolean;
  root: FlameNode;
  /** What its width stands for: both have the same scale, so that what is less is narrower. */
  value: number;
  lay(width: number): Laid[];
}

function graphHalf(derived: Derived, state: State, isBefore: boolean): Half {
  const graph = derived.graph(state, isBefore);
  const root = zoomed(derived, state, graph, isBefore);
  const lay = (width: number) => {
    const laid = layout(graph, root, width, LEAST_WIDTH);
    const things = () =>
      state.view === "flame"
        ? thingsDown(derived.tree(state), laid, root.members)
        : thingsUp(derived.tree(state), laid, pathOf(root));
    const changes = derived.against.changes(state, things);
    return laid.map((box, at) => ({ box, row: box.depth, change: changes?.[at] ?? null }));
  };
  return { isBefore, root, value: widthValue(derived, state, root.total, isBefore), lay };
}

/** The box that fills the picture. Where before and after stand side by side, one of them may not have it. */
function zoomed(derived: Derived, state: State, graph: Graph, isBefore: boolean): FlameNode {
  const root = follow(graph, state.zoom);
  if (state.sides !== "both" || pathOf(root).length === state.zoom.length || !derived.against.base(state)) return root;
  const other = follow(derived.graph(state, !isBefore), state.zoom);
  const isThere = pathOf(other).length === state.zoom.length;
  return isThere ? { ...root, self: 0, total: 0, selfSamples: 0, totalSamples: 0 } : root;
}

/** Of a rate as much as it is; shares fill the width. */
function widthValue({ against }: Derived, state: State, weight: number, isBefore: boolean): number {
  const side = isBefore ? against.base(state) : against.side(state);
  if (!against.rateUnit(state) || !side?.scale) return 1;
  return Math.max((weight * side.scale.factor) / lengthOf(side.pieces), Number.MIN_VALUE);
}

const LEFT_OUT = "The frames of this function have no box here: press e for everything, as it was sampled.";

/** Whether a function is in the recording and a lens shows no frame of it. */
function isLeftOut({ profile }: Derived, id: number): boolean {
  const isIn = rawOf(profile).stacks.function.includes(id);
  return isIn && !profile.stacks.listed.includes(id);
}

/** Callers above, the function, callees below. */
function sandwichHalf(derived: Derived, state: State, isBefore: boolean, id: number): Half {
  const [tree, sums] = [derived.tree(state), derived.sideNodes(state, isBefore)];
  const callees = calleesOf(tree, sums, id);
  const lay = (width: number) => {
    const of = (graph: Graph) => layout(graph, graph.root, width, LEAST_WIDTH);
    const [above, below] = [of(callersOf(tree, sums, id)), of(callees)];
    const ofCallers = derived.against.changes(state, () => thingsOfCallers(tree, above, id));
    const ofCallees = derived.against.changes(state, () => thingsDown(tree, below, outermost(tree, null, id)));
    return [
      ...above.map((box, at) => ({ box, row: -box.depth, change: ofCallers?.[at] ?? null })).slice(1),
      ...below.map((box, at) => ({ box, row: box.depth, change: ofCallees?.[at] ?? null })),
    ];
  };
  return { isBefore, root: callees.root, value: widthValue(derived, state, callees.root.total, isBefore), lay };
}

function timePicture(derived: Derived, state: State, width: number): Picture {
  const { profile } = derived;
  const selection = derived.selection(state);
  if (!profile.lanes[selection.lane]?.timed) return nothing("This recording has no times.");
  const thread = threadInTime(derived, state);
  const range = timeRange(derived, state);
  const spans = timeOrder(profile, selection, thread, range, width, derived.hidden(state), derived.matching(state));
  const scale = width / (range[1] - range[0]);
  const boxes = spans.map((span): ShownBox => {
    const [x, wide] = [(span.start - range[0]) * scale, (span.end - span.start) * scale];
    const { function: id, category, tier, depth: row } = span;
    return {
      x,
      width: Math.max(1, wide),
      row,
      function: id,
      category,
      tier,
      tiers: 1 << tier,
      node: null,
      span,
      change: null,
      isBefore: false,
    };
  });
  return stacked(boxes, null, state.isUpward, boxes.length === 0 ? "No sample of this thread is selected." : "");
}

export function timeRange({ profile }: Derived, state: State): Range {
  return state.range ?? [0, Math.max(1, profile.durationNs)];
}

/** The range that is `factor` times as long, with the same time at a part of its width; null for all of it. */
export function timeZoomed(derived: Derived, state: State, factor: number, part: number): Range | null {
  const [from, to] = timeRange(derived, state);
  const end = derived.profile.durationNs;
  const length = Math.max(LEAST_TIME_NS, (to - from) * factor);
  const start = Math.max(0, Math.min(from + (to - from - length) * part, end - length));
  return length >= end ? null : [Math.round(start), Math.round(start + length)];
}

/** Time order shows one thread: the busiest of those that are shown. */
export function threadInTime(derived: Derived, state: State): number {
  const shown = derived.shownThreads(state);
  let best = shown?.[0] ?? 0;
  derived.threadWeights.forEach((weight, id) => {
    if ((!shown || shown.includes(id)) && weight > derived.threadWeights[best]) best = id;
  });
  return best;
}

function shownBox(box: Box, left: number, row: number, change: Change | null, isBefore: boolean): ShownBox {
  const { node, x, width } = box;
  const { function: id, category, tier, tiers } = node;
  return { x: left + x, width, row, function: id, category, tier, tiers, node, span: null, change, isBefore };
}

function stacked(boxes: ShownBox[], root: FlameNode | null, isUpward: boolean, note: string): Picture {
  let last = 0;
  for (const { row } of boxes) if (row > last) last = row;
  const rows: ShownBox[][] = boxes.length === 0 ? [] : Array.from({ length: last + 1 }, () => []);
  for (const box of boxes) {
    if (isUpward) box.row = last - box.row;
    rows[box.row].push(box);
  }
  for (const row of rows) row.sort((a, b) => a.x - b.x);
  return { rows, root, halves: [], home: isUpward ? Math.max(0, rows.length - 1) : 0, note };
}

export interface Matched {
  /** Boxes, of what fills the picture and under it. */
  boxes: number;
  /** The part of what is shown whose stacks have a match. */
  share: number;
}

/** What of the picture matches; null when nothing is searched for. */
export function matchedOf(derived: Derived, state: State): Matched | null {
  const [search, matched] = [derived.search(state), derived.matchedSums(state)];
  if (!matched || search === null || typeof search === "string") return null;
  const [tree, sums] = [derived.tree(state), derived.nodeSums(state)];
  const zoomed = state.view === "flame" ? follow(derived.graph(state), state.zoom) : null;
  const from = new Set(Array.from(zoomed?.members ?? [0]));
  const isFound = nodeMatches(tree, search, matched);
  const sumOf = ({ total }: NodeSums) => [...from].reduce((all, node) => all + total[node], 0);
  const isUnder = new Uint8Array(tree.parent.length);
  let boxes = 0;
  for (let node = 0; node < isUnder.length; node++) {
    isUnder[node] = from.has(node) || (node > 0 && isUnder[tree.parent[node]]) ? 1 : 0;
    if (isUnder[node] && sums.totalSamples[node] > 0 && isFound(node)) boxes++;
  }
  const all = sumOf(sums);
  return { boxes, share: all > 0 ? sumOf(matched) / all : 0 };
}

/** Whether a node of the tree is searched for. What asked for its work is known of its samples. */
function nodeMatches(tree: Tree, search: Search, { totalSamples }: NodeSums): (node: number) => boolean {
  return (node) =>
    (!search.isOfEntry || totalSamples[node] > 0) &&
    isMatch(search, { function: tree.function[node], category: tree.category[node] });
}

/** The way to the heaviest box that matches; null where there is none. */
export function pathToMatch(derived: Derived, state: State): number[] | null {
  const [search, matched] = [derived.search(state), derived.matchedSums(state)];
  if (!matched || search === null || typeof search === "string") return null;
  const [tree, sums] = [derived.tree(state), derived.nodeSums(state)];
  const isFound = nodeMatches(tree, search, matched);
  let best = 0;
  for (let node = 1; node < tree.parent.length; node++) {
    const isBetter = best === 0 || sums.total[node] > sums.total[best];
    if (!isBetter || sums.totalSamples[node] === 0) continue;
    if (isFound(node)) best = node;
  }
  const path: number[] = [];
  for (let at = best; at !== 0; at = tree.parent[at]) path.push(tree.function[at]);
  return best === 0 ? null : path.reverse();
}
