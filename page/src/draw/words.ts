// What functions, items and changes are called on the page.

import type { Verdict } from "../compute/diff.ts";
import type { ShownBox } from "../compute/picture.ts";
import { shortName } from "../compute/shorten.ts";
import { AWAITS, CATEGORIES, functionName, functionWords, NONE, type Profile } from "../data/model.ts";
import type { Item, Range } from "../select/selection.ts";
import { plural, seconds, shown } from "./text.ts";

export const VERDICTS: Record<Verdict, string> = {
  more: "more",
  less: "less",
  new: "new",
  gone: "gone",
  noise: "within noise",
  unknown: "noise unknown",
};

/** The name of a function, or of the box that holds all. */
export function nameOf(profile: Profile, id: number): string {
  return id === NONE ? "all" : shown(functionName(profile, id)) || "(anonymous)";
}

/** As boxes have it: of native code without its parameters, and without a name by its place. */
export function shortNameOf(profile: Profile, id: number): string {
  if (id === NONE) return "all";
  const name = functionName(profile, id);
  return shown(name === "" || name === "(anonymous)" ? functionWords(profile, id) : shortName(profile, id));
}

/** With a mark where the box above awaits it. */
export function nameOfBox(profile: Profile, { function: id, node, span }: ShownBox, name = nameOf): string {
  return (AWAITS[node?.call ?? 0] ?? "") + nameOfRun(name(profile, id), node?.run ?? span?.run ?? 0);
}

/** Of a run of package frames, with how many there are: `express ▸ 18 frames`. */
export function nameOfRun(name: string, run: number): string {
  return run > 0 ? `${name} ▸ ${plural(run, "frame")}` : name;
}

export function itemName(profile: Profile, { kind, id }: Item): string {
  if (kind === "category") return CATEGORIES[id]?.[1] ?? "";
  return shown(kind === "function" ? functionName(profile, id) || "(anonymous)" : (profile.strings[id] ?? ""));
}

/** Where a function stands: its source and line; null for native code. */
export function sourceOf(profile: Profile, id: number): readonly [number, number] | null {
  const row = profile.functions.source[id];
  return row === undefined || row === NONE ? null : [row, profile.functions.line[id]];
}

export function rangeText([from, to]: Range): string {
  return `${seconds(from)}–${seconds(to)} s`;
}
