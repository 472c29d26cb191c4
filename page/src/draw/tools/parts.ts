// The bars above the big picture: which view of which stacks; and where in it, what is hidden, what is selected and what
// that is compared with. The second has room for what comes with a selection, so that nothing moves while it is dragged.

import { keyOf } from "../../compute/kept.ts";
import { COLOR_BY, isTable, LENSES, type Lens, SIDES, type State, type View } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { announce, button, choice, h, picker, quiet, refill, refillOnce, toggle } from "../dom.ts";
import { clock, duration, plural, thousands } from "../text.ts";
import { rangeText } from "../words.ts";
import { comparing } from "./compare.ts";
import { chips, crumbs } from "./trail.ts";

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
  const trail = new Trail(app);
  return [
    { element: tabs, render: () => renderTabs(app, tabs) },
    { element: trail.element, render: () => trail.render() },
  ];
}

function renderTabs(app: App, tabs: HTMLElement): void {
  const key = app.lens + keyOf(app.state, "view", "isPhysical");
  refillOnce(tabs, key, () => [lenses(app), views(app), ...awaits(app)]);
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

/** Where the picture is, what is selected and what that is compared with, and how it is drawn. */
class Trail {
  readonly element: HTMLElement;
  private readonly app: App;
  private readonly way = h("span", { class: "contents" });
  private readonly word = quiet("");
  /** It stays while its text changes: a screen reader announces changes in what is there. */
  private readonly text = h("span", { id: "selection", role: "status" });
  private readonly actions = h("span", { class: "contents" });
  private readonly options = h("span", { class: "row" });

  constructor(app: App) {
    this.app = app;
    const selection = h("span", { class: "row" }, this.word, this.text, this.actions);
    this.element = h("div", { class: "trail row" }, this.way, selection, this.options);
  }

  render(): void {
    const { app, text } = this;
    refill(this.way, crumbs(app), ...chips(app));
    this.word.textContent = app.profile.other ? "after" : "selection";
    const { count, total } = app.derived.sums(app.state);
    [text.dataset.samples, text.dataset.weight] = [String(count), String(total)];
    announce(text, selectionText(app));
    text.title = text.textContent ?? "";
    const clear = button("✕", "clear-range", () => app.update({ range: null }), {
      title: "Clear the selection (Escape)",
      "aria-label": "Clear the selection",
    });
    refill(this.actions, app.state.range && clear, ...comparing(app));
    const isCompared = app.derived.against.base(app.state) !== null;
    const key = isCompared + keyOf(app.state, "view", "sides", "isUpward", "colorBy");
    refillOnce(this.options, key, () => options(app, isCompared));
  }
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

/** How the picture is drawn. */
function options(app: App, isCompared: boolean): HTMLElement[] {
  const { state } = app;
  if (isTable(state)) return [];
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
