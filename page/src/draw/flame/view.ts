// The big picture: boxes on a canvas that scrolls, or one of the tables. Owns the mouse and the keys over the canvas,
// which box the keyboard is at and which one the mouse is over.

import { pathOf } from "../../compute/flame.ts";
import { functionOfBox, kindOfBox } from "../../compute/lens/virtual.ts";
import { type Picture, pathToMatch, pictureOf, type ShownBox, timeZoomed } from "../../compute/picture.ts";
import { NONE, UNKNOWN } from "../../data/model.ts";
import { isNarrowed, NARROWED_BY_NOTHING } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { button, h, refill } from "../dom.ts";
import { editorAddress } from "../editor.ts";
import { panelPart } from "../panel/panel.ts";
import { Size } from "../size.ts";
import { sourceView } from "../tables/source.ts";
import { SourceTexts } from "../tables/source-text.ts";
import { topTable } from "../tables/top.ts";
import { sourceOf } from "../words.ts";
import { renderTimeAxis } from "./axis.ts";
import { matchesOf, renderLegend } from "./color.ts";
import { Menu } from "./menu.ts";
import { homeBox, neighbour, nextMatch, sameBox } from "./moves.ts";
import { BoxPainter, ROW } from "./paint.ts";
import { svgOf } from "./svg.ts";
import { Tip } from "./tip.ts";
import { linesOfBox, renderHalves, tableOfBoxes } from "./words.ts";

const NOTHING: Picture = { rows: [], root: null, halves: [], home: 0, note: "" };
/** The table beside the picture is made when the reader has stopped moving. */
const SETTLED_MS = 250;
/** A step of the wheel makes the time that is shown so many times as long. */
const WHEEL = 1.25;

export function flameParts(app: App): Part[] {
  const texts = new SourceTexts(app);
  const view = new FlameView(app, texts);
  const panel = panelPart(app, texts, (id, under) => view.openMenuOf(id, under));
  app.step = (direction) => view.step(direction);
  app.svg = () => view.svg();
  return [
    {
      element: h("div", { class: "stage" }, view.element, panel.element),
      render: () => {
        // The picture has the room that the panel leaves.
        panel.render();
        view.render();
      },
    },
    { element: view.foot, render: () => {} },
  ];
}

