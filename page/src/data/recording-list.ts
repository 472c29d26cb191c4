// The rows of the list: what there is now, and what has been read of it. A recording is read once, and again when its
// file has changed; one that grows is read again and again, but only for a small part of the time.

import type { Catalog, Listed, Summary } from "./library.ts";

/** Something that is done again waits for so many times as long as it took: it costs a twentieth of the time. */
export const REST = 20;
/** How often what changes is looked at. */
export const INTERVAL_MS = 2000;
/** A file that has changed this lately is still being written. */
const LATELY_MS = 6000;
const GROWING = /\.part$/;

export interface Row extends Listed {
  /** What was read of it last; null where nothing has been. */
  summary: Summary | null;
  /** The state of the file that this is of. */
  summaryOf: string;
  isAsked: boolean;
  /** When it was read last, and how long that took. */
  readAt: number;
  tookMs: number;
  /** When its file was seen to change; NaN where it was not. */
  changedAt: number;
}

export class RecordingList {
  rows: Row[] = [];
  private readonly library: Catalog;
  private readonly now: () => number;

  constructor(library: Catalog, now: () => number = () => performance.now()) {
    this.library = library;
    this.now = now;
    this.take(library.recordings);
  }

  /** Takes over what others have had read. */
  async fill(): Promise<void> {
    const known = await this.library.known();
    for (const row of this.rows) {
      if (known[row.id]) Object.assign(row, { summary: known[row.id], summaryOf: stateOf(row) });
    }
  }

  /** Asks what there is now; false where nothing has changed. */
  async look(): Promise<boolean> {
    const listed = await this.library.changed();
    if (listed) this.take(listed);
    return listed !== null;
  }

  private take(listed: readonly Listed[]): void {
    const rows = new Map(this.rows.map((row) => [row.id, row]));
    this.rows = listed.map((its) => {
      const row = rows.get(its.id);
      if (!row)
        return { ...its, summary: null, summaryOf: "", isAsked: false, readAt: 0, tookMs: 0, changedAt: Number.NaN };
      if (stateOf(row) !== stateOf(its)) row.changedAt = this.now();
      return Object.assign(row, its);
    });
  }

  /** The first of these that is to be read now. */
  next(rows: readonly Row[]): Row | undefined {
    return rows.find((row) => this.isDue(row));
  }

  /** How many have not been read at all. */
  get unread(): number {
    return this.rows.filter(({ summary }) => !summary).length;
  }

  private isDue(row: Row): boolean {
    if (row.isAsked || row.summaryOf === stateOf(row)) return false;
    return !row.summary || this.now() - row.readAt >= Math.max(INTERVAL_MS, REST * row.tookMs);
  }

  /** Reads a recording for its row. */
  async read(row: Row): Promise<void> {
    const [start, state] = [this.now(), stateOf(row)];
    row.isAsked = true;
    try {
      row.summary = await this.library.summary(row.id);
      row.summaryOf = state;
    } finally {
      row.isAsked = false;
      row.readAt = this.now();
      row.tookMs = row.readAt - start;
    }
  }

  /** Whether it is being recorded just now. */
  isGrowing(row: Row): boolean {
    return GROWING.test(row.name) && this.now() - row.changedAt < LATELY_MS;
  }
}

/** What changes when a file does. */
function stateOf({ bytes, modifiedMs }: Listed): string {
  return `${bytes} ${modifiedMs}`;
}
