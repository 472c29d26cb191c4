// Numbers, times and names as people read them. The only place that makes a text from outside fit to be shown.

import type { RateUnit } from "../compute/diff.ts";

/** Control and direction-changing characters: shown by their number, so that a name is what it is and does nothing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function shown(text: string): string {
  return text.replace(UNSEEN, (letter) => {
    const code = letter.charCodeAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** A sentence of the report, whose percent signs stay with their numbers. */
export function sentence(text: string): string {
  return shown(text).replaceAll(" %", "\u00a0%");
}

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function thousands(number: number): string {
  return GROUPED.format(number);
}

export function plural(count: number, word: string): string {
  return `${thousands(count)} ${word}${count === 1 ? "" : "s"}`;
}

export function share(weight: number, total: number): number {
  return total > 0 ? weight / total : 0;
}

/** `0.1234` → `12.3 %`, with a blank that does not break. */
export function percent(part: number): string {
  if (part > 0 && part < 0.0005) return "<0.1\u00a0%";
  return `${(100 * part).toFixed(1)}\u00a0%`;
}

/** A change in points: `+3.1`. */
export function points(change: number): string {
  return `${change > 0 ? "+" : change < 0 ? "−" : ""}${Math.abs(100 * change).toFixed(1)}`;
}

/** A rate as crates/views/src/compare/words.rs writes it, without its unit: cores, or bytes or events a second. */
export function rate(value: number, unit: RateUnit): string {
  if (unit === "bytes") return bytesOf(Math.round(value));
  if (unit === "events") return thousands(Math.round(value));
  if (value > 0 && value < 0.0005) return "<0.001";
  return value.toFixed(value < 0.0995 ? 3 : 2);
}

function bytesOf(count: number): string {
  const power = count < 1024 ? 0 : Math.min(3, Math.floor(Math.log2(count) / 10));
  return power === 0 ? `${count} bytes` : `${(count / 1024 ** power).toFixed(1)} ${KIB[power]}`;
}

/** What stands behind a rate: `0.94 cores`, `1.2 MiB/s`. */
export const RATE_UNITS: Record<RateUnit, string> = { cores: " cores", bytes: "/s", events: "/s" };

/** A change of a rate: `−0.31`. */
export function rateChange(change: number, unit: RateUnit): string {
  const size = rate(Math.abs(change), unit);
  if (size.startsWith("<")) return "0.000";
  return `${change > 0 ? "+" : change < 0 ? "−" : ""}${size}`;
}

/** `1520000000` → `1.52 s`. */
export function duration(ns: number): string {
  const s = ns / 1e9;
  if (s >= 3570) return two(Math.round(s / 60), "h", "min");
  if (s >= 119.5) return two(Math.round(s), "min", "s");
  if (s >= 9.995) return `${s.toFixed(1)} s`;
  if (s >= 0.9995) return `${s.toFixed(2)} s`;
  if (ns >= 1e6) return `${Number((ns / 1e6).toPrecision(3))} ms`;
  if (ns >= 1e3) return `${Number((ns / 1e3).toPrecision(3))} µs`;
  return `${ns} ns`;
}

/** `130` of the small unit, sixty of which are one of the large. */
function two(count: number, large: string, small: string): string {
  const rest = count % 60;
  return `${Math.floor(count / 60)} ${large}${rest > 0 ? ` ${rest} ${small}` : ""}`;
}

/** Seconds as an axis shows them: `90 s`, `12:30`, `2:05:00`. */
export function axisTime(s: number, longest: number): string {
  if (longest < 120) return `${Number(s.toFixed(3))} s`;
  const pad = (part: number) => String(Math.floor(part)).padStart(2, "0");
  return longest < 3600
    ? `${Math.floor(s / 60)}:${pad(s % 60)}`
    : `${Math.floor(s / 3600)}:${pad((s % 3600) / 60)}:${pad(s % 60)}`;
}

/** Seconds since the start, to the millisecond. */
export function seconds(ns: number): string {
  return (ns / 1e9).toFixed(ns % 1e7 === 0 ? 2 : 3);
}

const KIB = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** A weight in a lane's unit. */
export function amount(weight: number, unit: string): string {
  if (unit === "ns") return duration(weight);
  if (unit === "bytes") {
    const power = weight < 1 ? 0 : Math.min(4, Math.floor(Math.log2(weight) / 10));
    return `${Number((weight / 1024 ** power).toPrecision(4))} ${KIB[power]}`;
  }
  return unit === "count" ? plural(weight, "sample") : thousands(weight);
}

/** `03:15:14` */
export function clock(startMs: number, ns: number): string {
  return new Date(startMs + ns / 1e6).toISOString().slice(11, 19);
}
