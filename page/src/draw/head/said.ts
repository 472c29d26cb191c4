// The first sentences of the report: they do not change with what is selected.

import { causedBy, hottest } from "../../compute/top.ts";
import { ADDON, APP, DEPENDENCY, functionName, functionPlace, GC } from "../../data/model.ts";
import { START } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { button, h } from "../dom.ts";
import { percent, share, shortPlace, shown } from "../text.ts";

const LONGEST_PLACE = 48;

export function saidPart(app: App): Part {
  const sentences = [busySentence(app), gcSentence(app), functionSentence(app), packageSentence(app)];
  const spans = sentences.map((sentence) => sentence && h("span", {}, sentence));
  const element = h("p", { class: "said quiet", id: "said" }, ...spans);
  return { element, render: () => {} };
}

/** Of all threads. */
function sumsOf({ derived }: App) {
  return derived.sums({ ...START, threads: [] });
}

function busySentence(app: App): string | null {
  const { lanes, losses, durationNs } = app.profile;
  if (lanes[0]?.unit !== "ns" || !lanes[0].timed || durationNs <= 0) return null;
  return `${((losses.cpu_ns ?? sumsOf(app).total) / durationNs).toFixed(2)} cores busy`;
}

function gcSentence(app: App): string | null {
  const { weight, total } = sumsOf(app);
  const { category } = app.profile.stacks;
  const ofGc = category.reduce((sum, byte, stack) => sum + (byte === GC ? weight[stack] : 0), 0);
  return ofGc > 0 ? `garbage collection took ${percent(share(ofGc, total))} of all CPU time` : null;
}

function functionSentence(app: App): HTMLElement | null {
  const { profile } = app;
  const sums = sumsOf(app);
  const most = hottest(causedBy(profile, sums, [APP], "function"));
  if (!most) return null;
  const [id, weight] = most;
  const place = shortPlace(functionPlace(profile, id), LONGEST_PLACE);
  const show = () => app.update({ view: "sandwich", function: id, threads: [] });
  const open = button(shown(functionName(profile, id) || "(anonymous)"), "own", show, { class: "link" });
  const part = percent(share(weight, sums.total));
  return h("span", {}, "of your own code, ", open, ` ${shown(place)} caused most: ${part}`);
}

function packageSentence(app: App): string | null {
  const { profile } = app;
  const sums = sumsOf(app);
  const most = hottest(causedBy(profile, sums, [APP, DEPENDENCY, ADDON], "package"));
  if (!most) return null;
  const [id, weight] = most;
  return `of the npm packages, ${shown(profile.strings[id])} caused most: ${percent(share(weight, sums.total))}`;
}
