// Pairs of numbers, in the order in which they came: a table that says which row a pair has. A Map would need a double
// or a text as its key, and take several times as long.

const LEAST_ROOM = 1024;

export class Pairs {
  /** Of each row the first number of its pair, and the second; there may be room behind the last row. */
  first: Int32Array;
  second: Uint32Array;
  count = 0;
  /** By a pair's hash its row, counted from 1; 0 where there is none. At most half of them are taken. */
  private slots: Int32Array;

  /** `room` is how many are expected; there may be more. */
  constructor(room = LEAST_ROOM) {
    this.first = new Int32Array(room);
    this.second = new Uint32Array(room);
    this.slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * room + 2)));
  }

  /** The row of a pair. It is a new one where it is what `count` was before. */
  add(first: number, second: number): number {
    if (this.count === this.first.length) this.grow();
    const { first: firsts, second: seconds, slots } = this;
    const mask = slots.length - 1;
    let slot = placeOf(first, second) & mask;
    while (slots[slot] !== 0) {
      const row = slots[slot] - 1;
      if (firsts[row] === first && seconds[row] === second) return row;
      slot = (slot + 1) & mask;
    }
    const row = this.count++;
    slots[slot] = row + 1;
    firsts[row] = first;
    seconds[row] = second;
    return row;
  }

  private grow(): void {
    const { first, second } = this;
    const room = 2 * first.length;
    this.first = new Int32Array(room);
    this.second = new Uint32Array(room);
    this.first.set(first);
    this.second.set(second);
    const slots = new Int32Array(2 * this.slots.length);
    const mask = slots.length - 1;
    for (let row = 0; row < first.length; row++) {
      let slot = placeOf(first[row], second[row]) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = row + 1;
    }
    this.slots = slots;
  }
}

function placeOf(first: number, second: number): number {
  const mixed = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}
