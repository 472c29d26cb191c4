// What asked for the work that is shown: kinds and their functions, as rows that keep only their work.

import type { EntryGroup, EntryRow } from "../../compute/entries.ts";
import { functionPlace } from "../../data/model.ts";
import type { App } from "../app.ts";
import { h, refill, toggle } from "../dom.ts";
import { percent, share, shown } from "../text.ts";

/** So many kinds have a row, and of each so many functions, none of them with less than this share. */
const MOST_KINDS = 6;
const MOST_FUNCTIONS = 3;
const LEAST_SHARE = 0.005;

export function renderEntries(app: App, element: HTMLElement): void {
  const { groups, total } = app.derived.entries(app.state);
  const isShown = ({ key, weight }: EntryGroup) => share(weight, total) >= LEAST_SHARE || app.state.entry === key;
  const isKnown = groups.some(({ kind }) => kind !== "none");
  element.classList.toggle("hidden", !isKnown);
  const shownGroups = isKnown ? groups.filter(isShown).slice(0, MOST_KINDS) : [];
  const rows = shownGroups.flatMap((group) => groupRows(app, group, total));
  const list = h(
    "div",
    { class: "list", role: "group", id: "entries", "aria-label": "What asked for the work" },
    ...rows,
  );
  refill(element, h("h2", {}, "asked by"), list);
}

function groupRows(app: App, group: EntryGroup, total: number): HTMLElement[] {
  const rows = group.rows.filter(({ entry, weight }) => entry.function !== null && share(weight, total) >= LEAST_SHARE);
  const isChosen = ({ key }: EntryRow) => key === app.state.entry;
  const first = rows.filter((row, at) => at < MOST_FUNCTIONS || isChosen(row));
  const title = inferredWords(group.inferred, total);
  return [
    entryRow(app, group.many, share(group.weight, total), group.key, title),
    ...first.map((row) => functionRow(app, row, total)),
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
