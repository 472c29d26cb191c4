// How much of a stack is shown (docs/page.md). From a recording to the same samples with other stacks: what follows,
// trees, lists, the order of time, comparisons, knows no lens. Made once for a lens and the packages that are open.

import { NONE, type Profile } from "../../data/model.ts";
import { LENSES, type Lens } from "../../select/state.ts";
import { Rows } from "./rows.ts";
import { contents, HAS_OWN, HAS_PACKAGE } from "./user.ts";
import { isPool, type Names, namesOf, rootBeside } from "./virtual.ts";
import { type Root, Walk } from "./walk.ts";

/** Threads whose stacks have the same roots. */
const ROLES = ["pool", "v8", "other"];

/** The stacks, and which threads' samples end in them: places in ROLES as bits. */
type Job = readonly [stack: number, roles: number];

/** `opened` are packages, by their strings. */
export function throughLens(profile: Profile, lens: Lens, opened: readonly number[]): Profile {
  const names = namesOf(profile);
  const { strings, functions, roots, entries, packages } = names;
  const more = { strings, functions, virtual: { roots, entries, packages }, raw: profile };
  if (lens === "everything") return { ...profile, ...more };
  const rows = new Rows(names.frames, profile.report?.entries.list.length ?? 0);
  const walk = new Walk(profile, names, rows, opened);
  const rowOf = ROLES.map(() => new Uint32Array(profile.stacks.parent.length).fill(NONE));
  for (const [root, jobs] of jobsOf(profile, names)) {
    walk.start(rootOf(profile, names, rows, root, LENSES.indexOf(lens)));
    for (const [stack, roles] of jobs) {
      const box = walk.boxOf(stack);
      if (box < 0) continue;
      const row = rows.end(box, profile.stacks.category[stack], profile.entries?.[stack] ?? 0);
      for (const [role, ends] of rowOf.entries()) if ((roles >> role) & 1) ends[stack] = row;
    }
  }
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

/** The stacks in which samples end, by the function of their root; NONE where they have none. */
function jobsOf(profile: Profile, names: Names): Map<number, Job[]> {
  const { category } = profile.stacks;
  const used = usedBy(profile);
  const has = contents(profile);
  const jobs = new Map<number, Job[]>();
  for (let stack = 0; stack < used.length; stack++) {
    if (used[stack] === 0) continue;
    for (const [role, roles] of partsOf(profile, stack, used[stack], has[stack])) {
      const isBeside = role !== "";
      const entry = profile.entries ? names.rootOf[profile.entries[stack]] : NONE;
      const root = isBeside ? names.roots + rootBeside(role, category[stack]) : entry;
      const known = jobs.get(root);
      if (known) known.push([stack, roles]);
      else jobs.set(root, [[stack, roles]]);
    }
  }
  return jobs;
}

/** Which of a stack's roles stand beside, each alone; and under no role those that the user's JavaScript asked for. */
function* partsOf(
  profile: Profile,
  stack: number,
  used: number,
  has: number,
): Generator<[role: string, roles: number]> {
  const isUser = (has & (HAS_OWN | HAS_PACKAGE)) !== 0;
  const isAsked = profile.entries !== null && profile.entries[stack] !== NONE && !isNoScript(profile, stack);
  let asked = 0;
  for (const [at, role] of ROLES.entries()) {
    const bit = used & (1 << at);
    if (bit === 0) continue;
    // Without the report's words nothing is known of what asked for it. Threads of the pool and of V8 run no JavaScript.
    if (isUser && (isAsked || (profile.entries === null && role === "other"))) asked |= bit;
    else yield [role, bit];
  }
  if (asked !== 0) yield ["", asked];
}

function isNoScript({ report, entries }: Profile, stack: number): boolean {
  return report?.entries.list[entries?.[stack] ?? 0]?.kind === "none";
}

/** For each stack the roles of the threads whose samples end in it, as bits. */
function usedBy({ lanes, threads, stacks }: Profile): Uint8Array {
  const used = new Uint8Array(stacks.parent.length);
  const bits = Uint8Array.from(threads, ({ role }) => 1 << placeOf(role));
  for (const { raw, thread } of lanes) {
    for (let row = 0; row < raw.length; row++) if (raw[row] !== NONE) used[raw[row]] |= bits[thread[row]];
  }
  return used;
}

function placeOf(role: string): number {
  return ROLES.includes(role) ? ROLES.indexOf(role) : ROLES.length - 1;
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

function lanesOf({ lanes, threads }: Profile, rowOf: readonly Uint32Array[]): Profile["lanes"] {
  const ofThread = threads.map(({ role }) => rowOf[placeOf(role)]);
  return lanes.map((lane) => {
    const { raw, thread } = lane;
    const stack = new Uint32Array(raw.length);
    for (let row = 0; row < raw.length; row++) stack[row] = raw[row] === NONE ? NONE : ofThread[thread[row]][raw[row]];
    return { ...lane, stack };
  });
}

/** A line is one of the box only where the box is of its function. */
function ticksOf(profile: Profile, rows: Rows, rowOf: readonly Uint32Array[]): Profile["lineTicks"] {
  const { stack, line, ticks } = profile.lineTicks;
  const endOf = (id: number) => rowOf.map((ends) => ends[id]).find((row) => row !== NONE) ?? NONE;
  const isKept = (id: number) => endOf(id) !== NONE && rows.isListed(endOf(id), profile.stacks.function[id]);
  const kept = Array.from(stack.keys()).filter((at) => isKept(stack[at]));
  return {
    stack: Uint32Array.from(kept, (at) => endOf(stack[at])),
    line: Uint32Array.from(kept, (at) => line[at]),
    ticks: Uint32Array.from(kept, (at) => ticks[at]),
  };
}
