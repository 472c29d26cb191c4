// What was recorded, and how good the recording is.

import { namedShare } from "../../compute/quality.ts";
import type { Lane, Profile } from "../../data/model.ts";
import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { clock, duration, percent, plural, share, shown, thousands } from "../text.ts";

/** Losses above this are a warning. */
const WORTH_A_WARNING = 0.01;
/** More frames without a name than this are one, too. */
const UNNAMED_WORTH_A_WARNING = 0.05;
const DOUBT_WORTH_A_WARNING = 0.005;
/** More processes are counted, not named. */
const MOST_NAMES = 3;
const MOST_VERSIONS = 2;

interface Quality {
  text: string;
  isBad: boolean;
  /** More words, in the tooltip. */
  title: string;
}

export function factsOf({ profile }: App): HTMLElement {
  const facts = factsIn(profile).filter(([, text]) => text);
  const spans = facts.map(([key, text]) => h("span", { class: `fact-${key}` }, text));
  const quality = qualityOf(profile).map(({ text, isBad, title }) =>
    h("span", { class: isBad ? "warn" : "fact-quality", title: shown(title) }, shown(text)),
  );
  return h("span", { class: "facts" }, ...spans, ...quality);
}

function factsIn(profile: Profile): [key: string, text: string][] {
  const { meta, processes, startMs } = profile;
  const containers = several(processes.map(({ container }) => container));
  const versions = several([meta.node_version ?? "", ...processes.map(({ nodeVersion }) => nodeVersion)]);
  const start = startMs === null ? "" : ` from ${clock(startMs, 0, true)} UTC`;
  return [
    ["what", shown(meta.command || processWords(profile) || meta.format || "recording")],
    ["node", versions && `Node ${shown(versions)}`],
    ["container", containers && `container ${shown(containers)}`],
    ["host", shown(meta.host ?? "")],
    ["duration", profile.lanes[0]?.timed ? `${duration(profile.durationNs)}${start}` : "no times"],
    ["samples", sampleWords(profile.lanes[0])],
    ["text", profile.texts.some(Boolean) ? "with source text" : ""],
  ];
}

/** The first of them, each once. */
function several(texts: readonly string[]): string {
  return [...new Set(texts.filter(Boolean))].slice(0, MOST_VERSIONS).join(", ");
}

function processWords({ processes }: Profile): string {
  const words = processes.map(({ name, pid }) => [name, pid === null ? "" : `pid ${pid}`].filter(Boolean).join(" "));
  const names = [...new Set(words.filter(Boolean))];
  return names.length > MOST_NAMES ? `${thousands(names.length)} processes` : names.join(", ");
}

function sampleWords(lane: Lane | undefined): string {
  if (!lane) return "no samples";
  const event = lane.name && lane.name !== "samples" ? ` of ${shown(lane.name)}` : "";
  return `${plural(samplesOf(lane), "sample")}${event}`;
}

function samplesOf(lane: Lane | undefined): number {
  if (!lane) return 0;
  return lane.unit === "count" ? lane.weight.reduce((sum, weight) => sum + weight, 0) : lane.time.length;
}

function qualityOf({ losses, lanes }: Profile): Quality[] {
  const samples = samplesOf(lanes[0]);
  const quality: Quality[] = [];
  const add = (text: string, isBad: boolean, title = "") => quality.push({ text, isBad, title });
  const named = namedShare(losses);
  if (named !== null) {
    const reasons = Object.entries(losses.unnamed ?? {}).map(([why, count]) => `${thousands(count)} ${why}`);
    add(`${percent(named)} named`, 1 - named > UNNAMED_WORTH_A_WARNING, reasons.join("\n"));
  }
  add(`${thousands(losses.lost ?? 0)} lost`, (losses.lost ?? 0) > WORTH_A_WARNING * samples);
  if (losses.throttled) add(`throttled ${plural(losses.throttled, "time")}`, true);
  if (losses.hidden_kernel_ns) {
    add(`${duration(losses.hidden_kernel_ns)} in the kernel not visible`, true, "sudo would show it");
  }
  const doubt = share((losses.inlined?.uncertain ?? 0) + (losses.inlined?.unchecked ?? 0), samples);
  if (doubt > DOUBT_WORTH_A_WARNING) add(`${percent(doubt)} may be of inlined functions`, true);
  if (losses.skipped) add(`${plural(losses.skipped, "line")} not understood`, true);
  for (const sentence of [...(losses.damage ?? []), ...(losses.notes ?? [])]) add(sentence, true);
  return quality;
}
