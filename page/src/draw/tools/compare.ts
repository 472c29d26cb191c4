// What the selection is compared with: how it is chosen, and what changed most, in words.

import type { Change } from "../../compute/diff.ts";
import { functionWords } from "../../data/model.ts";
import type { Comparison } from "../../data/said.ts";
import type { Range } from "../../select/selection.ts";
import type { App } from "../app.ts";
import { button, h, picker, quiet, refill } from "../dom.ts";
import { duration, percent, points, sentence, shown } from "../text.ts";
import { rangeText } from "../words.ts";

const MOST_CHANGES = 3;

/**
 * The selected range against the rest, or against another one that was set as base before; or all against another
 * recording.
 */
export function comparing(app: App): HTMLElement[] {
  const { range, base, against } = app.state;
  if (base || against) return [comparedChip(app, against ? recordingName(app, against) : baseText(base))];
  const buttons = range ? rangeButtons(app, range) : [];
  if (app.others.length === 0) return buttons;
  const ids = ["", ...app.others.map(({ id }) => id)];
  const names = Object.fromEntries(ids.map((id) => [id, id ? recordingName(app, id) : "compare with …"]));
  return [...buttons, picker("compare with", ids, "", (id) => app.update({ against: id, zoom: [] }), names)];
}

function comparedChip(app: App, words: string): HTMLElement {
  const end = () => app.update({ base: null, against: null, isBefore: false });
  const stop = button("✕", "compare-stop", end, { "aria-label": "Stop comparing" });
  return h("span", { class: "chip", id: "against" }, h("span", {}, `against ${words}`), stop);
}

function rangeButtons(app: App, range: Range): HTMLElement[] {
  return [
    button("against the rest", "compare-rest", () => app.update({ base: "rest", zoom: [] }), {
      title: "Colour by what is more or less than in the rest of the recording",
    }),
    button("set as base", "compare-base", () => app.update({ base: range, zoom: [] }), {
      title: "Then select another range: it is compared with this one",
    }),
  ];
}

function baseText(base: Range | "rest" | null): string {
  return base === "rest" || base === null ? "the rest" : rangeText(base);
}

function recordingName({ library }: App, id: string): string {
  const found = library?.recordings.find((other) => other.id === id);
  return found
    ? shown(found.folder ? `${found.folder}/${found.name}` : found.name)
    : "a recording that is not in the list";
}

/** What is compared with what, and what changed most. */
export function renderCompared(app: App, line: HTMLElement): void {
  const told = toldOf(app);
  if (told) {
    line.classList.remove("hidden");
    const words = told.changes.slice(0, MOST_CHANGES).map(({ function: id, name, verdict, text }, at) => {
      const open = changedButton(app, name, id, verdict === "gone", at);
      return h("span", {}, open, ` ${sentence(text)}`);
    });
    refill(line, quiet(sentence(told.text)), ...words);
    return;
  }
  const top = app.derived.topChanges(app.state, "function");
  line.classList.toggle("hidden", !top);
  if (!top) {
    refill(line);
    return;
  }
  const changes = top.changes
    .map((change, at) => ({ change, id: top.kinds.keys[at] }))
    .filter(({ change }) => change.verdict !== "noise" && sizeOf(change) > 0)
    .sort((a, b) => sizeOf(b.change) - sizeOf(a.change));
  const words = changes.slice(0, MOST_CHANGES).map(({ change, id }, at) => changeOf(app, change, id, at));
  const intro = `Self time as shares: ${nowText(app)} against ${beforeText(app)}; ${mostText(changes[0]?.change)}`;
  refill(line, quiet(intro), ...words);
}

/** What the report says, where nothing narrows the comparison of two recordings. */
function toldOf({ state, profile, compared }: App): Comparison | null {
  const { against, range, categories, focus, hidden, entry, threads, lane } = state;
  const isWhole =
    !range && entry === "" && categories.length + focus.length + hidden.length + (threads ?? []).length + lane === 0;
  if (!compared || !isWhole || against === null || profile.other?.id !== against) return null;
  return threads === null ? compared.loops : compared.threads;
}

function sizeOf({ before, now }: Change): number {
  return Math.abs(now - before);
}

function nowText({ state, profile }: App): string {
  const { range } = state;
  return range
    ? withLength(rangeText(range), range[1] - range[0])
    : withLength("the whole recording", profile.durationNs);
}

function beforeText(app: App): string {
  const { range, base } = app.state;
  const { other, durationNs } = app.profile;
  if (other) return withLength(recordingName(app, other.id), other.durationNs);
  const [from, to] = (base === "rest" ? range : base) ?? [0, 0];
  return withLength(baseText(base), base === "rest" ? durationNs - (to - from) : to - from);
}

function withLength(what: string, ns: number): string {
  return `${what} (${duration(ns)})`;
}

function mostText(largest: Change | undefined): string {
  if (!largest) return "no function changed by more than noise.";
  return largest.verdict === "unknown" ? "the largest changes, noise unknown:" : "the largest changes beyond noise:";
}

function changeOf(app: App, { verdict, before, now }: Change, id: number, at: number): HTMLElement {
  const open = changedButton(app, functionWords(app.profile, id), id, verdict === "gone", at);
  const isOneSided = verdict === "new" || verdict === "gone";
  const size = isOneSided
    ? `${verdict}, ${percent(verdict === "new" ? now : before)}`
    : `${points(now - before)} points, ${percent(before)} → ${percent(now)}`;
  return h("span", {}, open, ` ${size}`);
}

function changedButton(app: App, name: string, id: number, isGone: boolean, at: number): HTMLElement {
  const show = () => app.update({ view: "sandwich", function: id, isBefore: isGone });
  return button(shown(name), `changed-${at}`, show, { class: "link" });
}
