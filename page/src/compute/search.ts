// Search by regular expression in names, files and packages, as `--search` does; with a word before it in one of them
// alone, in the category of what ran, or in what asked for the work: `file:orders category:gc`. Of several terms with the
// same word one must hold, of different ones all.

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
import type { PageEntry } from "../data/report.ts";
import { entryOf, kindOfBox } from "./lens/virtual.ts";
import { ignoresCase, withoutFlags } from "./smart-case.ts";

const FIELDS = ["name", "file", "package", "category", "entry"] as const;
type Field = (typeof FIELDS)[number] | "any";

/** Where the next field begins; what stands before is one pattern, with its blanks. */
const NEXT = /\s+(?=(?:name|file|package|category|entry):)/;

/** The terms of each field that is searched. */
type Terms = Map<Field, RegExp[]>;

export interface Search {
  /** For each function 1 or 0: whether its boxes match, where they are of one of the categories. */
  functions: Uint8Array;
  /** For each function 1 or 0: whether its name, file and package match. */
  named: Uint8Array;
  /** Whether it names what must have asked for the work. */
  isOfEntry: boolean;
  /** For each category 1 or 0; null for all. */
  categories: Uint8Array | null;
  /** For each stack as it is, whether its samples match: its functions, what ran, and what asked for it. */
  stacks: Uint8Array;
}

/** Null for no pattern; an error's words for a wrong one. */
export function searchFor(profile: Profile, text: string): Search | string | null {
  if (text.trim() === "") return null;
  let terms: Terms;
  try {
    terms = termsOf(text.trim());
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return words.slice(words.lastIndexOf(": ") + 2);
  }
  const named = namedBy(profile, terms);
  const ofCategory = terms.get("category");
  const categories = ofCategory
    ? Uint8Array.from(CATEGORIES, (words) => Number(words.some((word) => isAny(ofCategory, word))))
    : null;
  return {
    functions: terms.size === 1 && terms.has("entry") ? entriesAmong(profile, terms) : named,
    named,
    isOfEntry: terms.has("entry"),
    categories,
    stacks: stacksOf(rawOf(profile), terms, named, categories),
  };
}

/** Whether a box is one that matches; its weight shows whether an entry asked for it. */
export function isMatch({ functions, categories }: Search, box: { function: number; category: number }): boolean {
  return box.function !== NONE && functions[box.function] === 1 && categories?.[box.category] !== 0;
}

function termsOf(text: string): Terms {
  const terms: Terms = new Map();
  for (const part of text.split(NEXT)) {
    const word = FIELDS.find((known) => part.startsWith(`${known}:`));
    const pattern = word ? part.slice(word.length + 1).trimStart() : part;
    const expression = new RegExp(withoutFlags(pattern), ignoresCase(pattern) ? "ui" : "u");
    const field = word ?? "any";
    terms.set(field, [...(terms.get(field) ?? []), expression]);
  }
  return terms;
}

function isAny(expressions: readonly RegExp[], text: string): boolean {
  return expressions.some((expression) => expression.test(text));
}

/** Functions whose name, file and package are searched for: all of them where no term is about these. */
function namedBy(profile: Profile, terms: Terms): Uint8Array {
  const { length } = profile.functions.name;
  const named = new Uint8Array(length).fill(1);
  for (const [field, expressions] of terms) {
    if (field === "category" || field === "entry") continue;
    for (let id = 0; id < length; id++) {
      if (named[id] === 1) named[id] = Number(textsOf(profile, id, field).some((text) => isIn(expressions, text)));
    }
  }
  return named;
}

function isIn(expressions: readonly RegExp[], text: string): boolean {
  return text !== "" && isAny(expressions, text);
}

function textsOf(profile: Profile, id: number, field: Field): string[] {
  if (field === "name") return [functionName(profile, id)];
  if (field === "file") return [functionFile(profile, id)];
  if (field === "package") return [functionPackage(profile, id)];
  const { source } = profile.functions;
  const file = source[id] === NONE ? "" : profile.sources[source[id]];
  return [functionName(profile, id), file, functionPackage(profile, id)];
}

/** The roots of a lens for what asked for the work. */
function entriesAmong(profile: Profile, terms: Terms): Uint8Array {
  const expressions = terms.get("entry") ?? [];
  return Uint8Array.from(profile.functions.name, (_, id) => {
    const entry = kindOfBox(profile, id) === "entry" && entryOf(profile, id);
    return Number(entry && isAny(expressions, entryText(profile, entry)));
  });
}

function entryText(profile: Profile, { kind, text, function: id }: PageEntry): string {
  return `${kind} ${text} ${id === null ? "" : functionPlace(profile, id)}`;
}

/** Stacks with such a function anywhere, whose time is of such a category, and that such an entry asked for. */
function stacksOf(profile: Profile, terms: Terms, named: Uint8Array, categories: Uint8Array | null): Uint8Array {
  const { parent, category, function: ids } = profile.stacks;
  const isAll = [...terms.keys()].every((field) => field === "category" || field === "entry");
  const matches = new Uint8Array(parent.length);
  for (let stack = 0; stack < matches.length; stack++) {
    const inherited = parent[stack] === NONE ? 0 : matches[parent[stack]];
    matches[stack] = isAll ? 1 : inherited | named[ids[stack]];
  }
  const asked = askedFor(profile, terms);
  for (let stack = 0; stack < matches.length; stack++) {
    if (categories?.[category[stack]] === 0 || asked?.[profile.entries?.[stack] ?? 0] === 0) matches[stack] = 0;
  }
  return matches;
}

/** For each entry 1 or 0; null for all. */
function askedFor(profile: Profile, terms: Terms): Uint8Array | null {
  const expressions = terms.get("entry");
  if (!expressions) return null;
  const list = profile.report?.entries.list ?? [];
  return list.length === 0
    ? new Uint8Array(1)
    : Uint8Array.from(list, (entry) => Number(isAny(expressions, entryText(profile, entry))));
}
