// The top table: sortable, filtered, by function, file, package, category, line, thread or process.

import type { TopRow } from "../../compute/top.ts";
import { CATEGORIES, functionName, functionPlace, ROLES } from "../../data/model.ts";
import { type State, TOP_BY, type TopBy } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { button, choice, h, refill } from "../dom.ts";
import { thousands } from "../text.ts";
import { columnsOf, type Entry } from "./top-columns.ts";

/** So many rows: a longer table is slow to draw. While a range is dragged, as many as are in sight. */
const FIRST_ROWS = 200;
const IN_SIGHT = 40;
const SETTLED_MS = 120;

export function topTable(app: App): Part {
  const table = new TopTable(app);
  return { element: table.element, render: () => table.render() };
}

class TopTable {
  readonly element: HTMLElement;
  private readonly app: App;
  private readonly filter: HTMLInputElement;
  private readonly bar = h("span", { class: "row" });
  private readonly body = h("div", { class: "scroll" });
  private most = FIRST_ROWS;
  private timer = 0;

  constructor(app: App) {
    this.app = app;
    this.filter = h("input", {
      id: "filter",
      type: "search",
      placeholder: "filter",
      "aria-label": "Filter the table",
      spellcheck: "false",
      on: { input: () => app.update({ filter: this.filter.value }, false) },
    });
    const head = h("div", { class: "row" }, this.bar, this.filter);
    this.element = h("div", { class: "picture-table contents" }, head, this.body);
  }

  render(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (this.app.state.view === "top") this.fill(this.most);
    }, SETTLED_MS);
    this.fill(this.body.scrollTop > 0 ? this.most : IN_SIGHT);
  }

  private fill(count: number): void {
    const { app } = this;
    const { by, sort } = app.state;
    if (document.activeElement !== this.filter) this.filter.value = app.state.filter;
    const kinds = choice("by", TOP_BY, by, (value) => app.update({ by: value }));
    refill(this.bar, kinds);
    const entries = entriesOf(app, by).sort((a, b) => order(a, b, sort));
    const rest = entries.length - this.most;
    const more = button(`${thousands(rest)} more`, "more", () => {
      this.most = Infinity;
      this.fill(this.most);
    });
    const table = entries.length > 0 ? tableOf(app, entries.slice(0, count)) : h("div", { class: "note" }, nothing(by));
    refill(this.body, table, rest > 0 && more);
  }
}

function nothing(by: TopBy): string {
  if (by === "package") return "No npm package is in the selection.";
  return by === "line" ? "This recording has no lines." : "Nothing is selected.";
}

function tableOf(app: App, entries: readonly Entry[]): HTMLElement {
  const columns = columnsOf(app, app.state.by);
  const lines = entries.map((entry) => h("tr", {}, ...columns.map(({ cell }) => cell(entry))));
  const head = h("thead", {}, h("tr", {}, ...columns.map(({ head }) => head)));
  return h("table", { id: "top", on: { keydown: openSource } }, head, h("tbody", {}, ...lines));
}

/** The key s opens the source of the row. */
function openSource(event: KeyboardEvent): void {
  if (event.key !== "s") return;
  (event.target as HTMLElement).closest("tr")?.querySelector<HTMLElement>(".to-source")?.click();
}

function entriesOf(app: App, by: TopBy): Entry[] {
  const { derived, profile, state } = app;
  const text = state.filter.toLowerCase();
  const changes = derived.topChanges(state, by);
  const all = [...derived.top(state, by), ...derived.gone(state, by)].map((row): Entry => {
    const at = changes?.of.get(`${row.key}:${row.line}`);
    const change = changes && at !== undefined ? changes.changes[at] : null;
    const [name, place = ""] = WORDS_OF[by](profile, row);
    return { row, name, place, change };
  });
  return text ? all.filter(({ name, place }) => `${name} ${place}`.toLowerCase().includes(text)) : all;
}

function order(a: Entry, b: Entry, sort: State["sort"]): number {
  if (sort === "name") return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  const size = ({ change }: Entry) => (change ? Math.abs(change.now - change.before) : 0);
  if (sort === "change" && size(a) !== size(b)) return size(b) - size(a);
  const [bySelf, byTotal] = [b.row.self - a.row.self, b.row.total - a.row.total];
  return sort === "total" ? byTotal || bySelf : bySelf || byTotal;
}

/** What a row is called, and where that is. */
const WORDS_OF: Record<TopBy, (profile: App["profile"], row: TopRow) => [name: string, place?: string]> = {
  function: (profile, { key }) => [functionName(profile, key) || "(anonymous)", functionPlace(profile, key)],
  file: ({ sources, modules }, { key }) => [key % 2 === 0 ? sources[key / 2] : modules[(key - 1) / 2]],
  line: ({ sources }, { key, line }) => [`${sources[key]}:${line}`],
  package: ({ strings }, { key, line }) => [line > 0 ? `${strings[key]} ${strings[line - 1]}` : strings[key]],
  category: (_, { key }) => [CATEGORIES[key][1]],
  thread: ({ threads }, { key }) => {
    const { name, tid, role } = threads[key];
    return [`${name} ${tid ?? ""}`, ROLES[role] ?? role];
  },
  process: ({ processes }, { key }) => {
    const { name, pid, container } = processes[key];
    return [`${name} ${pid ?? ""}`.trim(), container];
  },
};
