// What the reader has chosen, and its text in the address: a link shows what you see. Everything on the page follows
// from the recording and this.

import { CATEGORIES } from "../data/model.ts";
import type { Item, Kind, Range } from "./selection.ts";

export const VIEWS = ["flame", "time", "inverted", "top", "sandwich", "source"] as const;
export type View = (typeof VIEWS)[number];
/** How much of a stack is shown, from the least on (docs/page.md). */
export const LENSES = ["code", "packages", "node", "everything"] as const;
export type Lens = (typeof LENSES)[number];
export const COLOR_BY = ["category", "package", "tier"] as const;
/** Before and after side by side, or one of them alone. */
export const SIDES = ["both", "before", "after"] as const;
export const MEASURES = ["rate", "share"] as const;
export const MAP_BY = ["load", "category"] as const;
export const BANDS = ["all", "process", "thread"] as const;
export const TOP_BY = ["function", "entry", "file", "package", "category", "line", "thread", "process"] as const;
export type TopBy = (typeof TOP_BY)[number];
export const SORTS = ["caused", "self", "total", "name", "change", "before"] as const;

export interface State {
  view: View;
  lane: number;
  range: Range | null;
  /** What the range is compared with. */
  base: Range | "rest" | null;
  /** Or the id of a recording that all is compared with. */
  against: string | null;
  /** Which of the two that are compared the picture shows. */
  sides: (typeof SIDES)[number];
  /** What is compared: what was used in a second, or shares. */
  measure: (typeof MEASURES)[number];
  /** Rows of the thread table; null for the busiest main loop, an empty list for all. */
  threads: readonly number[] | null;
  /** Samples of these categories; an empty list for all. */
  categories: readonly number[];
  focus: readonly Item[];
  hidden: readonly Item[];
  /** Only work that this asked for: a kind of entries, or one of them; empty for all. */
  entry: string;
  /** Null for what suits the recording. */
  lens: Lens | null;
  /** The packages whose runs of frames are open, by their strings. */
  opened: readonly number[];
  /** The functions from the root to the box that fills the picture. */
  zoom: readonly number[];
  /** The function that is selected: its boxes have frames, and its callers and callees are shown. */
  function: number | null;
  /** Whether what is known of that function stands beside the picture. */
  isPanel: boolean;
  /** The source that is shown, and a line in it. */
  source: readonly [number, number] | null;
  search: string;
  colorBy: (typeof COLOR_BY)[number];
  /** Roots at the bottom. */
  isUpward: boolean;
  /** Stacks as they were: what runs after an await is under V8's queue. */
  isPhysical: boolean;
  by: TopBy;
  sort: (typeof SORTS)[number];
  filter: string;
  /** Of the heat map; 0 for as many as the samples can fill. */
  rows: number;
  bands: (typeof BANDS)[number];
  /** What the colour of a cell of the heat map means. */
  mapBy: (typeof MAP_BY)[number];
  isMapFolded: boolean;
  theme: "auto" | "light" | "dark";
}

export const START: State = {
  view: "flame",
  lane: 0,
  range: null,
  base: null,
  against: null,
  sides: "both",
  measure: "rate",
  threads: null,
  categories: [],
  focus: [],
  hidden: [],
  entry: "",
  lens: null,
  opened: [],
  zoom: [],
  function: null,
  isPanel: false,
  source: null,
  search: "",
  colorBy: "category",
  isUpward: false,
  isPhysical: false,
  by: "function",
  sort: "caused",
  filter: "",
  rows: 0,
  bands: "all",
  mapBy: "load",
  isMapFolded: false,
  theme: "auto",
};

const LETTERS: Record<Kind, string> = { category: "c", function: "f", package: "p" };

