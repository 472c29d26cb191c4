// One stack through the lens, from the outermost frame on: which frames have boxes (docs/page.md). What is known of a
// caller is kept, so that all stacks under one root cost one pass over their frames.

import { GC, KERNEL, NONE, type Profile } from "../../data/model.ts";
import { LENSES } from "../../select/state.ts";
import type { Rows } from "./rows.ts";
import { CORE, kindsOfFrames, OTHER, PACKAGE } from "./user.ts";
import type { Names } from "./virtual.ts";

/** Nothing has a box yet; some have; in a run of packages that is one box, or of which each has one; what is left out. */
const [FRESH, PLAIN, FOLDED, OPENED, CLOSED] = [0, 1, 2, 3, 4];
const MODES = 5;

const [PACKAGES, CORES] = [LENSES.indexOf("packages"), LENSES.indexOf("node")];

/** What all stacks are under: a row or -1, the function that it stands for or NONE, and how much is shown. */
export interface Root {
  row: number;
  like: number;
  level: number;
  /** Whether it is what asked for the work. */
  isEntry: boolean;
}

export class Walk {
  private readonly profile: Profile;
  private readonly names: Names;
  private readonly rows: Rows;
  private readonly opened: ReadonlySet<number>;
  /** Of each stack what its own frame is. */
  readonly kinds: Uint8Array;
  /** Of each stack under the root: its box, and how many frames of the run it has. */
  private readonly box: Int32Array;
  private readonly length: Uint32Array;
  /** Where it is, and the number of the root for which all this is known: `MODES × number + mode`. */
  private readonly state: Int32Array;
  private readonly path: number[] = [];
  private root: Root = { row: -1, like: NONE, level: 0, isEntry: false };
  private roots = 0;

  constructor(profile: Profile, names: Names, rows: Rows, opened: readonly number[]) {
    const size = profile.stacks.parent.length;
    this.profile = profile;
    this.names = names;
    this.rows = rows;
    this.opened = new Set(opened);
    this.kinds = kindsOfFrames(profile);
    this.box = new Int32Array(size);
    this.length = new Uint32Array(size);
    this.state = new Int32Array(size);
  }

  start(root: Root): void {
    this.root = root;
    this.roots++;
  }

  /** The box in which a stack ends; -1 where it has none. */
  boxOf(stack: number): number {
    const { parent } = this.profile.stacks;
    const { path, state } = this;
    const known = MODES * this.roots;
    let length = 0;
    for (let at = stack; at !== NONE && state[at] < known; at = parent[at]) path[length++] = at;
    while (length > 0) {
      const at = path[--length];
      this.step(at, parent[at]);
    }
    return this.box[stack];
  }

  /** A frame under its caller, of which all is known. */
  private step(stack: number, caller: number): void {
    const { root, names } = this;
    const isOutermost = caller === NONE;
    const mode = isOutermost ? FRESH : this.modeOf(caller);
    const above = isOutermost ? root.row : this.box[caller];
    const category = this.profile.stacks.category[stack];
    const kind = this.kinds[stack];
    if (mode !== CLOSED && (category === GC || category === KERNEL)) {
      const id = names.roots + (category === GC ? 0 : 1);
      this.put(stack, CLOSED, this.virtual(above, mode, id, category), 0);
    } else if (mode === CLOSED || kind === OTHER || (kind === CORE && !this.showsCore(mode))) {
      this.put(stack, mode, above, isOutermost ? 0 : this.length[caller]);
    } else if (kind !== PACKAGE || root.level >= PACKAGES) {
      this.put(stack, PLAIN, this.real(above, mode, stack), 0);
    } else this.inPackage(stack, caller, mode, above);
  }

  /** What only leads to the user's code adds nothing under what asked for it. */
  private showsCore(mode: number): boolean {
    return this.root.level >= CORES && !(mode === FRESH && this.root.isEntry);
  }

  /** Frames of packages with nothing of the user's between them are a run. */
  private inPackage(stack: number, caller: number, mode: number, above: number): void {
    const { functions, stacks } = this.profile;
    const name = functions.package[stacks.function[stack]];
    if (mode === FOLDED) {
      this.put(stack, FOLDED, above, this.length[caller] + 1);
    } else if (mode === OPENED || this.opened.has(name)) {
      this.put(stack, OPENED, this.real(above, mode, stack), 0);
    } else {
      const id = this.names.boxOf.get(name) ?? this.names.packages;
      this.put(stack, FOLDED, this.virtual(above, mode, id, this.profile.stacks.category[stack]), 1);
    }
    if (this.modeOf(stack) === FOLDED) this.rows.count(this.box[stack], this.length[stack]);
  }

  private put(stack: number, mode: number, box: number, length: number): void {
    this.state[stack] = MODES * this.roots + mode;
    this.box[stack] = box;
    this.length[stack] = length;
  }

  private modeOf(stack: number): number {
    return this.state[stack] % MODES;
  }

  private virtual(above: number, mode: number, id: number, category: number): number {
    if (mode === FRESH && this.root.like === id) return above;
    return this.rows.under(above, this.names.frameOf(id), category, 0);
  }

  private real(above: number, mode: number, stack: number): number {
    const { frame, function: functions, category, call } = this.profile.stacks;
    if (mode === FRESH && this.root.like === functions[stack]) {
      return this.rows.standing(above, frame[stack], category[stack]);
    }
    return this.rows.under(above, frame[stack], category[stack], call[stack]);
  }
}
