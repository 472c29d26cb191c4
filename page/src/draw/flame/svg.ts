// What is shown as a picture for a ticket: the picture that `nodescope export` writes (crates/formats/src/svg.rs), with
// the same style and script, of the boxes that the page shows. A test compares the two.

import SCRIPT from "../../../../crates/formats/src/svg/script.js";
import STYLE from "../../../../crates/formats/src/svg/style.css";
import { type Measure, measureOf } from "../../compute/measure.ts";
import { type Picture, pictureOf, type ShownBox, timeRange } from "../../compute/picture.ts";
import { NONE, type Profile, UNKNOWN } from "../../data/model.ts";
import { isTable } from "../../select/state.ts";
import type { App } from "../app.ts";
import { GROUP } from "../colors.ts";
import { duration, plural, seconds, shown, thousands } from "../text.ts";
import { changeWords, nameOfBox } from "../words.ts";
import { colorOf, legendOf, matchesOf } from "./color.ts";
import { FAINT } from "./paint.ts";
import { categoryLegend, headOf, hex, MARGIN, titleOf } from "./svg-head.ts";
import { columnsOf, element, escapeXml, number, shortened } from "./xml.ts";

/** In two parts: the page has no address in it, and a test holds that. */
const NAMESPACE = ["http", "://www.w3.org/2000/svg"].join("");
/** Where the width of the window is not known: a comment or a document scales it down. */
const STILL_WIDTH = 1000;
/** Narrower boxes, as parts of the whole, cannot be seen. */
const NARROWEST = 0.001;
/** So wide is it laid out, so that no box above this part is left out. */
const LAID_OUT = 2 / NARROWEST;
const LEVEL = 18;
const CHARACTER = 7.25;
const PADDING = 3;
const FEWEST_CHARACTERS = 3;
const FOOT = 28;
const PAPER = "#fafaf8";
const WITHOUT_SCRIPT = "nodescope · open this file in a browser to zoom and search";
/** Some programs put a whole script into a function's name. */
const LONGEST = 2000;

const NOTHING: ShownBox = {
  ...{ x: 0, width: 0, row: 0, function: NONE, category: UNKNOWN, tier: 0, tiers: 0 },
  ...{ node: null, span: null, change: null, isBefore: false },
};

/** A box with its place, as parts of the whole. */
interface Placed {
  box: ShownBox;
  x: number;
  width: number;
}

