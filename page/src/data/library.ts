// Where recordings come from: a single file has one, a server all of a folder. The page knows nothing else of either.

import type { Profile } from "./model.ts";

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
  /** The text of a row of a recording's sources; null where it cannot be had. */
  source(id: string, row: number): Promise<string | null>;
}
