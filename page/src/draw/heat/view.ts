// The time of the recording: whose samples are shown, the heat map with the event loop under it, and beside it what
// asked for the work and the categories. The selection itself is in the state.

import { stateOfSpan } from "../../compute/findings.ts";
import { cellAt, type Heat, ROW_CHOICES, rangeMovedBy, rangeOfCells } from "../../compute/heat.ts";
import { keyOf } from "../../compute/kept.ts";
import type { Lane } from "../../data/model.ts";
import type { Span } from "../../data/report.ts";
import { BANDS, MAP_BY } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { css, ramp } from "../colors.ts";
import { button, choice, h, picker, plainTable, refill, refillOnce } from "../dom.ts";
import { drop } from "../drop.ts";
import { Tip } from "../flame/tip.ts";
import { Size } from "../size.ts";
import { amount, duration, plural, seconds, thousands } from "../text.ts";
import { renderCategories } from "./categories.ts";
import { linesOfCells, marksAt } from "./cell.ts";
import { EntryList } from "./entries.ts";
import { cellAtPlace, type Frame, frameOf, selectedRects } from "./frame.ts";
import { renderStalls, stallAt } from "./lane.ts";
import { paintCells, paintMap } from "./paint.ts";
import { RangePicker } from "./range-picker.ts";
import { threadsPart } from "./threads.ts";

