// The heat map: a column is a second (more in a long recording, less in a short one), a row a fraction of it, a cell
// the sum of weights. Rows count from the bottom: that is where the column's time starts.

import type { Profile } from "../data/model.ts";
import { forEachRow, type Selection } from "../select/selection.ts";

export interface Grid {
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
/** So many columns show a pattern. */
const ENOUGH = 45;
/** Seconds a column, from fine to coarse: all divide into the rows that can be chosen. */
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 86400];

export const ROW_CHOICES = [0, 10, 20, 25, 50, 100];

/**
 * The finest columns that fit, at least `least` pixels wide; finer than a second only where seconds are too few, and
 * not so fine that samples are too few.
 */
export function columnStep(durationNs: number, width: number, least: number, intervalNs: number): number {
  if (durationNs <= (ENOUGH - 1) * 1e9)
    return (
      (FINE.find((step, at) => durationNs > (ENOUGH - 1) * step * 1e6 || FINE[at + 1] * 1e6 < 5 * 0.9 * intervalNs) ??
        1) * 1e6
    );
  const fits = STEPS.find((step) => Math.ceil(durationNs / (step * 1e9)) * least <= width);
  return (fits ?? STEPS[STEPS.length - 1]) * 1e9;
}

/** As many rows as the samples can fill: with less than two to a cell a busy thread looks like a chequerboard. */
export function autoRows(columnNs: number, intervalNs: number): number {
  return [50, 25, 20, 10].find((rows) => columnNs / rows >= 1.8 * intervalNs) ?? 5;
}

export function gridOf(durationNs: number, columnNs: number, rows: number): Grid {
  return { columnNs, rows, columns: Math.max(1, Math.ceil(durationNs / columnNs)), bands: 1, bandOf: null };
}

export function heatOf(profile: Profile, selection: Selection, grid: Grid): Heat {
  const { columnNs, columns, rows, bands, bandOf } = grid;
  const cells = new Float64Array(bands * columns * rows);
  forEachRow(profile, { ...selection, range: null }, (row, lane) => {
    const band = bandOf ? bandOf[lane.thread[row]] : 0;
    if (band < 0) return;
    const time = lane.time[row];
    const column = Math.min(columns - 1, Math.floor(time / columnNs));
    const fraction = Math.min(rows - 1, Math.floor(((time - column * columnNs) * rows) / columnNs));
    cells[(band * columns + column) * rows + fraction] += lane.weight[row];
  });
  let max = 0;
  for (let at = 0; at < cells.length; at++) if (cells[at] > max) max = cells[at];
  return { ...grid, cells, max };
}

/** The start of the cell that holds a time, counted in cells from the start. */
export function cellAt(grid: Grid, timeNs: number): number {
  return Math.floor((timeNs * grid.rows) / grid.columnNs);
}

/** From the start of one cell to the end of another, in any order: half-open. */
export function rangeOfCells(grid: Grid, a: number, b: number): [number, number] {
  const cellNs = grid.columnNs / grid.rows;
  return [Math.min(a, b) * cellNs, (Math.max(a, b) + 1) * cellNs];
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
