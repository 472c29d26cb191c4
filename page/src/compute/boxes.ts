// Which box of a picture each stack's own weight counts to: the deepest that is shown. With that a comparison costs one
// pass over the samples, whatever the picture.

import type { Things } from "./diff.ts";
import { type Box, outermost } from "./flame.ts";
import type { Tree } from "./tree.ts";

type Children = Map<number, number>;
const BASE = 2 ** 32;

/** Boxes whose callees are under them; the first one stands for `roots`. */
export function thingsDown(tree: Tree, boxes: readonly Box[], roots: ArrayLike<number>): Things {
  const { children, parent } = linked(boxes);
  const size = tree.parent.length;
  const [exact, deepest] = [new Int32Array(size).fill(-1), new Int32Array(size).fill(-1)];
  for (let at = 0; at < roots.length; at++) exact[roots[at]] = deepest[roots[at]] = 0;
  for (let node = 1; node < size; node++) {
    const above = tree.parent[node];
    if (deepest[node] === 0 || deepest[above] < 0) continue;
    if (exact[above] >= 0) exact[node] = children.get(exact[above] * BASE + tree.function[node]) ?? -1;
    deepest[node] = exact[node] < 0 ? deepest[above] : exact[node];
  }
  return things(tree, deepest, parent);
}

/** Boxes whose callers are under them; the first one is at the end of `path` from what ran. */
export function thingsUp(tree: Tree, boxes: readonly Box[], path: readonly number[]): Things {
  const { children, parent } = linked(boxes);
  const deepest = tree.parent.map((_, node) => climb(tree, children, node, path));
  return things(tree, deepest, parent);
}

/** The callers of one function; what it called counts to them, too. */
export function thingsOfCallers(tree: Tree, boxes: readonly Box[], id: number): Things {
  const { children, parent } = linked(boxes);
  const deepest = new Int32Array(tree.parent.length).fill(-1);
  for (const node of outermost(tree, null, id)) deepest[node] = climb(tree, children, node, [id]);
  for (let node = 1; node < deepest.length; node++) if (deepest[node] < 0) deepest[node] = deepest[tree.parent[node]];
  return things(tree, deepest, parent);
}

function climb(tree: Tree, children: Children, node: number, path: readonly number[]): number {
  let at = node;
  for (const id of path) {
    if (at === 0 || tree.function[at] !== id) return -1;
    at = tree.parent[at];
  }
  let box = 0;
  while (at !== 0) {
    const next = children.get(box * BASE + tree.function[at]);
    if (next === undefined) break;
    [box, at] = [next, tree.parent[at]];
  }
  return box;
}

function things(tree: Tree, ofNodes: Int32Array, parent: Int32Array): Things {
  return { of: tree.nodeOf.map((node) => ofNodes[node]), count: parent.length, parent };
}

/** By box and function the box under it, and of each box the one that it is under. */
function linked(boxes: readonly Box[]): { children: Children; parent: Int32Array } {
  const places = new Map(boxes.map(({ node }, at) => [node, at]));
  const parent = Int32Array.from(boxes, ({ node }) => (node.parent && places.get(node.parent)) ?? 0);
  const children: Children = new Map();
  for (let at = 1; at < boxes.length; at++) children.set(parent[at] * BASE + boxes[at].node.function, at);
  return { children, parent };
}