export function svgOf(app: App): string {
  const { derived, state } = app;
  // A table has no boxes: its picture is the flame graph of the same samples.
  const view = isTable(state) ? "flame" : state.view;
  const picture = pictureOf(derived, { ...state, view }, view === "time" ? STILL_WIDTH : LAID_OUT);
  const boxes = placedIn(app, picture);
  const drawn = new Set(boxes.filter(({ box }) => box.function !== NONE).map(({ box }) => box.category));
  const legend = isByCategory(app) ? categoryLegend(app, drawn) : legendOf(app, picture);
  const title = titleOf(app);
  const { svg, end } = headOf(app, title, legend, STILL_WIDTH);
  const rows = new Set(boxes.map(({ box }) => box.row));
  const height = rows.size * LEVEL;
  const writer = new BoxWriter(app, boxes, Math.min(...rows));
  const place = { x: MARGIN, y: number(end, 1), width: STILL_WIDTH - 2 * MARGIN, height };
  const bottom = number(end + height + FOOT, 1);
  const size = { width: STILL_WIDTH, height: bottom, viewBox: `0 0 ${STILL_WIDTH} ${bottom}`, "data-fluid": "" };
  const parts = [
    element("title", {}, escapeXml(title)),
    element("style", {}, `\n${STYLE}`),
    element("rect", { id: "paper", width: "100%", height: "100%", fill: PAPER }),
    element("g", { id: "head" }, svg),
    element("svg", { id: "boxes", ...place }, `\n${boxes.map((box) => writer.draw(box)).join("\n")}\n`),
    element("text", { id: "details", x: MARGIN, y: number(end + height + FOOT - 9, 1) }, WITHOUT_SCRIPT),
    element("script", {}, `<![CDATA[\n${SCRIPT}]]>`),
  ];
  const root = element("svg", { xmlns: NAMESPACE, ...size }, `\n${parts.join("\n")}\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;
}

/** Where nothing is selected, one box says so. */
function placedIn(app: App, { rows, home }: Picture): Placed[] {
  const { view, isUpward } = app.state;
  const root = view === "time" && isUpward ? rows.length - 1 : home;
  const boxes = ordered(
    rows.map((row) => row.map(placing(app)).filter(isSeen)),
    root,
  );
  return boxes.length > 0 ? boxes : [{ box: NOTHING, x: 0, width: 1 }];
}

function isByCategory({ state, derived }: App): boolean {
  return state.colorBy === "category" && (state.view === "time" || derived.against.base(state) === null);
}

/** Where a box is; in the order of time a box is as wide as it is long, however narrow. */
function placing({ derived, state }: App): (box: ShownBox) => Placed {
  const [from, to] = timeRange(derived, state);
  return (box) => {
    const { span } = box;
    if (!span) return { box, x: box.x / LAID_OUT, width: box.width / LAID_OUT };
    return { box, x: (span.start - from) / (to - from), width: (span.end - span.start) / (to - from) };
  };
}

function isSeen({ box, width }: Placed): boolean {
  return width >= NARROWEST || (box.span !== null && width > 0);
}

/** Each box before those in it, so that a box with all that it calls is one stretch; its callers come behind. */
function ordered(rows: readonly Placed[][], home: number): Placed[] {
  const next = rows.map(() => 0);
  const inside = ({ box, x, width }: Placed, step: number): Placed[] => {
    const [at, found] = [box.row + step, [] as Placed[]];
    for (const row = rows[at] ?? []; next[at] < row.length; next[at]++) {
      const other = row[next[at]];
      const middle = other.x + other.width / 2;
      if (middle >= x + width) break;
      if (middle >= x) found.push(other);
    }
    return found;
  };
  const order: Placed[] = [];
  const pending = [...(rows[home] ?? [])].reverse();
  for (let placed = pending.pop(); placed; placed = pending.pop()) {
    order.push(placed);
    const { row } = placed.box;
    const [down, up] = [row >= home ? inside(placed, 1) : [], row <= home ? inside(placed, -1) : []];
    pending.push(...up.reverse(), ...down.reverse());
  }
  return order;
}

class BoxWriter {
  private readonly app: App;
  private readonly first: number;
  private readonly measure: Measure;
  private readonly isFound: ((box: ShownBox) => boolean) | null;
  /** The boxes that the others are parts of: of the selection, and of what it is compared with. */
  private readonly roots: readonly Placed[];
  private readonly isCompared: boolean;

  constructor(app: App, boxes: readonly Placed[], first: number) {
    const { derived, state, profile } = app;
    [this.app, this.first] = [app, first];
    this.measure = measureOf(profile.lanes[derived.lane(state)], derived.sums(state).total);
    this.isFound = matchesOf(derived, state);
    this.isCompared = state.view !== "time" && derived.against.base(state) !== null;
    this.roots = boxes.filter(({ box }) => box.row === boxes[0].box.row && !box.span);
  }

  draw(placed: Placed): string {
    const { box, x, width } = placed;
    const { profile } = this.app;
    const name = shortened(this.nameOf(placed), LONGEST);
    const place = shortened(placeOf(profile, box.function), LONGEST);
    const whole = place === "" ? name : `${name} ${place}`;
    const columns = Math.floor((width * (STILL_WIDTH - 2 * MARGIN) - 2 * PADDING) / CHARACTER);
    const where = {
      x: `${number(x * 100, 5)}%`,
      y: (box.row - this.first) * LEVEL,
      width: `${number(width * 100, 5)}%`,
      height: LEVEL - 1,
      "data-name": place === "" ? null : name.length,
    };
    const text = element("text", { x: PADDING, y: 12.5 }, escapeXml(textIn(whole, name, columns)));
    const title = element("title", {}, escapeXml(`${whole} (${this.wordsOf(placed)})`));
    return element("svg", where, title + this.rectOf(box) + text);
  }

  private rectOf(box: ShownBox): string {
    const isFound = this.isFound?.(box) ?? false;
    const color = colorOf(this.app, box, isFound);
    const faint = this.isFound && !isFound ? FAINT : null;
    const group = color === GROUP ? "group" : null;
    const size = { width: "100%", height: "100%" };
    return element("rect", { ...size, fill: hex(color), "fill-opacity": faint, class: group });
  }

  private nameOf(placed: Placed): string {
    const name = nameOfBox(this.app.profile, placed.box).trim();
    if (!this.isCompared || !this.roots.includes(placed)) return name;
    return `${placed.box.isBefore ? "before" : "after"}: ${name}`;
  }

  /** How much it is, and the part of the whole. */
  private wordsOf(placed: Placed): string {
    const { node, span, change, isBefore } = placed.box;
    if (span) {
      const when = `${seconds(span.start)}–${seconds(span.end)} s`;
      return `${plural(span.samples, "sample")}, ${duration(span.end - span.start)}, ${when}`;
    }
    const { size, name, bySamples } = this.measure;
    const count = bySamples ? (node?.totalSamples ?? 0) : Math.round((node?.total ?? 0) / size);
    const root = this.roots.find(({ box }) => box.isBefore === isBefore);
    const part = this.roots.includes(placed) || !root ? "100%" : `${((placed.width / root.width) * 100).toFixed(2)}%`;
    const [before, after] = change ? changeWords(this.app, change) : [];
    return `${thousands(count)} ${name}, ${part}${change ? `, before ${before}, after ${after}` : ""}`;
  }
}

/** Where its function is: `/srv/shop.js:12:3`. */
function placeOf({ functions, sources }: Profile, id: number): string {
  const path = id === NONE ? undefined : sources[functions.source[id]];
  if (path === undefined) return "";
  const [line, column] = [functions.line[id], functions.column[id]];
  return shown([path, ...(line > 0 ? [line] : []), ...(line > 0 && column > 0 ? [column] : [])].join(":"));
}

/** As much as fits: the name with its place, the name, what it ends with, or a part of that. */
function textIn(whole: string, name: string, columns: number): string {
  if (columns < FEWEST_CHARACTERS) return "";
  const fitting = [whole, name].find((text) => columnsOf(text) <= columns);
  return fitting ?? shortened(least(name), columns);
}

/** The function alone, as in the picture's script. */
function least(name: string): string {
  const words = name.match(/^(?:after await: |.*▸ (?:await )?(?:\(inferred\) )?)(.*)$/);
  return words && !words[1].endsWith(" frames") ? `▸ ${words[1]}` : name;
}
