// Canvases: as sharp as the screen, in the font and the colours of the page.

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

export function fontOf(size: number): string {
  return `${size}px ${getComputedStyle(document.body).fontFamily}`;
}

/** The colours that style.css names, of the theme that is shown. */
export function themeColors(): (name: string) => string {
  const styles = getComputedStyle(document.documentElement);
  return (name) => styles.getPropertyValue(name);
}

/** As much of a text as fits, with an ellipsis. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  let cut = text;
  while (cut.length > 1 && context.measureText(cut).width > width) cut = `${[...cut].slice(0, -2).join("")}…`;
  return cut;
}
