// How much of a stack is shown (docs/page.md). From a recording to the same samples with other stacks: what follows,
// trees, lists, the order of time, comparisons, knows no lens. Made once for a lens and the packages that are open.

import { CATEGORIES, NONE, type Profile } from "../../data/model.ts";
import { LENSES, type Lens } from "../../select/state.ts";
import { Rows } from "./rows.ts";
import { withUser } from "./user.ts";
import { isPool, type Names, namesOf, rootBeside } from "./virtual.ts";
import { type Root, Walk } from "./walk.ts";

/** Threads whose stacks have the same roots. */
const ROLES = ["pool", "v8", "other"];

/** `opened` are packages, by their strings. */
export function throughLens(profile: Profile, lens: Lens, opened: readonly number[]): Profile {
  const names = namesOf(profile);
  const { strings, functions, roots, entries, packages } = names;
  const more = { strings, functions, virtual: { roots, entries, packages }, raw: profile };
  if (lens === "everything") return { ...profile, ...more };
  const rows = new Rows(names.frames, profile.report?.entries.list.length ?? 0);
  const rowOf = rowsOfEnds(profile, names, rows, new Walk(profile, names, rows, opened), LENSES.indexOf(lens));
  return {
    ...profile,
    ...more,
    frames: names.frames,
    stacks: rows.stacks(),
    entries: profile.entries && rows.entries(),
    lanes: lanesOf(profile, rowOf),
    lineTicks: ticksOf(profile, rows, rowOf),
  };
}

/**
 * An end is a stack in which samples of threads of a role end: `place in ROLES × stacks + stack`. Of each the row, or
 * NONE. Root by root, because what is known of a caller holds under one root.
 */
function rowsOfEnds(profile: Profile, names: Names, rows: Rows, walk: Walk, level: number): Uint32Array {
  const { category } = profile.stacks;
  const size = category.length;
  const rowOf = new Uint32Array(ROLES.length * size).fill(NONE);
  for (const [root, ends] of endsByRoot(profile, names, walk.kinds)) {
    walk.start(rootOf(profile, names, rows, root, level));
    for (const end of ends) {
      const stack = end % size;
      const box = walk.boxOf(stack);
      if (box >= 0) rowOf[end] = rows.end(box, category[stack], profile.entries?.[stack] ?? 0);
    }
  }
  return rowOf;
}

/** The ends by the function of their root; NONE where they have none. */
function endsByRoot(profile: Profile, names: Names, kinds: Uint8Array): Map<number, number[]> {
  const { category } = profile.stacks;
  const size = category.length;
  const used = usedEnds(profile);
  const asked = askedByUser(profile, kinds);
  const beside = ROLES.map((role) => Uint32Array.from(CATEGORIES, (_, own) => names.roots + rootBeside(role, own)));
  // Without the report nothing is known of what asked for it. Threads of the pool and of V8 run no JavaScript.
  const canAsk = ROLES.map((role) => profile.entries !== null || role === "other");
  const byRoot = new Map<number, number[]>();
  // A plain loop, because a large recording has a million stacks.
  for (let stack = 0; stack < size; stack++) {
    for (let place = 0, end = stack; place < ROLES.length; place++, end += size) {
      if (used[end] === 0) continue;
      let root = beside[place][category[stack]];
      if (asked[stack] !== 0 && canAsk[place]) root = profile.entries ? names.rootOf[profile.entries[stack]] : NONE;
      const known = byRoot.get(root);
      if (known) known.push(end);
      else byRoot.set(root, [end]);
    }
  }
  return byRoot;
}

/** For each stack 1 or 0: whether the user's JavaScript asked for it. */
function askedByUser(profile: Profile, kinds: Uint8Array): Uint8Array {
  const asked = withUser(profile, kinds);
  const { entries, report } = profile;
  if (!entries || !report) return asked;
  const isScript = report.entries.list.map(({ kind }) => Number(kind !== "none"));
  for (let stack = 0; stack < asked.length; stack++) asked[stack] &= isScript[entries[stack]] ?? 0;
  return asked;
}

/** Of each end 1 where there are samples. */
function usedEnds({ lanes, threads, stacks }: Profile): Uint8Array {
  const size = stacks.parent.length;
  const used = new Uint8Array(ROLES.length * size);
  const first = firstEnds(threads, size);
  for (const { raw, thread } of lanes) {
    for (let row = 0; row < raw.length; row++) if (raw[row] !== NONE) used[first[thread[row]] + raw[row]] = 1;
  }
  return used;
}

/** Of each thread the end of its first stack. */
function firstEnds(threads: Profile["threads"], size: number): Uint32Array {
  return Uint32Array.from(threads, ({ role }) => {
    const place = ROLES.indexOf(role);
    return size * (place < 0 ? ROLES.length - 1 : place);
  });
}

/** Under the pool, what it does is shown at every lens. */
function rootOf({ report }: Profile, names: Names, rows: Rows, id: number, level: number): Root {
  if (id === NONE) return { row: -1, like: NONE, level, isEntry: false };
  const frame = names.frameOf(id);
  const row = rows.under(-1, frame, names.frames.category[frame], 0);
  if (id >= names.entries) {
    return { row, like: report?.entries.list[id - names.entries]?.function ?? NONE, level, isEntry: true };
  }
  const isOpen = isPool(id - names.roots);
  return { row, like: id, level: isOpen ? Math.max(level, LENSES.indexOf("node")) : level, isEntry: false };
}

function lanesOf({ lanes, threads, stacks }: Profile, rowOf: Uint32Array): Profile["lanes"] {
  const first = firstEnds(threads, stacks.parent.length);
  return lanes.map((lane) => {
    const { raw, thread } = lane;
    const stack = new Uint32Array(raw.length);
    for (let row = 0; row < raw.length; row++)
      stack[row] = raw[row] === NONE ? NONE : rowOf[first[thread[row]] + raw[row]];
    return { ...lane, stack };
  });
}

/** A line is one of the box only where the box is of its function. */
function ticksOf(profile: Profile, rows: Rows, rowOf: Uint32Array): Profile["lineTicks"] {
  const { stack, line, ticks } = profile.lineTicks;
  const size = profile.stacks.parent.length;
  const endOf = (id: number) => ROLES.map((_, place) => rowOf[place * size + id]).find((row) => row !== NONE) ?? NONE;
  const isKept = (id: number) => endOf(id) !== NONE && rows.isListed(endOf(id), profile.stacks.function[id]);
  const kept = Array.from(stack.keys()).filter((at) => isKept(stack[at]));
  return {
    stack: Uint32Array.from(kept, (at) => endOf(stack[at])),
    line: Uint32Array.from(kept, (at) => line[at]),
    ticks: Uint32Array.from(kept, (at) => ticks[at]),
  };
}
