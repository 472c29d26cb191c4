// Under the heat map, the turns of the event loop; and behind a button the longest of them in words.

import { stateOfSpan } from "../../compute/findings.ts";
import type { Loops } from "../../compute/loops.ts";
import { GC } from "../../data/model.ts";
import type { PageStall, Span } from "../../data/report.ts";
import type { App } from "../app.ts";
import { hatch, themeColors } from "../canvas.ts";
import { CATEGORY_COLORS, css, themed } from "../colors.ts";
import { button, quiet, refill } from "../dom.ts";
import type { Drop } from "../drop.ts";
import { plural, sentence } from "../text.ts";
import { nameOf } from "../words.ts";
import { AXIS, type Frame, LANE } from "./frame.ts";

const LONGEST_LIST = 50;
/** A busy loop may be a healthy one: a few are enough. */
const BUSY_LIST = 3;
/** Blocks leave room for the line of quick turns under them. */
const BLOCK = LANE - 6;
const PADDING = 3;
/** Pixels that a turn has at least. */
const NARROWEST = 2;
/** Pixels below which no name has room. */
const SHORTEST_NAME = 12;
/** So far beside a block a click is one on it. */
const NEAR = 2;

/** What every block of the lane needs, looked up once: there may be thousands. */
interface Look {
  color: (name: string) => string;
  /** Of collections; all others have the colour of stalls. */
  gc: string;
  isWatched: boolean;
}

/** A long turn, and where the blocks beside it end and begin. */
interface Placed {
  stall: PageStall;
  x: number;
  width: number;
  before: number;
  next: number;
}

/** Quick turns as a line, long ones as blocks with the function that caused them. */
export function paintLane(app: App, context: CanvasRenderingContext2D, frame: Frame, top: number): void {
  const { heat, left, columnWidth } = frame;
  const { longest, isWatched } = app.derived.loops(app.state);
  const hue = (category: number) => css(themed(CATEGORY_COLORS[category], app.isDark));
  const look = { color: themeColors(), gc: hue(GC), isWatched };
  const right = left + heat.columns * columnWidth;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = look.color("--quiet");
  context.fillText("event loop", left - 6, top + LANE / 2);
  context.fillStyle = look.color("--line");
  context.fillRect(left, top + LANE - 1, right - left, 1);
  if (isWatched) paintWatched(app, context, frame, top);
  const blocks = place(longest, left, columnWidth / heat.columnNs, right);
  for (const { stall, x, width } of blocks) {
    paintBlock(context, stall, { x, y: top + 1, width, height: BLOCK }, look);
  }
  let used = left;
  for (const block of [...blocks].sort((a, b) => a.x - b.x)) {
    used = Math.max(used, paintName(app, context, block, used, top + 1 + BLOCK / 2, look));
  }
}

/** The turn whose block is at a place of the map's canvas; of several the shortest. */
export function stallAt(app: App, { heat, left, columnWidth, bandHeight }: Frame, x: number, y: number): Span | null {
  const { longest } = app.derived.loops(app.state);
  const scale = columnWidth / heat.columnNs;
  if (y < bandHeight * heat.bands + AXIS) return null;
  const isThere = ({ start_ns, end_ns }: Span) =>
    x >= left + start_ns * scale - NEAR && x <= left + end_ns * scale + NEAR;
  return longest.filter(isThere).at(-1) ?? null;
}

/** Where the turns stand, the longest first. Of those that are as narrow as a pixel, one at a place is enough. */
function place(longest: readonly PageStall[], left: number, scale: number, right: number): Placed[] {
  const taken = new Set<number>();
  const blocks: Placed[] = [];
  for (const stall of longest) {
    const x = left + stall.start_ns * scale;
    const width = Math.max(NARROWEST, (stall.end_ns - stall.start_ns) * scale);
    const pixel = Math.floor(x);
    if (width === NARROWEST && taken.has(pixel)) continue;
    taken.add(pixel);
    blocks.push({ stall, x, width, before: left, next: right });
  }
  const inOrder = [...blocks].sort((a, b) => a.x - b.x);
  let end = left;
  for (const [at, block] of inOrder.entries()) {
    block.before = end;
    block.next = inOrder[at + 1]?.x ?? right;
    end = Math.max(end, block.x + block.width);
  }
  return blocks;
}

