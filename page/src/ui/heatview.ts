// The heat map with the event loop under it, and beside it the categories. Owns the mouse and the keys over it; the
// selection itself is in the state.

import { CATEGORY_COLORS, css, ramp, themed } from "../colors";
import { keyOf } from "../derive";
import { cellAt, type Heat, ROW_CHOICES, rangeOfCells } from "../heat";
import { culprit } from "../loops";
import { CATEGORIES, functionWords } from "../model";
import { amount, axisTime, clock, duration, percent, plural, seconds, share, shown } from "../text";
import type { App, Part } from "./app";
import { button, h, picker, plainTable, quiet, refill, sized, swatch } from "./dom";

const AXIS = 17;
const STRIP = 16;
const STRIP_GAP = 3;
const WIDEST = 90;
const LONGEST_LIST = 10;
/** A busy loop may be a healthy one: a few tell enough. */
const BUSY_LIST = 3;

/** Where things are in the canvas. */
interface Frame {
  left: number;
  columnWidth: number;
  rowHeight: number;
  bandHeight: number;
  height: number;
  heat: Heat;
}

export function heatPart(app: App): Part[] {
  const { profile, derived } = app;
  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    id: "heat",
    "aria-label": "Heat map: drag or use the arrow keys to select a range of time",
    "aria-describedby": "heat-table",
  });
  const hover = h("span", { class: "quiet", id: "heat-hover" });
  const options = h("span", { class: "end row" });
  const legend = h("span", { class: "legend quiet" });
  const stalls = h("div", { class: "stalls", id: "stalls" });
  const table = h("div", { class: "unseen", id: "heat-table" });
  const heatBox = h("div", { class: "heat" }, h("div", { class: "row" }, hover, options), canvas, stalls, table);
  const side = h("div", { class: "side" });
  const element = h("section", { class: "times", "aria-label": "Time" }, heatBox, side);
  const image = document.createElement("canvas");
  let frame: Frame | null = null;
  let imageKey = "";
  let anchor: number | null = null;
  let isDragging = false;
  let tableTimer = 0;

  const lane = () => profile.lanes[derived.lane(app.state)];

  const render = () => {
    refill(
      options,
      legend,
      app.state.bands === "all" &&
        picker(
          "rows",
          ROW_CHOICES.map(String),
          String(app.state.rows),
          (rows) => app.update({ rows: Number(rows) }),
          Object.fromEntries(ROW_CHOICES.map((count) => [String(count), count ? `${count} rows` : "rows: auto"])),
        ),
    );
    renderSide();
    if (!lane()?.timed) {
      canvas.classList.add("hidden");
      options.classList.add("hidden");
      hover.textContent = "This recording has no times: there is no heat map.";
      return;
    }
    const width = Math.max(200, Math.floor(heatBox.clientWidth));
    frame = frameOf(app, width);
    const key = `${width}|${app.isDark}|${window.devicePixelRatio}|${keyOf(app.state, "lane", "threads", "categories", "focus", "rows", "bands")}`;
    if (key !== imageKey) drawImage(app, image, frame);
    imageKey = key;
    drawHeat(app, canvas, image, frame, width);
    renderLegend(frame.heat);
    renderStalls();
    if (!isDragging && anchor === null) hover.textContent = selectionText();
    clearTimeout(tableTimer);
    tableTimer = window.setTimeout(renderTable, 250);
  };

  const selectionText = () => {
    const { columnNs, rows } = frame!.heat;
    return `${duration(columnNs / rows)} a cell, ${columnNs < 1e9 ? duration(columnNs) : `${columnNs / 1e9} s`} a column. Drag, or click twice, to select a range.`;
  };

  const renderLegend = (heat: Heat) => {
    const steps = Array.from({ length: 12 }, (_, step) => css(ramp((step + 0.5) / 12, app.isDark)));
    const bar = h("span", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${steps.join(",")})`;
    refill(legend, h("span", {}, "0"), bar, h("span", {}, `${amount(heat.max, lane().unit)} a cell`));
  };

  const renderSide = () => {
    const weights = derived.categoryShares(app.state);
    const { total } = derived.sumsOfAllCategories(app.state);
    const rows = CATEGORIES.map(([, label], byte) => ({ label, byte, part: share(weights[byte], total) })).filter(
      ({ part, byte }) => part > 0 || app.state.categories.includes(byte),
    );
    rows.sort((a, b) => b.part - a.part);
    const most = Math.max(...rows.map(({ part }) => part), 1e-9);
    const buttons = rows.map(({ label, byte, part }) => {
      const bar = h("span", { class: "bar" });
      bar.style.width = `${Math.max(1, (58 * part) / most)}px`;
      const isIn = app.state.categories.includes(byte);
      const click = () =>
        app.update({
          categories: isIn ? app.state.categories.filter((other) => other !== byte) : [...app.state.categories, byte],
          zoom: [],
        });
      const element = button("", `category-${byte}`, click, { title: `Only ${label}`, "aria-pressed": String(isIn) });
      element.append(
        swatch(css(themed(CATEGORY_COLORS[byte], app.isDark))),
        h("span", {}, label),
        bar,
        h("span", { class: "part" }, percent(part)),
      );
      return element;
    });
    const clear =
      app.state.categories.length > 0 &&
      button("show all", "category-all", () => app.update({ categories: [], zoom: [] }), { class: "end" });
    refill(
      side,
      h("h2", {}, "self time by category", clear),
      h("div", { class: "list", role: "group", "aria-label": "Categories" }, ...buttons),
    );
  };

  const renderStalls = () => {
    const loops = derived.loops(app.state);
    const list = loops.longest.slice(0, loops.isWatched ? LONGEST_LIST : BUSY_LIST);
    const key = `${loops.isWatched}|${list.map(({ start, thread }) => `${start}/${thread}`)}`;
    if (stalls.dataset.shown === key) return;
    stalls.dataset.shown = key;
    const what = loops.isWatched
      ? list.length > 0
        ? `the loop was blocked ${plural(loops.longest.length, "time")}`
        : "the loop was never blocked for 50 ms or more"
      : list.length > 0
        ? "turns were not counted; busy without a pause for at most"
        : "turns of the event loop were not counted";
    const buttons = list.map((stretch, index) => {
      const id = culprit(profile, stretch, derived.lane(app.state));
      const words = `${duration(stretch.end - stretch.start)} at ${seconds(stretch.start)} s${["", ", waiting", ", waiting for a CPU"][stretch.spent]}${id < 0 ? "" : ` in ${shown(functionWords(profile, id))}`}`;
      const select = () =>
        app.update({ range: [Math.floor(stretch.start), Math.ceil(stretch.end)], threads: [stretch.thread], zoom: [] });
      return button(words, `stall-${index}`, select, { class: "link" });
    });
    refill(stalls, quiet(what), ...buttons);
  };

  const renderTable = () => {
    if (!frame) return;
    const { heat } = frame;
    const { unit } = lane();
    const step = Math.max(1, Math.ceil(heat.columns / 120));
    const rows: string[][] = [];
    for (let column = 0; column < heat.columns; column += step) {
      let [sum, most] = [0, 0];
      for (let band = 0; band < heat.bands; band++) {
        const first = (band * heat.columns + column) * heat.rows;
        for (const cell of heat.cells.subarray(first, first + heat.rows * Math.min(step, heat.columns - column)))
          [sum, most] = [sum + cell, Math.max(most, cell)];
      }
      rows.push([`${seconds(column * heat.columnNs)} s`, amount(sum, unit), amount(most, unit)]);
    }
    table.replaceChildren(plainTable("The heat map as a table", ["from", "sum", "hottest cell"], rows));
  };

  /** The cell under the mouse, counted from the start; in the strip under it, any part of a column's time. */
  const cellUnder = (event: PointerEvent): number => {
    const { left, columnWidth, bandHeight, rowHeight, heat } = frame!;
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - left, event.clientY - box.top];
    const column = Math.min(heat.columns - 1, Math.max(0, Math.floor(x / columnWidth)));
    const isBelow = y >= bandHeight * heat.bands;
    const inBand = bandHeight - 1 - (Math.max(0, y) % bandHeight);
    const row = isBelow ? Math.floor((x / columnWidth - column) * heat.rows) : Math.floor(inBand / rowHeight);
    return column * heat.rows + Math.min(heat.rows - 1, Math.max(0, row));
  };

  const select = (a: number, b: number, isStep: boolean) =>
    app.update({ range: rangeOfCells(frame!.heat, a, b), zoom: [] }, isStep);

  const tell = (cell: number) => {
    const [from, to] = rangeOfCells(frame!.heat, cell, cell);
    const time = profile.startMs === null ? "" : ` · ${clock(profile.startMs, from)} UTC`;
    const { heat } = frame!;
    let weight = 0;
    for (let band = 0; band < heat.bands; band++) weight += heat.cells[band * heat.columns * heat.rows + cell] ?? 0;
    hover.textContent = `${seconds(from)}–${seconds(to)} s${time} · ${amount(weight, lane().unit)}${anchor !== null && !isDragging ? " · click the other end, or Escape" : ""}`;
  };

  let pressed = -1;
  let start: State["range"] = null;
  type State = App["state"];
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !frame) return;
    canvas.setPointerCapture(event.pointerId);
    pressed = cellUnder(event);
    isDragging = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!frame) return;
    const cell = cellUnder(event);
    if (pressed >= 0 && (isDragging || cell !== pressed)) {
      if (!isDragging) [isDragging, start, anchor] = [true, app.state.range, null];
      select(pressed, cell, false);
    } else if (anchor !== null && pressed < 0) select(anchor, cell, false);
    tell(cell);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (pressed < 0 || !frame) return;
    const cell = cellUnder(event);
    if (isDragging) settle();
    else if (anchor === null) {
      start = app.state.range;
      anchor = cell;
      select(cell, cell, false);
    } else {
      select(anchor, cell, false);
      settle();
    }
    [pressed, isDragging] = [-1, false];
    tell(cell);
  });
  canvas.addEventListener("pointercancel", () => ([pressed, isDragging, anchor] = [-1, false, null]));
  canvas.addEventListener(
    "pointerleave",
    () => pressed < 0 && anchor === null && frame && (hover.textContent = selectionText()),
  );
  /** The moves were no steps of their own; their end is one. */
  const settle = () => {
    anchor = null;
    const { range } = app.state;
    app.update({ range: start }, false);
    app.update({ range });
  };

  canvas.addEventListener("keydown", (event) => {
    if (!frame || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (anchor === null && !app.state.range) return;
      anchor = null;
      event.preventDefault();
      return app.update({ range: null });
    }
    const { heat } = frame;
    const last = heat.columns * heat.rows - 1;
    const steps: Record<string, number> = {
      ArrowRight: heat.rows,
      ArrowLeft: -heat.rows,
      ArrowUp: 1,
      ArrowDown: -1,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    anchor = null;
    const { range } = app.state;
    if (!range) return select(0, heat.rows - 1, true);
    let [first, end] = [cellAt(heat, range[0]), cellAt(heat, range[1] - 1)];
    if (event.shiftKey) end = Math.max(first, Math.min(last, end + step));
    else {
      const move = Math.max(-first, Math.min(last - end, step));
      [first, end] = [first + move, end + move];
    }
    select(first, end, true);
  });
  return [{ element, render }];
}

function frameOf(app: App, width: number): Frame {
  const bands = app.derived.bands(app.state);
  const left = bands.length > 1 ? 150 : 52;
  const heat = app.derived.heat(app.state, width - left - 2);
  const columnWidth = Math.min(WIDEST, (width - left - 2) / heat.columns);
  const rowHeight = heat.bands > 1 ? Math.round(30 / heat.rows) : Math.max(2, Math.round(150 / heat.rows));
  const bandHeight = heat.rows * rowHeight + (heat.bands > 1 ? 2 : 0);
  const height = bandHeight * heat.bands + AXIS + STRIP_GAP + STRIP;
  return { left, columnWidth: Math.max(1, Math.floor(columnWidth)), rowHeight, bandHeight, height, heat };
}

/** The cells alone: drawn once, not while dragging. */
function drawImage(app: App, image: HTMLCanvasElement, frame: Frame): void {
  const { heat, columnWidth, rowHeight, bandHeight } = frame;
  const context = sized(image, Math.ceil(heat.columns * columnWidth), bandHeight * heat.bands);
  const colors = Array.from({ length: 65 }, (_, step) => css(ramp(step / 64, app.isDark)));
  const gap = columnWidth >= 6 ? 1 : 0;
  const styles = getComputedStyle(document.documentElement);
  context.fillStyle = styles.getPropertyValue("--panel");
  for (let band = 0; band < heat.bands; band++) {
    context.fillRect(0, band * bandHeight, heat.columns * columnWidth, heat.rows * rowHeight);
  }
  for (let at = 0; at < heat.cells.length; at++) {
    if (heat.cells[at] === 0) continue;
    const row = at % heat.rows;
    const column = Math.floor(at / heat.rows) % heat.columns;
    const band = Math.floor(at / (heat.rows * heat.columns));
    context.fillStyle = colors[Math.ceil((64 * heat.cells[at]) / heat.max)];
    context.fillRect(
      column * columnWidth,
      band * bandHeight + (heat.rows - 1 - row) * rowHeight,
      columnWidth - gap,
      rowHeight - (rowHeight > 3 ? 1 : 0),
    );
  }
}

function drawHeat(app: App, canvas: HTMLCanvasElement, image: HTMLCanvasElement, frame: Frame, width: number): void {
  const { heat, left, columnWidth, bandHeight, height } = frame;
  const context = sized(canvas, width, height);
  const styles = getComputedStyle(document.documentElement);
  const color = (name: string) => styles.getPropertyValue(name);
  const [wide, high] = [heat.columns * columnWidth, bandHeight * heat.bands];
  const draw = () => context.drawImage(image, left, 0, Math.ceil(wide), high);
  const { range } = app.state;
  context.globalAlpha = range ? 0.32 : 1;
  draw();
  context.globalAlpha = 1;
  if (range) {
    for (const [x, y, w, hh] of selectedRects(frame, range)) {
      context.save();
      context.beginPath();
      context.rect(x, y, w, hh);
      context.clip();
      context.fillStyle = color("--page");
      context.fillRect(x, y, w, hh);
      draw();
      context.restore();
      context.strokeStyle = color("--accent");
      context.lineWidth = 1.5;
      context.strokeRect(x + 0.5, y + 0.5, w - 1, Math.max(1, hh - 1));
    }
  }
  drawAxis(app, context, frame, high, width, color);
  drawStrip(app, context, frame, high + AXIS + STRIP_GAP, color);
}

/** A range is at most three rectangles in a band: the rest of its first column, whole columns, the start of its last. */
function selectedRects(
  { heat, left, columnWidth, rowHeight, bandHeight }: Frame,
  [from, to]: readonly [number, number],
): [number, number, number, number][] {
  const cellNs = heat.columnNs / heat.rows;
  const [first, end] = [
    Math.max(0, Math.round(from / cellNs)),
    Math.min(heat.columns * heat.rows, Math.max(Math.round(from / cellNs) + 1, Math.round(to / cellNs))),
  ];
  const rects: [number, number, number, number][] = [];
  for (let band = 0; band < heat.bands; band++) {
    let at = first;
    while (at < end) {
      const column = Math.floor(at / heat.rows);
      const [low, isWhole] = [at % heat.rows, at % heat.rows === 0 && end - at >= heat.rows];
      const columns = isWhole ? Math.floor((end - at) / heat.rows) : 1;
      const high = isWhole ? heat.rows : Math.min(heat.rows, low + end - at);
      rects.push([
        left + column * columnWidth,
        band * bandHeight + (heat.rows - high) * rowHeight,
        columns * columnWidth,
        (high - low) * rowHeight,
      ]);
      at += isWhole ? columns * heat.rows : high - low;
    }
  }
  return rects;
}

function drawAxis(
  app: App,
  context: CanvasRenderingContext2D,
  { heat, left, columnWidth, bandHeight, rowHeight }: Frame,
  top: number,
  width: number,
  color: (name: string) => string,
): void {
  const { startMs } = app.profile;
  context.font = getFont(11);
  context.fillStyle = color("--quiet");
  context.textBaseline = "top";
  const room = startMs === null ? 50 : 120;
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((count) => count * columnWidth >= room) ?? 1000;
  context.textAlign = "left";
  for (let column = 0; column < heat.columns; column += every) {
    const x = left + column * columnWidth;
    const time = axisTime((column * heat.columnNs) / 1e9, app.profile.durationNs / 1e9);
    context.fillRect(x, top, 1, 4);
    const both = startMs === null ? time : `${time} · ${clock(startMs, column * heat.columnNs)}`;
    const fits = [both, time].find((text) => x + 3 + context.measureText(text).width <= width);
    if (fits) context.fillText(fits, x + 3, top + 3);
  }
  if (heat.bands > 1) {
    context.textBaseline = "middle";
    app.derived
      .bands(app.state)
      .forEach(({ label }, band) =>
        context.fillText(fitted(context, shown(label), left - 8), 0, band * bandHeight + bandHeight / 2),
      );
  } else {
    context.textAlign = "right";
    context.textBaseline = "top";
    const unit =
      heat.columnNs <= 1e9
        ? (part: number) => `${Number(((part * heat.columnNs) / 1e6).toPrecision(3))} ms`
        : (part: number) => `${Number(((part * heat.columnNs) / 1e9).toPrecision(2))} s`;
    context.fillText(unit(1), left - 4, 0);
    context.textBaseline = "middle";
    context.fillText(unit(0.5), left - 4, (heat.rows * rowHeight) / 2);
    context.textBaseline = "bottom";
    context.fillText("0", left - 4, heat.rows * rowHeight);
  }
}

/** Turns of the event loop: quick ones as a line, long ones as blocks whose height tells how long they took. */
function drawStrip(
  app: App,
  context: CanvasRenderingContext2D,
  { heat, left, columnWidth }: Frame,
  top: number,
  color: (name: string) => string,
): void {
  const scale = columnWidth / heat.columnNs;
  const loops = app.derived.loops(app.state);
  if (!loops.isWatched && loops.longest.length === 0) return;
  context.font = getFont(11);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = color("--quiet");
  context.fillText("loop", left - 4, top + STRIP / 2);
  context.fillStyle = color("--line");
  context.fillRect(left, top + STRIP - 1, heat.columns * columnWidth, 1);
  const threads = app.derived.selection(app.state).threads;
  if (loops.isWatched) {
    context.fillStyle = color("--quiet");
    for (const { thread, start, end, isLong } of app.profile.turns) {
      if (isLong || (threads && !threads[thread])) continue;
      context.fillRect(left + start * scale, top + STRIP - 3, Math.max(1, (end - start) * scale), 2);
    }
  }
  context.fillStyle = loops.isWatched ? css(themed(CATEGORY_COLORS[9], app.isDark)) : color("--bar");
  for (const { start, end } of loops.longest) {
    const high = Math.min(STRIP - 1, 3 + 4 * Math.log10(Math.max(1, (end - start) / 50e6)) * 2.5);
    context.fillRect(left + start * scale, top + STRIP - 1 - high, Math.max(2, (end - start) * scale), high);
  }
}

export function getFont(size: number): string {
  return `${size}px ${getComputedStyle(document.body).fontFamily}`;
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  let cut = text;
  while (cut.length > 1 && context.measureText(cut).width > width) cut = `${[...cut].slice(0, -2).join("")}…`;
  return cut;
}
