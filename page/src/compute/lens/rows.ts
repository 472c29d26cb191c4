// The stacks that a lens makes. A box has one row for each frame of its function, which the boxes under it refer to;
// samples end in that row, or beside it in one of the same box with the category and the entry that they really have.

import { callOfBoth, NONE, type Profile } from "../../data/model.ts";
import { Pairs } from "../pairs.ts";

export class Rows {
  /**
   * What tells rows apart. Of a box: the row above it, or NO_ROW, or the root that it stands beside; and its frame. Of a
   * row beside a box: the box; and behind all frames, the category and the entry.
   */
  private readonly pairs = new Pairs();
  private readonly category: number[] = [];
  private readonly call: number[] = [];
  private readonly run: number[] = [];
  /** -1 where no sample ends in the row. */
  private readonly entry: number[] = [];
  private readonly frames: Profile["frames"];
  private readonly entryCount: number;

  constructor(frames: Profile["frames"], entryCount: number) {
    this.frames = frames;
    this.entryCount = Math.max(1, entryCount);
  }

  /** The box of a frame under another, or with no row above. */
  under(above: number, frame: number, category: number, call: number): number {
    return this.row(above, frame, category, call, -1);
  }

  /** The same root, where it stands for the function of the frame, too. */
  standing(root: number, frame: number, category: number): number {
    return this.row(besides(root), frame, category, 0, -1);
  }

  /** A stack has so many frames in this run. */
  count(row: number, frames: number): void {
    if (frames > this.run[row]) this.run[row] = frames;
  }

  /** Where the samples of a stack end. */
  end(box: number, category: number, entry: number): number {
    if (category === this.category[box] && (this.entry[box] < 0 || this.entry[box] === entry)) {
      this.entry[box] = entry;
      return box;
    }
    const what = this.frames.function.length + category * this.entryCount + entry;
    return this.row(box, what, category, this.call[box], entry);
  }

  private row(first: number, second: number, category: number, call: number, entry: number): number {
    const row = this.pairs.add(first, second);
    if (row < this.category.length) {
      this.call[row] = callOfBoth(this.call[row], call);
      return row;
    }
    this.category.push(category);
    this.call.push(call);
    this.run.push(0);
    this.entry.push(entry);
    return row;
  }

  /** The box that a row is of. */
  private boxOf(row: number): number {
    const { first, second } = this.pairs;
    return second[row] < this.frames.function.length ? row : first[row];
  }

  /** Whether lists name this function for the row. */
  isListed(row: number, id: number): boolean {
    return this.frames.function[this.pairs.second[this.boxOf(row)]] === id;
  }

  stacks(): Profile["stacks"] {
    const { first, second, count } = this.pairs;
    const functions = this.frames.function;
    const [parent, frame] = [new Uint32Array(count), new Uint32Array(count)];
    const [ids, listed] = [new Uint32Array(count), new Uint32Array(count)];
    const [category, run] = [new Uint8Array(this.category), new Uint32Array(this.run)];
    const [box, call] = [category.slice(), new Uint8Array(this.call)];
    for (let row = 0; row < count; row++) {
      const own = this.boxOf(row);
      const above = first[own];
      frame[row] = second[own];
      listed[row] = functions[second[own]];
      parent[row] = above < 0 ? NONE : above;
      ids[row] = above < NO_ROW ? functions[second[besides(above)]] : listed[row];
      box[row] = category[own];
      call[row] = call[own];
      run[row] = run[own];
    }
    return { parent, frame, category, box, call, function: ids, listed, run };
  }

  entries(): Uint32Array {
    return new Uint32Array(this.entry).map((entry) => (entry === NONE ? 0 : entry));
  }
}

/** What is above the outermost boxes. */
const NO_ROW = -1;

/** What is above the boxes that stand beside a root, and back. */
function besides(root: number): number {
  return NO_ROW - 1 - root;
}
