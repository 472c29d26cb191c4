// Where recordings come from: a single file has one, a server all of a folder. The page knows nothing else of either.

import type { Profile } from "./model.ts";
import type { Compared, Gist } from "./report.ts";

/** A recording that can be opened. */
export interface Listed {
  id: string;
  name: string;
  folder: string;
  bytes: number;
  modifiedMs: number;
}

/** What the list shows of a recording: its figures, why it cannot be shown, or why it has not been read. */
export type Summary = { gist: Gist } | { problem: string } | { unread: string };

export interface Library {
  /** Whether the recordings are in the page itself: then there is no server to ask. */
  isOneFile: boolean;
  recordings: Listed[];
  /** What to show at once: one, or two to compare: before, after. */
  open: string[];
  load(id: string): Promise<Profile>;
  /** What the report says of the second against the first; null where it cannot be had. */
  compared(before: string, now: string): Promise<Compared | null>;
  /** Where the page is as one file, of a recording, against an older one where there is one; null where nothing makes one. */
  pageAddress(id: string, before: string | null): string | null;
  /** The text of a row of a recording's sources; null where it cannot be had. */
  source(id: string, row: number): Promise<string | null>;
  /** Where that source is on the machine of the library; null where it is not. */
  place(id: string, row: number): Promise<string | null>;
}

/** A library behind a server, which can grow and has a list. */
export interface Catalog extends Library {
  /** What they are recordings of: the files and folders that the user named. */
  places: string[];
  /** The recordings that there are now; null where nothing has changed since the last answer. */
  changed(): Promise<Listed[] | null>;
  /** What the list shows of the recordings that have been read by now, by their ids. */
  known(): Promise<Record<string, Summary>>;
  /** What the list shows of a recording, which is read for it. */
  summary(id: string): Promise<Summary>;
}
