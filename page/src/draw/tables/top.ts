// The top table: sortable, filtered, by function, file, package, category, line, thread or process.

import type { Change } from "../../compute/diff.ts";
import { rowKey } from "../../compute/found.ts";
import { shortName, shortPath, shortPlace } from "../../compute/shorten.ts";
import { includesText } from "../../compute/smart-case.ts";
import { hasOwnTime, type TopRow } from "../../compute/top.ts";
import { CATEGORIES, functionName, functionPlace, type Profile, ROLES } from "../../data/model.ts";
import { type State, TOP_BY, type TopBy } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { button, choice, h, quiet, refill } from "../dom.ts";
import { thousands } from "../text.ts";
import { measureWords } from "../words.ts";
import { columnsOf, type Entry, sortOf } from "./top-columns.ts";

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
    const { by } = app.state;
    const sort = sortOf(app);
    if (document.activeElement !== this.filter) this.filter.value = app.state.filter;
    const known = TOP_BY.filter((value) => value !== "entry" || app.profile.entries !== null);
    const kinds = choice("by", known, by, (value) => app.update({ by: value }));
    const isCompared = app.derived.against.base(app.state) !== null && hasOwnTime(by);
    refill(this.bar, kinds, isCompared && quiet(`self time in ${measureWords(app)}`));
    const entries = entriesOf(app, by).sort((a, b) => order(a, b, sort));
    const rest = entries.length - this.most;
    const showAll = () => {
      this.most = Infinity;
      this.fill(this.most);
    };
    const parts = `${thousands(this.most)} of ${thousands(entries.length)}`;
    const more = h("div", { class: "row more" }, quiet(parts), button("more", "more", showAll));
    const table =
      entries.length > 0 ? tableOf(app, entries.slice(0, count)) : h("div", { class: "note" }, nothing(app, by));
    refill(this.body, table, rest > 0 && more);
  }
}

function nothing(app: App, by: TopBy): string {
  if (app.derived.matchedSums(app.state)) return "Nothing that is searched for is in the selection.";
  if (by === "package") return "No npm package is in the selection.";
  return by === "line" ? "This recording has no lines." : "Nothing is selected.";
}

function tableOf(app: App, entries: readonly Entry[]): HTMLElement {
  const columns = columnsOf(app, app.state.by);
  const styleOf = ({ change, row }: Entry) =>
    [change?.verdict === "noise" && "quiet", isChosen(row) && "chosen"].filter(Boolean).join(" ");
  const isChosen = ({ key }: TopRow) => app.state.by === "function" && app.state.isPanel && key === app.state.function;
  const lines = entries.map((entry) => h("tr", { class: styleOf(entry) }, ...columns.map(({ cell }) => cell(entry))));
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
  const changes = derived.against.topChanges(state, by);
  const caused = by === "function" ? derived.caused(state) : null;
  const found = derived.found(state, by);
  const isFound = (row: TopRow) => found === null || found.has(rowKey(row));
  const rows = [...derived.top(state, by), ...derived.against.gone(state, by)].filter(isFound);
  const all = rows.map((row): Entry => {
    const at = changes?.of.get(rowKey(row));
    const change = changes && at !== undefined ? changes.changes[at] : null;
    return { row, ...WORDS_OF[by](profile, row), caused: caused?.get(row.key) ?? 0, change };
  });
  return state.filter ? all.filter(({ name, place }) => includesText(`${name} ${place}`, state.filter)) : all;
}

function order(a: Entry, b: Entry, sort: State["sort"]): number {
  if (sort === "name") return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  if (sort === "change") return byChange(a.change, b.change);
  if (sort === "before") return (b.change?.before ?? 0) - (a.change?.before ?? 0);
  if (sort === "caused" && a.caused !== b.caused) return b.caused - a.caused;
  const [bySelf, byTotal] = [b.row.self - a.row.self, b.row.total - a.row.total];
  return sort === "total" ? byTotal || bySelf : bySelf || byTotal;
}

/** The largest first; what is within noise behind all that is not. */
function byChange(a: Change | null, b: Change | null): number {
  const isNoise = (change: Change | null) => Number(change?.verdict === "noise");
  const size = (change: Change | null) => (change ? Math.abs(change.now - change.before) : 0);
  return isNoise(a) - isNoise(b) || size(b) - size(a);
}

interface Words {
  /** In full, and as it is shown. */
  name: string;
  short: string;
  place: string;
  shortPlace: string;
}

/** What a row is called, and where that is. */
const WORDS_OF: Record<TopBy, (profile: Profile, row: TopRow) => Words> = {
  function: (profile, { key }) => ({
    name: functionName(profile, key) || "(anonymous)",
    short: shortName(profile, key) || "(anonymous)",
    place: functionPlace(profile, key),
    shortPlace: shortPlace(profile, key),
  }),
  entry: (profile, { key }) => {
    const entry = profile.report?.entries.list[key];
    const id = entry?.function ?? null;
    const [place, short] = id === null ? ["", ""] : [functionPlace(profile, id), shortPlace(profile, id)];
    return words(entry?.text ?? "", place, short);
  },
  file: (profile, { key }) => path(profile, fileOf(profile, key)),
  line: (profile, { key, line }) => path(profile, `${profile.sources[key]}:${line}`),
  package: ({ strings }, { key, line }) => words(line > 0 ? `${strings[key]} ${strings[line - 1]}` : strings[key]),
  category: (_, { key }) => words(CATEGORIES[key][1]),
  thread: ({ threads }, { key }) => {
    const { name, tid, role } = threads[key];
    return words(`${name} ${tid ?? ""}`, ROLES[role] ?? role);
  },
  process: ({ processes }, { key }) => {
    const { name, pid, container } = processes[key];
    return words(`${name} ${pid ?? ""}`.trim(), container);
  },
};

function words(name: string, place = "", short = place): Words {
  return { name, short: name, place, shortPlace: short };
}

function path(profile: Profile, name: string): Words {
  return { ...words(name), short: shortPath(profile, name) };
}

function fileOf({ sources, modules }: Profile, key: number): string {
  return key % 2 === 0 ? sources[key / 2] : modules[(key - 1) / 2];
}
