// What the tooltip, the line under the picture and the table beside it show of a box.

import type { Picture, ShownBox } from "../../compute/picture.ts";
import { CATEGORIES, functionPackage, functionPlace, NONE, type Profile, TIERS } from "../../data/model.ts";
import type { App } from "../app.ts";
import { sideFacts } from "../compare/heading.ts";
import { h, plainTable, quiet, refill } from "../dom.ts";
import { duration, percent, plural, seconds, share, shown, thousands } from "../text.ts";
import { changeWords, nameOfBox, VERDICTS } from "../words.ts";

/** Boxes that the table beside the picture lists. */
const MOST_ROWS = 100;

/** The name first; an empty line has nothing to show. */
export function linesOfBox(app: App, box: ShownBox): string[] {
  const { profile, derived, state } = app;
  if (box.function === NONE) {
    return ["all", box.node ? plural(box.node.totalSamples, "sample") : "", changeText(app, box)];
  }
  const { total } = derived.sideSums(state, box.isBefore);
  const kinds = [packageText(profile, box.function), CATEGORIES[box.category][1], tierText(box)];
  return [
    nameOfBox(profile, box),
    shown(functionPlace(profile, box.function)),
    kinds.filter(Boolean).join(" · "),
    weightText(box, total),
    changeText(app, box),
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

function weightText({ node, span, isBefore }: ShownBox, total: number): string {
  if (span) {
    const range = `${seconds(span.start)}–${seconds(span.end)} s`;
    return `${range} · ${duration(span.end - span.start)} · ${plural(span.samples, "sample")}`;
  }
  if (!node) return "";
  const figure = (word: string, weight: number, samples: number) =>
    `${word} ${percent(share(weight, total))} (${thousands(samples)})`;
  const figures = `${figure("self", node.self, node.selfSamples)} · ${figure("total", node.total, node.totalSamples)}`;
  return isBefore ? `before: ${figures}` : figures;
}

function changeText(app: App, { change }: ShownBox): string {
  if (!change) return "";
  const [before, after, size] = changeWords(app, change);
  return `before ${before} · after ${after} · ${size}: ${VERDICTS[change.verdict]}`;
}

/** The widest boxes as a table, for readers who cannot see the picture. */
export function tableOfBoxes({ profile, derived, state }: App, boxes: ShownBox[]): HTMLElement {
  const widest = [...boxes].sort((a, b) => b.width - a.width).slice(0, MOST_ROWS);
  const rows = widest.map((box) => [
    nameOfBox(profile, box),
    box.function === NONE ? "" : shown(functionPlace(profile, box.function)),
    weightText(box, derived.sideSums(state, box.isBefore).total),
  ]);
  return plainTable("The widest boxes of the picture as a table", ["function", "place", "weight"], rows);
}

/** Above pictures of a comparison: which is of before, which of after, what fills it, and what it is of. */
export function renderHalves(app: App, { halves }: Picture, element: HTMLElement): void {
  const isCompared = app.derived.against.base(app.state) !== null && halves.length > 0;
  element.classList.toggle("hidden", !isCompared);
  const labels = halves.map(({ isBefore, change }) => {
    const words = change ? changeWords(app, change)[isBefore ? 0 : 1] : "";
    const { word, name, facts, title } = sideFacts(app, isBefore);
    const of = [h("span", { class: "side-name" }, name), quiet(facts.filter(Boolean).join(" · "))];
    return h("div", { class: "half", title }, h("b", {}, word), quiet(words || "nothing of it here"), ...of);
  });
  refill(element, ...(isCompared ? labels : []));
}
