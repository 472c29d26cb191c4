// Flame graphs over a call tree: from the roots, from the leaves, or the callers and callees of one function. Nodes are
// made when they are looked at: a picture of a million stacks has a few thousand boxes.

import { NONE, UNKNOWN } from "../data/model.ts";
import type { NodeSums, Tree } from "./tree.ts";

/** A box of a flame graph. */
export interface FlameNode {
  /** NONE for the root of all. */
  function: number;
  category: number;
  /** How it came to be under its caller. */
  call: number;
  /** Of a run of package frames, the most of them on a stack; else 0. */
  run: number;
  tier: number;
  tiers: number;
  self: number;
  total: number;
  selfSamples: number;
  totalSamples: number;
  parent: FlameNode | null;
  /** The nodes of the call tree that are merged here; going up, with the part of each that counts. */
  members: ArrayLike<number>;
  weights: ArrayLike<number> | null;
  samples: ArrayLike<number> | null;
  children: FlameNode[] | null;
}

export interface Graph {
  root: FlameNode;
  /** The children, the heaviest first; kept once made. */
  open(node: FlameNode): FlameNode[];
  /** A box whose children are shown only where it fills the picture. */
  closed?: FlameNode | null;
}

/** Callers above their callees. */
export function fromRoots(tree: Tree, sums: NodeSums): Graph {
  return downwards(tree, sums, nodeOf(tree, null, [0], sums));
}

/** Functions that ran for less than this part of all are one box, with this function. */
export interface Small {
  id: number;
  part: number;
}

/** The functions that ran under the root, and their callers under them. What is small is in a box of its own, at the end. */
export function fromLeaves(tree: Tree, sums: NodeSums, small: Small | null = null): Graph {
  const ran = ranOf(tree, sums);
  const root = rootOfRan(ran, sums);
  const boxes = (ids: readonly number[], parent: FlameNode) => sorted(ids.map((id) => boxOf(tree, ran, id, parent)));
  const isSmall = (id: number) => small !== null && ran.total[id] < small.part * root.total;
  const few = ran.functions.filter(isSmall);
  const other = small && few.length > 1 ? otherBox(ran, few, small.id, root) : null;
  root.children = boxes(other ? ran.functions.filter((id) => !isSmall(id)) : ran.functions, root);
  if (other) root.children.push(other);
  const { open } = upwards(tree, root);
  const fillAndOpen = (node: FlameNode) => {
    if (node === other) node.children ??= boxes(few, node);
    else if (node.parent !== null && (node.parent === root || node.parent === other)) fillRan(tree, sums, node);
    return open(node);
  };
  return { root, open: fillAndOpen, closed: other };
}

/** What ran, by function: sums, and what boxes look like. */
interface Ran {
  /** Those that ran, in their order. */
  functions: number[];
  total: Float64Array;
  samples: Float64Array;
  tiers: Uint8Array;
  run: Uint32Array;
  /** The node in which it ran most; 0 where it did not run. */
  heaviest: Int32Array;
}

/** Functions are few beside nodes: one walk over these in their order, with sums that stay in the processor's cache. */
function ranOf(tree: Tree, { self, selfSamples }: NodeSums): Ran {
  const { function: functions, tiers, run } = tree;
  const size = indexOf(tree).starts.length - 1;
  const ran: Ran = {
    functions: [],
    total: new Float64Array(size),
    samples: new Float64Array(size),
    tiers: new Uint8Array(size),
    run: new Uint32Array(size),
    heaviest: new Int32Array(size),
  };
  const { total, samples, tiers: allTiers, run: mostRun, heaviest } = ran;
  const most = new Float64Array(size).fill(-1);
  for (let node = 1; node < functions.length; node++) {
    const weight = self[node];
    if (selfSamples[node] === 0 && weight === 0) continue;
    const id = functions[node];
    total[id] += weight;
    samples[id] += selfSamples[node];
    allTiers[id] |= tiers[node];
    if (run[node] > mostRun[id]) mostRun[id] = run[node];
    if (weight <= most[id]) continue;
    most[id] = weight;
    heaviest[id] = node;
  }
  for (let id = 0; id < size; id++) if (heaviest[id] > 0) ran.functions.push(id);
  return ran;
}

/** The box of all. */
function rootOfRan({ functions, total, samples }: Ran, { self, selfSamples }: NodeSums): FlameNode {
  const root = emptyNode(NONE, null);
  root.members = [0];
  [root.self, root.selfSamples, root.total, root.totalSamples] = [self[0], selfSamples[0], self[0], selfSamples[0]];
  for (const id of functions) {
    root.total += total[id];
    root.totalSamples += samples[id];
  }
  return root;
}

function boxOf(tree: Tree, ran: Ran, id: number, parent: FlameNode): FlameNode {
  const box = emptyNode(id, parent);
  const heaviest = ran.heaviest[id];
  [box.total, box.self] = [ran.total[id], ran.total[id]];
  [box.totalSamples, box.selfSamples] = [ran.samples[id], ran.samples[id]];
  [box.category, box.tier] = [tree.category[heaviest], tree.tier[heaviest]];
  [box.tiers, box.run] = [ran.tiers[id], ran.run[id]];
  return box;
}

