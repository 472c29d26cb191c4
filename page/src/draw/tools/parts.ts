// The bars above the big picture: which view, of what selection, compared with what, where in it, and what is hidden.

import { COLOR_BY, LENSES, type Lens, SIDES, type State, type View } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { comparedPart } from "../compare/heading.ts";
import { button, choice, h, picker, quiet, refill, toggle } from "../dom.ts";
import { clock, duration, plural, thousands } from "../text.ts";
import { rangeText } from "../words.ts";
import { comparing } from "./compare.ts";
import { chips, crumbs, isTable } from "./trail.ts";

const VIEW_WORDS: Record<View, string> = {
  flame: "flame graph",
  time: "time order",
  inverted: "inverted",
  top: "top table",
  sandwich: "callers & callees",
  source: "source",
};

const VIEW_TITLES: Record<View, string> = {
  flame: "Functions, and what they called under them (1)",
  time: "One thread from left to right, as it ran (2)",
  inverted: "The functions that ran, and their callers under them (3)",
  top: "A list of what took the time (4)",
  sandwich: "One function: what called it above, what it called below (5)",
  source: "The lines of a source, with their time (6)",
};

const LENS_WORDS: Record<Lens, string> = {
  code: "my code",
  packages: "+ packages",
  node: "+ Node",
  everything: "everything",
};

const LENS_TITLES: Record<Lens, string> = {
  code: "Boxes for your own functions; frames of packages that follow each other are one box (m)",
  packages: "And for every function of a package (p)",
  node: "And for the functions of Node and libuv (j)",
  everything: "All frames, as they were sampled (e)",
};

const SIDE_WORDS: Record<State["sides"], string> = { both: "side by side", before: "before", after: "after" };

const SIDE_TITLES: Record<State["sides"], string> = {
  both: "Before on the left, after on the right, at one scale (b)",
  before: "Before alone, as wide as there is room (b)",
  after: "After alone, as wide as there is room (b)",
};

export function toolParts(app: App): Part[] {
  const tabs = h("div", { class: "work row" });
  const trail = h("div", { class: "row" });
  return [
    { element: tabs, render: () => refill(tabs, lenses(app), views(app), ...awaits(app), selection(app)) },
    comparedPart(app, "range"),
    { element: trail, render: () => renderTrail(app, trail) },
  ];
}

function lenses(app: App): HTMLElement {
  return choice("lens", LENSES, app.lens, (lens) => app.update({ lens, zoom: [] }), LENS_WORDS, LENS_TITLES);
}

function views(app: App): HTMLElement {
  const all = Object.keys(VIEW_WORDS) as View[];
  return choice("view", all, app.state.view, (view) => app.update({ view, zoom: [] }), VIEW_WORDS, VIEW_TITLES);
}

/** Whether stacks go on behind an await, where that is known. */
function awaits(app: App): HTMLElement[] {
  if (!app.profile.hasAwaits) return [];
  const { isPhysical } = app.state;
  const flip = () => app.update({ isPhysical: !isPhysical, zoom: [] });
  const title = "What runs after an await stands under the functions that await it, not under V8's queue (a)";
  return [toggle("across await", "awaits", !isPhysical, flip, title)];
}

function selection(app: App): HTMLElement {
  const { count, total } = app.derived.sums(app.state);
  const attributes = { id: "selection", role: "status", "data-samples": String(count), "data-weight": String(total) };
  const text = h("span", attributes, selectionText(app));
  const clear = button("✕", "clear-range", () => app.update({ range: null }), {
    title: "Clear the selection (Escape)",
    "aria-label": "Clear the selection",
  });
  return h(
    "span",
    { class: "end row" },
    quiet(app.profile.other ? "after" : "selection"),
    text,
    app.state.range && clear,
    ...comparing(app),
  );
}

function selectionText({ state, profile, derived }: App): string {
  const parts: string[] = [];
  if (state.range) {
    const [from, to] = state.range;
    parts.push(rangeText(state.range));
    if (profile.startMs !== null) parts.push(`${clock(profile.startMs, from)} UTC`);
    parts.push(duration(Math.min(to, Math.max(profile.durationNs, from)) - from));
  }
  const { count } = derived.sums(state);
  const whole = derived.whole(state).count;
  parts.push(count === whole ? `all ${plural(count, "sample")}` : `${plural(count, "sample")} of ${thousands(whole)}`);
  return parts.join(" · ");
}

function renderTrail(app: App, trail: HTMLElement): void {
  const some = chips(app);
  trail.classList.toggle("hidden", isTable(app.state) && some.length === 0);
  refill(trail, crumbs(app), ...some, h("span", { class: "end row" }, ...options(app)));
}

/** How the picture is drawn. */
function options(app: App): HTMLElement[] {
  const { state } = app;
  if (isTable(state)) return [];
  const isCompared = app.derived.against.base(state) !== null;
  const chooseSides = (sides: State["sides"]) => app.update({ sides });
  const sides = choice("sides", SIDES, state.sides, chooseSides, SIDE_WORDS, SIDE_TITLES);
  const flip = () => app.update({ isUpward: !state.isUpward });
  const upward = toggle(
    "roots at the bottom",
    "upward",
    state.isUpward,
    flip,
    "Callers at the bottom, what they called above (d)",
  );
  const colors = picker("colour", COLOR_BY, state.colorBy, (colorBy) => app.update({ colorBy }), {
    category: isCompared ? "colour by change" : "colour by category",
    package: "colour by package",
    tier: "colour by tier",
  });
  return [
    ...(isCompared && state.view !== "time" ? [sides] : []),
    ...(state.view === "sandwich" ? [] : [upward]),
    colors,
  ];
}
