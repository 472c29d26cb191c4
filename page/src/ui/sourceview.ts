// A source with the weight of each line. Where the text cannot be had, the lines alone, and why.

import { APP, NONE } from "../model";
import { linesOf, type SourceLine } from "../source";
import { percent, share, shown, thousands } from "../text";
import { causedBy, hottest } from "../top";
import type { App, Part } from "./app";
import { h, quiet, refill } from "./dom";

/** A line with such a part of the hottest one's weight is hot. */
const HOT = 0.25;

/** Where a function stands; null for native code. */
export function sourceOf({ profile }: App, id: number): readonly [number, number] | null {
  const row = profile.functions.source[id];
  return row === undefined || row === NONE ? null : [row, profile.functions.line[id]];
}

export function sourceView(app: App): Part {
  const texts = new Map<number, string | null>();
  const said = h("div", { class: "row", id: "source-said" });
  const body = h("div", { class: "scroll" });
  const element = h("div", { class: "contents" }, said, body);
  let last = "";

  /** The text, if it is here; asks for it otherwise. */
  const textOf = (row: number): string | null => {
    const own = app.profile.texts[row];
    if (own != null || texts.has(row)) return own ?? texts.get(row) ?? null;
    texts.set(row, null);
    if (app.id === null) return null;
    const arrived = (text: string | null) => text !== null && (texts.set(row, text), (last = ""), app.schedule());
    app.library?.source(app.id, row).then(arrived, () => {});
    return null;
  };

  const render = () => {
    // Where none was chosen: that of the function of yours that caused most.
    const [own] = hottest(causedBy(app.profile, app.derived.sums(app.state), [APP], "function")) ?? [NONE];
    const source = app.state.source ?? sourceOf(app, own);
    if (!source || source[0] >= app.profile.sources.length) {
      refill(said);
      return refill(body, h("div", { class: "note" }, "Choose a function: press s on a box or a row."));
    }
    const [row, line] = source;
    const text = textOf(row);
    const { total } = app.derived.sums(app.state);
    const { rows, areFunctions } = app.derived.lines(app.state, row);
    const lines = linesOf(rows, text, line);
    const words = areFunctions
      ? "This recording knows no lines: functions, where they start"
      : wordsOf(app, row, lines, total);
    refill(said, h("b", {}, shown(app.profile.sources[row])), quiet(words));
    const why = app.library
      ? "The text of this source cannot be had: the recording does not hold it, and it is not on this machine."
      : "This file carries no source text: export with --with-source.";
    const most = Math.max(...lines.map((one) => one.row?.self ?? 0), 1e-9);
    refill(
      body,
      text === null && h("div", { class: "note" }, why),
      lines.length > 0 && table(lines, total, most, line),
    );
    const key = `${source}|${text === null}`;
    if (key !== last) body.querySelector(".wanted")?.scrollIntoView({ block: "center" });
    last = key;
  };
  return { element, render };
}

function wordsOf({ derived, state }: App, source: number, lines: readonly SourceLine[], total: number): string {
  const file = derived.top(state, "file").find(({ key }) => key === 2 * source);
  if (!file) return "nothing of it is in the selection";
  const inLines = lines.reduce((sum, { row }) => sum + (row?.self ?? 0), 0);
  const without = inLines < file.self ? `, of it ${percent(share(file.self - inLines, total))} at no known line` : "";
  return `self ${percent(share(file.self, total))} (${thousands(file.selfSamples)})${without} · total ${percent(share(file.total, total))} (${thousands(file.totalSamples)})`;
}

function table(lines: readonly SourceLine[], total: number, most: number, line: number): HTMLElement {
  const wanted = lines.find(({ number }) => number >= line)?.number;
  const number = (text: string) => h("td", { class: "number" }, text);
  const rows = lines.flatMap(({ number: at, text, row, skipped }) => {
    const code = h("td", { class: "code" }, text === null ? "" : shown(text.replaceAll("\t", "    ")));
    const bar = h("span", { class: "bar" });
    bar.style.width = `${row ? Math.round((60 * row.self) / most) : 0}px`;
    const kind = [row && row.self >= HOT * most ? "hot" : "", at === wanted ? "wanted" : ""].join(" ").trim();
    const cells = row
      ? [percent(share(row.self, total)), thousands(row.selfSamples), percent(share(row.total, total))]
      : ["", "", ""];
    const own = h(
      "tr",
      { class: kind, "data-line": String(at) },
      ...cells.map(number),
      h("td", { class: "line" }, bar),
      number(String(at)),
      code,
    );
    return skipped > 0
      ? [h("tr", {}, h("td", { class: "quiet", colspan: "6" }, `… ${thousands(skipped)} lines`)), own]
      : [own];
  });
  const head = ["self", "samples", "total", "", "line", ""].map((text, at) =>
    h("th", { class: at === 5 ? "code" : at === 3 ? "line" : "number", scope: "col" }, h("span", {}, text)),
  );
  return h("table", { id: "source" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
}
