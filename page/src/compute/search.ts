// Search by regular expression in names, files and packages, as `--search` does.

import { functionName, functionPackage, NONE, type Profile } from "../data/model.ts";
import type { NodeSums, Tree } from "./tree.ts";

/** For each function whether it matches; null for no pattern; an error's words for a wrong one. */
export function matching(profile: Profile, pattern: string): Uint8Array | string | null {
  if (pattern === "") return null;
  let expression: RegExp;
  try {
    // What people type for the command line works here, too.
    const ignoresCase = pattern.startsWith("(?i)");
    expression = new RegExp(ignoresCase ? pattern.slice(4) : pattern, ignoresCase ? "ui" : "u");
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { name, source } = profile.functions;
  const matches = new Uint8Array(name.length);
  for (let id = 0; id < name.length; id++) {
    const file = source[id] === NONE ? "" : profile.sources[source[id]];
    const texts = [functionName(profile, id), file, functionPackage(profile, id)];
    matches[id] = Number(texts.some((text) => text !== "" && expression.test(text)));
  }
  return matches;
}

/** The weight under a node that has a matching function on its way from there. */
export function matchedWeight(tree: Tree, sums: NodeSums, matches: Uint8Array, from: number): number {
  const state = new Uint8Array(tree.parent.length); // 1 below `from`, 2 matched
  let weight = 0;
  for (let node = from; node < state.length; node++) {
    if (node !== from && state[tree.parent[node]] === 0) continue;
    const inherited = node === from ? 1 : state[tree.parent[node]];
    const own = node !== 0 && matches[tree.function[node]] === 1 ? 2 : 1;
    state[node] = Math.max(inherited, own);
    if (state[node] === 2) weight += sums.self[node];
  }
  return weight;
}
