// Where recordings come from: a single file has one, a server all of a folder. The page knows nothing else of either.

import type { Profile } from "./model.ts";
import type { Compared } from "./said.ts";

/** A recording that can be opened. */
export interface Listed {
  id: string;
  name: string;
  folder: string;
  bytes: number;
  modifiedMs: number;
}

export interface Library {
  recordings: Listed[];
  /** What to show at once: one, or two to compare: before, after. */
  open: string[];
  load(id: string): Promise<Profile>;
  /** What the report says of the second against the first; null where it cannot be had. */
  compared(before: string, now: string): Promise<Compared | null>;
  /** The text of a row of a recording's sources; null where it cannot be had. */
  source(id: string, row: number): Promise<string | null>;
  /** Where that source is on the machine of the library; null where it is not. */
  place(id: string, row: number): Promise<string | null>;
}
