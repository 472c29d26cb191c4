// One row of the list: the name is known at once, the rest when the recording has been read. The whole row is the link;
// the box before it picks the recording to compare it.

import type { Row } from "../../data/recording-list.ts";
import { h, refill } from "../dom.ts";
import { sentence, shown, thousands } from "../text.ts";
import { COLUMNS, findingOf, gistOf, pathOf } from "./columns.ts";

export interface RowState {
  isPicked: boolean;
  isGrowing: boolean;
  /** The folder that every row is in. */
  common: string;
  pick(row: Row): void;
}

export class Line {
  readonly element = h("tr");
  /** What is drawn. */
  private drawn: readonly unknown[] = [];

  /** Draws the row, if it is another one than before. */
  render(row: Row, state: RowState): void {
    const { isPicked, isGrowing, common } = state;
    const drawn = [row.summary, row.bytes, row.modifiedMs, isPicked, isGrowing, common];
    if (drawn.every((value, at) => value === this.drawn[at])) return;
    this.drawn = drawn;
    const [, ...columns] = COLUMNS;
    const cells = columns.map((column) => {
      const cell = column.key === "finding" ? [findingCell(row)] : wordsOf(column.text(row));
      return h("td", { class: `list-${column.key}` }, ...cell);
    });
    this.element.classList.toggle("picked", isPicked);
    refill(this.element, pickCell(row, state), h("td", { class: "list-name" }, linkOf(row, state)), ...cells);
  }
}

/** A text that breaks only where a date ends. */
function wordsOf(text: string): (HTMLElement | string)[] {
  const [, date, time] = text.match(/^(\d+-\d+-\d+) (.*)/) ?? [];
  if (!date) return [shown(text)];
  return [h("span", { class: "list-word" }, date), " ", h("span", { class: "list-word" }, time)];
}

function pickCell(row: Row, { isPicked, pick }: RowState): HTMLElement {
  const box = h("input", {
    type: "checkbox",
    key: `pick-${row.id}`,
    "aria-label": `Compare ${shown(row.name)}`,
    on: { change: () => pick(row) },
  });
  box.checked = isPicked;
  return h("td", { class: "list-pick" }, h("label", {}, box));
}

function linkOf(row: Row, { isGrowing, common }: RowState): HTMLElement {
  const gist = gistOf(row);
  const path = common ? pathOf(row).slice(common.length + 1) : pathOf(row);
  const file = h("span", { class: "list-file" }, shown(path));
  const service = gist && h("b", {}, shown(gist.service));
  const processes = gist?.processes && h("span", { class: "quiet" }, ` ${shown(gist.processes)}`);
  const head = h("span", { class: "list-what" }, service, processes || null);
  const growing = isGrowing && h("span", { class: "list-growing" }, "recording now");
  const size = h("span", { class: "list-size" }, sizeOf(row.bytes));
  const link = { href: `/?recording=${encodeURIComponent(row.id)}`, key: `open-${row.id}`, title: shown(pathOf(row)) };
  return h("a", link, gist ? head : null, h("span", { class: "list-where" }, file, size, growing || null));
}

function sizeOf(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function findingCell(row: Row): HTMLElement {
  const gist = gistOf(row);
  const text = sentence(findingOf(row));
  if (!gist) {
    const isWrong = row.summary !== null && "problem" in row.summary;
    return h("span", { class: isWrong ? "list-text list-wrong" : "list-text quiet", title: text }, text);
  }
  const damage = gist.damage && h("span", { class: "list-wrong" }, `${sentence(gist.damage)} `);
  const more = gist.more_findings > 0 && h("span", { class: "quiet" }, ` and ${thousands(gist.more_findings)} more`);
  const words = gist.stands_out ? text : h("span", { class: "quiet" }, text);
  return h("span", { class: "list-text", title: text }, damage || null, words, more || null);
}
