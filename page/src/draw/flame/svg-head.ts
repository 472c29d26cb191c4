// What stands above the boxes of a saved picture: title, facts and legend, as crates/formats/src/svg/head.rs writes them.
// They are lists that flow like words; in a browser the picture's script lets them flow again.

import { follow } from "../../compute/flame.ts";
import { threadInTime } from "../../compute/picture.ts";
import { CATEGORIES, NONE, type Profile, ROLES } from "../../data/model.ts";
import type { Lens } from "../../select/state.ts";
import type { App } from "../app.ts";
import { CATEGORY_COLORS, type Rgb } from "../colors.ts";
import { baseText, shortRecordingName } from "../compare/names.ts";
import { duration, percent, plural, share, shown, thousands } from "../text.ts";
import { chips } from "../tools/trail.ts";
import { nameOf, rangeText } from "../words.ts";
import { columnsOf, element, escapeXml, number, shortened } from "./xml.ts";

/** Left and right of everything. */
export const MARGIN = 10;
/** What a character of facts and legend takes, and of the title; generous, because fonts differ. */
const [CHARACTER, TITLE_CHARACTER] = [6.9, 10];
const [TITLE_Y, FACTS_Y, LINE, BETWEEN_ITEMS] = [25, 46, 17, 14];
/** Facts that would need more lines are left out. */
const MOST_LINES = 3;
/** Of a legend, behind the swatch. */
const TEXT_X = 15;

/** The program's words: crates/views/src/lens.rs. */
const LENS_LABELS: Record<Lens, string> = {
  code: "my code",
  packages: "my code + packages",
  node: "my code + packages + Node",
  everything: "",
};

export type Legend = readonly (readonly [color: Rgb, text: string])[];

/** The head as SVG, and where it ends. */
export function headOf(app: App, title: string, legend: Legend, width: number): { svg: string; end: number } {
  const room = width - 2 * MARGIN;
  const words = escapeXml(shortened(title, Math.floor(room / TITLE_CHARACTER)));
  const facts = factsOf(app).map((fact): Item => {
    const text = shortened(fact, Math.floor(room / CHARACTER));
    return [textWidth(text), element("text", {}, escapeXml(text))];
  });
  const swatches = legend.map(([color, text]): Item => {
    const swatch = element("rect", { y: -9, width: 10, height: 10, fill: hex(color) });
    return [TEXT_X + textWidth(text), swatch + element("text", { x: TEXT_X }, escapeXml(text))];
  });
  const above = flowing("facts", facts, FACTS_Y, room);
  const below = swatches.length === 0 ? { svg: "", end: above.end } : flowing("legend", swatches, above.end + 2, room);
  const svg = element("text", { id: "title", x: MARGIN, y: TITLE_Y }, words) + above.svg + below.svg;
  return { svg, end: below.end - LINE + 8 };
}

/** Its width, and what it is. */
type Item = readonly [width: number, svg: string];

function flowing(id: string, items: readonly Item[], y: number, room: number): { svg: string; end: number } {
  let [x, line, lines] = [0, 0, 0];
  const placed: string[] = [];
  for (const [width, svg] of items) {
    if (x > 0 && x + width > room) [x, line] = [0, line + 1];
    if (line === MOST_LINES) break;
    lines = line + 1;
    placed.push(element("g", { transform: `translate(${number(MARGIN + x, 1)},${y + line * LINE})` }, svg));
    x += width + BETWEEN_ITEMS;
  }
  return { svg: element("g", { id }, placed.join("")), end: y + lines * LINE };
}

function textWidth(text: string): number {
  return columnsOf(text) * CHARACTER;
}

