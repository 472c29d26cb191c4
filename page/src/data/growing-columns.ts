// Columns of a growing recording: how their numbers are packed, and how they grow. A number has 64 bits here, as two
// halves: the low one, the high one.

import { HIGH } from "./format.ts";

const WIDTH = 7;

/** Reads numbers of 7 bits a byte, whose lowest bit is the sign. */
export class Numbers {
  private readonly bytes: Uint8Array;
  private at: number;
  private low = 0;
  private high = 0;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  /** The next column, as halves. */
  column(rows: number, isDelta: boolean): Uint32Array {
    // Each number has a byte at least.
    const isThere = rows >= 0 && rows <= this.bytes.length - this.at;
    if (!isThere) throw new Error("the columns are larger than what is there");
    const halves = new Uint32Array(2 * rows);
    this.low = 0;
    this.high = 0;
    for (let row = 0; row < rows; row++) {
      this.next(isDelta);
      halves[2 * row] = this.low;
      halves[2 * row + 1] = this.high;
    }
    return halves;
  }

  /** The next number, or what it makes of the one before. */
  private next(isDelta: boolean): void {
    let low = 0;
    let high = 0;
    for (let shift = 0, byte = 0x80; byte >= 0x80; shift += WIDTH) {
      if (this.at >= this.bytes.length || shift > 63) throw new Error("a column ends too early");
      byte = this.bytes[this.at++];
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) high = bits >>> 4;
      if (shift > 28) high |= bits << (shift - 32);
    }
    const sign = -(low & 1);
    low = (((low >>> 1) | (high << 31)) ^ sign) >>> 0;
    high = ((high >>> 1) ^ sign) >>> 0;
    if (isDelta) {
      low += this.low;
      high += this.high + (low >= HIGH ? 1 : 0);
    }
    this.low = low >>> 0;
    this.high = high >>> 0;
  }
}

/** A column that grows. */
export class GrownColumn {
  private halves = new Uint32Array(64);
  rows = 0;

  set(row: number, low: number, high: number): void {
    if (2 * row + 2 > this.halves.length) {
      const wider = new Uint32Array(2 * this.halves.length);
      wider.set(this.halves);
      this.halves = wider;
    }
    this.halves[2 * row] = low;
    this.halves[2 * row + 1] = high;
    this.rows = Math.max(this.rows, row + 1);
  }

  number(row: number): number {
    return this.halves[2 * row] + this.halves[2 * row + 1] * HIGH;
  }

  /** All halves, of these rows or of all in their order. */
  all(order: Uint32Array | null): Uint32Array {
    if (!order) return this.halves.slice(0, 2 * this.rows);
    const halves = new Uint32Array(2 * order.length);
    order.forEach((from, to) => {
      halves.set(this.halves.subarray(2 * from, 2 * from + 2), 2 * to);
    });
    return halves;
  }

  /** The rows by their values; null where they are sorted. */
  ascending(): Uint32Array | null {
    const order = Uint32Array.from({ length: this.rows }, (_, row) => row);
    if (order.every((row) => row === 0 || this.number(row - 1) <= this.number(row))) return null;
    return order.sort((a, b) => this.number(a) - this.number(b) || a - b);
  }
}
