// What is drawn over the heat map's cells: gaps, seconds in which the CPU limit held a process back, and stalls with
// their functions.

import type { SaidStall } from "../../data/said.ts";
import type { App } from "../app.ts";
import { fitted, hatch, themeColors } from "../canvas.ts";
import { nameOf } from "../words.ts";
import { bandsOfThreads, type Frame, type Rect, rectsOf } from "./frame.ts";

/** So many functions stand beside their longest stall, where there is room. The lane below has all that fit. */
const MOST_NAMES = 4;
const LONGEST_NAME = 130;
const NAME_HEIGHT = 13;

/** Where nothing was recorded: a process was stopped, or the recording had ended. */
export function paintGaps(app: App, context: CanvasRenderingContext2D, frame: Frame): void {
  const { profile } = app;
  const { heat } = frame;
  const cellNs = heat.columnNs / heat.rows;
  const end = heat.columns * heat.columnNs;
  const after = Math.ceil(profile.durationNs / cellNs) * cellNs;
  const gaps = (profile.said?.stops ?? []).map(({ thread, start_ns, end_ns }) => {
    const { process } = profile.threads[thread];
    // A cell with a part of the gap may have samples.
    const range = [Math.ceil(start_ns / cellNs) * cellNs, Math.floor(end_ns / cellNs) * cellNs] as const;
    return { range, bands: bandsOfThreads(frame, threadsOf(app, process)) };
  });
  gaps.push({ range: [after, end], bands: Array.from({ length: heat.bands }, (_, band) => band) });
  for (const { range, bands } of gaps) {
    if (range[1] <= range[0]) continue;
    for (const { x, y, width, height } of bands.flatMap((band) => rectsOf(frame, range, band))) {
      context.clearRect(x, y, width, height);
    }
  }
}

function threadsOf({ profile }: App, process: number): number[] {
  return profile.threads.flatMap((thread, id) => (thread.process === process ? [id] : []));
}

/** Whole columns, hatched. */
export function paintThrottled(app: App, context: CanvasRenderingContext2D, frame: Frame): void {
  const { heat } = frame;
  const shown = app.derived.selection(app.state).threads;
  const color = hatch(context, themeColors()("--quiet"), 6);
  if (!color) return;
  context.save();
  context.fillStyle = color;
  context.globalAlpha = 0.55;
  for (const { process, start_ns, end_ns } of app.profile.said?.throttled ?? []) {
    const threads = threadsOf(app, process).filter((id) => !shown || shown[id]);
    if (threads.length === 0) continue;
    const first = Math.min(heat.columns - 1, Math.round(start_ns / heat.columnNs));
    const range = [
      first * heat.columnNs,
      Math.max(first + 1, Math.round(end_ns / heat.columnNs)) * heat.columnNs,
    ] as const;
    for (const { x, y, width, height } of bandsOfThreads(frame, threads).flatMap((band) => rectsOf(frame, range, band)))
      context.fillRect(x, y, width - 1, height);
  }
  context.restore();
}

/** Outlines, and names beside the longest. */
export function paintStalls(app: App, context: CanvasRenderingContext2D, frame: Frame): void {
  const { isWatched, longest } = app.derived.loops(app.state);
  if (!isWatched) return;
  const color = themeColors();
  const outlined = longest.map((stall) => ({
    stall,
    rects: bandsOfThreads(frame, [stall.thread]).flatMap((band) =>
      rectsOf(frame, [stall.start_ns, stall.end_ns], band),
    ),
  }));
  context.strokeStyle = color("--text");
  context.lineWidth = 1;
  for (const { x, y, width, height } of outlined.flatMap(({ rects }) => rects)) {
    context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 2), Math.max(1, height - 2));
  }
  const taken: Rect[] = outlined.flatMap(({ rects }) => rects);
  const named = new Set<number | null>();
  for (const { stall, rects } of outlined) {
    if (named.size >= MOST_NAMES || named.has(stall.function) || rects.length === 0) continue;
    if (paintName(app, context, frame, stall, rects, taken)) named.add(stall.function);
  }
}

/** Right of its last column, where no other mark is. */
function paintName(
  app: App,
  context: CanvasRenderingContext2D,
  frame: Frame,
  stall: SaidStall,
  rects: readonly Rect[],
  taken: Rect[],
): boolean {
  if (stall.function === null) return false;
  const { x, y, width, height } = rects[rects.length - 1];
  const text = fitted(context, nameOf(app.profile, stall.function), LONGEST_NAME);
  const high = frame.bandHeight * frame.heat.bands;
  const top = Math.max(0, Math.min(high - NAME_HEIGHT, y + height / 2 - NAME_HEIGHT / 2));
  const plate = { x: x + width + 1, y: top, width: context.measureText(text).width + 6, height: NAME_HEIGHT };
  const right = frame.left + frame.heat.columns * frame.columnWidth;
  if (plate.x + plate.width > right || taken.some((other) => isOver(plate, other))) return false;
  taken.push(plate);
  const color = themeColors();
  context.fillStyle = color("--page");
  context.globalAlpha = 0.86;
  context.fillRect(plate.x, plate.y, plate.width, plate.height);
  context.globalAlpha = 1;
  context.fillStyle = color("--text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, plate.x + 3, plate.y + NAME_HEIGHT / 2 + 0.5);
  return true;
}

function isOver(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
