// Which rows of a list are searched for. The search leaves rows out; it changes no row's numbers.

import { NONE, type Profile } from "../data/model.ts";
import type { StackSums } from "../select/selection.ts";
import type { TopBy } from "../select/state.ts";
import type { Search } from "./search.ts";
import type { Kinds, TopRow } from "./top.ts";

/** What distinguishes rows of one list. */
export function rowKey({ key, line }: Pick<TopRow, "key" | "line">): string {
  return `${key}:${line}`;
}

export function keysOf(rows: readonly TopRow[]): Set<string> {
  return new Set(rows.map(rowKey));
}

/**
 * Rows of functions that match, on stacks that the searched entry asked for; of categories those of the samples that
 * match. `sums` are of these samples.
 */
export function foundRows(profile: Profile, kinds: Kinds, by: TopBy, search: Search, sums: StackSums): Set<string> {
  const { parent, listed, box } = profile.stacks;
  const { named, categories, isOfEntry } = search;
  const found = new Set<string>();
  const whole = sums.samples.slice();
  for (let stack = parent.length - 1; stack >= 0; stack--) {
    if (parent[stack] !== NONE) whole[parent[stack]] += whole[stack];
    const kind = kinds.of[stack];
    if (kind < 0) continue;
    const isRow =
      by === "category"
        ? sums.samples[stack] > 0
        : named[listed[stack]] === 1 && categories?.[box[stack]] !== 0 && (!isOfEntry || whole[stack] > 0);
    if (isRow) found.add(rowKey({ key: kinds.keys[kind], line: kinds.lines[kind] }));
  }
  return found;
}
