// The heat map on its canvas: the cells, what is selected of them, and the axis.

import { type Heat, loadOf } from "../../compute/heat.ts";
import type { App } from "../app.ts";
import { fitted, fontOf, sized, themeColors } from "../canvas.ts";
import { CATEGORY_COLORS, css, ramp, themed } from "../colors.ts";
import { axisTime, clock, shown } from "../text.ts";
import { AXIS, type Frame, LANE_GAP, selectedRects } from "./frame.ts";
import { paintLane } from "./lane.ts";
import { paintGaps, paintStalls, paintThrottled } from "./marks.ts";

/** So many colours from none to the most. */
const SHADES = 64;
/** How strong a category's colour is where the load is least. */
const PALEST = 0.25;
/** What is not selected is as strong as this. */
const FADED = 0.32;
/** The columns from one time on the axis to the next: the first that leaves room. */
const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** The cells alone: painted once, not while dragging. */
export function paintCells(app: App, image: HTMLCanvasElement, frame: Frame): void {
  const { heat, columnWidth, rowHeight, bandHeight } = frame;
  const context = sized(image, Math.ceil(heat.columns * columnWidth), bandHeight * heat.bands);
  const colorOf = colorsOf(app, heat);
  const [gapX, gapY] = [columnWidth >= 6 ? 1 : 0, rowHeight > 3 ? 1 : 0];
  context.fillStyle = themeColors()("--panel");
  for (let band = 0; band < heat.bands; band++) {
    context.fillRect(0, band * bandHeight, heat.columns * columnWidth, heat.rows * rowHeight);
  }
  for (let at = 0; at < heat.cells.length; at++) {
    if (heat.cells[at] === 0) continue;
    const row = at % heat.rows;
    const column = Math.floor(at / heat.rows) % heat.columns;
    const band = Math.floor(at / (heat.rows * heat.columns));
    const y = band * bandHeight + (heat.rows - 1 - row) * rowHeight;
    context.fillStyle = colorOf(at);
    context.fillRect(column * columnWidth, y, columnWidth - gapX, rowHeight - gapY);
  }
  paintGaps(app, context, { ...frame, left: 0 });
}

/** The load of a cell, or its main category: the less load, the paler. */
function colorsOf(app: App, heat: Heat): (cell: number) => string {
  const { isDark, state } = app;
  const step = (cell: number) => Math.ceil((SHADES * loadOf(heat, cell)) / heat.max);
  if (state.mapBy === "load") {
    const colors = Array.from({ length: SHADES + 1 }, (_, at) => css(ramp(at / SHADES, isDark)));
    return (cell) => colors[step(cell)];
  }
  const categories = app.derived.heatCategories(state, heat);
  return (cell) => {
    const [red, green, blue] = themed(CATEGORY_COLORS[categories[cell]], isDark).map(Math.round);
    return `rgb(${red} ${green} ${blue} / ${PALEST + ((1 - PALEST) * step(cell)) / SHADES})`;
  };
}

/** `image` has the cells. */
export function paintMap(
  app: App,
  canvas: HTMLCanvasElement,
  image: HTMLCanvasElement,
  frame: Frame,
  width: number,
): void {
  const { heat, left, columnWidth, bandHeight, height } = frame;
  const context = sized(canvas, width, height);
  const color = themeColors();
  const high = bandHeight * heat.bands;
  const paint = () => context.drawImage(image, left, 0, Math.ceil(heat.columns * columnWidth), high);
  const { range } = app.state;
  context.globalAlpha = range ? FADED : 1;
  paint();
  context.globalAlpha = 1;
  for (const rect of range ? selectedRects(frame, range) : []) {
    context.save();
    context.beginPath();
    context.rect(rect.x, rect.y, rect.width, rect.height);
    context.clip();
    context.fillStyle = color("--page");
    context.fillRect(rect.x, rect.y, rect.width, rect.height);
    paint();
    context.restore();
    context.strokeStyle = color("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(rect.x + 0.5, rect.y + 0.5, rect.width - 1, Math.max(1, rect.height - 1));
  }
  context.font = fontOf(11);
  paintThrottled(app, context, frame);
  paintStalls(app, context, frame);
  context.fillStyle = color("--quiet");
  paintTimes(app, context, frame, high, width);
  if (heat.bands > 1) paintBandNames(app, context, frame);
  else paintRowTimes(context, frame);
  paintLane(app, context, frame, high + AXIS + LANE_GAP);
}

/** Under the columns: the time since the start, and the clock where there is room. */
function paintTimes(app: App, context: CanvasRenderingContext2D, frame: Frame, top: number, width: number): void {
  const { heat, left, columnWidth } = frame;
  const { startMs, durationNs } = app.profile;
  const room = startMs === null ? 50 : 120;
  const every = TICKS.find((count) => count * columnWidth >= room) ?? 1000;
  context.textBaseline = "top";
  context.textAlign = "left";
  for (let column = 0; column < heat.columns; column += every) {
    const x = left + column * columnWidth;
    const time = axisTime((column * heat.columnNs) / 1e9, durationNs / 1e9);
    const both = startMs === null ? time : `${time} · ${clock(startMs, column * heat.columnNs)}`;
    const fits = [both, time].find((text) => x + 3 + context.measureText(text).width <= width);
    context.fillRect(x, top, 1, 4);
    if (fits) context.fillText(fits, x + 3, top + 3);
  }
}

function paintBandNames(app: App, context: CanvasRenderingContext2D, { left, bandHeight }: Frame): void {
  context.textBaseline = "middle";
  app.derived.bands(app.state).forEach(({ label }, band) => {
    context.fillText(fitted(context, shown(label), left - 8), 0, band * bandHeight + bandHeight / 2);
  });
}

/** Left of the rows: the time since the start of a column. */
function paintRowTimes(context: CanvasRenderingContext2D, { heat, left, rowHeight }: Frame): void {
  const height = heat.rows * rowHeight;
  context.textAlign = "right";
  context.textBaseline = "top";
  context.fillText(partOfColumn(heat, 1), left - 6, 0);
  context.textBaseline = "middle";
  context.fillText(partOfColumn(heat, 0.5), left - 6, height / 2);
  context.textBaseline = "bottom";
  context.fillText("0", left - 6, height);
}

function partOfColumn({ columnNs }: Heat, part: number): string {
  const ns = part * columnNs;
  return columnNs <= 1e9 ? `${Number((ns / 1e6).toPrecision(3))} ms` : `${Number((ns / 1e9).toPrecision(2))} s`;
}
