// What the widths of a saved picture count, and in which unit people read it: as crates/formats/src/svg/measure.rs.

import type { Lane } from "../data/model.ts";

/** A unit is as large as it can be with this many of them in the total: boxes of 0.01 % then are one of them. */
const ENOUGH_UNITS = 10_000;

type Sizes = readonly (readonly [size: number, name: string])[];

const TIMES: Sizes = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
const BYTES: Sizes = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "bytes"],
];

/** Letters that may follow an event's name: `cycles:ppp`, `cycles:u`. */
const MODIFIERS = /:[ukhIGHpPSDWeb]*$/;

export interface Measure {
  /** `samples`, `ms`, `cycles` */
  name: string;
  /** How much weight one of them is. */
  size: number;
  /** Whether samples are counted instead of their weights. */
  bySamples: boolean;
}

export function measureOf({ name, unit, counted, equal }: Lane, total: number): Measure {
  const event = { name: name.replace(MODIFIERS, ""), size: 1, bySamples: false };
  // One event a sample: its own name is more precise.
  if (unit === "event" && equal === 1) return event;
  if (unit === "count" || (counted && equal > 0)) return { name: "samples", size: 1, bySamples: true };
  const sizes = unit === "ns" ? TIMES : unit === "bytes" ? BYTES : null;
  if (!sizes) return event;
  const [size, word] = sizes.find(([one]) => Math.floor(total / one) >= ENOUGH_UNITS) ?? [1, sizes[3][1]];
  return { name: word, size, bySamples: false };
}
