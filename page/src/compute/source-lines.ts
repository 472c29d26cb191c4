// The lines of one source with the weight of a selection: what the source view shows. Pure: rows of the list by line
// and a text in, lines out.

import type { TopRow } from "./top.ts";

export interface SourceLine {
  number: number;
  /** Null where there is no text. */
  text: string | null;
  /** Null where nothing was seen here. */
  row: TopRow | null;
  /** Lines between the one before and this that are left out. */
  skipped: number;
}

/** A longer text shows only what is near to a weight. */
const WHOLE = 3000;
const NEAR = 30;
const LONGEST_LINE = 500;

/** `rows` are those of the source; `wanted` is a line that must be there. */
export function linesOf(rows: readonly TopRow[], text: string | null, wanted: number): SourceLine[] {
  const own = new Map(rows.map((row) => [row.line, row]));
  const texts = text?.split(/\r\n|[\n\r\u2028\u2029]/) ?? null;
  const marked = [...own.keys(), wanted].sort((a, b) => a - b);
  const numbers = texts ? shownLines(texts.length, marked) : [...own.keys()].sort((a, b) => a - b);
  return numbers.map((number, at) => ({
    number,
    text: texts && cut(texts[number - 1] ?? ""),
    row: own.get(number) ?? null,
    skipped: texts ? number - (numbers[at - 1] ?? 0) - 1 : 0,
  }));
}

function shownLines(count: number, marked: readonly number[]): number[] {
  const all = Math.max(count, marked[marked.length - 1]);
  const near = new Uint8Array(all + 1).fill(all <= WHOLE ? 1 : 0);
  for (const line of marked) near.fill(1, Math.max(0, line - NEAR), line + NEAR);
  return Array.from({ length: all }, (_, at) => at + 1).filter((line) => near[line]);
}

function cut(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)} …`;
}
