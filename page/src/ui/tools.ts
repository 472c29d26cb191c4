// The bar above the big picture: which view, of what, where in it, and what is hidden.

import type { Change } from "../diff";
import { follow, pathOf } from "../flame";
import { CATEGORIES, functionName, functionWords } from "../model";
import { threadInTime } from "../picture";
import type { Item } from "../selection";
import { COLOR_BY, type View } from "../state";
import { clock, duration, percent, plural, points, seconds, shown, thousands } from "../text";
import type { App, Part } from "./app";
import { button, choice, h, picker, quiet, refill, toggle } from "./dom";

const WORDS: Record<View, string> = {
  flame: "flame graph",
  time: "time order",
  inverted: "inverted",
  top: "top table",
  sandwich: "callers & callees",
  source: "source",
};
/** So many steps of the way to the zoomed box are shown. */
const MOST_CRUMBS = 5;
const MOST_CHANGES = 3;

export function toolPart(app: App): Part[] {
  const tabs = h("div", { class: "work row" });
  const trail = h("div", { class: "row" });
  const compared = h("div", { class: "said", id: "compared", role: "status" });
  return [
    { element: tabs, render: () => refill(tabs, views(app), selectionText(app)) },
    { element: compared, render: () => renderCompared(app, compared) },
    { element: trail, render: () => renderTrail(app, trail) },
  ];
}

function renderTrail(app: App, trail: HTMLElement): void {
  const some = chips(app);
  trail.classList.toggle("hidden", isTable(app) && some.length === 0);
  refill(trail, crumbs(app), ...some, h("span", { class: "end row" }, ...options(app)));
}

/** Whether the view is no picture. */
export function isTable({ state }: App): boolean {
  return state.view === "top" || state.view === "source";
}

function views(app: App): HTMLElement {
  return choice("view", Object.keys(WORDS) as View[], app.state.view, (view) => app.update({ view, zoom: [] }), WORDS);
}

function selectionText(app: App): HTMLElement {
  const { state, profile, derived } = app;
  const sums = derived.sums(state);
  const parts: string[] = [];
  if (state.range) {
    const [from, to] = state.range;
    parts.push(`${seconds(from)}–${seconds(to)} s`);
    if (profile.startMs !== null) parts.push(`${clock(profile.startMs, from)} UTC`);
    parts.push(duration(Math.min(to, Math.max(profile.durationNs, from)) - from));
  }
  const count = plural(sums.count, "sample");
  const whole = derived.whole(state).count;
  parts.push(sums.count === whole ? `all ${count}` : `${count} of ${thousands(whole)}`);
  const text = h(
    "span",
    { id: "selection", role: "status", "data-samples": String(sums.count), "data-weight": String(sums.total) },
    parts.join(" · "),
  );
  const clear =
    state.range &&
    button("✕", "clear-range", () => app.update({ range: null }), {
      title: "Clear the selection (Escape)",
      "aria-label": "Clear the selection",
    });
  return h("span", { class: "end row" }, quiet("selection"), text, clear, ...comparing(app));
}

/** The selected range against the rest, or against another one that was set as base before; or all against another recording. */
function comparing(app: App): HTMLElement[] {
  const { range, base, against } = app.state;
  if (base || against) {
    const words = against ? nameOf(app, against) : base === "rest" ? "the rest" : rangeText(base as Range);
    const stop = button("✕", "compare-stop", () => app.update({ base: null, against: null, isBefore: false }), {
      "aria-label": "Stop comparing",
    });
    return [h("span", { class: "chip", id: "against" }, h("span", {}, `against ${words}`), stop)];
  }
  const buttons = range
    ? [
        button("against the rest", "compare-rest", () => app.update({ base: "rest", zoom: [] }), {
          title: "Colour by what is more or less than in the rest of the recording",
        }),
        button("set as base", "compare-base", () => app.update({ base: range, zoom: [] }), {
          title: "Then select another range: it is compared with this one",
        }),
      ]
    : [];
  if (app.others.length === 0) return buttons;
  const ids = ["", ...app.others.map(({ id }) => id)];
  const names = Object.fromEntries(ids.map((id) => [id, id ? nameOf(app, id) : "compare with …"]));
  return [...buttons, picker("compare with", ids, "", (id) => app.update({ against: id, zoom: [] }), names)];
}

type Range = readonly [number, number];
const rangeText = ([from, to]: Range) => `${seconds(from)}–${seconds(to)} s`;

function nameOf({ library }: App, id: string): string {
  const found = library?.recordings.find((other) => other.id === id);
  return found ? shown(found.folder ? `${found.folder}/${found.name}` : found.name) : "a recording that is not here";
}

