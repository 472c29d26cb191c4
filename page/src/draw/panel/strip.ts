// When a function ran, on one line: the whole recording from left to right, with the selected range framed.

import type { App } from "../app.ts";
import { sized, themeColors } from "../canvas.ts";
import { h, plainTable } from "../dom.ts";
import { duration, percent, seconds, share } from "../text.ts";

const HEIGHT = 30;
/** Rows of the table beside it. */
const MOST_ROWS = 20;

export class Strip {
  readonly element: HTMLElement;
  private readonly app: App;
  private readonly canvas = h("canvas", { role: "img" });
  private readonly words = h("span", { class: "quiet" });
  private readonly table = h("div", { class: "unseen", id: "panel-when-table" });

  constructor(app: App) {
    this.app = app;
    const title = h("h2", {}, "when");
    const head = h("div", { class: "row" }, title, this.words);
    this.element = h("div", { class: "panel-when" }, head, this.canvas, this.table);
  }

  render(times: Float64Array): void {
    const most = times.reduce((best, weight) => Math.max(best, weight), 0);
    this.element.classList.toggle("hidden", most === 0);
    if (most === 0) return;
    const { profile, state } = this.app;
    const stepNs = profile.durationNs / times.length;
    const at = times.indexOf(most);
    const text = `most in the ${duration(Math.round(stepNs))} from ${seconds(Math.round((at * stepNs) / 1e7) * 1e7)} s on`;
    this.words.textContent = text;
    this.canvas.setAttribute("aria-label", `When it ran, over the whole recording: ${text}`);
    this.table.replaceChildren(tableOf(times, stepNs));
    const width = Math.max(60, this.element.clientWidth);
    const context = sized(this.canvas, width, HEIGHT);
    const color = themeColors();
    const step = width / times.length;
    context.fillStyle = color("--accent");
    times.forEach((weight, column) => {
      const height = weight > 0 ? Math.max(1, (weight / most) * (HEIGHT - 2)) : 0;
      context.fillRect(column * step, HEIGHT - 1 - height, Math.max(1, step - 0.5), height);
    });
    context.fillStyle = color("--line");
    context.fillRect(0, HEIGHT - 1, width, 1);
    if (!state.range) return;
    const [from, to] = state.range.map((ns) => (ns / profile.durationNs) * width);
    context.strokeStyle = color("--text");
    context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), HEIGHT - 1);
  }
}

/** The same for readers who cannot see it: some columns together, as parts of the function's time. */
function tableOf(times: Float64Array, stepNs: number): HTMLElement {
  const step = Math.ceil(times.length / MOST_ROWS);
  const total = times.reduce((sum, weight) => sum + weight, 0);
  const rows: string[][] = [];
  for (let first = 0; first < times.length; first += step) {
    const weight = times.subarray(first, first + step).reduce((sum, one) => sum + one, 0);
    rows.push([`${seconds(Math.round((first * stepNs) / 1e7) * 1e7)} s`, percent(share(weight, total))]);
  }
  return plainTable("When it ran, as a table", ["from", "part of its time"], rows);
}
