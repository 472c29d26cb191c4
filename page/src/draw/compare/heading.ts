// The heading of a comparison: which is before and which is after, how all of it changed in one sentence, and what
// changed most.

import type { Change } from "../../compute/diff.ts";
import { functionWords } from "../../data/model.ts";
import type { Comparison } from "../../data/report.ts";
import { isNarrowed, isTable, MEASURES, type State } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { announce, button, choice, h, quiet, refill } from "../dom.ts";
import { duration, RATE_UNITS, rate, sentence, shown } from "../text.ts";
import { rangeText } from "../words.ts";
import { baseText, recordingName, shortRecordingName } from "./names.ts";
import { changesText, changeText, wholeText } from "./words.ts";

const MOST_CHANGES = 4;

const MEASURE_WORDS: Record<State["measure"], string> = { rate: "by the second", share: "shares" };

const MEASURE_TITLES: Record<State["measure"], string> = {
  rate: "CPU seconds in a second of recording: what did not change is grey, also where something else got faster",
  share: "Parts of all that was used: for two recordings under another load",
};

/** Two recordings are what a page is about, and stand at its top; two ranges are a choice, and stand below it. */
export function comparedPart(app: App, kind: "recording" | "range"): Part {
  const heading = new Heading(app, kind);
  return { element: heading.element, render: () => heading.render() };
}

class Heading {
  readonly element = h("section", { class: "compared hidden", "aria-label": "Before and after" });
  private readonly app: App;
  private readonly isOfRecording: boolean;
  /** It stays while its text changes: a screen reader announces changes in what is there. */
  private readonly whole = h("b", { class: "compared-whole", role: "status" });
  private readonly measures = h("span", { class: "end row" });
  private readonly rest = h("div", { class: "contents" });

  constructor(app: App, kind: "recording" | "range") {
    this.app = app;
    this.isOfRecording = kind === "recording";
    this.element.append(h("div", { class: "row" }, this.whole, this.measures), this.rest);
  }

  render(): void {
    const { app, element, whole } = this;
    const isRecording = app.state.against !== null;
    const isShown = app.derived.against.base(app.state) !== null && isRecording === this.isOfRecording;
    element.classList.toggle("hidden", !isShown);
    // There is one of them at a time.
    for (const [named, id] of [
      [element, "compared"],
      [whole, "compared-whole"],
    ] as const) {
      if (isShown) named.id = id;
      else named.removeAttribute("id");
    }
    announce(whole, isShown ? sentence(wholeWords(app)) : "");
    refill(this.measures, ...(isShown ? [quiet("compare"), measureChoice(app)] : []));
    refill(this.rest, ...(isShown ? [sidesRow(app), changesRow(app)] : []));
  }
}

function measureChoice(app: App): HTMLElement {
  const choose = (measure: State["measure"]) => app.update({ measure });
  return choice("measure", MEASURES, app.state.measure, choose, MEASURE_WORDS, MEASURE_TITLES);
}

function wholeWords(app: App): string {
  const { against } = app.derived;
  const rates: State = { ...app.state, measure: "rate" };
  const [change, unit] = [against.wholeChange(app.state), against.rateUnit(rates)];
  if (!change || !unit) return whyShares(app);
  return reportedOf(app)?.text ?? wholeText(whatText(app), change, unit);
}

/** Why there is no rate. */
function whyShares({ derived, state }: App): string {
  const [before, now] = [derived.against.base(state), derived.against.side(state)];
  return before?.scale && now.scale
    ? "The two count in different units: shares are compared."
    : "Of one at least it is not known how long it took: shares are compared.";
}

function whatText(app: App): string {
  if (isOther(app.state)) return "What is selected";
  return app.derived.against.areLoops(app.state) ? "The main loop" : "All threads";
}

/** Whether it is of other samples than the program compares. */
function isOther(state: State): boolean {
  return isNarrowed(state) || state.lane > 0 || (state.threads ?? []).length > 0;
}

