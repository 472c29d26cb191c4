// Where things are in the heat map's canvas: from pixels to cells, and back.

import type { Heat } from "../../compute/heat.ts";
import type { Range } from "../../select/selection.ts";
import type { App } from "../app.ts";

/** The room under the cells: the axis, and the lane with the turns of the event loop. */
export const AXIS = 16;
export const LANE = 32;
export const LANE_GAP = 2;
/** A wider cell looks like a bar. */
const WIDEST_COLUMN = 240;
/** The room left of the cells: for the names of bands, or for the times within a column. As wide as the page's gutter. */
const LEFT_OF_BANDS = 150;
const LEFT_OF_CELLS = 64;
const BAND_HEIGHT = 30;
/** The map's part of the window: the flame graph needs the rest. */
const MAP_SHARE = 0.067;
const LOWEST_MAP = 50;
/** Beside the pictures of a comparison, which have a line of their own above them. */
const MAP_BESIDE = 40;
const HIGHEST_MAP = 150;
/** A row of fewer pixels cannot be distinguished from the next. */
const LOWEST_ROW = 3;

export interface Frame {
  left: number;
  columnWidth: number;
  rowHeight: number;
  bandHeight: number;
  height: number;
  heat: Heat;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

function mapHeight(): number {
  return Math.round(Math.min(HIGHEST_MAP, Math.max(LOWEST_MAP, MAP_SHARE * window.innerHeight)));
}

export function frameOf({ derived, state }: App, width: number): Frame {
  const left = derived.bands(state).length > 1 ? LEFT_OF_BANDS : LEFT_OF_CELLS;
  const high = derived.against.base(state) ? MAP_BESIDE : mapHeight();
  const heat = derived.heat(state, width - left - 2, high / LOWEST_ROW);
  const columnWidth = Math.min(WIDEST_COLUMN, (width - left - 2) / heat.columns);
  const hasBands = heat.bands > 1;
  const rowHeight = hasBands ? Math.round(BAND_HEIGHT / heat.rows) : Math.max(2, Math.floor(high / heat.rows));
  const bandHeight = heat.rows * rowHeight + (hasBands ? 2 : 0);
  const height = bandHeight * heat.bands + AXIS + LANE_GAP + LANE;
  return { left, columnWidth: Math.max(1, Math.floor(columnWidth)), rowHeight, bandHeight, height, heat };
}

/** The cell at a place, counted from the start; in the lane under the map, any part of a column's time. */
export function cellAtPlace({ left, columnWidth, bandHeight, rowHeight, heat }: Frame, x: number, y: number): number {
  const inMap = x - left;
  const column = Math.min(heat.columns - 1, Math.max(0, Math.floor(inMap / columnWidth)));
  const isBelow = y >= bandHeight * heat.bands;
  const inBand = bandHeight - 1 - (Math.max(0, y) % bandHeight);
  const row = isBelow ? Math.floor((inMap / columnWidth - column) * heat.rows) : Math.floor(inBand / rowHeight);
  return column * heat.rows + Math.min(heat.rows - 1, Math.max(0, row));
}

/** The band at a height; null under the map. */
export function bandAtPlace({ bandHeight, heat }: Frame, y: number): number | null {
  return y < bandHeight * heat.bands ? Math.floor(Math.max(0, y) / bandHeight) : null;
}

/** A range in every band. */
export function selectedRects(frame: Frame, range: Range): Rect[] {
  return Array.from({ length: frame.heat.bands }, (_, band) => rectsOf(frame, range, band)).flat();
}

/** The bands that show one of these threads. */
export function bandsOfThreads({ heat }: Frame, threads: readonly number[]): number[] {
  if (!heat.bandOf) return [0];
  return [...new Set(threads.map((id) => heat.bandOf?.[id] ?? -1))].filter((band) => band >= 0);
}

/**
 * A range is at most three rectangles in a band: the rest of its first column, whole columns, the start of its last.
 */
export function rectsOf(frame: Frame, [from, to]: Range, band: number): Rect[] {
  const { heat } = frame;
  const cellNs = heat.columnNs / heat.rows;
  const first = Math.min(heat.columns * heat.rows - 1, Math.round(from / cellNs));
  const end = Math.min(heat.columns * heat.rows, Math.max(first + 1, Math.round(to / cellNs)));
  const rects: Rect[] = [];
  for (let at = Math.max(0, first); at < end; ) {
    const low = at % heat.rows;
    const isWhole = low === 0 && end - at >= heat.rows;
    const columns = isWhole ? Math.floor((end - at) / heat.rows) : 1;
    const high = isWhole ? heat.rows : Math.min(heat.rows, low + end - at);
    rects.push({
      x: frame.left + Math.floor(at / heat.rows) * frame.columnWidth,
      y: band * frame.bandHeight + (heat.rows - high) * frame.rowHeight,
      width: columns * frame.columnWidth,
      height: (high - low) * frame.rowHeight,
    });
    at += isWhole ? columns * heat.rows : high - low;
  }
  return rects;
}
