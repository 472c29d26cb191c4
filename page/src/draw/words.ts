// What functions, items and changes are called on the page.

import type { Change } from "../compute/diff.ts";
import { kindOfBox } from "../compute/lens/virtual.ts";
import type { ShownBox } from "../compute/picture.ts";
import { shortName } from "../compute/shorten.ts";
import { AWAITS, CATEGORIES, functionName, functionWords, NONE, type Profile, ROLES } from "../data/model.ts";
import type { Verdict } from "../data/report.ts";
import type { Item, Range } from "../select/selection.ts";
import type { App } from "./app.ts";
import { percent, plural, points, RATE_UNITS, rate, rateChange, seconds, shown } from "./text.ts";

const MARK = "▸ ";

export const VERDICTS: Record<Verdict, string> = {
  more: "more",
  less: "less",
  new: "new",
  gone: "gone",
  noise: "within noise",
  unknown: "noise unknown",
};

/** A value before, after, and how much it changed: in the unit of what is compared. */
export function changeWords(app: App, change: Change): string[] {
  const unit = app.derived.against.rateUnit(app.state);
  const [before, after, size] = changeNumbers(app, change);
  if (!unit) return [before, after, `${size} points`];
  return unit === "cores" ? [before, after, size].map((text) => `${text}${RATE_UNITS[unit]}`) : [before, after, size];
}

/** The same for tables, whose heads state that it is cores or points. */
export function changeNumbers({ derived, state }: App, { before, now }: Change): string[] {
  const unit = derived.against.rateUnit(state);
  if (!unit) return [percent(before), percent(now), points(now - before)];
  const end = unit === "cores" ? "" : RATE_UNITS[unit];
  return [rate(before, unit), rate(now, unit), rateChange(now - before, unit)].map((text) => text + end);
}

/** What the numbers of such a table are. */
export function measureWords({ derived, state }: App): string {
  const unit = derived.against.rateUnit(state);
  if (!unit) return "shares, changes in points";
  return unit === "cores" ? "cores: CPU seconds in a second of recording" : "in a second of recording";
}

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

/** Where that has no room: the function itself, with a mark where something else asked for it or awaits it. */
export function leastNameOfBox(profile: Profile, { function: id, node }: ShownBox): string {
  const name = shortNameOf(profile, id);
  const isAsked = kindOfBox(profile, id) === "entry" && name.includes(MARK);
  if (isAsked) return MARK + name.slice(name.indexOf(MARK) + MARK.length);
  return node?.call ? MARK + name : name;
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

/** Whose samples shares are of: the report's shares of a loop differ from those of all threads. */
export function whose({ derived, profile, state }: App): string {
  const threads = derived.shownThreads(state);
  if (!threads) return "all threads";
  const roles = new Set(threads.map((id) => profile.threads[id]?.role ?? "other"));
  return roles.size === 1 ? (ROLES[[...roles][0]] ?? "these threads") : "these threads";
}

export function rangeText([from, to]: Range): string {
  return `${seconds(from)}–${seconds(to)} s`;
}
