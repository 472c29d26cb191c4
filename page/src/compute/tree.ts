// The call tree of a whole recording, merged by function. Its shape is settled once for what is hidden; a selection
// only fills in sums, so that a drag costs one pass over samples and one over nodes.

import { callOfBoth, NONE, type Profile, UNKNOWN } from "../data/model.ts";
import { type StackSums, weigh } from "../select/selection.ts";
import { Pairs } from "./pairs.ts";

export interface Tree {
  /** The node above; a parent always has a smaller row. Node 0 is the root, and its own parent. */
  parent: Int32Array;
  /** The function; NONE for the root. */
  function: Uint32Array;
  category: Uint8Array;
  /** How it came to be under the node above. */
  call: Uint8Array;
  /** Of a run of package frames, the most of them on a stack; else 0. */
  run: Uint32Array;
  /** The tier that most samples of the recording ran in, and all of them as bits. */
  tier: Uint8Array;
  tiers: Uint8Array;
  /** Of each stack, the node it ends in; behind the last, that of samples without a stack. */
  nodeOf: Int32Array;
  /** The children of node n are `children[firstChild[n] … firstChild[n + 1]]`. */
  firstChild: Int32Array;
  children: Int32Array;
}

/** Sums of a selection by node. */
export interface NodeSums {
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly selfSamples: Float64Array;
  readonly totalSamples: Float64Array;
}

/**
 * Builds the shape. `whole` has the sums of the whole recording: they settle which tier a node mostly ran in. `functions`
 * are those of boxes, or those that lists name.
 */
export function buildTree(
  profile: Profile,
  hidden: Uint8Array | null,
  whole: StackSums,
  functions: Uint32Array = profile.stacks.function,
): Tree {
  const { parent: caller, frame, box: category, call, run } = profile.stacks;
  const size = caller.length;
  const nodeOf = new Int32Array(size + 1);
  const categoryOf = new Uint8Array(size + 1);
  const callOf = new Uint8Array(size + 1);
  const runOf = new Uint32Array(size + 1);
  // A node is what is above it and its function.
  const nodes = new Pairs(size + 1);
  nodes.add(0, NONE);
  categoryOf[0] = UNKNOWN;
  for (let stack = 0; stack < size; stack++) {
    const above = caller[stack] === NONE ? 0 : nodeOf[caller[stack]];
    if (hidden?.[stack]) {
      nodeOf[stack] = above;
      continue;
    }
    const known = nodes.count;
    const node = nodes.add(above, functions[stack]);
    if (node === known) categoryOf[node] = category[stack];
    callOf[node] = node === known ? call[stack] : callOfBoth(callOf[node], call[stack]);
    nodeOf[stack] = node;
    if (run && run[stack] > runOf[node]) runOf[node] = run[stack];
  }
  const { first, second, count } = nodes;
  const parent = first.subarray(0, count);
  const { tier, tiers } = tiersOf(profile, nodeOf, frame, hidden, whole, count);
  const { firstChild, children } = childrenOf(parent, count);
  return {
    parent,
    function: second.subarray(0, count),
    category: categoryOf.subarray(0, count),
    call: callOf.subarray(0, count),
    run: runOf.subarray(0, count),
    tier,
    tiers,
    nodeOf,
    firstChild,
    children,
  };
}

function childrenOf(parent: Int32Array, count: number): { firstChild: Int32Array; children: Int32Array } {
  const firstChild = new Int32Array(count + 1);
  for (let node = 1; node < count; node++) firstChild[parent[node] + 1]++;
  for (let node = 0; node < count; node++) firstChild[node + 1] += firstChild[node];
  const next = firstChild.slice();
  const children = new Int32Array(count - 1);
  for (let node = 1; node < count; node++) children[next[parent[node]]++] = node;
  return { firstChild, children };
}

function tiersOf(
  profile: Profile,
  nodeOf: Int32Array,
  frame: Uint32Array,
  hidden: Uint8Array | null,
  whole: StackSums,
  count: number,
): { tier: Uint8Array; tiers: Uint8Array } {
  const totals = wholeOf(profile, whole.weight);
  const [tier, tiers, best] = [new Uint8Array(count), new Uint8Array(count), new Float64Array(count).fill(-1)];
  for (let stack = 0; stack < frame.length; stack++) {
    if (hidden?.[stack]) continue;
    const [node, of] = [nodeOf[stack], profile.frames.tier[frame[stack]]];
    tiers[node] |= 1 << of;
    if (totals[stack] > best[node]) {
      best[node] = totals[stack];
      tier[node] = of;
    }
  }
  return { tier, tiers };
}

/** Each stack's own weight and that of all it called. */
export function wholeOf(profile: Profile, weight: Float64Array): Float64Array {
  const whole = weight.slice();
  const { parent } = profile.stacks;
  for (let stack = parent.length - 1; stack >= 0; stack--) {
    if (parent[stack] !== NONE) whole[parent[stack]] += whole[stack];
  }
  return whole;
}

/** Totals are summed up when they are asked for: the inverted graph needs none. */
class Sums implements NodeSums {
  readonly self: Float64Array;
  readonly selfSamples: Float64Array;
  private readonly tree: Tree;
  private totals: { weight: Float64Array; samples: Float64Array } | null = null;
  private isSummed = false;
  /** What each sample weighs; 0 where they differ. */
  private equal = 0;

  constructor(tree: Tree) {
    this.tree = tree;
    this.self = new Float64Array(tree.parent.length);
    this.selfSamples = new Float64Array(tree.parent.length);
  }

  get total(): Float64Array {
    return this.summed().weight;
  }

  get totalSamples(): Float64Array {
    return this.summed().samples;
  }

  isOf(tree: Tree): boolean {
    return this.tree === tree;
  }

  fill(sums: StackSums): void {
    const { self, selfSamples } = this;
    this.isSummed = false;
    this.equal = sums.equal;
    addTo(selfSamples.fill(0), this.tree.nodeOf, sums.samples);
    if (this.equal > 0) weigh(self, selfSamples, this.equal);
    else addTo(self.fill(0), this.tree.nodeOf, sums.weight);
  }

  private summed(): { weight: Float64Array; samples: Float64Array } {
    if (this.totals && this.isSummed) return this.totals;
    const { parent } = this.tree;
    this.totals ??= { weight: new Float64Array(parent.length), samples: new Float64Array(parent.length) };
    const { weight, samples } = this.totals;
    samples.set(this.selfSamples);
    addUp(samples, parent);
    if (this.equal > 0) weigh(weight, samples, this.equal);
    else {
      weight.set(this.self);
      addUp(weight, parent);
    }
    this.isSummed = true;
    return this.totals;
  }
}

/** Adds each value to the sum of its place. */
function addTo(sums: Float64Array, places: Int32Array, values: Float64Array): void {
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (value !== 0) sums[places[at]] += value;
  }
}

/** Adds what each node has to the node above, from the leaves on. */
function addUp(values: Float64Array, parent: Int32Array): void {
  for (let node = parent.length - 1; node > 0; node--) {
    const value = values[node];
    if (value !== 0) values[parent[node]] += value;
  }
}

/** `reuse` is an old result that is not needed any more. */
export function sumNodes(tree: Tree, sums: StackSums, reuse?: NodeSums): NodeSums {
  const own = reuse instanceof Sums && reuse.isOf(tree) ? reuse : new Sums(tree);
  own.fill(sums);
  return own;
}