const MAP_TITLES = { load: "The darker, the more time", category: "The colour of what most of the time was" };
const BAND_WORDS = { all: "all threads", process: "each process", thread: "each thread" };
/** The table beside the map is made when the reader has stopped moving. */
const SETTLED_MS = 250;
/** Five rows of five samples: the smallest map that shows more than chance. */
const FEWEST_SAMPLES = 25;
const MOST_TABLE_ROWS = 120;
const LEGEND_STEPS = 12;
/** The height of a row of the lists beside the map, also for a finger, and of their heads, as style.css has them. */
const LIST_ROW = 17;
const LIST_ROW_BY_TOUCH = 24;
const LIST_HEAD = 16;
const HOW_TO =
  "With Shift an arrow key makes the range longer, Escape clears it. A table of the columns is beside the map.";

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
    "aria-describedby": "heat-how",
  });
  /** The cells alone, as they were painted last. */
  private readonly image = h("canvas");
  private readonly tip = new Tip();
  private readonly fold = h("span", { class: "gutter" });
  private readonly threads: Part;
  private readonly options = h("span", { class: "end row" });
  private readonly legend = h("span", { class: "legend quiet", id: "heat-legend" });
  private readonly stalls = drop("", "stalls", "The longest turns of the event loop");
  private readonly table = h("div", { class: "unseen", id: "heat-table" });
  private readonly note = h("p", { class: "note hidden" });
  private readonly map: HTMLElement;
  /** What the keyboard has selected, in words. */
  private readonly announced = h("div", { class: "unseen", id: "heat-announced", role: "status" });
  private readonly entries: EntryList;
  private readonly categories = h("div", {});
  private readonly times: HTMLElement;
  private readonly picker: RangePicker;
  private readonly size: Size;

  private frame: Frame | null = null;
  /** What the cells were painted from: the same sums are the same object. */
  private painted: Heat | null = null;
  private paintedLook = "";
  private tableTimer = 0;

  constructor(app: App) {
    this.app = app;
    this.threads = threadsPart(app);
    this.entries = new EntryList(app);
    this.stalls.content.id = "stalls";
    const { fold, threads, options, canvas, note, table, tip, announced, entries, categories } = this;
    const how = h("div", { class: "unseen", id: "heat-how" }, HOW_TO);
    this.map = h("div", { class: "heat" }, canvas, note, how, table, announced, tip.element);
    this.times = h("div", { class: "times" }, this.map, h("div", { class: "side" }, entries.element, categories));
    const head = h("div", { class: "row map-row" }, fold, threads.element, options);
    this.element = h("section", { class: "map", "aria-label": "Time" }, head, this.times);
    this.picker = new RangePicker(app, canvas, this);
    this.size = new Size(this.map, () => app.schedule());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("pointermove", (event) => this.tip.place(this.frame !== null, event));
    canvas.addEventListener("pointerleave", () => this.tip.hide());
    canvas.addEventListener("blur", () => this.tip.hide());
  }

  private get lane(): Lane | undefined {
    return this.app.profile.lanes[this.app.derived.lane(this.app.state)];
  }

  private get unit(): string {
    return this.lane?.unit ?? "";
  }

  render(): void {
    const { app } = this;
    const { isMapFolded } = app.state;
    const whyNone = this.whyNoMap();
    const flip = () => app.update({ isMapFolded: !isMapFolded });
    const attributes = { class: "link", title: "Fold the heat map (h)", "aria-expanded": String(!isMapFolded) };
    // Beside another recording the words must name whose time this is.
    const word = app.profile.other ? "after" : "map";
    refill(this.fold, button(`${isMapFolded ? "▸" : "▾"} ${word}`, "map-fold", flip, attributes));
    this.threads.render();
    this.times.classList.toggle("hidden", isMapFolded);
    for (const element of [this.canvas, this.options]) element.classList.toggle("hidden", whyNone !== "");
    this.note.classList.toggle("hidden", whyNone === "");
    this.note.textContent = whyNone;
    this.renderOptions();
    renderStalls(app, this.stalls);
    if (isMapFolded) return;
    this.entries.render();
    renderCategories(app, this.categories);
    if (whyNone === "") this.renderMap();
  }

  /** Empty where there is a map: a few samples and no stall make none that says anything. */
  private whyNoMap(): string {
    const { lane, app } = this;
    if (!lane?.timed) return "This recording has no times: there is no heat map.";
    const isWatched = app.derived.loops(app.state).isWatched;
    if (lane.time.length >= FEWEST_SAMPLES || isWatched) return "";
    return `${plural(lane.time.length, "sample")}: too few for a heat map.`;
  }

  private renderOptions(): void {
    const { derived, state } = this.app;
    const counts = state.isMapFolded ? [] : [derived.bands(state).length, derived.allBands(state).length];
    const key = keyOf(state, "mapBy", "bands", "rows", "isMapFolded") + counts;
    refillOnce(this.options, key, () => this.optionsOf(counts));
  }

  private optionsOf([few, all]: readonly number[]): (HTMLElement | false)[] {
    const { app } = this;
    const { mapBy, bands, rows, isMapFolded } = app.state;
    const words = Object.fromEntries(ROW_CHOICES.map((count) => [count, count ? `${count} rows` : "rows: auto"]));
    const choose = (count: string) => app.update({ rows: Number(count) });
    // Where there are more bands than the map has room for.
    const bandCount =
      few < all && h("span", { class: "quiet", id: "band-count" }, `busiest ${few} of ${thousands(all)}`);
    const ofMap = [
      this.legend,
      choice("map by", MAP_BY, mapBy, (by) => app.update({ mapBy: by }), {}, MAP_TITLES),
      picker("bands", BANDS, bands, (by) => app.update({ bands: by }), BAND_WORDS),
      bandCount,
      bands === "all" && picker("rows", ROW_CHOICES.map(String), String(rows), choose, words),
    ];
    return [...(isMapFolded ? [] : ofMap), this.stalls.element];
  }

  private renderMap(): void {
    const { app } = this;
    const width = Math.max(200, Math.floor(this.size.width));
    const frame = frameOf(app, width);
    this.frame = frame;
    const row = window.matchMedia("(pointer: coarse)").matches ? LIST_ROW_BY_TOUCH : LIST_ROW;
    const rows = Math.max(1, Math.floor((frame.height - LIST_HEAD) / row));
    this.times.style.setProperty("--list-height", `${rows * row}px`);
    const look = [width, frame.height, app.isDark, app.state.mapBy, window.devicePixelRatio].join("|");
    if (frame.heat !== this.painted || look !== this.paintedLook) paintCells(app, this.image, frame);
    [this.painted, this.paintedLook] = [frame.heat, look];
    paintMap(app, this.canvas, this.image, frame, width);
    this.renderLegend(frame.heat);
    clearTimeout(this.tableTimer);
    const fill = () => this.table.replaceChildren(tableOf(app, frame.heat, this.unit));
    this.tableTimer = window.setTimeout(fill, SETTLED_MS);
  }

  /** What a cell is, and what its colour means; categories have their colours beside the map. */
  private renderLegend({ max, columnNs, rows }: Heat): void {
    const { isDark, state } = this.app;
    const colors = Array.from({ length: LEGEND_STEPS }, (_, step) => css(ramp((step + 0.5) / LEGEND_STEPS, isDark)));
    const bar = h("span", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${colors.join(",")})`;
    const column = columnNs < 1e9 ? duration(columnNs) : `${columnNs / 1e9} s`;
    this.legend.title = `${duration(columnNs / rows)} a cell, ${column} a column`;
    const load = [bar, h("span", {}, `most in a cell: ${amount(max, this.unit)}`)];
    refill(this.legend, ...(state.mapBy === "load" ? load : []));
  }

  cellUnder(event: PointerEvent): number | null {
    if (!this.frame) return null;
    const area = this.canvas.getBoundingClientRect();
    return cellAtPlace(this.frame, event.clientX - area.left, event.clientY - area.top);
  }

  select(first: number, last: number, isStep: boolean): void {
    if (this.frame) this.app.update({ range: rangeOfCells(this.frame.heat, first, last), zoom: [] }, isStep);
  }

  private stallUnder({ clientX, clientY }: PointerEvent): Span | null {
    const area = this.canvas.getBoundingClientRect();
    return this.frame && stallAt(this.app, this.frame, clientX - area.left, clientY - area.top);
  }

  /** A click on a block of the lane selects that turn. */
  answer(event: PointerEvent): boolean {
    const stall = this.stallUnder(event);
    if (stall) this.app.update(stateOfSpan(this.app.profile, stall));
    return stall !== null;
  }

  describe(cell: number, event: PointerEvent): void {
    if (!this.frame) return;
    const inCanvas = event.clientY - this.canvas.getBoundingClientRect().top;
    const lines = linesOfCells(this.app, this.frame, [cell, cell], inCanvas);
    const stall = this.stallUnder(event);
    const next = stall ? "click to select this turn" : "";
    this.tip.fill([...lines, this.picker.isHalf ? "click the other end, or Escape" : next]);
  }

  /** What the mouse shows of a cell, for the keyboard: beside what is selected, and to a screen reader. */
  private describeSelected(cells: readonly [number, number]): void {
    const { frame, app } = this;
    const { range } = app.state;
    if (!frame || !range) return;
    const lines = linesOfCells(app, frame, cells, null).filter(Boolean);
    this.announced.textContent = lines.join("; ");
    this.tip.fill(lines);
    const area = this.canvas.getBoundingClientRect();
    const last = selectedRects(frame, range).at(-1);
    if (last) this.tip.place(true, { clientX: area.left + last.x + last.width, clientY: area.bottom }, true);
  }

  rest(): void {
    this.tip.hide();
  }

  private key(event: KeyboardEvent): void {
    if (!this.frame || event.ctrlKey || event.metaKey || event.altKey) return;
    const { range } = this.app.state;
    if (event.key === "Escape") {
      if (!this.picker.isHalf && !range) return;
      this.picker.forget();
      this.tip.hide();
      this.announced.textContent = "";
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
    this.describeSelected([first, last]);
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
function tableOf(app: App, heat: Heat, unit: string): HTMLElement {
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
    const range = rangeOfCells(heat, column * heat.rows, (column + columns) * heat.rows - 1);
    const marks = marksAt(app, range).join("; ");
    rows.push([`${seconds(range[0])} s`, amount(sum, unit), amount(most, unit), marks]);
  }
  return plainTable("The heat map as a table", ["from", "sum", "hottest cell", "what stands out"], rows);
}
