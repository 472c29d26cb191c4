// The first sentences of the report: they do not change with what is selected.

import { causedBy, hottest } from "../../compute/top.ts";
import { ADDON, APP, DEPENDENCY, functionName, functionPlace, GC, type Profile } from "../../data/model.ts";
import { keptStacks, type StackSums, sumStacks } from "../../select/selection.ts";
import type { App, Part } from "../app.ts";
import { button, h } from "../dom.ts";
import { percent, share, shortPlace, shown } from "../text.ts";

const LONGEST_PLACE = 48;

export function saidPart(app: App): Part {
  const { profile } = app;
  // On the CPU, of all threads.
  const sums = sumStacks(profile, { lane: 0, range: null, threads: null, stacks: keptStacks(profile, [], []) });
  const sentences = [
    busySentence(profile, sums),
    gcSentence(profile, sums),
    functionSentence(app, sums),
    packageSentence(profile, sums),
  ];
  const spans = sentences.map((sentence) => sentence && h("span", {}, sentence));
  const element = h("p", { class: "said quiet", id: "said" }, ...spans);
  return { element, render: () => {} };
}

function busySentence({ lanes, losses, durationNs }: Profile, sums: StackSums): string | null {
  if (lanes[0]?.unit !== "ns" || !lanes[0].timed || durationNs <= 0) return null;
  return `${((losses.cpu_ns ?? sums.total) / durationNs).toFixed(2)} cores busy`;
}

function gcSentence({ stacks }: Profile, { weight, total }: StackSums): string | null {
  const { category } = stacks;
  const ofGc = category.reduce((sum, byte, stack) => sum + (byte === GC ? weight[stack] : 0), 0);
  return ofGc > 0 ? `garbage collection took ${percent(share(ofGc, total))} of all CPU time` : null;
}

function functionSentence(app: App, sums: StackSums): HTMLElement | null {
  const { profile } = app;
  const most = hottest(causedBy(profile, sums, [APP], "function"));
  if (!most) return null;
  const [id, weight] = most;
  const place = shortPlace(functionPlace(profile, id), LONGEST_PLACE);
  const show = () => app.update({ view: "sandwich", function: id, threads: [] });
  const open = button(shown(functionName(profile, id) || "(anonymous)"), "own", show, { class: "link" });
  const part = percent(share(weight, sums.total));
  return h("span", {}, "of your own code, ", open, ` ${shown(place)} caused most: ${part}`);
}

function packageSentence(profile: Profile, sums: StackSums): string | null {
  const most = hottest(causedBy(profile, sums, [APP, DEPENDENCY, ADDON], "package"));
  if (!most) return null;
  const [id, weight] = most;
  return `of the npm packages, ${shown(profile.strings[id])} caused most: ${percent(share(weight, sums.total))}`;
}
