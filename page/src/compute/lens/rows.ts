// The stacks that a lens makes. A box has one row for each frame of its function, which the boxes under it refer to;
// samples end in that row, or beside it in one of the same box with the category and the entry that they really have.

import { NONE, type Profile } from "../../data/model.ts";

export class Rows {
  private readonly parent: number[] = [];
  private readonly frame: number[] = [];
  private readonly category: number[] = [];
  private readonly box: number[] = [];
  private readonly call: number[] = [];
  private readonly function: number[] = [];
  private readonly listed: number[] = [];
  private readonly run: number[] = [];
  /** -1 where no sample ends in the row. */
  private readonly entry: number[] = [];
  private readonly boxes = new Map<number, number>();
  private readonly ends = new Map<number, number>();
  /** The row that the boxes under it refer to. */
  private readonly first: number[] = [];
  private readonly frames: Profile["frames"];
  private readonly entryCount: number;

  constructor(frames: Profile["frames"], entryCount: number) {
    this.frames = frames;
    this.entryCount = Math.max(1, entryCount);
  }

  get length(): number {
    return this.parent.length;
  }

  /** The box of a frame under another, or with no row above. */
  under(above: number, frame: number, category: number, call: number): number {
    const key = (above + 1) * this.frames.function.length + frame;
    const known = this.boxes.get(key);
    if (known !== undefined) return known;
    const id = this.frames.function[frame];
    const row = this.add(above < 0 ? NONE : above, frame, category, call, id, id);
    this.boxes.set(key, row);
    return row;
  }

  /** The same root, where it stands for the function of the frame, too. */
  standing(root: number, frame: number, category: number): number {
    const key = -1 - (root * this.frames.function.length + frame);
    const known = this.boxes.get(key);
    if (known !== undefined) return known;
    const row = this.add(NONE, frame, category, 0, this.function[root], this.frames.function[frame]);
    this.boxes.set(key, row);
    return row;
  }

  /** A stack has so many frames in this run. */
  count(row: number, frames: number): void {
    if (frames > this.run[row]) this.run[row] = frames;
  }

  /** Where the samples of a stack end. */
  end(row: number, category: number, entry: number): number {
    if (category === this.category[row] && (this.entry[row] < 0 || this.entry[row] === entry)) {
      this.entry[row] = entry;
      return row;
    }
    const key = (row * 16 + category) * this.entryCount + entry;
    const known = this.ends.get(key);
    if (known !== undefined) return known;
    const { parent, frame, box, call, function: functions, listed } = this;
    const other = this.add(parent[row], frame[row], category, call[row], functions[row], listed[row]);
    [this.box[other], this.entry[other], this.first[other]] = [box[row], entry, row];
    this.ends.set(key, other);
    return other;
  }

  isListed(row: number, id: number): boolean {
    return this.listed[row] === id;
  }

  private add(parent: number, frame: number, category: number, call: number, id: number, listed: number): number {
    this.frame.push(frame);
    this.category.push(category);
    this.box.push(category);
    this.call.push(call);
    this.function.push(id);
    this.listed.push(listed);
    this.run.push(0);
    this.entry.push(-1);
    this.first.push(this.first.length);
    return this.parent.push(parent) - 1;
  }

  stacks(): Profile["stacks"] {
    return {
      parent: Uint32Array.from(this.parent),
      frame: Uint32Array.from(this.frame),
      category: Uint8Array.from(this.category),
      box: Uint8Array.from(this.box),
      call: Uint8Array.from(this.call),
      function: Uint32Array.from(this.function),
      listed: Uint32Array.from(this.listed),
      run: Uint32Array.from(this.first, (row) => this.run[row]),
    };
  }

  entries(): Uint32Array {
    return Uint32Array.from(this.entry, (row) => Math.max(0, row));
  }
}
