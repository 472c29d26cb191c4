// What asked for the work that is shown: kinds and their functions, as rows that keep only their work.

import type { EntryGroup, EntryRow, EntrySum } from "../../compute/entries.ts";
import { functionPlace } from "../../data/model.ts";
import type { App } from "../app.ts";
import { button, h, refill, toggle } from "../dom.ts";
import { percent, share, shown, thousands } from "../text.ts";
import { whose } from "../words.ts";

/** So many kinds have a row at first, and of each so many functions, none of them with less than this share. */
const MOST_KINDS = 6;
const MOST_FUNCTIONS = 3;
const LEAST_SHARE = 0.005;
const HEAD_TITLE = "What asked for the samples that are selected; the cards speak of the whole recording";

export class EntryList {
  readonly element = h("div", {});
  private readonly app: App;
  private isAll = false;

  constructor(app: App) {
    this.app = app;
  }

  render(): void {
    const { app, element } = this;
    const { groups, total } = app.derived.entries(app.state);
    const isKnown = groups.some(({ kind }) => kind !== "none");
    element.classList.toggle("hidden", !isKnown);
    const rows = isKnown ? groups.flatMap((group, at) => groupRows(app, group, total, this.isAll, at)) : [];
    const shownRows = rows.filter((row) => row !== null);
    const attributes = { role: "group", id: "entries", "aria-label": "What asked for the work" };
    const more = shownRows.length < rows.length ? this.more(shownRows.length, rows.length) : null;
    refill(
      element,
      h("h2", { title: HEAD_TITLE }, `asked for by, ${whose(app)}`),
      h("div", { class: "list", ...attributes }, ...shownRows, more),
    );
  }

  private more(count: number, all: number): HTMLElement {
    const showAll = () => {
      this.isAll = true;
      this.render();
    };
    return button(`${count} of ${thousands(all)} · more`, "entries-more", showAll, { class: "rest" });
  }
}

/** The rows of a kind, with null for each that is left out. */
function groupRows(app: App, group: EntryGroup, total: number, isAll: boolean, place: number): (HTMLElement | null)[] {
  const functions = group.rows.filter(({ entry }) => entry.function !== null);
  const isMuch = ({ weight, key }: EntrySum) => share(weight, total) >= LEAST_SHARE || key === app.state.entry;
  const isIn = isAll || group.key === app.state.entry || (place < MOST_KINDS && isMuch(group));
  const isFirst = (row: EntryRow, at: number) =>
    isAll || row.key === app.state.entry || (isIn && at < MOST_FUNCTIONS && isMuch(row));
  const title = inferredWords(group.inferred, total);
  return [
    isIn ? entryRow(app, group.many, share(group.weight, total), group.key, title) : null,
    ...functions.map((row, at) => (isFirst(row, at) ? functionRow(app, row, total) : null)),
  ];
}

function functionRow(app: App, row: EntryRow, total: number): HTMLElement {
  const { text, function: id } = row.entry;
  const name = text.slice(text.indexOf("▸") + 1).trim();
  const place = id === null ? "" : functionPlace(app.profile, id);
  const title = [text, place, inferredWords(row.inferred, total)].filter(Boolean).join(", ");
  return entryRow(app, `▸ ${shown(name)}`, share(row.weight, total), row.key, shown(title));
}

function inferredWords(weight: number, total: number): string {
  return weight > 0 ? `${percent(share(weight, total))} known from other samples` : "";
}

/** Keeps only this work, or all again. */
function entryRow(app: App, words: string, part: number, key: string, title: string): HTMLElement {
  const isIn = app.state.entry === key;
  const flip = () => app.update({ entry: isIn ? "" : key, zoom: [] });
  const element = toggle("", `entry-${key}`, isIn, flip, title);
  element.append(h("span", { class: "what" }, words), h("span", { class: "part" }, percent(part)));
  return element;
}
