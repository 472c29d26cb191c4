// Canvases: as sharp as the screen, in the font and the colours of the page.

import { h } from "./dom.ts";

/** A canvas of so many CSS pixels, sharp on every screen; what is drawn is in CSS pixels. */
export function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const scale = window.devicePixelRatio || 1;
  const [columns, rows] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no canvas");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

let fontFamily = "";

export function fontOf(size: number): string {
  fontFamily ||= getComputedStyle(document.body).fontFamily;
  return `${size}px ${fontFamily}`;
}

/** The colours of style.css by theme. To ask for one settles the style of all that changed in this frame. */
const COLORS = new Map<string, string>();

/** The colours of style.css, each as a canvas takes it: `light-dark(…)` is for elements alone. */
export function themeColors(): (name: string) => string {
  const isDark = isThemeDark();
  return (name) => {
    const key = `${name} ${isDark}`;
    const color = COLORS.get(key) ?? colorOf(name, isDark);
    COLORS.set(key, color);
    return color;
  };
}

function colorOf(name: string, isDark: boolean): string {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [, light, dark] = value.match(/^light-dark\((.*), *(.*)\)$/) ?? [value, value, value];
  return isDark ? dark : light;
}

/** Whether the page is dark: as the reader has chosen, else as the system is. */
function isThemeDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** As much of a text as fits, with an ellipsis. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  let cut = text;
  while (cut.length > 1 && context.measureText(cut).width > width) cut = `${[...cut].slice(0, -2).join("")}…`;
  return cut;
}

/** Diagonal lines, so many pixels apart; null where the browser makes no pattern. */
export function hatch(context: CanvasRenderingContext2D, color: string, every: number): CanvasPattern | null {
  const tile = h("canvas");
  [tile.width, tile.height] = [every, every];
  const own = tile.getContext("2d");
  if (!own) return null;
  own.strokeStyle = color;
  own.lineWidth = 1;
  for (const shift of [-every, 0, every]) {
    own.moveTo(shift, every);
    own.lineTo(shift + every, 0);
  }
  own.stroke();
  return context.createPattern(tile, "repeat");
}
