// What asked for the work that is shown: kinds and their functions, as buttons that keep only their work.

import type { EntryGroup, EntryRow } from "../../compute/entries.ts";
import { functionPlace } from "../../data/model.ts";
import type { App, Part } from "../app.ts";
import { h, quiet, refill, toggle } from "../dom.ts";
import { percent, share, shown } from "../text.ts";

/** So many kinds have a button, and of each so many functions, none of them with less than this share. */
const MOST_KINDS = 6;
const MOST_FUNCTIONS = 3;
const LEAST_SHARE = 0.005;

export function entriesPart(app: App): Part {
  const element = h("div", {
    class: "entries row",
    role: "group",
    id: "entries",
    "aria-label": "What asked for the work",
  });
  return { element, render: () => renderEntries(app, element) };
}

function renderEntries(app: App, element: HTMLElement): void {
  const { groups, total } = app.derived.entries(app.state);
  const isShown = ({ key, weight }: EntryGroup) => share(weight, total) >= LEAST_SHARE || app.state.entry === key;
  const isKnown = groups.some(({ kind }) => kind !== "none");
  element.classList.toggle("hidden", !isKnown);
  const shownGroups = isKnown ? groups.filter(isShown).slice(0, MOST_KINDS) : [];
  refill(element, quiet("asked by"), ...shownGroups.flatMap((group) => groupButtons(app, group, total)));
}

function groupButtons(app: App, group: EntryGroup, total: number): HTMLElement[] {
  const words = `${group.many} ${percent(share(group.weight, total))}`;
  const rows = group.rows.filter(({ entry, weight }) => entry.function !== null && share(weight, total) >= LEAST_SHARE);
  const isChosen = ({ key }: EntryRow) => key === app.state.entry;
  const first = rows.filter((row, at) => at < MOST_FUNCTIONS || isChosen(row));
  return [
    entryButton(app, words, group.key, inferredWords(group.inferred, total)),
    ...first.map((row) => functionButton(app, row, total)),
  ];
}

function functionButton(app: App, row: EntryRow, total: number): HTMLElement {
  const { text, function: id } = row.entry;
  const name = text.slice(text.indexOf("▸") + 1).trim();
  const place = id === null ? "" : functionPlace(app.profile, id);
  const title = [text, place, inferredWords(row.inferred, total)].filter(Boolean).join(", ");
  return entryButton(app, `▸ ${shown(name)} ${percent(share(row.weight, total))}`, row.key, shown(title));
}

function inferredWords(weight: number, total: number): string {
  return weight > 0 ? `${percent(share(weight, total))} known from other samples` : "";
}

/** Keeps only this work, or all again. */
function entryButton(app: App, words: string, key: string, title: string): HTMLElement {
  const isIn = app.state.entry === key;
  return toggle(words, `entry-${key}`, isIn, () => app.update({ entry: isIn ? "" : key, zoom: [] }), title);
}
