// What the report says of a recording, as crates/views wrote it when the page was made
// (crates/views/src/page_report.rs). The page prints these words for the whole recording; it computes only what follows
// the mouse.

export interface PageReport {
  /** Which process it is about, and when, in parts. */
  headline: string[];
  /** What is wrong with the file. */
  warnings: string[];
  /** How good the recording is. */
  sentences: { text: string; is_caution: boolean }[];
  /** What else is known of it. */
  notes: string[];
  /** What stands out, the most costly first. */
  findings: PageFinding[];
  /** The sentences after them. */
  closing: string[];
  /** The functions that the sentences name, and how. */
  mentions: { words: string; function: number }[];
  /** The threads whose event loops were watched. */
  watched: number[];
  /** Their long turns, the longest first. */
  stalls: PageStall[];
  /** Of loops that were not watched: for how long they were busy without a pause, the longest first. */
  busy: PageStall[];
  /** Gaps: the times for which a process was stopped, with one of its threads. */
  stops: Span[];
  /** About a second each, in which the CPU limit held a process back. */
  throttled: { process: number; start_ns: number; end_ns: number; throttled_ns: number }[];
  /** What asked for the work. */
  entries: PageEntries;
  /** How much of a stack the page opens with: the word of a lens. */
  lens: string;
}

export interface PageEntries {
  list: PageEntry[];
  /** For the stacks in their order: a row of `list`, how many stacks have it, the next row, and so on. */
  runs: number[];
}

export interface PageEntry {
  /** The word for its kind: `http`. */
  kind: string;
  /** `HTTP requests` */
  many: string;
  /** The function that it called. */
  function: number | null;
  /** `HTTP request ▸ list` */
  text: string;
  /** Whether it was inferred from other samples. */
  is_inferred: boolean;
}

export interface Span {
  thread: number;
  start_ns: number;
  end_ns: number;
}

export interface PageFinding {
  /** The kind of finding: `sync-files`. */
  id: string;
  /** A headline, and what to look at. */
  text: string[];
  /** The threads that it is about; none where it is about all. */
  threads: number[];
  /** When loops stood still for it, the longest first; empty where no single time stands out. */
  spans: Span[];
  function: number | null;
}

/** What most of a stall was. In the last three nothing ran: the thread waited. */
export type StallKind = "ran" | "gc" | "unknown" | "blocked" | "throttled" | "cpu-wait";

export interface PageStall extends Span {
  kind: StallKind;
  function: number | null;
  text: string;
}

/** A number, as it is compared and as the report writes it. */
export interface Figure {
  value: number;
  text: string;
}

/** What a list shows of a recording (crates/views/src/gist.rs). */
export interface Gist {
  service: string;
  /** `pid 4140`, `64 processes` */
  processes: string | null;
  container: string | null;
  start_ms: number | null;
  length: Figure | null;
  cores: Figure | null;
  /** Null where no loop was watched. */
  worst_stall: Figure | null;
  gc: Figure | null;
  /** What stands out first, or that nothing does. */
  finding: string;
  stands_out: boolean;
  more_findings: number;
  /** What is wrong with the file. */
  damage: string | null;
}

/** What changed since another recording (crates/views/src/compare.rs): of the busiest main loops, and of all threads. */
export interface Compared {
  loops: Comparison;
  threads: Comparison;
  loop_shares: Comparison;
  thread_shares: Comparison;
}

export interface Comparison {
  /** How all of it changed. */
  text: string;
  /** What stands before the changes. */
  intro: string;
  /** The largest change first. */
  changes: { function: number; name: string; before: number; now: number; verdict: Verdict; text: string }[];
}

/** What a change is worth. */
export type Verdict = "more" | "less" | "new" | "gone" | "noise" | "unknown";
