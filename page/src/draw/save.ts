// What leaves the page as a file: what is selected as folded stacks, and the saving itself. Names are escaped as the
// program does it: a semicolon becomes a colon.

import { NONE } from "../data/model.ts";
import type { State } from "../select/state.ts";
import type { App } from "./app.ts";
import { h } from "./dom.ts";
import { nameOf, nameOfRun } from "./words.ts";

/** The selected stacks, without what is hidden, each with its weight. */
export function foldedOf({ profile, derived, state }: Pick<App, "profile" | "derived" | "state">): string {
  const flame: State = { ...state, view: "flame" };
  const [tree, sums] = [derived.tree(flame), derived.nodeSums(flame)];
  const wordsOf = (id: number, node: number) => nameOfRun(nameOf(profile, id), tree.run[node]).replaceAll(";", ":");
  const names = Array.from(tree.function, (id, node) => (id === NONE ? "" : wordsOf(id, node)));
  const lines: string[] = [];
  for (let node = 1; node < names.length; node++) {
    if (!(sums.self[node] > 0)) continue;
    const path: string[] = [];
    for (let at = node; at !== 0; at = tree.parent[at]) path.push(names[at]);
    lines.push(`${path.reverse().join(";")} ${sums.self[node]}\n`);
  }
  return lines.join("");
}

export function download(content: BlobPart, name: string, type: string): void {
  const link = h("a", { download: name });
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
