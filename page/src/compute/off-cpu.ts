// The times that threads were off the CPU, of a selection.

import type { Payload } from "../data/format.ts";
import type { Selection } from "../select/selection.ts";

/** A row of the table, with what of it is in the selection; microseconds since the selection's start. */
export interface OffCpuRow {
  row: number;
  startUs: number;
  lengthUs: number;
}

/**
 * A time is cut at the ends of the range. A row that sums up several has no end of its own: it is kept where it starts
 * inside, whole.
 */
export function offCpuIn({ columns }: Payload, { range, threads }: Selection): OffCpuRow[] {
  const column = (name: string) => columns.get(`off_cpu.${name}`) ?? [];
  const [thread, deltas, lengths, times] = [column("thread"), column("delta_us"), column("length_us"), column("times")];
  const [from, to] = range ? range.map((ns) => ns / 1000) : [0, Infinity];
  const found: OffCpuRow[] = [];
  let startUs = 0;
  for (const row of deltas.keys()) {
    startUs += deltas[row];
    const endUs = startUs + lengths[row];
    if (threads?.[thread[row]] === 0 || startUs >= to) continue;
    const isSum = times[row] > 1;
    if (isSum ? startUs < from : endUs < from) continue;
    const start = Math.max(startUs, from);
    const lengthUs = isSum ? lengths[row] : Math.min(endUs, to) - start;
    found.push({ row, startUs: Math.round(start - from), lengthUs: Math.round(lengthUs) });
  }
  return found;
}
