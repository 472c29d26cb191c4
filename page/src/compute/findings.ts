// What a click on a finding selects, and whether the page shows that. All of it is in the state, so a link shows it too.

import type { Profile } from "../data/model.ts";
import type { PageFinding, PageStall, Span } from "../data/report.ts";
import { START, type State } from "../select/state.ts";

/** What stalls waited in has a lane of its own (crates/profile/src/tables.rs). */
const WAITS_LANE = "waits";

/** The time of a span on its thread: what ran then, or what it waited in where it did not run. */
export function stateOfSpan(profile: Profile, span: Span): Partial<State> {
  const { thread, start_ns, end_ns } = span;
  return { ...NOTHING_ELSE, lane: laneOf(profile, span), range: [start_ns, end_ns], threads: [thread] };
}

/**
 * One of its times, or, where no single time stands out, the function on its threads. A range is shown whole: the
 * function is a part of it.
 */
export function stateOfFinding(profile: Profile, finding: PageFinding, at: number): Partial<State> {
  const { spans, threads, function: id } = finding;
  if (at < spans.length) return { ...stateOfSpan(profile, spans[at]), function: id };
  return { ...NOTHING_ELSE, threads, focus: id === null ? [] : [{ kind: "function", id }], function: id };
}

/** Which of its times is shown; 0 where it has none; -1 where something else is shown. */
export function shownAt(profile: Profile, finding: PageFinding, state: State): number {
  const isShown = (at: number) => {
    const { range, threads, focus, categories, entry } = { ...state, ...stateOfFinding(profile, finding, at) };
    return keyOfShown({ range, threads, focus, categories, entry }) === keyOfShown(state);
  };
  const { spans } = finding;
  if (spans.length === 0) return isShown(0) ? 0 : -1;
  return spans.findIndex(({ start_ns }, at) => start_ns === state.range?.[0] && isShown(at));
}

const NOTHING_ELSE: Partial<State> = {
  lane: START.lane,
  range: null,
  base: null,
  categories: [],
  focus: [],
  entry: "",
  zoom: [],
};

type Shown = Pick<State, "range" | "threads" | "focus" | "categories" | "entry">;

function keyOfShown({ range, threads, focus, categories, entry }: Shown): string {
  return JSON.stringify([range, threads, focus, categories, entry]);
}

function laneOf({ report, lanes, other }: Profile, { thread, start_ns }: Span): number {
  const isIt = (stall: PageStall) => stall.thread === thread && stall.start_ns === start_ns;
  const isBlocked = report?.stalls.find(isIt)?.kind === "blocked";
  const lane = lanes.slice(0, other?.lane).findIndex(({ name }) => name === WAITS_LANE);
  return isBlocked && lane > 0 ? lane : START.lane;
}
