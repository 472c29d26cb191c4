// The figures of a function, its callers and callees, and the tiers that it ran in.

import { calleesOf, callersOf, type FlameNode, outermost } from "../../compute/flame.ts";
import { thingsOfFunction } from "../../compute/function-facts.ts";
import { kindOfBox } from "../../compute/lens/virtual.ts";
import { TIERS } from "../../data/model.ts";
import type { App } from "../app.ts";
import { css, TIER_COLORS, themed } from "../colors.ts";
import { button, columnHead, h, quiet, swatch } from "../dom.ts";
import { percent, share, thousands } from "../text.ts";
import { changeNumbers, shortNameOf, VERDICTS } from "../words.ts";

const MOST_CALLS = 5;
/** Tiers that less of the time was in are left out. */
const LEAST_TIER = 0.005;
/** Below it is what numbers lose when they are added up. */
const LEAST_ALONE = 0.0005;

export function figures(app: App, id: number): HTMLElement {
  const { derived, state } = app;
  const { total } = derived.sums(state);
  const row = derived.top(state, "function").find(({ key }) => key === id);
  const caused = derived.caused(state).get(id) ?? 0;
  const figure = (word: string, weight: number, samples: number | null) => {
    const count = samples === null ? null : quiet(`(${thousands(samples)})`);
    return h("span", { class: "figure" }, quiet(word), percent(share(weight, total)), count);
  };
  const parts = [
    figure("self", row?.self ?? 0, row?.selfSamples ?? 0),
    ...(caused > 0 ? [figure("caused", caused, null)] : []),
    figure("total", row?.total ?? 0, row?.totalSamples ?? 0),
  ];
  const compared = changes(app, id);
  return h("div", { class: "panel-figures" }, h("div", { class: "row" }, ...parts), compared);
}

/** Self and total before and after, beside each other. */
function changes(app: App, id: number): HTMLElement | null {
  const found = app.derived.against.changes(app.state, () => thingsOfFunction(app.profile, id));
  if (!found) return null;
  const [total, self] = found;
  const rows = (
    [
      ["self", self],
      ["total", total],
    ] as const
  ).map(([word, change]) => {
    const cells = [word, ...changeNumbers(app, change), VERDICTS[change.verdict]];
    const style = change.verdict === "noise" ? "quiet" : "";
    return h("tr", { class: style }, ...cells.map((text) => h("td", {}, text)));
  });
  const unit = app.derived.against.rateUnit(app.state) === "cores" ? "cores" : "";
  const heads = [columnHead(unit, "", "share"), ...["before", "after", "change"].map((text) => columnHead(text))];
  heads.push(columnHead("", "", "beyond noise"));
  return h("table", { id: "panel-changes" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

/** Which lists are shown whole, and how that changes. */
export interface Whole {
  has(title: string): boolean;
  add(title: string): void;
}

/** Who called it and what it called, as parts of its time; of what is gone as it was. */
export function calledBy(app: App, id: number, whole: Whole): HTMLElement[] {
  const { derived } = app;
  const view = { ...app.state, view: "sandwich" as const };
  const tree = derived.tree(view);
  const isGone = derived.against.base(view) !== null && outermost(tree, derived.nodeSums(view), id).length === 0;
  const sums = derived.sideNodes(view, isGone);
  const [callers, callees] = [callersOf(tree, sums, id), calleesOf(tree, sums, id)];
  const { total, self } = callees.root;
  const calling = callers.open(callers.root).map((node) => callOf(app, node));
  // What runs after an await, or was called by native code that a lens leaves out, has no caller.
  const alone = total - calling.reduce((sum, { weight }) => sum + weight, 0);
  if (alone > LEAST_ALONE * total) calling.push({ id: null, name: "no function", weight: alone });
  const own: Call[] = self > 0 ? [{ id: null, name: "itself", weight: self }] : [];
  const called = [...own, ...callees.open(callees.root).map((node) => callOf(app, node))];
  const list = (title: string, calls: Call[], none: string) => {
    const sorted = calls.sort((a, b) => b.weight - a.weight);
    const rows = sorted.slice(0, whole.has(title) ? Infinity : MOST_CALLS);
    const items = rows.map((call) => callRow(app, title, call, total));
    const words = `${rows.length} of ${thousands(calls.length)} · more`;
    const open = () => button(words, `${title}-more`, () => whole.add(title), { class: "link" });
    const more = rows.length < calls.length && h("li", {}, open());
    const empty = calls.length === 0 && h("li", { class: "quiet" }, none);
    return h("div", {}, h("h2", {}, title), h("ul", {}, ...items, more, empty));
  };
  return [list("called by", calling, "no function"), list("calls", called, "nothing")];
}

interface Call {
  /** Null where there is nothing to select. */
  id: number | null;
  name: string;
  weight: number;
}

function callOf({ profile }: App, { function: id, total }: FlameNode): Call {
  const isFunction = kindOfBox(profile, id) === "function";
  return { id: isFunction ? id : null, name: shortNameOf(profile, id), weight: total };
}

function callRow(app: App, title: string, { id, name, weight }: Call, total: number): HTMLElement {
  const open =
    id === null
      ? h("span", {}, name)
      : button(name, `${title}-${id}`, () => app.select(id), { class: "link", title: name });
  return h("li", {}, h("span", { class: "what" }, open), h("span", { class: "part" }, percent(share(weight, total))));
}

/** How V8 ran it, the most of the time first. */
export function tiers(app: App, weights: Float64Array): HTMLElement[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const known = Array.from(weights, (weight, tier) => ({ tier, part: share(weight, total) }))
    .filter(({ tier, part }) => tier > 0 && part >= LEAST_TIER)
    .sort((a, b) => b.part - a.part);
  if (known.length === 0) return [];
  const parts = known.map(({ tier, part }) => {
    const color = css(themed(TIER_COLORS[tier], app.isDark));
    return h("span", { class: "figure" }, swatch(color), TIERS[tier], quiet(percent(part)));
  });
  return [h("h2", {}, "ran as"), h("div", { class: "row" }, ...parts)];
}