/** Only what differs from the start is written. */
export function toHash(state: State): string {
  const words: [string, string][] = [];
  const put = (key: string, value: string, isSet: boolean) => isSet && words.push([key, value]);
  put("view", state.view, state.view !== START.view);
  put("lane", String(state.lane), state.lane !== 0);
  put("range", rangeText(state.range), state.range !== null);
  put(
    "against",
    state.against ?? (state.base === "rest" ? "rest" : rangeText(state.base)),
    (state.against ?? state.base) !== null,
  );
  put("sides", state.sides, state.sides !== START.sides);
  put("measure", state.measure, state.measure !== START.measure);
  put("threads", state.threads?.join(".") || "all", state.threads !== null);
  put("category", state.categories.map((byte) => CATEGORIES[byte][0]).join("."), state.categories.length > 0);
  put("focus", items(state.focus), state.focus.length > 0);
  put("hide", items(state.hidden), state.hidden.length > 0);
  put("entry", state.entry, state.entry !== "");
  put("lens", state.lens ?? "", state.lens !== null);
  put("open", state.opened.join("."), state.opened.length > 0);
  put("zoom", state.zoom.join("."), state.zoom.length > 0);
  put("function", String(state.function), state.function !== null);
  put("panel", "1", state.isPanel);
  put("source", state.source?.join(".") ?? "", state.source !== null);
  put("search", state.search, state.search !== "");
  put("colour", state.colorBy, state.colorBy !== START.colorBy);
  put("up", "1", state.isUpward);
  put("stacks", "physical", state.isPhysical);
  put("by", state.by, state.by !== START.by);
  put("sort", state.sort, state.sort !== START.sort);
  put("filter", state.filter, state.filter !== "");
  put("rows", String(state.rows), state.rows !== START.rows);
  put("bands", state.bands, state.bands !== START.bands);
  put("map-by", state.mapBy, state.mapBy !== START.mapBy);
  put("map", "folded", state.isMapFolded);
  put("theme", state.theme, state.theme !== START.theme);
  return words.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
}

/** Reads an address; what makes no sense counts as not there. */
export function fromHash(hash: string): State {
  const words = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) words.set(part.slice(0, at), decoded(part.slice(at + 1)));
  }
  const word = (key: string) => words.get(key) ?? "";
  const one = <T extends string>(key: string, known: readonly T[], otherwise: T): T =>
    known.find((value) => value === word(key)) ?? otherwise;
  const number = (key: string) => (/^\d{1,10}$/.test(word(key)) ? Number(word(key)) : null);
  const base = word("against") === "rest" ? "rest" : rangeOf(word("against"));
  const source = numbers(word("source"));
  return {
    view: one("view", VIEWS, START.view),
    lane: number("lane") ?? 0,
    range: rangeOf(word("range")),
    base,
    against: base ? null : word("against") || null,
    sides: one("sides", SIDES, START.sides),
    measure: one("measure", MEASURES, START.measure),
    threads: words.has("threads") ? numbers(word("threads")) : null,
    categories: word("category")
      .split(".")
      .map((name) => CATEGORIES.findIndex(([known]) => known === name))
      .filter((byte) => byte >= 0),
    focus: itemsOf(word("focus")),
    hidden: itemsOf(word("hide")),
    entry: word("entry"),
    lens: LENSES.find((value) => value === word("lens")) ?? null,
    opened: numbers(word("open")),
    zoom: numbers(word("zoom")),
    function: number("function"),
    isPanel: word("panel") === "1",
    source: source.length === 2 ? [source[0], source[1]] : null,
    search: word("search"),
    colorBy: one("colour", COLOR_BY, START.colorBy),
    isUpward: word("up") === "1",
    isPhysical: word("stacks") === "physical",
    by: one("by", TOP_BY, START.by),
    sort: one("sort", SORTS, START.sort),
    filter: word("filter"),
    rows: Math.min(100, number("rows") ?? START.rows),
    bands: one("bands", BANDS, START.bands),
    mapBy: one("map-by", MAP_BY, START.mapBy),
    isMapFolded: word("map") === "folded",
    theme: one("theme", ["auto", "light", "dark"], START.theme),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function numbers(text: string): number[] {
  return text
    .split(".")
    .filter((part) => /^\d{1,10}$/.test(part))
    .map(Number);
}

function rangeText(range: Range | null): string {
  return range?.map((ns) => String(ns / 1e9)).join("-") ?? "";
}

function rangeOf(text: string): [number, number] | null {
  const [from, to] = text.split("-").map((part) => Math.round(Number(part) * 1e9));
  return from >= 0 && to > from && Number.isFinite(to) ? [from, to] : null;
}

function items(list: readonly Item[]): string {
  return list.map(({ kind, id }) => `${LETTERS[kind]}${id}`).join(".");
}

function itemsOf(text: string): Item[] {
  const kinds = Object.keys(LETTERS) as Kind[];
  return text.split(".").flatMap((part) => {
    const kind = kinds.find((known) => LETTERS[known] === part[0]);
    return kind && /^\d{1,10}$/.test(part.slice(1)) ? [{ kind, id: Number(part.slice(1)) }] : [];
  });
}

/** Whether the view is no picture. */
export function isTable({ view }: State): boolean {
  return view === "top" || view === "source";
}

/** What makes a selection smaller than all samples of the threads. */
export const NARROWED_BY_NOTHING = {
  range: null,
  categories: [],
  focus: [],
  hidden: [],
  entry: "",
  zoom: [],
} satisfies Partial<State>;

export function isNarrowed({ range, categories, focus, hidden, entry }: State): boolean {
  return range !== null || entry !== "" || [categories, focus, hidden].some((list) => list.length > 0);
}
