// Lines of a source as a table, with the weight of each: all that is known of them, or beside a picture what fits.

import type { SourceLine } from "../../compute/source-lines.ts";
import { columnHead, h } from "../dom.ts";
import { percent, share, shown, thousands } from "../text.ts";

/** A line with such a part of the hottest one's weight is hot. */
const HOT = 0.25;
/** Pixels of the longest bar. */
const LONGEST_BAR = 60;

type Style = "number" | "line" | "code";
/** What is plain to see needs a head only for those who cannot. */
const UNSEEN: Partial<Record<Style, string>> = { line: "self, as a bar", code: "text" };
const WHOLE: readonly (readonly [string, Style])[] = [
  ["self", "number"],
  ["samples", "number"],
  ["total", "number"],
  ["", "line"],
  ["line", "number"],
  ["", "code"],
];
const NARROW: readonly (readonly [string, Style])[] = [
  ["self", "number"],
  ["total", "number"],
  ["line", "number"],
  ["", "code"],
];

export interface Look {
  /** What shares are parts of. */
  total: number;
  /** The first line at or behind it is marked. */
  wanted: number;
  isNarrow: boolean;
  /** Where a line opens in the editor. */
  addressOf(line: number): string | null;
}

export function sourceTable(lines: readonly SourceLine[], look: Look): HTMLElement {
  const most = lines.reduce((best, { row }) => Math.max(best, row ? heatOf(row, look) : 0), 1e-9);
  const wanted = lines.find(({ number }) => number >= look.wanted);
  const columns = look.isNarrow ? NARROW : WHOLE;
  const rows = lines.flatMap((one) => {
    const own = rowOf(one, look, most, one === wanted);
    const gap = h("td", { class: "quiet", colspan: String(columns.length) }, `… ${thousands(one.skipped)} lines`);
    return one.skipped > 0 ? [h("tr", {}, gap), own] : [own];
  });
  const heads = columns.map(([text, style]) => columnHead(text, style, UNSEEN[style]));
  const id = look.isNarrow ? "panel-source" : "source";
  return h("table", { id, class: "source" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

/** Of a whole file its own time; of one function also what its lines called, which is what a reader of it looks for. */
function heatOf({ self, total }: NonNullable<SourceLine["row"]>, { isNarrow }: Look): number {
  return isNarrow ? total : self;
}

function rowOf({ number, text, row }: SourceLine, look: Look, most: number, isWanted: boolean): HTMLElement {
  const { total, isNarrow } = look;
  const figure = (words: string) => h("td", { class: "number" }, words);
  const self = figure(row ? percent(share(row.self, total)) : "");
  const samples = figure(row ? thousands(row.selfSamples) : "");
  const all = figure(row ? percent(share(row.total, total)) : "");
  const address = look.addressOf(number);
  const link = address && h("a", { href: address, title: "Open in the editor" }, String(number));
  const place = h("td", { class: "number" }, link || String(number));
  const bar = h("span", { class: "bar" });
  bar.style.width = `${row ? Math.round((LONGEST_BAR * heatOf(row, look)) / most) : 0}px`;
  const code = h("td", { class: "code" }, text === null ? "" : shown(text.replaceAll("\t", "    ")));
  const marks = [row && heatOf(row, look) >= HOT * most && "hot", isWanted && "wanted"].filter(Boolean).join(" ");
  const weights = isNarrow ? [self, all] : [self, samples, all, h("td", { class: "line" }, bar)];
  return h("tr", { class: marks, "data-line": String(number) }, ...weights, place, code);
}