/** `#62c454` */
export function hex(color: Rgb): string {
  return `#${color.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** The process, the time and the number of samples. */
export function titleOf(app: App): string {
  const { derived, state, profile } = app;
  const parts = [subjectOf(app)];
  const [from, to] = state.range ?? [0, profile.durationNs];
  const { timed, counted } = profile.lanes[derived.lane(state)] ?? { timed: false, counted: false };
  if (timed) parts.push(duration(Math.min(to, Math.max(profile.durationNs, from)) - from));
  if (counted) parts.push(plural(derived.sums(state).count, "sample"));
  return parts.join(" · ");
}

/** Who ran, as people say it. */
function subjectOf({ derived, state, profile }: App): string {
  const { threads, report, other } = profile;
  const own = threads.slice(0, other?.thread).map((_, id) => id);
  const isShown = (id: number) => derived.threadWeights[id] > 0 && (derived.shownThreads(state)?.includes(id) ?? true);
  const processes = new Set(own.filter(isShown).map((id) => threads[id].process));
  const [first] = processes;
  if (processes.size !== 1) return processes.size === 0 ? "flame graph" : `${thousands(processes.size)} processes`;
  const { pid, name, container } = profile.processes[first];
  const isOnly = profile.processes.length === 1;
  const words = [(isOnly && report?.headline[0]) || name, pid ?? "", container && `in ${container}`].filter(Boolean);
  return shown(words.join(" ")) || "flame graph";
}

/** Everything else that a reader needs to trust it, the most important first. */
function factsOf(app: App): string[] {
  const { derived, state, profile } = app;
  const { range, search, zoom } = state;
  const lane = profile.lanes[derived.lane(state)]?.name ?? "";
  const facts = [
    LENS_LABELS[app.lens],
    ...viewFacts(app),
    range ? `${rangeText(range)} of ${duration(profile.durationNs)}` : "",
    // Each has its words, and a button that takes it back.
    ...chips(app).map(({ firstElementChild }) => firstElementChild?.textContent ?? ""),
    zoom.length > 0 && state.view !== "time"
      ? `inside ${nameOf(profile, follow(derived.graph(state), zoom).function)}`
      : "",
    search === "" ? "" : `search: ${shown(search)}`,
    threadsFact(app),
    lane === "samples" ? "" : shown(lane),
    ...qualityFacts(profile),
    profile.startMs === null ? "" : `from ${utc(profile.startMs + (range?.[0] ?? 0) / 1e6)}`,
    profile.meta.node_version ? `Node ${shown(profile.meta.node_version)}` : "",
  ];
  return facts.filter(Boolean);
}

function viewFacts(app: App): string[] {
  const { derived, state, profile } = app;
  const { view, against, base } = state;
  const isCompared = view !== "time" && derived.against.base(state) !== null;
  const than = against ? shortRecordingName(app, against) : base ? baseText(base) : "";
  const id = view === "sandwich" ? derived.chosenFunction(state) : null;
  return [
    view === "inverted" ? "merged from the leaves" : "",
    view === "sandwich" ? `callers and callees of ${nameOf(profile, id ?? NONE)}` : "",
    view === "time" ? "in the order of time" : "",
    isCompared ? `against ${than}` : "",
  ];
}

function threadsFact({ derived, state, profile }: App): string {
  const { threads } = profile;
  const ids = state.view === "time" ? [threadInTime(derived, state)] : derived.shownThreads(state);
  if (!ids || ids.length === threads.length) return "";
  const [first] = ids;
  const { name, role } = threads[first] ?? { name: "", role: "other" };
  return ids.length === 1
    ? `only thread ${shown(name)} (${ROLES[role] ?? role})`
    : `${ids.length} of ${plural(threads.length, "thread")}`;
}

function qualityFacts({ meta }: Profile): string[] {
  const { lost = 0, frames = 0, unnamed = {}, hidden_kernel_ns: hidden = 0, damage = [] } = meta.losses ?? {};
  const named = frames - Object.values(unnamed).reduce((sum, count) => sum + count, 0);
  return [
    lost > 0 ? `${thousands(lost)} lost` : "",
    hidden > 0 ? `${duration(hidden)} in the kernel not visible` : "",
    damage.length > 0 ? "damaged input" : "",
    frames > 0 ? `${part(named < frames ? Math.min(0.999, named / frames) : 1)} of frames named` : "",
    lost === 0 && meta.way_in ? "0 lost" : "",
  ];
}

/** In a picture nothing breaks. */
function part(value: number): string {
  return percent(value).replace("\u00a0", " ");
}

/** `2025-06-01 03:15:02 UTC` */
function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The categories that have time of their own or a box, with their shares of the time. */
export function categoryLegend({ derived, state, profile }: App, drawn: ReadonlySet<number>): Legend {
  const { weight, total } = derived.sums(state);
  const weights = CATEGORIES.map(() => 0);
  profile.stacks.category.forEach((category, stack) => {
    weights[category] += weight[stack];
  });
  return CATEGORIES.flatMap(([, label], at) => {
    if (weights[at] === 0 && !drawn.has(at)) return [];
    return [[CATEGORY_COLORS[at], `${label} ${part(share(weights[at], total))}`] as const];
  });
}