/** What is compared with what, and what changed most, in words. */
function renderCompared(app: App, line: HTMLElement): void {
  const { state, derived, profile } = app;
  const top = derived.topChanges(state, "function");
  line.classList.toggle("hidden", !top);
  if (!top) return refill(line);
  const { range, base } = state;
  const { other, durationNs } = profile;
  const length = ([from, to]: Range) => to - from;
  const told = (what: string, ns: number) => `${what} (${duration(ns)})`;
  const now = range ? told(rangeText(range), length(range)) : told("the whole recording", durationNs);
  const before = other
    ? told(nameOf(app, other.id), other.durationNs)
    : base === "rest"
      ? told("the rest", durationNs - length(range!))
      : told(rangeText(base!), length(base!));
  const size = ({ before, now }: Change) => Math.abs(now - before);
  const sure = top.changes
    .map((change, at) => ({ change, id: top.kinds.keys[at] }))
    .filter(({ change }) => change.verdict !== "noise" && size(change) > 0);
  sure.sort((a, b) => size(b.change) - size(a.change));
  const isUnknown = sure[0]?.change.verdict === "unknown";
  const words = sure.slice(0, MOST_CHANGES).map(({ change, id }, at) => {
    const { verdict, before, now } = change;
    const size =
      verdict === "new" || verdict === "gone"
        ? `${verdict}, ${percent(verdict === "new" ? now : before)}`
        : `${points(now - before)} points, ${percent(before)} → ${percent(now)}`;
    const open = button(
      shown(functionWords(profile, id)),
      `changed-${at}`,
      () => app.update({ view: "sandwich", function: id, isBefore: verdict === "gone" }),
      { class: "link" },
    );
    return h("span", {}, open, ` ${size}`);
  });
  const most =
    words.length === 0
      ? "no function changed by more than noise."
      : isUnknown
        ? "the largest changes, noise unknown:"
        : "the largest changes beyond noise:";
  refill(line, quiet(`Self time as shares: ${now} against ${before}; ${most}`), ...words);
}

/** The way from the root to the box that fills the picture. */
function crumbs(app: App): HTMLElement {
  const { state, derived, profile } = app;
  const name = (id: number) => shown(functionName(profile, id)) || "(anonymous)";
  if (state.view === "sandwich") {
    return h(
      "span",
      { class: "crumbs" },
      state.function !== null && derived.isKnownFunction(state.function) ? h("b", {}, name(state.function)) : "",
    );
  }
  if (state.view === "time") {
    const thread = profile.threads[threadInTime(derived, state)];
    return h("span", { class: "crumbs quiet" }, thread ? `one thread: ${shown(thread.name)} ${thread.tid ?? ""}` : "");
  }
  if (isTable(app)) return h("span", { class: "crumbs" });
  const path = pathOf(follow(derived.graph(state), state.zoom));
  const steps = path.map((id, index) =>
    button(name(id), `crumb-${index}`, () => app.update({ zoom: path.slice(0, index + 1) }), {
      class: "link",
      title: name(id),
    }),
  );
  const all = button("all", "crumb-all", () => app.update({ zoom: [] }), { class: "link" });
  const last = steps.slice(-MOST_CRUMBS);
  const list: (HTMLElement | string)[] = [
    all,
    ...(steps.length > last.length ? [quiet(`▸ ${steps.length - last.length} more`)] : []),
  ];
  for (const step of last) list.push(quiet("▸"), step);
  return h("nav", { class: "crumbs", "aria-label": "Zoom" }, ...list);
}

export function itemName({ profile }: App, { kind, id }: Item): string {
  if (kind === "category") return CATEGORIES[id]?.[1] ?? "";
  return shown(kind === "function" ? functionName(profile, id) || "(anonymous)" : (profile.strings[id] ?? ""));
}

function chips(app: App): HTMLElement[] {
  const { hidden, focus, categories } = app.state;
  const chip = (word: string, text: string, key: string, remove: () => void) =>
    h(
      "span",
      { class: "chip", title: text },
      h("span", {}, `${word} ${text}`),
      button("✕", key, remove, { "aria-label": `Remove: ${word} ${text}` }),
    );
  const without = <T>(list: readonly T[], at: number) => list.filter((_, index) => index !== at);
  return [
    ...categories.map((byte, at) =>
      chip("only", CATEGORIES[byte][1], `chip-c${at}`, () => app.update({ categories: without(categories, at) })),
    ),
    ...focus.map((item, at) =>
      chip("through", itemName(app, item), `chip-f${at}`, () => app.update({ focus: without(focus, at) })),
    ),
    ...hidden.map((item, at) =>
      chip("hidden:", itemName(app, item), `chip-h${at}`, () => app.update({ hidden: without(hidden, at) })),
    ),
    ...(hidden.length + focus.length > 0 ? [button("undo", "undo", () => app.undo(), { title: "u" })] : []),
  ];
}

function options(app: App): HTMLElement[] {
  const { state } = app;
  if (isTable(app)) return [];
  const colors = picker("colour", COLOR_BY, state.colorBy, (colorBy) => app.update({ colorBy }), {
    category: app.derived.base(state) ? "colour by change" : "colour by category",
    package: "colour by package",
    tier: "colour by tier",
  });
  const widths =
    app.derived.base(state) &&
    state.view !== "time" &&
    toggle(
      "widths before",
      "widths",
      state.isBefore,
      () => app.update({ isBefore: !state.isBefore }),
      "Boxes as wide as they were: shows what is gone (b)",
    );
  if (state.view === "sandwich") return widths ? [widths, colors] : [colors];
  return [
    ...(widths ? [widths] : []),
    toggle("roots at the bottom", "upward", state.isUpward, () => app.update({ isUpward: !state.isUpward }), "d"),
    colors,
  ];
}
