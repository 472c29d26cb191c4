// Colours. Categories as in every other picture (crates/views/src/palette.rs; a test compares them); black text can be
// read on all of them, in both themes. The heat map's ramp rises evenly in lightness.

export type Rgb = readonly [number, number, number];

export const CATEGORY_COLORS: readonly Rgb[] = [
  [98, 196, 84],
  [178, 222, 122],
  [80, 196, 188],
  [160, 224, 216],
  [236, 212, 86],
  [186, 138, 240],
  [148, 182, 220],
  [238, 170, 206],
  [128, 148, 240],
  [238, 104, 92],
  [226, 132, 132],
  [248, 176, 160],
  [250, 158, 52],
  [214, 218, 226],
  [184, 184, 184],
];

/** What is not code: the root. */
export const GROUP: Rgb = [236, 236, 232];

export const MATCH: Rgb = [240, 70, 240];

/** From not JavaScript to TurboFan: the better the code, the stronger the colour. */
export const TIER_COLORS: readonly Rgb[] = [
  [216, 216, 212],
  [222, 190, 214],
  [246, 206, 120],
  [214, 214, 110],
  [132, 206, 150],
  [84, 180, 226],
  [200, 176, 240],
  [164, 140, 236],
];

/** Grey within noise, orange for what is new, red for more and blue for less, by how much (-1 to 1 and beyond). */
export function colorOfChange(verdict: string, change: number): Rgb {
  const mix = (from: Rgb, to: Rgb): Rgb =>
    [0, 1, 2].map((at) => from[at] + (to[at] - from[at]) * Math.sqrt(Math.min(1, Math.abs(change)))) as unknown as Rgb;
  if (verdict === "noise") return [222, 222, 218];
  if (verdict === "new") return [250, 158, 52];
  return change > 0 ? mix([250, 214, 206], [242, 92, 80]) : mix([210, 224, 250], [96, 152, 242]);
}

/** At night the same hues, a little darker; greys more so, because they matter least. */
export function themed(color: Rgb, isDark: boolean): Rgb {
  if (!isDark) return color;
  const factor = Math.max(...color) - Math.min(...color) < 15 ? 0.68 : 0.84;
  return [color[0] * factor, color[1] * factor, color[2] * factor];
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${Math.round(red)},${Math.round(green)},${Math.round(blue)})`;
}

/** A hue of its own for every name, of one lightness. */
export function colorOfName(name: string): Rgb {
  let hash = 2166136261;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
  hash ^= hash >>> 13;
  return oklch(0.82, 0.09, ((hash >>> 0) % 360) as number);
}

/** From nothing (0) to the most (1): yellow to dark red on white, dark red to light yellow on black. */
export function ramp(part: number, isDark: boolean): Rgb {
  return isDark
    ? oklch(0.3 + 0.64 * part, 0.06 + 0.09 * Math.sin(Math.PI * (0.2 + 0.6 * part)), 20 + 75 * part)
    : oklch(0.955 - 0.6 * part, 0.06 + 0.11 * Math.sin(Math.PI * (0.15 + 0.6 * part)), 92 - 68 * part);
}

/** OKLCH → sRGB, cut to what a screen has. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (linear: number) => {
    const part = Math.min(1, Math.max(0, linear));
    return 255 * (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055);
  };
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}
