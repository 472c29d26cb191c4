// Above the order of time: when. Nothing else on that picture says which moment a box is of.

import { timeRange } from "../../compute/picture.ts";
import type { App } from "../app.ts";
import { h, refill } from "../dom.ts";
import { axisTime, clock } from "../text.ts";

/** Pixels from mark to mark, without the clock and with it. */
const ROOM = 80;
const ROOM_WITH_CLOCK = 130;

/** Marks at round times, and the clock where they are seconds apart. */
export function renderTimeAxis(app: App, element: HTMLElement, width: number): void {
  const isShown = app.state.view === "time";
  element.classList.toggle("hidden", !isShown);
  refill(element, ...(isShown ? marksOf(app, width) : []));
}

function marksOf({ derived, state, profile }: App, width: number): HTMLElement[] {
  const { startMs, durationNs } = profile;
  const [from, to] = timeRange(derived, state);
  const step = roundStep(((to - from) * (startMs === null ? ROOM : ROOM_WITH_CLOCK)) / width);
  const marks: HTMLElement[] = [];
  for (let time = Math.ceil(from / step) * step; time < to; time += step) {
    const text = timeText(time, step, durationNs);
    const isClock = startMs !== null && step >= 1e9;
    const mark = h("span", {}, isClock ? `${text} · ${clock(startMs, time)}` : text);
    mark.style.left = `${((time - from) / (to - from)) * width}px`;
    marks.push(mark);
  }
  return marks;
}

/** 1, 2 or 5 times a power of ten, and no less than `least`. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return power * ([1, 2, 5].find((times) => times * power >= least) ?? 10);
}

function timeText(ns: number, step: number, durationNs: number): string {
  if (step >= 1e9) return axisTime(ns / 1e9, durationNs / 1e9);
  return `${(ns / 1e9).toFixed(Math.ceil(9 - Math.log10(step)))} s`;
}
