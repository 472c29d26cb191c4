// The columns of the list: what each shows of a recording, and how it is ordered. The words are the report's.

import type { Listed } from "../../data/library.ts";
import type { Row } from "../../data/recording-list.ts";
import type { Figure, Gist } from "../../data/report.ts";

export interface Column {
  key: string;
  label: string;
  title: string;
  /** Which comes first: the newest and the largest do. */
  sorted: "ascending" | "descending";
  text(row: Row): string;
  /** What it is ordered by; null where it is not known. */
  value(row: Row): number | string | null;
}

export function gistOf({ summary }: Row): Gist | null {
  return summary && "gist" in summary ? summary.gist : null;
}

/** When it began, or else when its file was written. */
export function timeOf(row: Row): number {
  return gistOf(row)?.start_ms ?? row.modifiedMs;
}

export function pathOf({ folder, name }: Listed): string {
  return folder ? `${folder}/${name}` : name;
}

function figure(key: string, label: string, title: string, find: (gist: Gist) => Figure | null): Column {
  const its = (row: Row) => {
    const gist = gistOf(row);
    return gist && find(gist);
  };
  return {
    key,
    label,
    title,
    sorted: "descending",
    // "under 1 %" is wider than a column of figures.
    text: (row) => its(row)?.text.replace("under ", "< ") ?? (gistOf(row) ? "–" : ""),
    value: (row) => its(row)?.value ?? null,
  };
}

export const COLUMNS: readonly Column[] = [
  {
    key: "name",
    label: "recording",
    title: "The service, and its file",
    sorted: "ascending",
    text: (row) => gistOf(row)?.service ?? "",
    value: (row) => `${gistOf(row)?.service ?? ""} ${pathOf(row)}`,
  },
  {
    key: "container",
    label: "container",
    title: "Its container or pod",
    sorted: "ascending",
    text: (row) => gistOf(row)?.container ?? "",
    value: (row) => gistOf(row)?.container ?? null,
  },
  {
    key: "time",
    label: "when (UTC)",
    title: "When it began; where that is not known, when its file was written",
    sorted: "descending",
    text: (row) => new Date(timeOf(row)).toISOString().slice(0, 19).replace("T", " "),
    value: timeOf,
  },
  figure("length", "length", "How long it is", ({ length }) => length),
  figure("cores", "cores", "How many CPUs were busy on average", ({ cores }) => cores),
  figure(
    "stall",
    "worst stall",
    "The longest turn of an event loop; – where none was watched",
    (gist) => gist.worst_stall,
  ),
  figure("gc", "GC", "The part of an event loop's time that garbage collection took", ({ gc }) => gc),
  {
    key: "finding",
    label: "first finding",
    title: "What stands out first",
    sorted: "ascending",
    text: (row) => findingOf(row),
    value: (row) => findingOf(row) || null,
  },
];

/** What stands out, or why nothing is known. */
export function findingOf({ summary }: Row): string {
  if (!summary) return "";
  if ("gist" in summary) return summary.gist.finding;
  return "problem" in summary ? summary.problem : summary.unread;
}

const { compare } = new Intl.Collator("en", { numeric: true });

/**
 * By a column, and what is not known last; `isReversed` has the smallest and the oldest first. As long as not all have
 * been read, the time is that of the file: a row must not leave the window because it was read.
 */
export function inOrder(rows: readonly Row[], column: Column, isReversed: boolean, areRead: boolean): Row[] {
  const { sorted, key } = column;
  const when = areRead ? timeOf : ({ modifiedMs }: Row) => modifiedMs;
  const value = key === "time" ? when : column.value;
  const isDescending = (sorted === "descending") !== isReversed;
  const order = (a: Row, b: Row): number => {
    const [one, other] = [value(a), value(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    const by = typeof one === "number" ? one - Number(other) : compare(one, String(other));
    return isDescending ? -by : by;
  };
  return [...rows].sort((a, b) => order(a, b) || when(b) - when(a) || compare(pathOf(a), pathOf(b)));
}

/** The folder that all of them are in: it need not stand in each row. */
export function commonFolder(rows: readonly Listed[]): string {
  const [first, ...rest] = rows.map(({ folder }) => folder.split("/"));
  if (!first) return "";
  const isShared = (length: number) =>
    rest.every((parts) => first.slice(0, length).every((part, at) => part === parts[at]));
  let length = first.length;
  while (length > 0 && !isShared(length)) length--;
  return first.slice(0, length).join("/");
}