/** For how long the loops were watched. */
function paintWatched(
  app: App,
  context: CanvasRenderingContext2D,
  { heat, left, columnWidth }: Frame,
  top: number,
): void {
  const { threads } = app.derived.selection(app.state);
  const scale = columnWidth / heat.columnNs;
  context.fillStyle = themeColors()("--quiet");
  for (const { thread, start, end } of app.profile.watched) {
    if (threads && !threads[thread]) continue;
    context.fillRect(left + start * scale, top + LANE - 3, Math.max(1, (end - start) * scale), 2);
  }
}

interface Block {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Filled where the thread ran, hatched where it waited. */
function paintBlock(context: CanvasRenderingContext2D, stall: PageStall, block: Block, look: Look): void {
  const { x, y, width, height } = block;
  const hue = stall.kind === "gc" ? look.gc : look.color("--stall");
  if (isWaiting(stall)) {
    context.fillStyle = look.color("--page");
    context.fillRect(x, y, width, height);
    context.fillStyle = hatch(context, hue, 5) ?? hue;
    context.fillRect(x, y, width, height);
    context.strokeStyle = hue;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1);
    return;
  }
  context.fillStyle = look.isWatched ? hue : look.color("--bar");
  context.fillRect(x, y, width, height);
}

function isWaiting({ kind }: PageStall): boolean {
  return kind === "blocked" || kind === "throttled" || kind === "cpu-wait";
}

/** In the block, or right of it up to the next one, or left of it; `used` and the result are where names end. */
function paintName(
  app: App,
  context: CanvasRenderingContext2D,
  { stall, x, width, before, next }: Placed,
  used: number,
  middle: number,
  look: Look,
): number {
  const [leftRoom, rightRoom] = [x - Math.max(before, used), next - x - width];
  if (stall.function === null || Math.max(width, leftRoom, rightRoom) < SHORTEST_NAME) return used;
  const text = nameOf(app.profile, stall.function);
  const long = context.measureText(text).width + 2 * PADDING;
  const isInside = long <= width;
  if (!isInside && long > Math.max(leftRoom, rightRoom)) return used;
  const start = isInside ? x : long <= rightRoom ? x + width : x - long;
  if (isInside && isWaiting(stall)) {
    context.fillStyle = look.color("--page");
    context.fillRect(start + 1, middle - 8, long, 16);
  }
  context.fillStyle = isInside ? colorInside(stall, look) : look.color("--text");
  context.textAlign = "left";
  context.fillText(text, start + PADDING, middle);
  return start + long;
}

function colorInside(stall: PageStall, { color, isWatched }: Look): string {
  if (isWaiting(stall) || !isWatched) return color("--text");
  return stall.kind === "gc" ? "#000" : color("--stall-text");
}

/** The longest turns of what is selected; a click selects one. */
export function renderStalls(app: App, { summary, content }: Drop): void {
  const loops = app.derived.loopsInRange(app.state);
  const isAll = app.state.range === null;
  const list = loops.longest.slice(0, loops.isWatched ? LONGEST_LIST : BUSY_LIST);
  const key = `${loops.isWatched}|${isAll}|${list.map(({ text, thread }) => `${text}/${thread}`)}`;
  if (content.dataset.shown === key) return;
  content.dataset.shown = key;
  const buttons = list.map((stall, index) => {
    const select = () => app.update(stateOfSpan(app.profile, stall));
    return button(sentence(stall.text), `stall-${index}`, select);
  });
  summary.textContent = `${shortWords(loops)} ▾`;
  const where = isAll || !loops.isWatched ? "" : "in what is selected ";
  refill(content, quiet(where + loopWords(loops)), ...buttons);
}

function shortWords({ isWatched, longest }: Loops): string {
  if (!isWatched) return "turns not counted";
  return longest.length > 0 ? plural(longest.length, "stall") : "no stalls";
}

function loopWords({ isWatched, longest }: Loops): string {
  const isAny = longest.length > 0;
  if (isWatched && isAny) return `the loop was blocked ${plural(longest.length, "time")}`;
  if (isWatched) return "the loop was never blocked for 50 ms or more";
  return isAny
    ? "turns were not counted; busy without a pause for at most"
    : "turns of the event loop were not counted";
}
