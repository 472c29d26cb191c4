// The top table: sortable, filtered, by function, file, package, category, line, thread or process.

import { CATEGORY_COLORS, css, themed } from "../colors";
import { CATEGORIES, ROLES, functionName, functionPlace } from "../model";
import { TOP_BY, type TopBy, type TopRow } from "../top";
import { type State } from "../state";
import type { Change } from "../diff";
import { percent, points, share, shown, thousands } from "../text";
import type { App, Part } from "./app";
import { button, choice, h, refill, swatch } from "./dom";
import { sourceOf } from "./sourceview";

/** So many rows at first: a table of ten thousand is slow to draw and read by nobody. */
const FIRST_ROWS = 200;

const VERDICTS: Record<string, string> = { noise: "within noise", unknown: "noise unknown" };

interface Words {
  name: string;
  place: string;
}

export function topTable(app: App): Part {
  const filter = h("input", {
    attributes: { id: "filter", type: "search", placeholder: "filter", "aria-label": "Filter the table", spellcheck: "false" },
    on: { input: () => app.update({ filter: filter.value }, false) },
  });
  const bar = h("span", { class: "row" });
  const body = h("div", { class: "scroll" });
  const element = h("div", { class: "picture-table contents" }, h("div", { class: "row" }, bar, filter), body);
  let most = FIRST_ROWS;
  const render = () => {
    const { by, sort } = app.state;
    if (document.activeElement !== filter) filter.value = app.state.filter;
    refill(bar, choice("by", TOP_BY, by, (value) => app.update({ by: value })));
    const { total } = app.derived.sums(app.state);
    const rows = wanted(app, by).sort((a, b) => order(a, b, sort));
    const lines = rows.slice(0, most).map((entry) => line(app, entry, total, by));
    const rest = rows.length - lines.length;
    const more = rest > 0 && button(`${thousands(rest)} more`, "more", () => ((most = Infinity), render()));
    const table = h("table", { attributes: { id: "top" }, on: { keydown: (event) => event.key === "s" && (event.target as HTMLElement).closest("tr")?.querySelector<HTMLElement>(".to-source")?.click() } }, head(app, by), h("tbody", {}, ...lines));
    refill(body, rows.length > 0 ? table : h("div", { class: "note" }, by === "package" ? "No npm package is in the selection." : by === "line" ? "This recording has no lines." : "Nothing is selected."), more);
  };
  return { element, render };
}

interface Entry {
  row: TopRow;
  words: Words;
  /** Its share before and the change since, where there is something to compare with. */
  change: Change | null;
}

function wanted(app: App, by: TopBy): Entry[] {
  const text = app.state.filter.toLowerCase();
  const changes = app.derived.topChanges(app.state, by);
  const all = [...app.derived.top(app.state, by), ...app.derived.gone(app.state, by)].map((row): Entry => {
    const place = changes?.of.get(`${row.key}:${row.line}`);
    const change = changes && place !== undefined ? changes.changes[place] : null;
    return { row, words: wordsOf(app, row, by), change };
  });
  return text ? all.filter(({ words }) => `${words.name} ${words.place}`.toLowerCase().includes(text)) : all;
}

function order(a: Entry, b: Entry, sort: State["sort"]): number {
  if (sort === "name") return a.words.name < b.words.name ? -1 : a.words.name > b.words.name ? 1 : 0;
  const size = ({ change }: Entry) => (change ? Math.abs(change.now - change.before) : 0);
  if (sort === "change" && size(a) !== size(b)) return size(b) - size(a);
  return sort === "total" ? b.row.total - a.row.total || b.row.self - a.row.self : b.row.self - a.row.self || b.row.total - a.row.total;
}

function wordsOf({ profile }: App, { key, line }: TopRow, by: TopBy): Words {
  switch (by) {
    case "function":
      return { name: functionName(profile, key) || "(anonymous)", place: functionPlace(profile, key) };
    case "file":
      return { name: key % 2 === 0 ? profile.sources[key / 2] : profile.modules[(key - 1) / 2], place: "" };
    case "line":
      return { name: `${profile.sources[key]}:${line}`, place: "" };
    case "package":
      return { name: profile.strings[key], place: "" };
    case "category":
      return { name: CATEGORIES[key][1], place: "" };
    case "thread": {
      const { name, tid, role } = profile.threads[key];
      return { name: `${name} ${tid ?? ""}`, place: ROLES[role] ?? role };
    }
    case "process": {
      const { name, pid, container } = profile.processes[key];
      return { name: `${name} ${pid ?? ""}`.trim(), place: container };
    }
  }
}

function head(app: App, by: TopBy): HTMLElement {
  const sorter = (sort: State["sort"], text: string, style: string) =>
    h("th", { class: style, attributes: { scope: "col", "aria-sort": app.state.sort === sort ? "descending" : "none" } }, button(`${text}${app.state.sort === sort ? " ▾" : ""}`, `sort-${sort}`, () => app.update({ sort })));
  const plain = (text: string, style: string) => h("th", { class: style, attributes: { scope: "col" } }, h("span", {}, text));
  const isThread = by === "thread" || by === "process";
  const isCompared = app.derived.base(app.state) !== null && !isThread;
  return h("thead", {}, h("tr", {},
    sorter("self", "self", "number"), plain("samples", "number"),
    isCompared && plain("before", "number"), isCompared && sorter("change", "points", "number"), isCompared && plain("", "narrow"),
    !isThread && sorter("total", "total", "number"), !isThread && !isCompared && plain("samples", "number"),
    sorter("name", by, by === "function" ? "wide" : ""),
    !isThread && by !== "category" && by !== "file" && plain("category", "narrow"),
    (by === "function" || isThread) && plain(by === "function" ? "where" : by === "thread" ? "role" : "container", ""),
  ));
}

function line(app: App, { row, words, change }: Entry, total: number, by: TopBy): HTMLElement {
  const number = (text: string) => h("td", { class: "number" }, text);
  const isThread = by === "thread" || by === "process";
  const name = shown(words.name);
  const source = by === "function" ? sourceOf(app, row.key) : by === "line" ? ([row.key, row.line] as const) : by === "file" && row.key % 2 === 0 ? ([row.key / 2, 0] as const) : null;
  const place = shown(words.place);
  const link = (text: string) => button(text, `source-${row.key}-${row.line}`, () => app.update({ view: "source", source }), { class: "link to-source", title: `${text}\nSource, with the weight of each line (s)` });
  const open = by === "function" ? button(name, `row-${row.key}`, () => app.update({ view: "sandwich", function: row.key }), { class: "link", title: `${name}\nCallers and callees` }) : by === "package" ? button(name, `row-${row.key}`, () => app.focus({ kind: "package", id: row.key }), { class: "link", title: "Only stacks through this package" }) : source ? link(name) : name;
  return h("tr", {},
    number(percent(share(row.self, total))), number(thousands(row.selfSamples)),
    change && number(percent(change.before)), change && number(points(change.now - change.before)), change && h("td", { class: change.verdict === "noise" ? "quiet" : "" }, VERDICTS[change.verdict] ?? change.verdict),
    !isThread && number(percent(share(row.total, total))), !isThread && !change && number(thousands(row.totalSamples)),
    h("td", { title: name }, open),
    !isThread && by !== "category" && by !== "file" && h("td", {}, swatch(css(themed(CATEGORY_COLORS[row.category], app.isDark))), CATEGORIES[row.category][1]),
    by === "function" && h("td", { class: "place", title: place }, h("bdi", {}, source ? link(place) : place)),
    isThread && h("td", {}, place),
  );
}
