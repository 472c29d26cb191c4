// Boxes on the canvas: those in sight, each with as much of its name as fits.

import { entryOf } from "../../compute/lens/virtual.ts";
import type { Picture, ShownBox } from "../../compute/picture.ts";
import type { App } from "../app.ts";
import { fontOf, sized, themeColors } from "../canvas.ts";
import { css, type Rgb, themed } from "../colors.ts";
import { leastNameOfBox, nameOfBox, shortNameOf } from "../words.ts";
import { colorOf, matchesOf } from "./color.ts";

/** The height of a row of boxes, with the line between two rows. */
export const ROW = 18;
const PADDING = 3;
/** A narrower box has no name. */
const NARROWEST_NAME = 22;
const LONGEST_NAME = 400;
/** How much is left of the colour of what was not searched for. */
export const FAINT = 0.3;

/** What of a picture is in sight, and which of its boxes have a frame. */
export interface Sight {
  picture: Picture;
  width: number;
  height: number;
  scrollTop: number;
  hovered: ShownBox | null;
  cursor: ShownBox | null;
}

export class BoxPainter {
  private readonly app: App;
  /** The width of each function's name. */
  private readonly nameWidths = new Map<string, number>();

  constructor(app: App) {
    this.app = app;
  }

  paint(canvas: HTMLCanvasElement, sight: Sight): void {
    const context = sized(canvas, sight.width, sight.height);
    context.font = fontOf(12);
    context.textBaseline = "middle";
    this.paintBoxes(context, sight);
    this.paintChosen(context, sight);
    this.paintFrames(context, sight);
  }

  /** The function that the reader came for, wherever it is. */
  private paintChosen(context: CanvasRenderingContext2D, { picture, scrollTop }: Sight): void {
    const { profile, state } = this.app;
    const { function: id, view } = state;
    if (id === null || view === "sandwich") return;
    // A root may stand for it.
    const isOf = (box: ShownBox) => box.function === id || entryOf(profile, box.function)?.function === id;
    context.strokeStyle = themeColors()("--text");
    context.lineWidth = 1.5;
    for (const box of picture.rows.flat().filter((one) => isOf(one) && one.width >= 3)) {
      context.strokeRect(box.x + 0.75, box.row * ROW - scrollTop + 0.75, box.width - 2.5, ROW - 2.5);
    }
  }

  private paintBoxes(context: CanvasRenderingContext2D, { picture, height, scrollTop }: Sight): void {
    const { app } = this;
    const matches = matchesOf(app.derived, app.state);
    const fillOf = this.fills();
    const quiet = themeColors()("--quiet");
    const first = Math.floor(scrollTop / ROW);
    const end = Math.min(picture.rows.length, Math.ceil((scrollTop + height) / ROW));
    for (let row = first; row < end; row++) {
      const y = row * ROW - scrollTop;
      for (const box of picture.rows[row]) {
        const isFound = matches?.(box) ?? false;
        const isFaint = matches !== null && !isFound;
        context.fillStyle = fillOf(colorOf(app, box, isFound));
        context.globalAlpha = isFaint ? FAINT : 1;
        context.fillRect(box.x, y, Math.max(0.5, box.width - (box.width > 2 ? 1 : 0)), ROW - 1);
        context.globalAlpha = 1;
        if (box.width >= NARROWEST_NAME) this.paintName(context, box, y, isFaint ? quiet : "#000");
      }
    }
  }

  private paintName(context: CanvasRenderingContext2D, box: ShownBox, y: number, color: string): void {
    const text = this.fit(context, box, box.width - 2 * PADDING);
    if (!text) return;
    context.fillStyle = color;
    context.fillText(text, box.x + PADDING, y + ROW / 2);
  }

  /** Each colour becomes a text once: a picture has thousands of boxes and few colours. */
  private fills(): (color: Rgb) => string {
    const texts = new Map<Rgb, string>();
    return (color) => {
      const known = texts.get(color);
      if (known) return known;
      const text = css(themed(color, this.app.isDark));
      texts.set(color, text);
      return text;
    };
  }

  /** As much of a name as there is room for: what comes before the function is left out first. Whole characters only. */
  private fit(context: CanvasRenderingContext2D, box: ShownBox, room: number): string {
    const { profile } = this.app;
    const whole = nameOfBox(profile, box, shortNameOf).slice(0, LONGEST_NAME);
    if (this.widthOf(context, whole) <= room) return whole;
    const name = leastNameOfBox(profile, box).slice(0, LONGEST_NAME);
    const full = this.widthOf(context, name);
    if (full <= room) return name;
    const letters = [...name];
    const start = (count: number) => `${letters.slice(0, count).join("")}…`;
    let count = Math.floor((letters.length * room) / full);
    while (count > 1 && context.measureText(start(count)).width > room) count--;
    return count > 1 ? start(count) : "";
  }

  private widthOf(context: CanvasRenderingContext2D, name: string): number {
    const width = this.nameWidths.get(name) ?? context.measureText(name).width;
    this.nameWidths.set(name, width);
    return width;
  }

  private paintFrames(context: CanvasRenderingContext2D, { picture, scrollTop, hovered, cursor }: Sight): void {
    const color = themeColors();
    const isSandwich = this.app.state.view === "sandwich";
    const middle = isSandwich ? (picture.rows[picture.home]?.[0] ?? null) : null;
    const frames = [
      [middle, "--text"],
      [hovered, "--text"],
      [cursor, "--accent"],
    ] as const;
    context.lineWidth = 2;
    for (const [box, name] of frames) {
      if (!box) continue;
      context.strokeStyle = color(name);
      context.strokeRect(box.x + 1, box.row * ROW - scrollTop + 1, Math.max(2, box.width - 3), ROW - 3);
    }
  }
}