/** What ran for less than a part of all. Its functions get boxes when it is opened. */
function otherBox({ total, samples }: Ran, few: readonly number[], id: number, root: FlameNode): FlameNode {
  const other = emptyNode(id, root);
  for (const one of few) {
    other.total += total[one];
    other.totalSamples += samples[one];
  }
  [other.self, other.selfSamples] = [other.total, other.totalSamples];
  return other;
}

/** Puts the nodes in which a function ran into its box, for those that are looked at. */
function fillRan(tree: Tree, { self, selfSamples }: NodeSums, box: FlameNode): void {
  if (box.weights !== null) return;
  const { starts, nodes } = indexOf(tree);
  const all = nodes.subarray(starts[box.function], starts[box.function + 1]);
  const members = all.filter((node) => selfSamples[node] > 0 || self[node] > 0);
  box.members = members;
  box.weights = Float64Array.from(members, (node) => self[node]);
  box.samples = Float64Array.from(members, (node) => selfSamples[node]);
}

/** What of a tree does not change with the selection, made when it is first needed. */
interface Index {
  /** The nodes of function f are `nodes[starts[f] … starts[f + 1]]`, in their order. */
  starts: Int32Array;
  nodes: Int32Array;
  /** Of each node its place among the members of a group, from 1; cleared after use. */
  places: Int32Array;
}

const INDEXES = new WeakMap<Tree, Index>();

function indexOf(tree: Tree): Index {
  const known = INDEXES.get(tree);
  if (known) return known;
  const { function: functions } = tree;
  let last = -1;
  for (let node = 1; node < functions.length; node++) if (functions[node] > last) last = functions[node];
  const starts = new Int32Array(last + 2);
  for (let node = 1; node < functions.length; node++) starts[functions[node] + 1]++;
  for (let id = 0; id <= last; id++) starts[id + 1] += starts[id];
  const next = starts.slice();
  const nodes = new Int32Array(functions.length - 1);
  for (let node = 1; node < functions.length; node++) nodes[next[functions[node]]++] = node;
  const index = { starts, nodes, places: new Int32Array(functions.length) };
  INDEXES.set(tree, index);
  return index;
}

/** What one function called, wherever it was called from; each sample counts once, by the outermost call. */
export function calleesOf(tree: Tree, sums: NodeSums, id: number): Graph {
  const root = nodeOf(tree, null, outermost(tree, sums, id), sums);
  [root.function, root.call] = [id, 0];
  return downwards(tree, sums, root);
}

/** Who called it. */
export function callersOf(tree: Tree, sums: NodeSums, id: number): Graph {
  const members = outermost(tree, sums, id);
  const root = nodeOf(tree, null, members, sums);
  [root.function, root.call] = [id, 0];
  root.weights = members.map((node) => sums.total[node]);
  root.samples = members.map((node) => sums.totalSamples[node]);
  return upwards(tree, root);
}

/** The nodes of a function that no other call of it encloses; all, or those in the selection. */
export function outermost(tree: Tree, sums: NodeSums | null, id: number): number[] {
  const found: number[] = [];
  for (let node = 1; node < tree.function.length; node++) {
    if (tree.function[node] !== id || sums?.totalSamples[node] === 0) continue;
    let above = tree.parent[node];
    while (above !== 0 && tree.function[above] !== id) above = tree.parent[above];
    if (above === 0) found.push(node);
  }
  return found;
}

function downwards(tree: Tree, sums: NodeSums, root: FlameNode): Graph {
  const open = (node: FlameNode): FlameNode[] => {
    node.children ??= sorted(node.members.length === 1 ? onlyChildren(tree, sums, node) : merged(node));
    return node.children;
  };
  const merged = (node: FlameNode): FlameNode[] => {
    const groups = new Map<number, number[]>();
    for (const member of Array.from(node.members)) {
      for (let at = tree.firstChild[member]; at < tree.firstChild[member + 1]; at++) {
        const child = tree.children[at];
        if (sums.totalSamples[child] === 0 && sums.total[child] === 0) continue;
        const group = groups.get(tree.function[child]);
        if (group) group.push(child);
        else groups.set(tree.function[child], [child]);
      }
    }
    return [...groups.values()].map((members) => nodeOf(tree, node, members, sums));
  };
  return { root, open };
}

/** Of a box that is one node of the call tree, and its children are so, too: the common case. */
function onlyChildren(tree: Tree, sums: NodeSums, node: FlameNode): FlameNode[] {
  const member = node.members[0];
  const children: FlameNode[] = [];
  for (let at = tree.firstChild[member]; at < tree.firstChild[member + 1]; at++) {
    const child = tree.children[at];
    if (sums.totalSamples[child] > 0 || sums.total[child] > 0) children.push(nodeOf(tree, node, [child], sums));
  }
  return children;
}

