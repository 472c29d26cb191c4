// A source with the weight of each line. Where there is no text, the lines alone, and why.

import { linesOf, type SourceLine } from "../../compute/source-lines.ts";
import { hottest } from "../../compute/top.ts";
import { NONE } from "../../data/model.ts";
import type { App, Part } from "../app.ts";
import { h, quiet, refill } from "../dom.ts";
import { editorAddress, editorPicker } from "../editor.ts";
import { percent, share, shown, thousands } from "../text.ts";
import { sourceOf } from "../words.ts";
import { sourceTable } from "./source-table.ts";
import type { SourceTexts } from "./source-text.ts";

export function sourceView(app: App, texts: SourceTexts): Part {
  const view = new SourceView(app, texts);
  return { element: view.element, render: () => view.render() };
}

class SourceView {
  readonly element: HTMLElement;
  private readonly app: App;
  private readonly heading = h("div", { class: "row", id: "source-heading" });
  private readonly body = h("div", { class: "scroll" });
  private readonly texts: SourceTexts;
  /** The source and line that the view was scrolled to. */
  private last = "";

  constructor(app: App, texts: SourceTexts) {
    this.app = app;
    this.texts = texts;
    this.element = h("div", { class: "contents" }, this.heading, this.body);
  }

  render(): void {
    const { app } = this;
    const source = chosenSource(app);
    if (!source) {
      refill(this.heading);
      refill(this.body, h("div", { class: "note" }, "Choose a function: press s on a box or a row."));
      return;
    }
    const [row, line] = source;
    const text = this.texts.of(row);
    const { total } = app.derived.sums(app.state);
    const { rows, areFunctions } = app.derived.lines(app.state, row);
    const lines = linesOf(rows, text, line);
    const words = areFunctions
      ? "This recording has no lines: functions, at the lines where they start"
      : wordsOf(app, row, lines, total);
    refill(this.heading, h("b", {}, shown(app.profile.sources[row])), quiet(words), editorPicker(app));
    const note = text === null && h("div", { class: "note" }, this.texts.whyNone());
    const addressOf = (at: number) => editorAddress(app, row, at);
    const look = { total, wanted: line, isNarrow: false, addressOf };
    refill(this.body, note, lines.length > 0 && sourceTable(lines, look));
    const key = `${source}|${text === null}`;
    if (key !== this.last) this.body.querySelector(".wanted")?.scrollIntoView({ block: "center" });
    this.last = key;
  }
}

/** Where none was chosen: that of the application's function that caused most. */
function chosenSource({ profile, derived, state }: App): readonly [number, number] | null {
  const [most] = hottest(derived.caused(state)) ?? [NONE];
  const source = state.source ?? sourceOf(profile, most);
  return source && source[0] < profile.sources.length ? source : null;
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
