// What is drawn over the heat map's cells: gaps, seconds in which the CPU limit held a process back, and stalls, whose
// functions stand in the lane below.

import type { App } from "../app.ts";
import { hatch, themeColors } from "../canvas.ts";
import { bandsOfThreads, type Frame, rectsOf } from "./frame.ts";

/** Where nothing was recorded: a process was stopped, or the recording had ended. */
export function paintGaps(app: App, context: CanvasRenderingContext2D, frame: Frame): void {
  const { profile } = app;
  const { heat } = frame;
  const cellNs = heat.columnNs / heat.rows;
  const end = heat.columns * heat.columnNs;
  const after = Math.ceil(profile.durationNs / cellNs) * cellNs;
  const gaps = (profile.report?.stops ?? []).map(({ thread, start_ns, end_ns }) => {
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
  for (const { process, start_ns, end_ns } of app.profile.report?.throttled ?? []) {
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

/** Outlines, with a line of the page's colour inside: they are seen on the darkest cell as on the palest. */
export function paintStalls(app: App, context: CanvasRenderingContext2D, frame: Frame): void {
  const { isWatched, longest } = app.derived.loops(app.state);
  if (!isWatched) return;
  const color = themeColors();
  const rects = longest.flatMap(({ thread, start_ns, end_ns }) =>
    bandsOfThreads(frame, [thread]).flatMap((band) => rectsOf(frame, [start_ns, end_ns], band)),
  );
  context.lineWidth = 1;
  for (const [name, inset] of [
    ["--page", 1.5],
    ["--text", 0.5],
  ] as const) {
    context.strokeStyle = color(name);
    for (const { x, y, width, height } of rects) {
      // A column ends with a line of the page's colour.
      const [wide, high] = [width - 1 - 2 * inset, height - 1 - 2 * inset];
      if (inset < 1 || (wide > 0 && high > 0)) {
        context.strokeRect(x + inset, y + inset, Math.max(1, wide), Math.max(1, high));
      }
    }
  }
}
