// The text about cells of the heat map, beside the mouse and where the keyboard is: when, how much, by which functions,
// and what stands out there.

import { rangeOfCells } from "../../compute/heat.ts";
import { functionWords } from "../../data/model.ts";
import type { Range } from "../../select/selection.ts";
import type { App } from "../app.ts";
import { amount, clock, duration, percent, plural, seconds, sentence, share, shown } from "../text.ts";
import { bandAtPlace, type Frame } from "./frame.ts";

/** From the first cell to the last; of the band at this height, where there are several, or of all. */
export function linesOfCells(app: App, frame: Frame, [first, last]: Range, y: number | null): string[] {
  const { profile, derived, state } = app;
  const range = rangeOfCells(frame.heat, first, last);
  const { startMs } = profile;
  const utc = startMs === null ? "" : ` · ${clock(startMs, range[0])} UTC`;
  const band = frame.heat.bandOf && y !== null ? bandAtPlace(frame, y) : null;
  const label = band === null ? "" : shown(derived.bands(state)[band]?.label ?? "");
  const { weight, samples, functions } = derived.cells(state, frame.heat, range, band);
  const lane = profile.lanes[derived.lane(state)];
  const load = lane.unit === "ns" ? loadWords(weight, range) : amount(weight, lane.unit);
  const users = functions.map(
    ({ id, weight: own }) => `${percent(share(own, weight))} ${shown(functionWords(profile, id))}`,
  );
  const count = lane.unit === "count" ? "" : ` · ${plural(samples, "sample")}`;
  return [
    `${seconds(range[0])}–${seconds(range[1])} s${utc}`,
    label,
    `${load}${count}`,
    ...users,
    ...marksAt(app, range),
  ];
}

/** `41 ms of 100 ms: 0.41 cores` */
function loadWords(weight: number, [from, to]: Range): string {
  return `${duration(weight)} of ${duration(to - from)}: ${share(weight, to - from).toFixed(2)} cores`;
}

/** Stalls, throttling and gaps that touch a range. */
export function marksAt({ profile, derived, state }: App, [from, to]: Range): string[] {
  const isIn = ({ start_ns, end_ns }: { start_ns: number; end_ns: number }) => start_ns < to && from < end_ns;
  const { isWatched, longest } = derived.loops(state);
  const stalls = isWatched ? longest.filter(isIn).map(({ text }) => `stall: ${sentence(text)}`) : [];
  const held = (profile.report?.throttled ?? [])
    .filter(isIn)
    .map(
      ({ start_ns, end_ns, throttled_ns }) =>
        `CPU limit: held back for ${duration(throttled_ns)} of ${duration(end_ns - start_ns)}`,
    );
  const stopped = (profile.report?.stops ?? []).filter(isIn).map(() => "the process was stopped");
  return [...stalls, ...held, ...stopped];
}
