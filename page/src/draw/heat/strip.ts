// Under the heat map, the turns of the event loop; and beside the map, the longest of them in words.

import type { Loops } from "../../compute/loops.ts";
import { ADDON } from "../../data/model.ts";
import type { App } from "../app.ts";
import { fontOf, themeColors } from "../canvas.ts";
import { CATEGORY_COLORS, css, themed } from "../colors.ts";
import { button, quiet, refill } from "../dom.ts";
import { plural, sentence } from "../text.ts";
import { type Frame, STRIP } from "./frame.ts";

const LONGEST_LIST = 10;
/** A busy loop may be a healthy one: a few tell enough. */
const BUSY_LIST = 3;

/** Quick turns as a line, long ones as blocks whose height tells how long they took. */
export function paintStrip(app: App, context: CanvasRenderingContext2D, frame: Frame, top: number): void {
  const { heat, left, columnWidth } = frame;
  const loops = app.derived.loops(app.state);
  if (!loops.isWatched && loops.longest.length === 0) return;
  const color = themeColors();
  const scale = columnWidth / heat.columnNs;
  context.font = fontOf(11);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = color("--quiet");
  context.fillText("loop", left - 4, top + STRIP / 2);
  context.fillStyle = color("--line");
  context.fillRect(left, top + STRIP - 1, heat.columns * columnWidth, 1);
  if (loops.isWatched) {
    const { threads } = app.derived.selection(app.state);
    context.fillStyle = color("--quiet");
    for (const { thread, start, end } of app.profile.watched) {
      if (threads && !threads[thread]) continue;
      context.fillRect(left + start * scale, top + STRIP - 3, Math.max(1, (end - start) * scale), 2);
    }
  }
  context.fillStyle = loops.isWatched ? css(themed(CATEGORY_COLORS[ADDON], app.isDark)) : color("--bar");
  for (const { start_ns: start, end_ns: end } of loops.longest) {
    const high = Math.min(STRIP - 1, 3 + 10 * Math.log10(Math.max(1, (end - start) / 50e6)));
    context.fillRect(left + start * scale, top + STRIP - 1 - high, Math.max(2, (end - start) * scale), high);
  }
}

/** The longest turns; a click selects one. */
export function renderStalls(app: App, element: HTMLElement): void {
  const loops = app.derived.loops(app.state);
  const list = loops.longest.slice(0, loops.isWatched ? LONGEST_LIST : BUSY_LIST);
  const key = `${loops.isWatched}|${list.map(({ text, thread }) => `${text}/${thread}`)}`;
  if (element.dataset.shown === key) return;
  element.dataset.shown = key;
  const buttons = list.map(({ start_ns, end_ns, thread, text }, index) => {
    const select = () => app.update({ range: [start_ns, end_ns], threads: [thread], zoom: [] });
    return button(sentence(text), `stall-${index}`, select, { class: "link" });
  });
  refill(element, quiet(loopWords(loops)), ...buttons);
}

function loopWords({ isWatched, longest }: Loops): string {
  const isAny = longest.length > 0;
  if (isWatched && isAny) return `the loop was blocked ${plural(longest.length, "time")}`;
  if (isWatched) return "the loop was never blocked for 50 ms or more";
  return isAny
    ? "turns were not counted; busy without a pause for at most"
    : "turns of the event loop were not counted";
}
