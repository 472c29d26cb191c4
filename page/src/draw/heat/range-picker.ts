// A range of the heat map by mouse: a drag, or two clicks. While the mouse moves the page follows, and none of that is
// a step in the history; its end is one.

import type { Range } from "../../select/selection.ts";
import type { App } from "../app.ts";

/** What the mouse is over. */
export interface Cells {
  /** Null before anything is drawn. */
  cellUnder(event: PointerEvent): number | null;
  select(first: number, last: number, isStep: boolean): void;
  /** Whether a click there is about something else than cells, and has been answered. */
  answer(event: PointerEvent): boolean;
  /** Shows what is in a cell. */
  describe(cell: number, event: PointerEvent): void;
  /** The mouse is elsewhere. */
  rest(): void;
}

export class RangePicker {
  private readonly app: App;
  private readonly cells: Cells;
  /** The cell of the first of two clicks. */
  private anchor: number | null = null;
  /** The cell in which the button went down. */
  private pressed: number | null = null;
  private isDragging = false;
  /** The range before all this. */
  private before: Range | null = null;

  constructor(app: App, canvas: HTMLCanvasElement, cells: Cells) {
    this.app = app;
    this.cells = cells;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.pressed = cells.cellUnder(event);
      this.isDragging = false;
    });
    canvas.addEventListener("pointermove", (event) => this.move(cells.cellUnder(event), event));
    canvas.addEventListener("pointerup", (event) => this.release(cells.cellUnder(event), event));
    canvas.addEventListener("pointercancel", () => {
      this.pressed = null;
      this.isDragging = false;
      this.forget();
    });
    canvas.addEventListener("pointerleave", () => {
      if (this.pressed === null && this.anchor === null) cells.rest();
    });
  }

  /** Whether a first click waits for its second. */
  get isHalf(): boolean {
    return this.anchor !== null && !this.isDragging;
  }

  /** Forgets a first click. */
  forget(): void {
    this.anchor = null;
  }

  private move(cell: number | null, event: PointerEvent): void {
    if (cell === null) return;
    const { pressed, anchor } = this;
    if (pressed !== null && (this.isDragging || cell !== pressed)) {
      if (!this.isDragging) this.before = this.app.state.range;
      this.isDragging = true;
      this.anchor = null;
      this.cells.select(pressed, cell, false);
    } else if (anchor !== null && pressed === null) {
      this.cells.select(anchor, cell, false);
    }
    this.cells.describe(cell, event);
  }

  private release(cell: number | null, event: PointerEvent): void {
    if (this.pressed === null || cell === null) return;
    if (this.isDragging) this.settle();
    else if (this.anchor === null && !this.cells.answer(event)) {
      this.before = this.app.state.range;
      this.anchor = cell;
      this.cells.select(cell, cell, false);
    } else if (this.anchor !== null) {
      this.cells.select(this.anchor, cell, false);
      this.settle();
    }
    this.pressed = null;
    this.isDragging = false;
    this.cells.describe(cell, event);
  }

  private settle(): void {
    this.anchor = null;
    const { range } = this.app.state;
    this.app.update({ range: this.before }, false);
    this.app.update({ range });
  }
}
