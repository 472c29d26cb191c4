// The heat map: a column is a second (more in a long recording, less in a short one), a row a fraction of it, a cell
// the sum of weights. Rows count from the bottom: that is where the column's time starts.

import { CATEGORIES, NONE, type Profile, UNKNOWN } from "../data/model.ts";
import { forEachRow, type Selection } from "../select/selection.ts";

export interface Grid {
  /** The end of the recording, which may be a little behind the last column. */
  endNs: number;
  columnNs: number;
  columns: number;
  rows: number;
  /** One picture above another: for each thread its band, or -1. */
  bands: number;
  bandOf: Int32Array | null;
}

export interface Heat extends Grid {
  /** Band by band, column by column, from the bottom up. */
  cells: Float64Array;
  max: number;
}

/** Milliseconds a column, from coarse to fine, in a recording that has too few seconds. */
const FINE = [500, 200, 100, 50, 20, 10, 5, 2, 1];
/** So many columns show a pattern: from so many seconds on a column is a second. */
const ENOUGH = 20;
/** With fewer samples to a full cell, chance decides how dark it is. */
const SAMPLES_A_CELL = 5;
/** A column that has fewer rows shows no pattern within it. */
const ENOUGH_ROWS = 5;
/** Seconds a column, from fine to coarse: all divide into the rows that can be chosen. */
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 86400];

/** So much of a cell's time a recording may be longer than its last cell. */
const LITTLE = 0.5;

export const ROW_CHOICES = [0, 10, 20, 25, 50, 100];

/**
 * Seconds, or what fits with columns of at least `least` pixels; less than a second only where seconds are too few, and
 * not so fine that samples are too few.
 */
export function columnStep(durationNs: number, width: number, least: number, intervalNs: number): number {
  if (durationNs > (ENOUGH - 1) * 1e9) {
    const fits = STEPS.find((step) => Math.ceil(durationNs / (step * 1e9)) * least <= width);
    return (fits ?? STEPS[STEPS.length - 1]) * 1e9;
  }
  const finest = (ENOUGH_ROWS * SAMPLES_A_CELL * intervalNs) / 1e6;
  const isLast = (step: number, at: number) => durationNs > (ENOUGH - 1) * step * 1e6 || FINE[at + 1] < finest;
  return (FINE.find(isLast) ?? 1) * 1e6;
}

/** As many rows as the samples can fill, and `most` at most. */
export function autoRows(columnNs: number, intervalNs: number, most: number): number {
  const fits = (rows: number) => rows <= most && columnNs / rows >= SAMPLES_A_CELL * intervalNs;
  return [50, 25, 20, 10, 8, 5, 4, 2].find(fits) ?? 1;
}

/** What is behind the last whole column by less than a part of a cell belongs to the last cell: it has no column. */
export function gridOf(durationNs: number, columnNs: number, rows: number): Grid {
  const columns = Math.max(1, Math.ceil(durationNs / columnNs - LITTLE / rows));
  return { endNs: durationNs, columnNs, rows, columns, bands: 1, bandOf: null };
}

export function heatOf(profile: Profile, selection: Selection, grid: Grid): Heat {
  const cells = new Float64Array(grid.bands * grid.columns * grid.rows);
  const cellOf = cellFinder(grid);
  forEachRow(profile, { ...selection, range: null }, (row, lane) => {
    const cell = cellOf(lane.thread[row], lane.time[row]);
    if (cell >= 0) cells[cell] += lane.weight[row];
  });
  const heat = { ...grid, cells, max: 0 };
  for (let at = 0; at < cells.length; at++) heat.max = Math.max(heat.max, loadOf(heat, at));
  return heat;
}

/** The weight of a cell, as much of it as falls on the time of one: the last cell may be longer. */
export function loadOf(heat: Heat, at: number): number {
  const inBand = heat.columns * heat.rows;
  if (at % inBand !== inBand - 1) return heat.cells[at];
  const cellNs = heat.columnNs / heat.rows;
  return heat.cells[at] / Math.max(1, heat.endNs / cellNs - (inBand - 1));
}

/** Finds where in `cells` a sample counts; -1 for one that is in no band. Samples are sorted: most are where the last was. */
function cellFinder({ columnNs, columns, rows, bandOf }: Grid): (thread: number, time: number) => number {
  const last = columns * rows - 1;
  let [cell, from, until] = [0, 0, 0];
  const move = (time: number) => {
    const column = Math.min(columns - 1, Math.floor(time / columnNs));
    const fraction = Math.min(rows - 1, Math.floor(((time - column * columnNs) * rows) / columnNs));
    cell = column * rows + fraction;
    from = time;
    // Just before its end, which may not be a whole number.
    until = cell === last ? Infinity : ((cell + 1) / rows) * columnNs - 1;
  };
  return (thread, time) => {
    const band = bandOf === null ? 0 : bandOf[thread];
    if (band < 0) return -1;
    if (time < from || time >= until) move(time);
    return band * (last + 1) + cell;
  };
}

/** Of each cell the category that has most of its weight. */
export function categoriesOf(profile: Profile, selection: Selection, grid: Grid): Uint8Array {
  const [size, count] = [grid.bands * grid.columns * grid.rows, CATEGORIES.length];
  const sums = new Float64Array(size * count);
  const cellOf = cellFinder(grid);
  forEachRow(profile, { ...selection, range: null }, (row, lane, stack) => {
    const cell = cellOf(lane.thread[row], lane.time[row]);
    const category = stack === NONE ? UNKNOWN : profile.stacks.category[stack];
    if (cell >= 0) sums[cell * count + category] += lane.weight[row];
  });
  return Uint8Array.from({ length: size }, (_, cell) => {
    const own = sums.subarray(cell * count, (cell + 1) * count);
    return own.reduce((best, sum, category) => (sum > own[best] ? category : best), 0);
  });
}

/** The cell that holds a time, counted from the start. */
export function cellAt({ rows, columns, columnNs }: Grid, timeNs: number): number {
  return Math.min(columns * rows - 1, Math.floor((timeNs * rows) / columnNs));
}

/** From the start of one cell to the end of another, in any order: half-open. */
export function rangeOfCells(grid: Grid, a: number, b: number): [number, number] {
  const cellNs = grid.columnNs / grid.rows;
  const end = Math.max(a, b) + 1;
  const isLast = end === grid.columns * grid.rows;
  return [Math.min(a, b) * cellNs, isLast ? Math.max(end * cellNs, grid.endNs) : end * cellNs];
}

/** The first and the last cell, both a step further, or the last alone; inside the map. */
export function rangeMovedBy(
  grid: Grid,
  [first, last]: readonly [number, number],
  step: number,
  isEndAlone: boolean,
): [number, number] {
  const end = grid.columns * grid.rows - 1;
  if (isEndAlone) return [first, Math.max(first, Math.min(end, last + step))];
  const by = Math.max(-first, Math.min(end - last, step));
  return [first + by, last + by];
}
