// How boxes are coloured, and the legend that says so.

import type { Derived } from "../../compute/derived.ts";
import type { Picture, ShownBox } from "../../compute/picture.ts";
import { isMatch } from "../../compute/search.ts";
import { APP, CATEGORIES, functionPackage, NONE, type Profile, TIERS } from "../../data/model.ts";
import type { State } from "../../select/state.ts";
import type { App } from "../app.ts";
import {
  CATEGORY_COLORS,
  colorOfChange,
  colorOfName,
  css,
  GROUP,
  MATCH,
  type Rgb,
  TIER_COLORS,
  themed,
} from "../colors.ts";
import { h, refill, swatch } from "../dom.ts";
import { shown } from "../text.ts";

/** A change of such a part of all that was used has the strongest colour. */
const STRONGEST = 0.1;
/** The tiers of JavaScript, without those of wasm. */
const TIERS_IN_LEGEND = 6;
const PACKAGES_IN_LEGEND = 10;
const CATEGORIES_IN_LEGEND = 8;

/** Which boxes are searched for; null where nothing is. */
export function matchesOf(derived: Derived, state: State): ((box: ShownBox) => boolean) | null {
  const [search, matched] = [derived.search(state), derived.matchedSums(state)];
  if (!matched || search === null || typeof search === "string") return null;
  if (!search.isOfEntry) return (box) => isMatch(search, box);
  // What asked for the work of a box is known of its samples.
  const isAsked = ({ node, span }: ShownBox) =>
    span ? span.isFound : Array.from(node?.members ?? []).some((member) => matched.totalSamples[member] > 0);
  return (box) => isMatch(search, box) && isAsked(box);
}

/** Matches stand out. */
export function colorOf({ profile, state, derived }: App, box: ShownBox, isFound: boolean): Rgb {
  if (box.function === NONE) return GROUP;
  if (isFound) return MATCH;
  const { change } = box;
  if (change && state.colorBy === "category")
    return colorOfChange(change.verdict, (change.now - change.before) / (STRONGEST * derived.against.whole(state)));
  if (state.colorBy === "tier") return TIER_COLORS[box.tier];
  if (state.colorBy === "category") return CATEGORY_COLORS[box.category];
  const name = functionPackage(profile, box.function);
  if (name) return colorOfName(name);
  return box.category === APP ? CATEGORY_COLORS[APP] : GROUP;
}

export function renderLegend(app: App, picture: Picture, legend: HTMLElement): void {
  const entries = legendOf(app, picture).map(([color, text]) =>
    h("span", {}, swatch(css(themed(color, app.isDark))), text),
  );
  refill(legend, ...entries);
}

/** What the colours of this picture mean, in its own boxes. */
export function legendOf(app: App, picture: Picture): [Rgb, string][] {
  const found: [Rgb, string][] = matchesOf(app.derived, app.state) ? [[MATCH, "match"]] : [];
  return [...found, ...kindsOf(app, picture)];
}

function kindsOf(app: App, picture: Picture): [Rgb, string][] {
  const { colorBy, view } = app.state;
  if (colorBy === "tier") {
    const names = ["not JavaScript", ...TIERS.slice(1, TIERS_IN_LEGEND)];
    return names.map((name, tier) => [TIER_COLORS[tier], name]);
  }
  if (colorBy === "package") return packagesIn(app.profile, picture).map((name) => [colorOfName(name), shown(name)]);
  if (view === "time" || !app.derived.against.base(app.state)) {
    return categoriesIn(picture).map((byte) => [CATEGORY_COLORS[byte], CATEGORIES[byte][1]]);
  }
  return [
    [colorOfChange("more", 1), "more"],
    [colorOfChange("less", -1), "less or gone"],
    [colorOfChange("new", 1), "new"],
    [colorOfChange("noise", 0), "within noise"],
  ];
}

/** The categories of the boxes, those that fill most of the picture first. */
function categoriesIn(picture: Picture): number[] {
  const widths = new Map<number, number>();
  for (const box of picture.rows.flat()) {
    if (box.function !== NONE) widths.set(box.category, (widths.get(box.category) ?? 0) + box.width);
  }
  const sorted = [...widths].sort((a, b) => b[1] - a[1]);
  return sorted.slice(0, CATEGORIES_IN_LEGEND).map(([category]) => category);
}

/** The packages with the widest boxes. */
function packagesIn(profile: Profile, picture: Picture): string[] {
  const widest = new Map<string, number>();
  for (const box of picture.rows.flat()) {
    const name = box.function === NONE ? "" : functionPackage(profile, box.function);
    if (name) widest.set(name, Math.max(widest.get(name) ?? 0, box.width));
  }
  const sorted = [...widest].sort((a, b) => b[1] - a[1]);
  return sorted.slice(0, PACKAGES_IN_LEGEND).map(([name]) => name);
}
