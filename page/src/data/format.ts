// What docs/file-format.md defines, as types and tables: the header of a recording, its columns, and which of them
// refer to rows of which table.

export type Column = Uint8Array | Uint32Array | Float64Array;

/** A recording as it is stored: a header of JSON, and columns. */
export interface Payload {
  header: Header;
  columns: Map<string, Column>;
  /** Columns of u64 that doubles do not hold exactly, as they are stored: the low half, the high half. */
  halves: Map<string, Uint32Array>;
}

/** The JSON in front of the columns; what may be missing is marked. */
export interface Header {
  meta: Meta;
  strings: string[];
  sources: { path: number; generated: number; text: number }[];
  modules: { name: number; build_id: number }[];
  packages?: { name: number; version: number; folder: number; own: boolean }[];
  package_uses?: { by: number; package: number }[];
  processes: {
    pid: number | null;
    inner_pid: number | null;
    name: number;
    container: number;
    node_version: number;
    folder?: number;
  }[];
  threads: { process: number; tid: number | null; name: number; role: string }[];
  lanes: { name: number; unit: string; timed: boolean; counted: boolean }[];
  columns: { name: string; type: string; offset: number; length: number }[];
}

export interface Meta {
  format?: string;
  way_in?: string;
  start_unix_ns?: string | null;
  start_clock_s?: number | null;
  duration_ns?: number;
  interval_ns?: number | null;
  host?: string | null;
  node_version?: string | null;
  command?: string | null;
  losses?: Losses;
}

export interface Losses {
  lost?: number;
  frames?: number;
  /** By the reason why they have no name. */
  unnamed?: Record<string, number>;
  cpu_ns?: number | null;
  hidden_kernel_ns?: number;
  damage?: string[];
}

/** An id that leads to no row. */
export const NONE = 0xffffffff;

/** A half of 64 bits has fewer values than this: what the high half counts. */
export const HIGH = 2 ** 32;

/** The tables that stand in the header. */
export const LISTS = [
  ...(["strings", "sources", "modules", "packages", "package_uses"] as const),
  ...(["processes", "threads", "lanes"] as const),
] as const;

const LINKS_TO: Record<string, string> = {
  strings: `functions.name functions.package functions.version frames.symbol markers.text loops.problem lanes.name threads.name
    sources.path sources.text modules.name modules.build_id processes.name processes.container processes.node_version
    processes.app processes.command processes.folder packages.name packages.version packages.folder`,
  sources: "functions.source sources.generated",
  modules: "functions.module",
  packages: "package_uses.by package_uses.package",
  functions: "frames.function",
  frames: "stacks.frame",
  stacks: "stacks.parent stacks.logical lanes.stack line_ticks.stack",
  processes: "threads.process seconds.process pools.process",
  threads: "lanes.thread markers.thread loops.thread long_turns.thread delays.thread off_cpu.thread",
};

/** Which table a column or a key of the header has ids of: `"functions.name"` → `"strings"`. */
export const LINKS: ReadonlyMap<string, string> = new Map(
  Object.entries(LINKS_TO).flatMap(([table, links]) => links.split(/\s+/).map((link) => [link, table] as const)),
);

/** A column that is there; one that is missing is damage. */
export function required<T>(column: T | undefined, name: string): T {
  if (column === undefined) throw new Error(`the recording has no column ${name}`);
  return column;
}

/** The high half of the first number whose neighbours doubles do not distinguish. */
const INEXACT = 2 ** 21;

/** Whether doubles hold these numbers of 64 bits exactly. */
export function isExact(halves: Uint32Array): boolean {
  for (let at = 1; at < halves.length; at += 2) if (halves[at] >= INEXACT) return false;
  return true;
}

/** Two halves → a double; twenty times faster than by way of BigInt. The doubles may take the place of the halves. */
export function doublesOf(halves: Uint32Array, doubles = new Float64Array(halves.length / 2)): Float64Array {
  for (let row = 0; row < doubles.length; row++) doubles[row] = halves[2 * row] + halves[2 * row + 1] * HIGH;
  return doubles;
}
