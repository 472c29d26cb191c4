// The way to what is shown: from the root to the box that fills the picture, and what was hidden or focused.

import { keyOfEntry } from "../../compute/entries.ts";
import { follow, pathOf } from "../../compute/flame.ts";
import { threadInTime } from "../../compute/picture.ts";
import { CATEGORIES } from "../../data/model.ts";
import { isTable } from "../../select/state.ts";
import type { App } from "../app.ts";
import { button, h, quiet } from "../dom.ts";
import { shown } from "../text.ts";
import { itemName, nameOf } from "../words.ts";

/** At most this many steps of the way to the zoomed box are shown. */
const MOST_CRUMBS = 5;

/** The way from the root to the box that fills the picture, or what it is a picture of. */
export function crumbs(app: App): HTMLElement {
  const { state, derived, profile } = app;
  if (isTable(state)) return h("span", { class: "crumbs" });
  if (state.view === "sandwich") {
    const id = derived.chosenFunction(state);
    const isKnown = id !== null && derived.isKnownFunction(id);
    return h("span", { class: "crumbs" }, isKnown && h("b", { title: nameOf(profile, id) }, nameOf(profile, id)));
  }
  if (state.view === "time") {
    const thread = profile.threads[threadInTime(derived, state)];
    const words = thread ? `one thread: ${shown(thread.name)} ${thread.tid ?? ""} · the wheel, + and − zoom` : "";
    return h("span", { class: "crumbs quiet" }, words);
  }
  return zoomCrumbs(app);
}

function zoomCrumbs(app: App): HTMLElement {
  const path = pathOf(follow(app.derived.graph(app.state), app.state.zoom));
  const steps = path.map((id, at) => {
    const name = nameOf(app.profile, id);
    const zoom = () => app.update({ zoom: path.slice(0, at + 1) });
    return button(name, `crumb-${at}`, zoom, { class: "link", title: name });
  });
  const all = button("all", "crumb-all", () => app.update({ zoom: [] }), { class: "link" });
  const last = steps.slice(-MOST_CRUMBS);
  const left = steps.length - last.length;
  const more = left > 0 && quiet(`▸ ${left} more`);
  return h("nav", { class: "crumbs", "aria-label": "Zoom" }, all, more, ...last.flatMap((step) => [quiet("▸"), step]));
}

/** What was hidden or focused, each with a button that takes it back. */
export function chips(app: App): HTMLElement[] {
  const { profile } = app;
  const { hidden, focus, categories, opened } = app.state;
  const ofCategories = categories.map((byte, at) =>
    chip("only", CATEGORIES[byte][1], `chip-c${at}`, () => app.update({ categories: without(categories, at) })),
  );
  const ofFocus = focus.map((item, at) =>
    chip("through", itemName(profile, item), `chip-f${at}`, () => app.update({ focus: without(focus, at) })),
  );
  const ofHidden = hidden.map((item, at) =>
    chip("hidden:", itemName(profile, item), `chip-h${at}`, () => app.update({ hidden: without(hidden, at) })),
  );
  const isFolding = app.lens === "code";
  const ofOpened = (isFolding ? opened : []).map((id, at) =>
    chip("open:", itemName(profile, { kind: "package", id }) || "packages", `chip-o${at}`, () => app.openPackage(id)),
  );
  const ofEntry =
    app.state.entry === "" ? [] : [chip("asked for by", entryName(app), "chip-e", () => app.update({ entry: "" }))];
  const isAny = hidden.length + focus.length > 0;
  const undo = isAny
    ? [button("undo", "undo", () => app.undo(), { title: "Show again what was hidden last, or leave the focus (u)" })]
    : [];
  return [...ofEntry, ...ofOpened, ...ofCategories, ...ofFocus, ...ofHidden, ...undo];
}

/** What the chosen entry or kind of entries is called. */
function entryName({ profile, state }: App): string {
  const list = profile.report?.entries.list ?? [];
  const one = list.find((entry) => keyOfEntry(entry) === state.entry)?.text;
  return shown(one ?? list.find(({ kind }) => kind === state.entry)?.many ?? state.entry);
}

function chip(word: string, text: string, key: string, remove: () => void): HTMLElement {
  const words = `${word} ${text}`;
  const close = button("✕", key, remove, { "aria-label": `Remove: ${words}` });
  return h("span", { class: "chip", title: text }, h("span", {}, words), close);
}

function without<T>(list: readonly T[], at: number): T[] {
  return list.filter((_, index) => index !== at);
}
