// The heat map with the event loop under it, and beside it the categories. The selection itself is in the state.

import { keyOf } from "../../compute/derived.ts";
import { cellAt, type Heat, ROW_CHOICES, rangeMovedBy, rangeOfCells } from "../../compute/heat.ts";
import type { Lane } from "../../data/model.ts";
import type { App, Part } from "../app.ts";
import { css, ramp } from "../colors.ts";
import { h, picker, plainTable, refill } from "../dom.ts";
import { amount, clock, duration, seconds } from "../text.ts";
import { renderCategories } from "./categories.ts";
import { cellAtPlace, type Frame, frameOf } from "./frame.ts";
import { paintCells, paintMap } from "./paint.ts";
import { RangePicker } from "./range-picker.ts";
import { renderStalls } from "./strip.ts";

/** The table beside the map is made when the reader has stopped moving. */
const SETTLED_MS = 250;
const MOST_TABLE_ROWS = 120;
const LEGEND_STEPS = 12;
/** The parts of the state that the cells depend on. */
const CELLS_DEPEND_ON = ["lane", "threads", "categories", "focus", "entry", "rows", "bands"] as const;

export function heatPart(app: App): Part {
  const view = new HeatView(app);
  return { element: view.element, render: () => view.render() };
}

class HeatView {
  readonly element: HTMLElement;
  private readonly app: App;
  private readonly canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    id: "heat",
    "aria-label": "Heat map: drag or use the arrow keys to select a range of time",
    "aria-describedby": "heat-table",
  });
  /** The cells alone, as they were painted last. */
  private readonly image = h("canvas");
  private readonly hover = h("span", { class: "quiet", id: "heat-hover" });
  private readonly options = h("span", { class: "end row" });
  private readonly legend = h("span", { class: "legend quiet" });
  private readonly stalls = h("div", { class: "stalls", id: "stalls" });
  private readonly table = h("div", { class: "unseen", id: "heat-table" });
  private readonly map: HTMLElement;
  private readonly side = h("div", { class: "side" });
  private readonly picker: RangePicker;

  private frame: Frame | null = null;
  private imageKey = "";
  private tableTimer = 0;

  constructor(app: App) {
    this.app = app;
    const { hover, options, canvas, stalls, table } = this;
    this.map = h("div", { class: "heat" }, h("div", { class: "row" }, hover, options), canvas, stalls, table);
    this.element = h("section", { class: "times", "aria-label": "Time" }, this.map, this.side);
    this.picker = new RangePicker(app, canvas, this);
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private get lane(): Lane | undefined {
    return this.app.profile.lanes[this.app.derived.lane(this.app.state)];
  }

  private get unit(): string {
    return this.lane?.unit ?? "";
  }

  render(): void {
    this.renderOptions();
    renderCategories(this.app, this.side);
    if (this.lane?.timed) this.renderMap();
    else {
      this.canvas.classList.add("hidden");
      this.options.classList.add("hidden");
      this.hover.textContent = "This recording has no times: there is no heat map.";
    }
  }

  private renderOptions(): void {
    const { app } = this;
    const words = Object.fromEntries(ROW_CHOICES.map((count) => [count, count ? `${count} rows` : "rows: auto"]));
    const choose = (rows: string) => app.update({ rows: Number(rows) });
    const rows = picker("rows", ROW_CHOICES.map(String), String(app.state.rows), choose, words);
    refill(this.options, this.legend, app.state.bands === "all" && rows);
  }

  private renderMap(): void {
    const { app } = this;
    const width = Math.max(200, Math.floor(this.map.clientWidth));
    const frame = frameOf(app, width);
    this.frame = frame;
    const key = [width, app.isDark, window.devicePixelRatio, keyOf(app.state, ...CELLS_DEPEND_ON)].join("|");
    if (key !== this.imageKey) paintCells(this.image, frame, app.isDark);
    this.imageKey = key;
    paintMap(app, this.canvas, this.image, frame, width);
    this.renderLegend(frame.heat);
    renderStalls(app, this.stalls);
    if (!this.picker.isPicking) this.rest();
    clearTimeout(this.tableTimer);
    const fill = () => this.table.replaceChildren(tableOf(frame.heat, this.unit));
    this.tableTimer = window.setTimeout(fill, SETTLED_MS);
  }

  private renderLegend({ max }: Heat): void {
    const { isDark } = this.app;
    const colors = Array.from({ length: LEGEND_STEPS }, (_, step) => css(ramp((step + 0.5) / LEGEND_STEPS, isDark)));
    const bar = h("span", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${colors.join(",")})`;
    refill(this.legend, h("span", {}, "0"), bar, h("span", {}, `${amount(max, this.unit)} a cell`));
  }

  cellUnder(event: PointerEvent): number | null {
    if (!this.frame) return null;
    const area = this.canvas.getBoundingClientRect();
    return cellAtPlace(this.frame, event.clientX - area.left, event.clientY - area.top);
  }

  select(first: number, last: number, isStep: boolean): void {
    if (this.frame) this.app.update({ range: rangeOfCells(this.frame.heat, first, last), zoom: [] }, isStep);
  }

  tell(cell: number): void {
    if (!this.frame) return;
    const { heat } = this.frame;
    const { startMs } = this.app.profile;
    const [from, to] = rangeOfCells(heat, cell, cell);
    const time = startMs === null ? "" : ` · ${clock(startMs, from)} UTC`;
    let weight = 0;
    for (let band = 0; band < heat.bands; band++) weight += heat.cells[band * heat.columns * heat.rows + cell] ?? 0;
    const next = this.picker.isHalf ? " · click the other end, or Escape" : "";
    this.hover.textContent = `${seconds(from)}–${seconds(to)} s${time} · ${amount(weight, this.unit)}${next}`;
  }

  rest(): void {
    if (!this.frame) return;
    const { columnNs, rows } = this.frame.heat;
    const column = columnNs < 1e9 ? duration(columnNs) : `${columnNs / 1e9} s`;
    const cell = duration(columnNs / rows);
    this.hover.textContent = `${cell} a cell, ${column} a column. Drag, or click twice, to select a range.`;
  }

  private key(event: KeyboardEvent): void {
    if (!this.frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const { range } = this.app.state;
    if (event.key === "Escape") {
      if (!this.picker.isHalf && !range) return;
      this.picker.forget();
      event.preventDefault();
      this.app.update({ range: null });
      return;
    }
    const { heat } = this.frame;
    const step = stepOf(heat, event.key);
    if (step === undefined) return;
    event.preventDefault();
    this.picker.forget();
    const cells = range && ([cellAt(heat, range[0]), cellAt(heat, range[1] - 1)] as const);
    const [first, last] = cells ? rangeMovedBy(heat, cells, step, event.shiftKey) : [0, heat.rows - 1];
    this.select(first, last, true);
  }
}

/** Cells to go: across by a column, up and down by a row. */
function stepOf({ rows }: Heat, key: string): number | undefined {
  const steps: Record<string, number> = {
    ArrowRight: rows,
    ArrowLeft: -rows,
    ArrowUp: 1,
    ArrowDown: -1,
    Home: -Infinity,
    End: Infinity,
  };
  return steps[key];
}

/** For readers who cannot see the map: its columns, some of them together where there are many. */
function tableOf(heat: Heat, unit: string): HTMLElement {
  const step = Math.max(1, Math.ceil(heat.columns / MOST_TABLE_ROWS));
  const rows: string[][] = [];
  for (let column = 0; column < heat.columns; column += step) {
    const columns = Math.min(step, heat.columns - column);
    let [sum, most] = [0, 0];
    for (let band = 0; band < heat.bands; band++) {
      const first = (band * heat.columns + column) * heat.rows;
      for (const cell of heat.cells.subarray(first, first + heat.rows * columns)) {
        sum += cell;
        most = Math.max(most, cell);
      }
    }
    rows.push([`${seconds(column * heat.columnNs)} s`, amount(sum, unit), amount(most, unit)]);
  }
  return plainTable("The heat map as a table", ["from", "sum", "hottest cell"], rows);
}
