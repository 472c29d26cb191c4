// Search by regular expression in names, files and packages, as `--search` does; with a word before it in one of them
// alone, in the category of what ran, or in what asked for the work: `file:orders category:gc`.

import {
  CATEGORIES,
  functionFile,
  functionName,
  functionPackage,
  functionPlace,
  NONE,
  type Profile,
  rawOf,
} from "../data/model.ts";
import type { SaidEntry } from "../data/said.ts";
import { entryOf, kindOfBox } from "./lens/virtual.ts";

const FIELDS = ["name", "file", "package", "category", "entry"] as const;
type Field = (typeof FIELDS)[number] | "any";

/** Where the next field begins; what stands before is one pattern, with its blanks. */
const NEXT = /\s+(?=(?:name|file|package|category|entry):)/;

interface Term {
  field: Field;
  expression: RegExp;
}

export interface Search {
  /** For each function 1 or 0; of boxes that are of one of the categories. */
  functions: Uint8Array;
  /** For each category 1 or 0; null for all. */
  categories: Uint8Array | null;
  /** For each stack as it is, whether its samples match: its functions, what ran, and what asked for it. */
  stacks: Uint8Array;
}

/** Null for no pattern; an error's words for a wrong one. */
export function searchFor(profile: Profile, text: string): Search | string | null {
  if (text.trim() === "") return null;
  let terms: Term[];
  try {
    terms = text.trim().split(NEXT).map(termOf);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return words.slice(words.lastIndexOf(": ") + 2);
  }
  const functions = functionsOf(profile, terms);
  const category = terms.find(({ field }) => field === "category");
  const categories = category
    ? Uint8Array.from(CATEGORIES, (words) => Number(words.some((word) => category.expression.test(word))))
    : null;
  return { functions, categories, stacks: stacksOf(rawOf(profile), terms, functions, categories) };
}

export function isMatch({ functions, categories }: Search, box: { function: number; category: number }): boolean {
  return box.function !== NONE && functions[box.function] === 1 && categories?.[box.category] !== 0;
}

function termOf(text: string): Term {
  const field = FIELDS.find((word) => text.startsWith(`${word}:`));
  const pattern = field ? text.slice(field.length + 1).trimStart() : text;
  // What people type for the command line works here, too.
  const ignoresCase = pattern.startsWith("(?i)");
  const flags = ignoresCase ? "ui" : "u";
  return { field: field ?? "any", expression: new RegExp(ignoresCase ? pattern.slice(4) : pattern, flags) };
}

/** Functions for which each term holds. What asked for the work is one of a lens: its root. */
function functionsOf(profile: Profile, terms: readonly Term[]): Uint8Array {
  const { length } = profile.functions.name;
  const ofFunctions = terms.filter(({ field }) => field !== "category" && field !== "entry");
  const entry = terms.find(({ field }) => field === "entry");
  const isAlone = ofFunctions.length === 0 && !terms.some(({ field }) => field === "category");
  const matches = new Uint8Array(length);
  for (let id = 0; id < length; id++) {
    const isOfEntry = !entry || !isAlone || isEntry(profile, id, entry);
    matches[id] = Number(isOfEntry && ofFunctions.every((term) => holds(profile, id, term)));
  }
  return matches;
}

function isEntry(profile: Profile, id: number, { expression }: Term): boolean {
  const entry = kindOfBox(profile, id) === "entry" && entryOf(profile, id);
  return entry ? expression.test(entryText(profile, entry)) : false;
}

function entryText(profile: Profile, { kind, text, function: id }: SaidEntry): string {
  return `${kind} ${text} ${id === null ? "" : functionPlace(profile, id)}`;
}

function holds(profile: Profile, id: number, { field, expression }: Term): boolean {
  const { source } = profile.functions;
  const isIn = (text: string) => text !== "" && expression.test(text);
  if (field === "name") return isIn(functionName(profile, id));
  if (field === "file") return isIn(functionFile(profile, id));
  if (field === "package") return isIn(functionPackage(profile, id));
  const file = source[id] === NONE ? "" : profile.sources[source[id]];
  return isIn(functionName(profile, id)) || isIn(file) || isIn(functionPackage(profile, id));
}

/** Stacks with such a function anywhere, whose time is of such a category, and that such an entry asked for. */
function stacksOf(
  profile: Profile,
  terms: readonly Term[],
  functions: Uint8Array,
  categories: Uint8Array | null,
): Uint8Array {
  const { parent, category, function: ids } = profile.stacks;
  const isAny = terms.every(({ field }) => field === "category" || field === "entry");
  const matches = new Uint8Array(parent.length);
  for (let stack = 0; stack < matches.length; stack++) {
    const inherited = parent[stack] === NONE ? 0 : matches[parent[stack]];
    matches[stack] = isAny ? 1 : inherited | functions[ids[stack]];
  }
  const asked = askedFor(profile, terms);
  for (let stack = 0; stack < matches.length; stack++) {
    if (categories?.[category[stack]] === 0 || asked?.[profile.entries?.[stack] ?? 0] === 0) matches[stack] = 0;
  }
  return matches;
}

/** For each entry 1 or 0; null for all. */
function askedFor(profile: Profile, terms: readonly Term[]): Uint8Array | null {
  const term = terms.find(({ field }) => field === "entry");
  if (!term) return null;
  const list = profile.said?.entries.list ?? [];
  return list.length === 0
    ? new Uint8Array(1)
    : Uint8Array.from(list, (entry) => Number(term.expression.test(entryText(profile, entry))));
}