/** A merged box; its colour is that of its heaviest part. */
function nodeOf(tree: Tree, parent: FlameNode | null, members: number[], sums: NodeSums): FlameNode {
  const node = emptyNode(members.length > 0 ? tree.function[members[0]] : NONE, parent);
  node.members = members;
  if (members.length > 0) node.call = tree.call[members[0]];
  let most = -1;
  for (const member of members) {
    node.self += sums.self[member];
    node.total += sums.total[member];
    node.selfSamples += sums.selfSamples[member];
    node.totalSamples += sums.totalSamples[member];
    most = addLooks(tree, node, member, sums.total[member], most);
  }
  return node;
}

/** The callers of each box's nodes. */
function upwards(tree: Tree, root: FlameNode): Graph {
  const { places } = indexOf(tree);
  const open = (node: FlameNode): FlameNode[] => {
    node.children ??= sorted(callersIn(tree, node, places));
    return node.children;
  };
  return { root, open };
}

function callersIn(tree: Tree, node: FlameNode, places: Int32Array): FlameNode[] {
  const { members, weights, samples } = node;
  const groups = new Map<number, Group>();
  for (let index = 0; index < members.length; index++) {
    const step = tree.parent[members[index]];
    if (step === 0) continue;
    const id = tree.function[step];
    let group = groups.get(id);
    if (group === undefined) {
      // Not by a spread: nodes of one shape are faster to read.
      group = emptyNode(id, node) as Group;
      group.members = [];
      group.weights = [];
      group.samples = [];
      groups.set(id, group);
    }
    addMember(group, step, weights?.[index] ?? 0, samples?.[index] ?? 0, places);
  }
  for (const group of groups.values()) {
    let most = -1;
    for (let index = 0; index < group.members.length; index++) {
      places[group.members[index]] = 0;
      most = addLooks(tree, group, group.members[index], group.weights[index], most);
    }
  }
  return [...groups.values()];
}

interface Group extends FlameNode {
  members: number[];
  weights: number[];
  samples: number[];
}

function addMember(group: Group, step: number, weight: number, samples: number, places: Int32Array): void {
  const place = places[step] - 1;
  if (place < 0) {
    group.members.push(step);
    group.weights.push(weight);
    group.samples.push(samples);
    places[step] = group.members.length;
  } else {
    group.weights[place] += weight;
    group.samples[place] += samples;
  }
  group.total += weight;
  group.totalSamples += samples;
}

const NO_MEMBERS: readonly number[] = [];

function emptyNode(id: number, parent: FlameNode | null): FlameNode {
  return {
    function: id,
    category: UNKNOWN,
    call: 0,
    run: 0,
    tier: 0,
    tiers: 0,
    self: 0,
    total: 0,
    selfSamples: 0,
    totalSamples: 0,
    parent,
    members: NO_MEMBERS,
    weights: null,
    samples: null,
    children: null,
  };
}

function addLooks(tree: Tree, node: FlameNode, member: number, weight: number, most: number): number {
  node.tiers |= tree.tiers[member];
  if (tree.run[member] > node.run) node.run = tree.run[member];
  if (weight <= most) return most;
  node.category = tree.category[member];
  node.tier = tree.tier[member];
  return weight;
}

function sorted(nodes: FlameNode[]): FlameNode[] {
  return nodes.sort((a, b) => b.total - a.total || a.function - b.function);
}

/** The box at the end of a path of functions, as far as it can be followed. */
export function follow(graph: Graph, path: readonly number[]): FlameNode {
  let node = graph.root;
  for (const id of path) {
    const next = graph.open(node).find((child) => child.function === id);
    if (!next) break;
    node = next;
  }
  return node;
}

/** The functions from the root's child down to a box. */
export function pathOf(node: FlameNode): number[] {
  const path: number[] = [];
  for (let at: FlameNode | null = node; at?.parent; at = at.parent) path.push(at.function);
  return path.reverse();
}

/** Where a box stands: x and width in pixels, its row from the root. */
export interface Box {
  node: FlameNode;
  x: number;
  width: number;
  depth: number;
}

/** In a narrower box what it called cannot be seen: so many times the least width. */
const OPENED = 3;

/** Lays out what is at least `least` pixels wide, callers before callees and from left to right. */
export function layout(graph: Graph, from: FlameNode, width: number, least: number): Box[] {
  const boxes: Box[] = [{ node: from, x: 0, width, depth: 0 }];
  const scale = from.total > 0 ? width / from.total : 0;
  for (let at = 0; at < boxes.length; at++) {
    const { node, x, depth, width: own } = boxes[at];
    if (own < OPENED * least || (node === graph.closed && at > 0)) continue;
    let left = x;
    for (const child of graph.open(node)) {
      const childWidth = child.total * scale;
      if (childWidth < least) break; // the rest is narrower still
      boxes.push({ node: child, x: left, width: childWidth, depth: depth + 1 });
      left += childWidth;
    }
  }
  return boxes;
}