/** What the program reports, where nothing narrows the comparison of two recordings. */
function reportedOf({ state, profile, compared }: App): Comparison | null {
  const { against, threads } = state;
  if (!compared || isOther(state) || against === null || profile.other?.id !== against) return null;
  if (state.measure === "share") return threads === null ? compared.loop_shares : compared.thread_shares;
  return threads === null ? compared.loops : compared.threads;
}

/** One of the two that are compared. */
export interface SideFacts {
  word: "before" | "after";
  name: string;
  /** When, which part of it, and how long. */
  facts: string[];
  /** Its name in full. */
  title: string;
}

export function sideFacts(app: App, isBefore: boolean): SideFacts {
  const { state, profile } = app;
  const { other } = profile;
  const word = isBefore ? "before" : "after";
  const [from, to] = state.range ?? [0, profile.durationNs];
  if (!other || state.against === null) {
    const name = isBefore ? baseText(state.base) : rangeText([from, to]);
    return { word, name, facts: [duration(isBefore ? baseLength(app) : to - from)], title: "" };
  }
  const id = isBefore ? other.id : app.id;
  const [name, title] = [shortRecordingName(app, id), recordingName(app, id)];
  if (isBefore) return { word, name, facts: [when(other.startMs), duration(other.durationNs)], title };
  const range = state.range ? rangeText(state.range) : "";
  return { word, name, facts: [when(profile.startMs), range, duration(to - from)], title };
}

/** Both, before on the left. Over pictures that stand side by side the pictures name them. */
function sidesRow(app: App): HTMLElement | null {
  if (!isTable(app.state) && app.state.view !== "time") return null;
  const change = app.derived.against.wholeChange(app.state);
  const unit = app.derived.against.rateUnit({ ...app.state, measure: "rate" });
  const used = (value: number | undefined) =>
    value === undefined || !unit ? "" : `${rate(value, unit)}${RATE_UNITS[unit]}`;
  const sides = [true, false].map((isBefore) => {
    const { word, name, facts, title } = sideFacts(app, isBefore);
    const words = [...facts, used(isBefore ? change?.before : change?.now)].filter(Boolean).join(" · ");
    return h("div", { class: "side-facts", title }, quiet(word), h("b", { class: "side-name" }, name), quiet(words));
  });
  return h("div", { class: "halves" }, ...sides);
}

function baseLength({ state, profile }: App): number {
  const [from, to] = (state.base === "rest" ? state.range : state.base) ?? [0, 0];
  return state.base === "rest" ? profile.durationNs - (to - from) : to - from;
}

function when(startMs: number | null): string {
  return startMs === null ? "" : `${new Date(startMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function changesRow(app: App): HTMLElement {
  const reported = app.lens === "everything" ? reportedOf(app) : null;
  const all = reported ? reported.changes : computed(app);
  const parts = all.slice(0, MOST_CHANGES).map(({ function: id, name, text }, at) => {
    const open = button(shown(name), `changed-${at}`, () => app.select(id), { class: "link" });
    return h("span", {}, open, ` ${sentence(text)}`);
  });
  return h("div", { class: "changes" }, quiet(reported?.intro ?? changesText(all[0])), ...parts);
}

/** The functions that changed beyond noise, the largest change first. */
function computed({ derived, state, profile }: App): (Change & { function: number; name: string; text: string })[] {
  const top = derived.against.topChanges(state, "function");
  const unit = derived.against.rateUnit(state);
  return (top?.changes ?? [])
    .map((change, at) => ({ ...change, function: top?.kinds.keys[at] ?? 0 }))
    .filter((change) => change.verdict !== "noise" && change.before !== change.now)
    .sort((a, b) => Math.abs(b.now - b.before) - Math.abs(a.now - a.before))
    .map((change) => ({ ...change, name: functionWords(profile, change.function), text: changeText(change, unit) }));
}
