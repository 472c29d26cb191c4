// The top table: sortable, filtered, by function, file, package, category, line, thread or process.

import { CATEGORY_COLORS, css, themed } from "../colors";
import type { Change, Verdict } from "../diff";
import { CATEGORIES, functionName, functionPlace, ROLES } from "../model";
import { type State } from "../state";
import { percent, points, share, shown, thousands } from "../text";
import { TOP_BY, type TopBy, type TopRow } from "../top";
import type { App, Part } from "./app";
import { button, choice, h, refill, swatch } from "./dom";
import { sourceOf } from "./sourceview";

/** So many rows: a table of ten thousand is slow to draw and read by nobody. While a range is dragged, as many as are in sight. */
const FIRST_ROWS = 200;
const IN_SIGHT = 40;
const SETTLED_MS = 120;

export const VERDICTS: Record<Verdict, string> = {
  more: "more",
  less: "less",
  new: "new",
  gone: "gone",
  noise: "within noise",
  unknown: "noise unknown",
};

interface Words {
  name: string;
  place: string;
}

export function topTable(app: App): Part {
  const filter = h("input", {
    id: "filter",
    type: "search",
    placeholder: "filter",
    "aria-label": "Filter the table",
    spellcheck: "false",
    on: { input: () => app.update({ filter: filter.value }, false) },
  });
  const bar = h("span", { class: "row" });
  const body = h("div", { class: "scroll" });
  const element = h("div", { class: "picture-table contents" }, h("div", { class: "row" }, bar, filter), body);
  let [most, timer] = [FIRST_ROWS, 0];
  const render = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => app.state.view === "top" && fill(most), SETTLED_MS);
    fill(body.scrollTop > 0 ? most : IN_SIGHT);
  };
  const fill = (count: number) => {
    const { by, sort } = app.state;
    if (document.activeElement !== filter) filter.value = app.state.filter;
    refill(
      bar,
      choice("by", TOP_BY, by, (value) => app.update({ by: value })),
    );
    const { total } = app.derived.sums(app.state);
    const rows = wanted(app, by).sort((a, b) => order(a, b, sort));
    const columns = columnsOf(app, by, total);
    const lines = rows.slice(0, count).map((entry) => h("tr", {}, ...columns.map(({ cell }) => cell(entry))));
    const rest = rows.length - most;
    const more = rest > 0 && button(`${thousands(rest)} more`, "more", () => fill((most = Infinity)));
    const table = h(
      "table",
      {
        id: "top",
        on: {
          keydown: (event) =>
            event.key === "s" &&
            (event.target as HTMLElement).closest("tr")?.querySelector<HTMLElement>(".to-source")?.click(),
        },
      },
      h("thead", {}, h("tr", {}, ...columns.map(({ head }) => head))),
      h("tbody", {}, ...lines),
    );
    refill(
      body,
      rows.length > 0
        ? table
        : h(
            "div",
            { class: "note" },
            by === "package"
              ? "No npm package is in the selection."
              : by === "line"
                ? "This recording has no lines."
                : "Nothing is selected.",
          ),
      more,
    );
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
  return sort === "total"
    ? b.row.total - a.row.total || b.row.self - a.row.self
    : b.row.self - a.row.self || b.row.total - a.row.total;
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

interface Column {
  head: HTMLElement;
  cell(entry: Entry): HTMLElement;
}

function columnsOf(app: App, by: TopBy, total: number): Column[] {
  const isThread = by === "thread" || by === "process";
  const isCompared = app.derived.base(app.state) !== null && !isThread;
  const column = (text: string, style: string, cell: Column["cell"], sort?: State["sort"]): Column => {
    const isSorted = sort !== undefined && app.state.sort === sort;
    const inner = sort
      ? button(`${text}${isSorted ? " ▾" : ""}`, `sort-${sort}`, () => app.update({ sort }))
      : h("span", {}, text);
    return {
      head: h(
        "th",
        { class: style, scope: "col", ...(sort && { "aria-sort": isSorted ? "descending" : "none" }) },
        inner,
      ),
      cell,
    };
  };
  const number = (text: string, value: (entry: Entry) => string, sort?: State["sort"]) =>
    column(text, "number", (entry) => h("td", { class: "number" }, value(entry)), sort);
  const all: (Column | false)[] = [
    number("self", ({ row }) => percent(share(row.self, total)), "self"),
    number("samples", ({ row }) => thousands(row.selfSamples)),
    isCompared && number("before", ({ change }) => (change ? percent(change.before) : "")),
    isCompared && number("points", ({ change }) => (change ? points(change.now - change.before) : ""), "change"),
    isCompared &&
      column("", "narrow", ({ change }) =>
        h("td", { class: change?.verdict === "noise" ? "quiet" : "" }, change ? VERDICTS[change.verdict] : ""),
      ),
    !isThread && number("total", ({ row }) => percent(share(row.total, total)), "total"),
    !isThread && !isCompared && number("samples", ({ row }) => thousands(row.totalSamples)),
    column(
      by,
      by === "function" ? "wide" : "",
      ({ row, words }) => h("td", { title: shown(words.name) }, nameOf(app, row, shown(words.name), by)),
      "name",
    ),
    !isThread &&
      by !== "category" &&
      by !== "file" &&
      column("category", "narrow", ({ row }) =>
        h("td", {}, swatch(css(themed(CATEGORY_COLORS[row.category], app.isDark))), CATEGORIES[row.category][1]),
      ),
    by === "function" &&
      column("where", "", ({ row, words }) =>
        h(
          "td",
          { class: "place", title: shown(words.place) },
          h("bdi", {}, toSource(app, row, shown(words.place), sourceOf(app, row.key))),
        ),
      ),
    isThread && column(by === "thread" ? "role" : "container", "", ({ words }) => h("td", {}, shown(words.place))),
  ];
  return all.filter((one): one is Column => one !== false);
}

/** The name leads to what can be said about it. */
function nameOf(app: App, row: TopRow, name: string, by: TopBy): HTMLElement | string {
  if (by === "function")
    return button(name, `row-${row.key}`, () => app.update({ view: "sandwich", function: row.key }), {
      class: "link",
      title: `${name}\nCallers and callees`,
    });
  if (by === "package")
    return button(name, `row-${row.key}`, () => app.focus({ kind: "package", id: row.key }), {
      class: "link",
      title: "Only stacks through this package",
    });
  return toSource(
    app,
    row,
    name,
    by === "line" ? [row.key, row.line] : by === "file" && row.key % 2 === 0 ? [row.key / 2, 0] : null,
  );
}

function toSource(app: App, row: TopRow, text: string, source: State["source"]): HTMLElement | string {
  if (!source) return text;
  return button(text, `source-${row.key}-${row.line}`, () => app.update({ view: "source", source }), {
    class: "link to-source",
    title: `${text}\nSource, with the weight of each line (s)`,
  });
}
