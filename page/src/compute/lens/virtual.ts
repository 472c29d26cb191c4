// The functions that a lens adds behind those of a recording: roots, and packages. Their rows depend on the recording
// alone, so that a link that names one holds under every lens.

import {
  APP,
  COMPILER,
  DEPENDENCY,
  GC,
  IDLE,
  KERNEL,
  NODE,
  NONE,
  type Profile,
  UNKNOWN,
  type Virtual,
} from "../../data/model.ts";
import type { PageEntry } from "../../data/report.ts";
import { keyOfEntry } from "../entries.ts";
import { soleVersions } from "../packages.ts";

/** Roots of what no JavaScript of the user asked for. The first stand for the category of a stack. */
export const ROOTS: readonly (readonly [name: string, category: number])[] = [
  ["garbage collection", GC],
  ["kernel", KERNEL],
  ["compiler", COMPILER],
  ["idle", IDLE],
  ["unknown", UNKNOWN],
  ["Node.js", NODE],
  ["thread pool", NODE],
  ["V8's threads", NODE],
  ["other", UNKNOWN],
];
const OF_CATEGORY = 5;
const [REST, POOL, V8, SMALL] = [5, 6, 7, 8];

/** The box of all that is too small to be seen; null where there are no such functions. */
export function otherBox({ virtual }: Profile): number | null {
  return virtual && virtual.roots + SMALL;
}

/** A root, counted from the first; by the thread's role, else by the category of the stack. */
export function rootBeside(role: string, category: number): number {
  if (role === "pool") return POOL;
  if (role === "v8") return V8;
  const at = ROOTS.findIndex(([, own], row) => row < OF_CATEGORY && own === category);
  return at < 0 ? REST : at;
}

export function isPool(root: number): boolean {
  return root === POOL;
}

/** What a function is: one of the recording, a root beside, what asked for work, or a run of package frames. */
export function kindOfBox({ virtual }: Profile, id: number): "function" | "root" | "entry" | "package" {
  if (!virtual || id < virtual.roots || id === NONE) return "function";
  if (id < virtual.entries) return "root";
  return id < virtual.packages ? "entry" : "package";
}

/** The entry that a root is. */
export function entryOf({ virtual, report }: Profile, id: number): PageEntry | null {
  return (virtual && report?.entries.list[id - virtual.entries]) ?? null;
}

/** The function of the recording that a box is of; null where it is of none, as packages and all together are. */
export function functionOfBox(profile: Profile, id: number): number | null {
  const kind = kindOfBox(profile, id);
  if (kind === "entry") return entryOf(profile, id)?.function ?? null;
  return kind === "function" && id !== NONE ? id : null;
}

/** What the functions of a lens are, beside their place among all. */
export interface Names extends Virtual {
  strings: string[];
  functions: Profile["functions"];
  frames: Profile["frames"];
  /** Of each entry its root: that of the first with the same kind and function. */
  rootOf: Uint32Array;
  /** Of each package, by its string, its box. */
  boxOf: Map<number, number>;
  /** The frame of a function that the lens adds. */
  frameOf(id: number): number;
}

interface Added {
  name: string;
  category: number;
  package: number;
  version: number;
  /** The function that it stands for. */
  like: number;
}

const NOTHING: Omit<Added, "name"> = { category: DEPENDENCY, package: NONE, version: NONE, like: NONE };

export function namesOf(profile: Profile): Names {
  const { functions, frames } = profile;
  const list = profile.report?.entries.list ?? [];
  const packages = [...new Set(functions.package)].filter((id) => id !== NONE).sort((a, b) => a - b);
  const roots = functions.name.length;
  const entries = roots + ROOTS.length;
  const first = entries + list.length;
  const versions = soleVersions(functions);
  const added: Added[] = [
    ...ROOTS.map(([name, category]) => ({ ...NOTHING, name, category })),
    ...list.map((entry) => ({ ...NOTHING, name: entry.text, category: categoryOf(entry), like: likeOf(entry) })),
    ...packages.map((id) => ({
      ...NOTHING,
      name: profile.strings[id],
      package: id,
      version: versions.get(id) ?? NONE,
    })),
    // Code of packages whose names are not known.
    { ...NOTHING, name: "packages" },
  ];
  const boxOf = new Map([...packages, NONE].map((id, at) => [id, first + at]));
  return {
    roots,
    entries,
    packages: first,
    strings: [...profile.strings, ...added.map(({ name }) => name)],
    functions: withFunctions(functions, profile.strings.length, added),
    frames: withFrames(frames, roots, added),
    rootOf: rootsOf(list, entries),
    boxOf,
    frameOf: (id) => frames.function.length + id - roots,
  };
}

function likeOf(entry: PageEntry): number {
  return entry.function ?? NONE;
}

/** A root has the colour of what was called. */
function categoryOf({ function: id, text }: PageEntry): number {
  if (id !== null) return APP;
  return text.includes("▸ package ") ? DEPENDENCY : NODE;
}

function rootsOf(list: readonly PageEntry[], first: number): Uint32Array {
  const known = new Map<string, number>();
  return Uint32Array.from(list, (entry, row) => {
    const key = keyOfEntry(entry);
    const root = known.get(key) ?? first + row;
    known.set(key, root);
    return root;
  });
}

function withFunctions(own: Profile["functions"], firstString: number, added: readonly Added[]): Profile["functions"] {
  const put = (column: Uint32Array, value: (row: Added, at: number) => number) =>
    longer(column, added.map(value), Uint32Array);
  const like = (column: Uint32Array, otherwise: number) =>
    put(column, ({ like: id }) => (id === NONE ? otherwise : column[id]));
  return {
    name: put(own.name, (_, at) => firstString + at),
    source: like(own.source, NONE),
    line: like(own.line, 0),
    column: like(own.column, 0),
    module: like(own.module, NONE),
    package: put(own.package, (row) => row.package),
    version: put(own.version, (row) => row.version),
  };
}

function withFrames(own: Profile["frames"], first: number, added: readonly Added[]): Profile["frames"] {
  const none = added.map(() => 0);
  return {
    function: longer(
      own.function,
      added.map((_, at) => first + at),
      Uint32Array,
    ),
    line: longer(own.line, none, Uint32Array),
    category: longer(
      own.category,
      added.map(({ category }) => category),
      Uint8Array,
    ),
    tier: longer(own.tier, none, Uint8Array),
  };
}

function longer<T extends Uint8Array | Uint32Array>(column: T, rows: readonly number[], make: new (n: number) => T): T {
  const all = new make(column.length + rows.length);
  all.set(column);
  all.set(rows, column.length);
  return all;
}