class FlameView {
  readonly element: HTMLElement;
  readonly foot: HTMLElement;
  private readonly app: App;
  private readonly canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    id: "flame",
    "aria-label": "Flame graph: arrow keys go from box to box, Enter zooms or opens a package, o opens a menu",
    "aria-describedby": "current",
  });
  /** As high as the rows that are not in sight, so that there is something to scroll. */
  private readonly space = h("div");
  private readonly scroll = h("div", { class: "scroll" }, this.canvas, this.space);
  private readonly note = h("div", { class: "note hidden" });
  /** Which picture is of before, and which of after. */
  private readonly halves = h("div", { class: "halves hidden", id: "halves" });
  /** The times of the order of time; the table has them for each box. */
  private readonly axis = h("div", { class: "time-axis hidden", id: "time-axis", "aria-hidden": "true" });
  private readonly table = h("div", { class: "unseen", id: "flame-table" });
  private readonly current = h("span", { class: "current", id: "current", role: "status" });
  private readonly legend = h("span", { class: "legend end" });
  private readonly tip = new Tip();
  private readonly menu: Menu;
  private readonly painter: BoxPainter;
  /** The views that are tables. */
  private readonly tables: { top: Part; source: Part };

  private picture = NOTHING;
  private cursor: ShownBox | null = null;
  private hovered: ShownBox | null = null;
  private width = 0;
  private readonly size: Size;
  /** How far the picture is scrolled, as the browser reported last. */
  private scrolled = 0;
  /** What took room from the picture when its size was asked for. */
  private lastAround = "";
  private lastHome = "";
  private lastSearch = "";
  private tableTimer = 0;

  constructor(app: App, texts: SourceTexts) {
    this.app = app;
    this.painter = new BoxPainter(app);
    this.menu = new Menu(app);
    this.tables = { top: topTable(app), source: sourceView(app, texts) };
    const { note, halves, axis, scroll, tables, table, tip, menu } = this;
    const pictures = [note, halves, axis, scroll, tables.top.element, tables.source.element];
    const around = [table, tip.element, menu.element];
    this.element = h("section", { class: "picture", "aria-label": "Picture" }, ...pictures, ...around);
    this.foot = h("footer", { class: "foot" }, this.current, this.legend);
    this.size = new Size(scroll, () => app.schedule());
    this.listen();
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("click", ({ clientX, clientY }) => {
      const box = this.boxAt(clientX, clientY);
      if (box) this.zoomTo(box);
    });
    canvas.addEventListener("contextmenu", (event) => {
      const box = this.boxAt(event.clientX, event.clientY);
      if (!box) return;
      event.preventDefault();
      this.openMenu(box, event.clientX, event.clientY);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("focus", () => {
      if (!this.cursor && canvas.matches(":focus-visible")) this.moveTo(homeBox(this.picture));
    });
    this.scroll.addEventListener("scroll", () => {
      this.scrolled = this.scroll.scrollTop;
      this.leave();
      this.paint();
    });
  }

  render(): void {
    const { view } = this.app.state;
    const table = view === "top" || view === "source" ? this.tables[view] : null;
    for (const other of Object.values(this.tables)) other.element.classList.toggle("hidden", other !== table);
    this.menu.hide();
    if (table) this.renderTable(table);
    else this.renderPicture();
  }

  private renderTable(table: Part): void {
    for (const element of [this.scroll, this.note, this.halves, this.axis]) element.classList.add("hidden");
    this.current.textContent = "";
    table.render();
    this.legend.replaceChildren();
  }

  private renderPicture(): void {
    const { app, scroll, note } = this;
    if (scroll.classList.contains("hidden")) {
      scroll.classList.remove("hidden");
      this.scrolled = scroll.scrollTop;
    }
    this.settleSize();
    this.width = Math.max(100, this.size.width);
    this.picture = pictureOf(app.derived, app.state, this.width);
    renderHalves(app, this.picture, this.halves);
    renderTimeAxis(app, this.axis, this.width);
    note.classList.toggle("hidden", this.picture.note === "");
    scroll.classList.toggle("hidden", this.picture.note !== "");
    refill(note, this.picture.note, this.picture.note !== "" && isNarrowed(app.state) && this.showAll());
    this.settleSize();
    this.scrollHome();
    this.hovered = null;
    this.cursor = this.cursor && sameBox(this.picture, this.cursor);
    this.paint();
    this.describe(this.cursor);
    this.showMatch();
    renderLegend(app, this.picture, this.legend);
    clearTimeout(this.tableTimer);
    const fill = () => {
      // Another view may stand in this one's place by now, with other rows behind its ids.
      if (this.element.isConnected) this.table.replaceChildren(tableOfBoxes(app, this.picture.rows.flat()));
    };
    this.tableTimer = window.setTimeout(fill, SETTLED_MS);
  }

  /** What stands around the picture may have come or gone in this frame: then its size is asked for again. */
  private settleSize(): void {
    const beside = this.element.parentElement?.children ?? [];
    const around = [...beside, this.note, this.halves, this.axis];
    const shown = around.map((element) => !element.classList.contains("hidden")).join();
    if (shown !== this.lastAround) this.size.forget();
    this.lastAround = shown;
  }

  /** The way back from a selection that has nothing. */
  private showAll(): HTMLElement {
    return button("show all", "show-all", () => this.app.update(NARROWED_BY_NOTHING), {
      title: "All samples of the threads",
    });
  }

  /** In another picture the eye starts at its home row; in the same one nothing moves. */
  private scrollHome(): void {
    const { view, isUpward, zoom, function: id } = this.app.state;
    const height = Math.max(1, this.size.height);
    const hiddenHeight = Math.max(0, this.picture.rows.length * ROW - height);
    this.space.style.height = `${hiddenHeight}px`;
    // As the browser does, which says so too late for this frame.
    this.scrolled = Math.min(this.scrolled, hiddenHeight);
    const home = `${view}|${isUpward}|${zoom}|${id}`;
    const above = view === "sandwich" ? height / 2 : 0;
    if (home !== this.lastHome) this.scrollTo(Math.max(0, this.picture.home * ROW - above));
    this.lastHome = home;
  }

  /** As far as there is something to scroll to. */
  private scrollTo(top: number): void {
    this.scroll.scrollTop = top;
    this.scrolled = this.scroll.scrollTop;
  }

  private paint(): void {
    const { picture, width, hovered, cursor, scrolled: scrollTop } = this;
    const height = Math.max(1, this.size.height);
    this.painter.paint(this.canvas, { picture, width, height, scrollTop, hovered, cursor });
  }

  /** The line under the picture. */
  private describe(box: ShownBox | null): void {
    const words = box ? linesOfBox(this.app, box).filter(Boolean).join("   ") : "";
    this.current.textContent = words;
    this.current.title = words;
    const source = box === null || box.function === NONE ? null : sourceOf(this.app.profile, box.function);
    const column = box ? this.app.profile.functions.column[box.function] : 1;
    const address = source && editorAddress(this.app, ...source, column);
    if (address) this.current.append("   ", h("a", { href: address }, "open in the editor"));
  }

  private boxAt(clientX: number, clientY: number): ShownBox | null {
    const area = this.canvas.getBoundingClientRect();
    const row = this.picture.rows[Math.floor((clientY - area.top + this.scrolled) / ROW)] ?? [];
    const x = clientX - area.left;
    return row.find((box) => x >= box.x && x < box.x + Math.max(1, box.width)) ?? null;
  }

  private hover(event: PointerEvent): void {
    const box = this.boxAt(event.clientX, event.clientY);
    if (box !== this.hovered) {
      this.hovered = box;
      this.paint();
      if (box) this.tip.fill(linesOfBox(this.app, box));
      this.describe(box ?? this.cursor);
    }
    this.tip.place(box !== null && !this.menu.isOpen, event);
  }

  private leave(): void {
    this.tip.hide();
    if (!this.hovered) return;
    this.hovered = null;
    this.paint();
    this.describe(this.cursor);
  }

  /**
   * Selects the function. What fills the picture already is left again; in the order of time a box is a range. A run of
   * package frames opens: there is nothing in it to zoom to.
   */
  private zoomTo(box: ShownBox): void {
    const { app } = this;
    this.cursor = box;
    this.tip.hide();
    const id = functionOfBox(app.profile, box.function);
    const chosen = id === null ? {} : { function: id, isPanel: true };
    if (!box.span && kindOfBox(app.profile, box.function) === "package") {
      app.openPackage(app.profile.functions.package[box.function]);
    } else if (box.span) {
      const start = Math.floor(box.span.start);
      app.update({ ...chosen, range: [start, Math.max(start + 1, Math.ceil(box.span.end))] });
    } else if (app.state.view === "sandwich") {
      app.update({ function: box.function, ...chosen });
    } else if (box.node) {
      const path = pathOf(box.node);
      const isRoot = path.length === app.state.zoom.length;
      app.update({ ...chosen, zoom: isRoot ? path.slice(0, -1) : path });
    }
  }

  private openMenu(box: ShownBox, x: number, y: number): void {
    if (box.function === NONE) return;
    this.cursor = box;
    this.tip.hide();
    this.menu.open(box, x, y, () => this.canvas.focus({ preventScroll: true }));
    this.paint();
  }

  /** The same menu of a function, under a button: a finger has no other way to it. */
  openMenuOf(id: number, under: HTMLElement): void {
    const { left, bottom } = under.getBoundingClientRect();
    const { frames } = this.app.profile;
    const category = frames.category[frames.function.indexOf(id)] ?? UNKNOWN;
    this.menu.open({ function: id, category, node: null }, left, bottom, () => under.focus());
  }

  private moveTo(box: ShownBox | null): void {
    if (!box) return;
    this.cursor = box;
    const [y, height] = [box.row * ROW, this.size.height];
    if (y < this.scrolled) this.scrollTo(y);
    else if (y + ROW > this.scrolled + height) this.scrollTo(y + ROW - height);
    this.paint();
    this.describe(box);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = this.cursor ?? homeBox(this.picture);
    const action = box && this.actionOf(event.key, box);
    if (!action) return;
    event.preventDefault();
    action();
  }

  private actionOf(key: string, box: ShownBox): (() => void) | undefined {
    const { app } = this;
    if (key.startsWith("Arrow")) return () => this.moveTo(this.cursor ? neighbour(this.picture, box, key) : box);
    const actions: Record<string, () => void> = {
      Enter: () => this.zoomTo(box),
      " ": () => this.zoomTo(box),
      Backspace: () => app.update({ zoom: app.state.zoom.slice(0, -1) }),
      s: () => this.openSource(box),
      o: () => this.openMenuUnder(box),
      ContextMenu: () => this.openMenuUnder(box),
      ...(app.state.view === "time" ? this.zoomKeys(box) : {}),
    };
    return actions[key];
  }

  /** In the order of time, as the wheel does: around the box. */
  private zoomKeys(box: ShownBox): Record<string, () => void> {
    const part = Math.min(1, Math.max(0, (box.x + box.width / 2) / this.width));
    const [nearer, farther] = [() => this.zoomTime(1 / WHEEL, part), () => this.zoomTime(WHEEL, part)];
    return { "+": nearer, "=": nearer, "-": farther };
  }

  private zoomTime(factor: number, part: number): void {
    const { app } = this;
    app.update({ range: timeZoomed(app.derived, app.state, factor, part) }, false);
  }

  private openSource(box: ShownBox): void {
    const source = box.function === NONE ? null : sourceOf(this.app.profile, box.function);
    if (source) this.app.update({ view: "source", source });
  }

  private openMenuUnder(box: ShownBox): void {
    const area = this.canvas.getBoundingClientRect();
    const y = area.top + (box.row + 1) * ROW - this.scrolled;
    this.openMenu(box, area.left + Math.max(0, box.x) + 10, y);
  }

  /** In the order of time the wheel zooms, around the mouse; with Shift it scrolls. */
  private wheel(event: WheelEvent): void {
    const { app } = this;
    if (app.state.view !== "time" || event.deltaY === 0 || event.shiftKey || event.ctrlKey) return;
    event.preventDefault();
    const part = (event.clientX - this.canvas.getBoundingClientRect().left) / this.width;
    this.zoomTime(event.deltaY > 0 ? WHEEL : 1 / WHEEL, part);
  }

  /** Where the picture has no match and the recording has one, the picture goes there. */
  step(direction: number): void {
    const { derived, state } = this.app;
    const isFound = matchesOf(derived, state);
    const next = isFound && nextMatch(this.picture, isFound, this.cursor, direction);
    if (next) this.moveTo(next);
    else if (isFound && state.view === "flame") this.app.update({ zoom: pathToMatch(derived, state) ?? state.zoom });
  }

  /** What was just typed comes into sight. */
  private showMatch(): void {
    const { derived, state } = this.app;
    if (state.search === this.lastSearch) return;
    this.lastSearch = state.search;
    const isFound = matchesOf(derived, state);
    if (isFound) this.moveTo(nextMatch(this.picture, isFound, null, 1));
  }

  svg(): string {
    return svgOf(this.app);
  }
}
