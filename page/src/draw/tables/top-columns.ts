// The columns of the top table: each has a head that may sort, and makes a cell of an entry.

import type { Change } from "../../compute/diff.ts";
import { keyOfEntry } from "../../compute/entries.ts";
import { hasOwnTime, type TopRow } from "../../compute/top.ts";
import { CATEGORIES } from "../../data/model.ts";
import type { State, TopBy } from "../../select/state.ts";
import type { App } from "../app.ts";
import { CATEGORY_COLORS, css, themed } from "../colors.ts";
import { button, columnHead, h, swatch } from "../dom.ts";
import { percent, share, shown, thousands } from "../text.ts";
import { changeNumbers, sourceOf, VERDICTS } from "../words.ts";

type Sort = State["sort"];

/** A row of the table. */
export interface Entry {
  row: TopRow;
  /** In full, and as it is shown. */
  name: string;
  short: string;
  place: string;
  shortPlace: string;
  /** By a function of the application: its own time, and that of what it called up to the next one. */
  caused: number;
  /** Its share before and the change since, where there is something to compare with. */
  change: Change | null;
}

interface Column {
  head: HTMLElement;
  cell(entry: Entry): HTMLElement;
}

/** What the place of a row is, where it is none in a source. */
const PLACES: Partial<Record<TopBy, string>> = { thread: "role", process: "container" };

export function columnsOf(app: App, by: TopBy): Column[] {
  const { total } = app.derived.sums(app.state);
  const isThread = !hasOwnTime(by);
  const isCompared = app.derived.against.base(app.state) !== null && !isThread;
  const number = (text: string, value: (entry: Entry) => string, sort?: Sort) =>
    columnOf(app, text, "number", (entry) => h("td", { class: "number" }, value(entry)), sort);
  const totals = isThread ? [] : [number("total", ({ row }) => percent(share(row.total, total)), "total")];
  const caused = number("caused", (entry) => (entry.caused > 0 ? percent(share(entry.caused, total)) : ""), "caused");
  const counts = (text: string, value: (entry: Entry) => string) =>
    columnOf(app, text, "number count", (entry) => h("td", { class: "number count" }, value(entry)));
  const samples = counts("total samples", ({ row }) => thousands(row.totalSamples));
  if (isCompared) {
    return [
      ...changeColumns(app, number),
      nameColumn(app, by),
      ...(by === "category" || by === "file" ? [] : [categoryColumn(app)]),
      ...(by === "function" ? [placeColumn(app)] : []),
    ];
  }
  return [
    ...(by === "function" ? [caused] : []),
    number(isThread ? "share" : "self", ({ row }) => percent(share(row.self, total)), "self"),
    counts(isThread ? "samples" : "self samples", ({ row }) => thousands(row.selfSamples)),
    ...totals,
    ...(isThread ? [] : [samples]),
    nameColumn(app, by),
    ...(isThread || by === "category" || by === "file" ? [] : [categoryColumn(app)]),
    ...(by === "function" ? [placeColumn(app)] : []),
    ...(isThread
      ? [
          columnOf(app, PLACES[by] ?? "where", "", (entry) =>
            cellOf(shown(entry.shortPlace), { title: shown(entry.place) }),
          ),
        ]
      : []),
  ];
}

function columnOf(app: App, text: string, style: string, cell: Column["cell"], sort?: Sort): Column {
  if (!sort) return { head: columnHead(text, style, "beyond noise"), cell };
  const isSorted = sortOf(app) === sort;
  const [order, mark] = sort === "name" ? ["ascending", " ▴"] : ["descending", " ▾"];
  const sorter = button(`${text}${isSorted ? mark : ""}`, `sort-${sort}`, () => app.update({ sort }));
  const attributes = { class: style, scope: "col", "aria-sort": isSorted ? order : "none" };
  return { head: h("th", attributes, sorter), cell };
}

/** What the table is sorted by. Only functions cause something, and what is compared is sorted by its change at first. */
export function sortOf({ state, derived }: App): Sort {
  const { by, sort } = state;
  const isCompared = derived.against.base(state) !== null && hasOwnTime(by);
  if (isCompared) return sort === "caused" || sort === "total" ? "change" : sort;
  if (sort === "change" || sort === "before") return "self";
  return sort === "caused" && by !== "function" ? "self" : sort;
}

function cellOf(content: HTMLElement | string, attributes: Record<string, string> = {}): HTMLElement {
  return h("td", attributes, content);
}

/** Own time before and after beside each other. */
function changeColumns(
  app: App,
  number: (text: string, value: (entry: Entry) => string, sort?: Sort) => Column,
): Column[] {
  const words = ({ change }: Entry, at: number) => (change ? changeNumbers(app, change)[at] : "");
  const verdict = ({ change }: Entry) => cellOf(change ? VERDICTS[change.verdict] : "");
  return [
    number("before", (entry) => words(entry, 0), "before"),
    number("after", (entry) => words(entry, 1), "self"),
    number("change", (entry) => words(entry, 2), "change"),
    columnOf(app, "", "narrow", verdict),
  ];
}

function nameColumn(app: App, by: TopBy): Column {
  const cell = (entry: Entry) => cellOf(nameOf(app, entry, by), { title: shown(entry.name) });
  return columnOf(app, by, by === "function" ? "wide" : "", cell, "name");
}

function categoryColumn(app: App): Column {
  return columnOf(app, "category", "narrow", ({ row }) => {
    const color = swatch(css(themed(CATEGORY_COLORS[row.category], app.isDark)));
    return h("td", {}, color, CATEGORIES[row.category][1]);
  });
}

function placeColumn(app: App): Column {
  return columnOf(app, "where", "", (entry) => {
    const link = toSource(app, entry, entry.shortPlace, entry.place, sourceOf(app.profile, entry.row.key));
    // What does not fit is left out at the start: the file and the line matter most.
    const words = h("bdi", {}, shown(entry.shortPlace));
    if (typeof link !== "string") link.replaceChildren(words);
    return cellOf(typeof link === "string" ? words : link, { class: "place", title: shown(entry.place) });
  });
}

/** The name leads to what is known of it. */
function nameOf(app: App, entry: Entry, by: TopBy): HTMLElement | string {
  const { key, line } = entry.row;
  const [name, short] = [shown(entry.name), shown(entry.short)];
  if (by === "function") {
    const open = () => app.select(key);
    return button(short, `row-${key}`, open, { class: "link", title: `${name}\nSource, callers, callees, times` });
  }
  if (by === "entry") {
    const chosen = app.profile.report?.entries.list[key];
    const keep = () => chosen && app.update({ entry: keyOfEntry(chosen), zoom: [] });
    return button(short, `row-${key}`, keep, { class: "link", title: "Only the work that this asked for" });
  }
  if (by === "package") {
    const focus = () => app.focus({ kind: "package", id: key });
    return button(short, `row-${key}-${line}`, focus, { class: "link", title: "Only stacks through this package" });
  }
  const source: State["source"] = by === "line" ? [key, line] : by === "file" && key % 2 === 0 ? [key / 2, 0] : null;
  return toSource(app, entry, entry.short, entry.name, source);
}

function toSource(app: App, { row }: Entry, text: string, whole: string, source: State["source"]) {
  if (!source) return shown(text);
  const open = () => app.update({ view: "source", source });
  const title = `${shown(whole)}\nSource, with the weight of each line (s)`;
  return button(shown(text), `source-${row.key}-${row.line}`, open, { class: "link to-source", title });
}
