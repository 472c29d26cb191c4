// A source with the weight of each line. Where there is no text, the lines alone, and why.

import { linesOf, type SourceLine } from "../../compute/source-lines.ts";
import { hottest } from "../../compute/top.ts";
import { NONE } from "../../data/model.ts";
import type { App, Part } from "../app.ts";
import { h, quiet, refill } from "../dom.ts";
import { editorAddress, editorPicker } from "../editor.ts";
import { percent, share, shown, thousands } from "../text.ts";
import { sourceOf } from "../words.ts";

/** A line with such a part of the hottest one's weight is hot. */
const HOT = 0.25;
/** Pixels of the longest bar. */
const LONGEST_BAR = 60;
const COLUMNS = [
  ["self", "number"],
  ["samples", "number"],
  ["total", "number"],
  ["", "line"],
  ["line", "number"],
  ["", "code"],
] as const;

export function sourceView(app: App): Part {
  const view = new SourceView(app);
  return { element: view.element, render: () => view.render() };
}

class SourceView {
  readonly element: HTMLElement;
  private readonly app: App;
  private readonly said = h("div", { class: "row", id: "source-said" });
  private readonly body = h("div", { class: "scroll" });
  /** Texts that the library was asked for; null until they arrive. */
  private readonly texts = new Map<number, string | null>();
  /** The source and line that the view was scrolled to. */
  private last = "";

  constructor(app: App) {
    this.app = app;
    this.element = h("div", { class: "contents" }, this.said, this.body);
  }

  render(): void {
    const { app } = this;
    const source = chosenSource(app);
    if (!source) {
      refill(this.said);
      refill(this.body, h("div", { class: "note" }, "Choose a function: press s on a box or a row."));
      return;
    }
    const [row, line] = source;
    const text = this.textOf(row);
    const { total } = app.derived.sums(app.state);
    const { rows, areFunctions } = app.derived.lines(app.state, row);
    const lines = linesOf(rows, text, line);
    const words = areFunctions
      ? "This recording has no lines: functions, at the lines where they start"
      : wordsOf(app, row, lines, total);
    refill(this.said, h("b", {}, shown(app.profile.sources[row])), quiet(words), editorPicker(app));
    const note = text === null && h("div", { class: "note" }, whyNoText(app));
    refill(this.body, note, lines.length > 0 && tableOf(lines, total, line, (at) => editorAddress(app, row, at)));
    const key = `${source}|${text === null}`;
    if (key !== this.last) this.body.querySelector(".wanted")?.scrollIntoView({ block: "center" });
    this.last = key;
  }

  /** The text, if it is here; asks for it otherwise. */
  private textOf(row: number): string | null {
    const { app, texts } = this;
    const own = app.profile.texts[row];
    if (own != null || texts.has(row)) return own ?? texts.get(row) ?? null;
    texts.set(row, null);
    if (app.id === null) return null;
    const arrived = (text: string | null) => {
      if (text === null) return;
      texts.set(row, text);
      this.last = "";
      app.schedule();
    };
    app.library?.source(app.id, row).then(arrived, () => {});
    return null;
  }
}

/** Where none was chosen: that of the application's function that caused most. */
function chosenSource({ profile, derived, state }: App): readonly [number, number] | null {
  const [most] = hottest(derived.caused(state)) ?? [NONE];
  const source = state.source ?? sourceOf(profile, most);
  return source && source[0] < profile.sources.length ? source : null;
}

function whyNoText({ library }: App): string {
  return library
    ? "The text of this source is not available: the recording does not hold it, and it is not on this machine."
    : "This file carries no source text: export with --with-source.";
}

function wordsOf({ derived, state }: App, source: number, lines: readonly SourceLine[], total: number): string {
  const file = derived.top(state, "file").find(({ key }) => key === 2 * source);
  if (!file) return "nothing of it is in the selection";
  const figure = (word: string, weight: number, samples: number) =>
    `${word} ${percent(share(weight, total))} (${thousands(samples)})`;
  const inLines = lines.reduce((sum, { row }) => sum + (row?.self ?? 0), 0);
  const without = inLines < file.self ? `, of it ${percent(share(file.self - inLines, total))} at no known line` : "";
  return `${figure("self", file.self, file.selfSamples)}${without} · ${figure("total", file.total, file.totalSamples)}`;
}

/** Scrolled to the first line at or behind `line`. */
function tableOf(
  lines: readonly SourceLine[],
  total: number,
  line: number,
  addressOf: (line: number) => string | null,
): HTMLElement {
  const most = Math.max(...lines.map(({ row }) => row?.self ?? 0), 1e-9);
  const wanted = lines.find(({ number }) => number >= line);
  const rows = lines.flatMap((one) => {
    const own = rowOf(one, total, most, one === wanted, addressOf(one.number));
    if (one.skipped === 0) return [own];
    const words = `… ${thousands(one.skipped)} lines`;
    return [h("tr", {}, h("td", { class: "quiet", colspan: String(COLUMNS.length) }, words)), own];
  });
  const heads = COLUMNS.map(([text, style]) => h("th", { class: style, scope: "col" }, h("span", {}, text)));
  return h("table", { id: "source" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

function rowOf(
  { number, text, row }: SourceLine,
  total: number,
  most: number,
  isWanted: boolean,
  address: string | null,
): HTMLElement {
  const figures = row
    ? [percent(share(row.self, total)), thousands(row.selfSamples), percent(share(row.total, total))]
    : ["", "", ""];
  const figure = (words: string) => h("td", { class: "number" }, words);
  const link = address && h("a", { href: address, title: "Open in the editor" }, String(number));
  const place = h("td", { class: "number" }, link || String(number));
  const bar = h("span", { class: "bar" });
  bar.style.width = `${row ? Math.round((LONGEST_BAR * row.self) / most) : 0}px`;
  const code = h("td", { class: "code" }, text === null ? "" : shown(text.replaceAll("\t", "    ")));
  const marks = [row && row.self >= HOT * most && "hot", isWanted && "wanted"].filter(Boolean).join(" ");
  const cells = [...figures.map(figure), h("td", { class: "line" }, bar), place, code];
  return h("tr", { class: marks, "data-line": String(number) }, ...cells);
}
