// The address, texts and colours.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { test } from "node:test";
import {
  CATEGORY_COLORS,
  colorOfChange,
  colorOfName,
  GROUP,
  MATCH,
  ramp,
  TIER_COLORS,
  themed,
} from "../src/draw/colors.ts";
import { duration, percent, shown } from "../src/draw/text.ts";
import { fromHash, START, toHash } from "../src/select/state.ts";
import { root } from "./recordings.js";

/** Relative luminance as WCAG 2 defines it. */
function luminance(color) {
  const [red, green, blue] = color.map((channel) =>
    channel <= 0.04045 * 255 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("the address keeps everything, and nonsense in it is ignored", () => {
  const full = {
    ...START,
    view: "top",
    lane: 1,
    range: [12_310_000_000, 13_830_000_001],
    base: [0, 5_000_000_000],
    sides: "before",
    measure: "share",
    isPanel: true,
    threads: [0, 3],
    categories: [5, 13],
    search: "a&b=ü#%",
    lens: "node",
    opened: [7, 4294967295],
    zoom: [1, 22],
    focus: [{ kind: "package", id: 7 }],
    hidden: [
      { kind: "category", id: 3 },
      { kind: "function", id: 12 },
    ],
    function: 9,
    source: [4, 43],
    colorBy: "tier",
    isUpward: true,
    by: "line",
    sort: "total",
    filter: "x y",
    rows: 25,
    bands: "thread",
    mapBy: "category",
    isMapFolded: true,
    theme: "dark",
  };
  assert.deepEqual(fromHash(`#${toHash(full)}`), full);
  assert.deepEqual(fromHash(`#${toHash({ ...full, threads: [] })}`).threads, []);
  const against = { ...START, against: "a1/b=c.nodescope" };
  assert.deepEqual(fromHash(`#${toHash(against)}`), against);
  assert.deepEqual(fromHash(""), START);
  assert.equal(toHash(START), "");
  assert.deepEqual(
    fromHash(
      "#view=zzz&range=9-1&lane=-4&zoom=a.b&hide=q1.f&rows=1e9&%&search=%E0%A4&colour=__proto__&lens=all&open=x",
    ),
    { ...START },
  );
});

test("texts: control and direction characters are shown by number, the rest stays", () => {
  assert.equal(shown("a\u001b[31mb\u202ec\u0000\n"), "a\\x1b[31mb\\u202ec\\x00\\x0a");
  assert.equal(shown("检查 größeÄndern 🚀 <b>"), "检查 größeÄndern 🚀 <b>");
  assert.deepEqual([1520e6, 266e6, 1e3, 30e9, 119.7e9, 600e9, 7.3e12, 14399e9].map(duration), [
    "1.52 s",
    "266 ms",
    "1 µs",
    "30.0 s",
    "2 min",
    "10 min",
    "2 h 2 min",
    "4 h",
  ]);
  assert.deepEqual([0, 0.0001, 0.1234, 1].map(percent), ["0.0\u00a0%", "<0.1\u00a0%", "12.3\u00a0%", "100.0\u00a0%"]);
});

test("colours are those of the other pictures, and black text can be read on all of them", () => {
  const rust = readFileSync(pathTo(root, "crates/views/src/palette.rs"), "utf8");
  const rows = [...rust.matchAll(/\(Category::\w+, \[(\d+), (\d+), (\d+)\]\)/g)].map((row) => row.slice(1).map(Number));
  assert.deepEqual(
    CATEGORY_COLORS.map((color) => [...color]),
    rows,
  );
  const names = Array.from({ length: 500 }, (_, at) => colorOfName(`package-${at}`));
  const changes = ["more", "new", "noise"].flatMap((verdict) =>
    [-1, -0.5, 0, 0.5, 1].map((change) => colorOfChange(verdict, change)),
  );
  for (const color of [...changes, ...CATEGORY_COLORS, ...TIER_COLORS, ...names, GROUP, MATCH]) {
    for (const isDark of [false, true]) {
      const contrast = (luminance(themed(color, isDark)) + 0.05) / 0.05;
      assert.ok(contrast >= 4.5, `${color}: ${contrast}`);
    }
  }
});

test("the heat map's ramp rises evenly in lightness", () => {
  for (const isDark of [false, true]) {
    // CIE lightness, from luminance.
    const lightness = Array.from({ length: 11 }, (_, step) => 116 * Math.cbrt(luminance(ramp(step / 10, isDark))) - 16);
    const steps = lightness.slice(1).map((value, at) => (value - lightness[at]) * (isDark ? 1 : -1));
    assert.ok(Math.min(...steps) > 3 && Math.max(...steps) < 10, `${steps.map((step) => step.toFixed(1))}`);
  }
});
