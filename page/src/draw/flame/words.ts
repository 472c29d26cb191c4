// What the tooltip, the line under the picture and the table beside it say about a box.

import type { ShownBox } from "../../compute/picture.ts";
import { CATEGORIES, functionPackage, functionPlace, NONE, type Profile, TIERS } from "../../data/model.ts";
import type { App } from "../app.ts";
import { plainTable } from "../dom.ts";
import { duration, percent, plural, points, seconds, share, shown, thousands } from "../text.ts";
import { nameOfBox, VERDICTS } from "../words.ts";

/** Boxes that the table beside the picture lists. */
const MOST_ROWS = 100;

/** The name first; an empty line says nothing. */
export function linesOfBox({ profile, derived, state }: App, box: ShownBox): string[] {
  if (box.function === NONE) return ["all", box.node ? plural(box.node.totalSamples, "sample") : ""];
  const { total } = derived.boxSums(state);
  const kinds = [packageText(profile, box.function), CATEGORIES[box.category][1], tierText(box)];
  return [
    nameOfBox(profile, box),
    shown(functionPlace(profile, box.function)),
    kinds.filter(Boolean).join(" · "),
    weightText(box, total),
    changeText(box),
  ];
}

/** `express 5.1.0` */
function packageText(profile: Profile, id: number): string {
  const version = profile.strings[profile.functions.version[id]] ?? "";
  return shown(`${functionPackage(profile, id)} ${version}`.trim());
}

function tierText({ tier, tiers }: ShownBox): string {
  if (tier === 0) return "";
  const others = TIERS.filter((_, at) => at > 0 && at !== tier && (tiers >> at) & 1);
  return `${TIERS[tier]}${others.length > 0 ? ` (also ${others.join(", ")})` : ""}`;
}

function weightText({ node, span }: ShownBox, total: number): string {
  if (span) {
    const range = `${seconds(span.start)}–${seconds(span.end)} s`;
    return `${range} · ${duration(span.end - span.start)} · ${plural(span.samples, "sample")}`;
  }
  if (!node) return "";
  const figure = (word: string, weight: number, samples: number) =>
    `${word} ${percent(share(weight, total))} (${thousands(samples)})`;
  return `${figure("self", node.self, node.selfSamples)} · ${figure("total", node.total, node.totalSamples)}`;
}

function changeText({ change }: ShownBox): string {
  if (!change) return "";
  const size = `${points(change.now - change.before)} points: ${VERDICTS[change.verdict]}`;
  return `before ${percent(change.before)} · now ${percent(change.now)} · ${size}`;
}

/** The widest boxes as a table, for readers who cannot see the picture. */
export function tableOfBoxes({ profile, derived, state }: App, boxes: ShownBox[]): HTMLElement {
  const { total } = derived.boxSums(state);
  const widest = [...boxes].sort((a, b) => b.width - a.width).slice(0, MOST_ROWS);
  const rows = widest.map((box) => [
    nameOfBox(profile, box),
    box.function === NONE ? "" : shown(functionPlace(profile, box.function)),
    weightText(box, total),
  ]);
  return plainTable("The widest boxes of the picture as a table", ["function", "place", "weight"], rows);
}
