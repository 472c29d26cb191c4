// What asked for the work that is selected: its weight by kind, and of each kind by function. Which entry a stack has is
// decided by crates/views (crates/views/src/entries.rs).

import type { Profile } from "../data/model.ts";
import type { PageEntry } from "../data/report.ts";
import { type KeySums, type StackSums, sumByKey } from "../select/selection.ts";

export interface EntrySum {
  /** What the state calls it. */
  key: string;
  weight: number;
  samples: number;
  /** The part of the weight whose entry was inferred from other samples. */
  inferred: number;
}

export interface EntryRow extends EntrySum {
  entry: PageEntry;
}

export interface EntryGroup extends EntrySum {
  kind: string;
  /** `HTTP requests` */
  many: string;
  /** The heaviest first. */
  rows: EntryRow[];
}

/** One entry, whether it was inferred or not. */
export function keyOfEntry({ kind, function: id, text }: PageEntry): string {
  return `${kind}.${id ?? text}`;
}

/** Sums by the rows of the list of entries; null where nothing is known of entries. */
export function sumEntries(profile: Profile, sums: StackSums, reuse?: KeySums | null): KeySums | null {
  const { report, entries } = profile;
  if (!report || !entries) return null;
  // Samples without a stack are no JavaScript.
  const keys = { of: entries, none: 0, count: report.entries.list.length };
  return sumByKey(profile, sums, keys, reuse ?? undefined);
}

/** The kinds by their weight, the heaviest first; what is not JavaScript comes last. */
export function entriesOf({ report }: Profile, sums: KeySums | null): EntryGroup[] {
  if (!report || !sums) return [];
  const { list } = report.entries;
  const { weight, samples } = sums;
  const rows = list.map((entry, row) => {
    const inferred = entry.is_inferred ? weight[row] : 0;
    return { key: keyOfEntry(entry), entry, weight: weight[row], samples: samples[row], inferred };
  });
  const groups = new Map<string, EntryGroup>();
  for (const row of merged(rows)) {
    const { kind, many } = row.entry;
    const group = groups.get(kind) ?? { key: kind, kind, many, weight: 0, samples: 0, inferred: 0, rows: [] };
    groups.set(kind, group);
    add(group, row);
    group.rows.push(row);
  }
  const isLast = ({ kind }: EntryGroup) => Number(kind === "none");
  return [...groups.values()].sort((a, b) => isLast(a) - isLast(b) || b.weight - a.weight);
}

/** Those with samples, each once, the heaviest first. */
function merged(rows: readonly EntryRow[]): EntryRow[] {
  const all = new Map<string, EntryRow>();
  for (const row of rows) {
    if (row.samples === 0) continue;
    const known = all.get(row.key);
    if (known) add(known, row);
    else all.set(row.key, row);
  }
  return [...all.values()].sort((a, b) => b.weight - a.weight);
}

function add(sum: EntrySum, { weight, samples, inferred }: EntrySum): void {
  sum.weight += weight;
  sum.samples += samples;
  sum.inferred += inferred;
}

/** For each stack 1 or 0: whether its entry, or the kind of it, is the chosen one; null where all are. */
export function askedBy({ report, entries, stacks }: Profile, chosen: string): Uint8Array | null {
  if (chosen === "" || !report || !entries) return null;
  const isMeant = report.entries.list.map((entry) => Number(entry.kind === chosen || keyOfEntry(entry) === chosen));
  const asked = new Uint8Array(stacks.parent.length);
  for (let stack = 0; stack < entries.length; stack++) asked[stack] = isMeant[entries[stack]];
  return asked;
}
