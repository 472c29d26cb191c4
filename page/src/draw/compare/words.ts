// The sentences about a comparison. The program writes the same of two whole recordings
// (crates/views/src/compare/words.rs), and a test compares both.

import type { Change, RateUnit } from "../../compute/diff.ts";
import { percent, points, RATE_UNITS, rate } from "../text.ts";

/** How all of it changed: `The main loop used 0.31 cores less (33 %): 0.94 before, 0.63 after.` */
export function wholeText(what: string, { before, now, verdict }: Change, unit: RateUnit): string {
  const verb = unit === "cores" ? "used" : "counted";
  const words = (value: number) => `${rate(value, unit)}${RATE_UNITS[unit]}`;
  const short = (value: number) => (unit === "cores" ? rate(value, unit) : words(value));
  if (verdict === "noise") {
    return `${what} ${verb} ${words(before)} before and ${short(now)} after: the same within noise.`;
  }
  const part = before > 0 ? ` (${Math.round((100 * Math.abs(now - before)) / before)} %)` : "";
  const size = `${words(Math.abs(now - before))} ${now < before ? "less" : "more"}${part}`;
  const end = verdict === "unknown" ? "; noise unknown" : "";
  return `${what} ${verb} ${size}: ${short(before)} before, ${short(now)} after${end}.`;
}

/** What stands before the changes, the largest of which is given. */
export function changesText(largest: Change | undefined): string {
  if (!largest) return "No function changed by more than noise.";
  return largest.verdict === "unknown"
    ? "Largest changes of own time, noise unknown:"
    : "Largest changes of own time, beyond noise:";
}

/** `−0.31 cores, 0.35 → 0.04`; shares where there is no unit: `+3.1 points, 1.0 % → 4.1 %`. */
export function changeText({ before, now, verdict }: Change, unit: RateUnit | null): string {
  const words = (value: number) => (unit ? rate(value, unit) : percent(value));
  const end = unit ? RATE_UNITS[unit] : "";
  if (verdict === "new" || verdict === "gone") return `${verdict}, ${words(verdict === "new" ? now : before)}${end}`;
  const sign = now > before ? "+" : "−";
  const size = unit ? `${sign}${rate(Math.abs(now - before), unit)}${end}` : `${points(now - before)} points`;
  return `${size}, ${words(before)} → ${words(now)}`;
}
