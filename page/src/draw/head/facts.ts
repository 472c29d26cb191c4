// What was recorded and how good that is, on one line: the report's headline and its first sentence. What else it says
// of the recording stands behind "notes"; the first words of what is wrong with it are in sight.

import type { PageReport } from "../../data/report.ts";
import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { type Drop, drop } from "../drop.ts";
import { plural, sentence } from "../text.ts";

/** Of two recordings that are compared, the heading below says it. */
export function factsOf({ profile }: App): HTMLElement {
  const { report, other } = profile;
  if (other) return h("span", { class: "facts" }, h("span", { class: "fact fact-what" }, "two recordings compared"));
  const [quality] = report?.sentences ?? [];
  const parts = [...(report?.headline ?? []), ...(quality && !quality.is_caution ? [quality.text] : [])].map(sentence);
  const spans = parts.map((text, at) => h("span", { class: at === 0 ? "fact fact-what" : "fact" }, text));
  return h("span", { class: "facts", title: parts.join(" · ") }, ...spans);
}

/** What a reader must know before handing the page on; null where it carries names alone. */
export function carriedOf({ profile }: App): HTMLElement | null {
  return profile.texts.some(Boolean) ? h("span", { class: "fact-text quiet" }, "with source text") : null;
}

/** Null where there are none. */
export function notesOf({ profile }: App): HTMLElement | null {
  const [, ...rest] = profile.report?.sentences ?? [];
  const calm = rest.flatMap(({ text, is_caution }) => (is_caution ? [] : [text]));
  const notes = [...calm, ...(profile.report?.notes ?? [])];
  if (notes.length === 0) return null;
  return filled(drop(`${plural(notes.length, "note")} ▾`, "notes", "What else is known of this recording"), notes);
}

/** What readers should know before they trust the picture; null where all is well. */
export function cautionsOf({ profile }: App): HTMLElement | null {
  const { report, other } = profile;
  const all = other ? [...named("before", other.report), ...named("after", report)] : cautionsIn(report);
  if (all.length === 0) return null;
  const count = all.length > 1 ? `${plural(all.length, "caution")}: ` : "";
  const made = drop(`${count}${sentence(all[0])}`, "cautions", "What to know before you trust this");
  made.element.classList.add("cautions");
  made.content.id = "cautions";
  return filled(made, all);
}

function cautionsIn(report: PageReport | null): string[] {
  const cautions = (report?.sentences ?? []).flatMap(({ text, is_caution }) => (is_caution ? [text] : []));
  return [...cautions, ...(report?.warnings ?? [])];
}

function named(word: string, report: PageReport | null): string[] {
  return cautionsIn(report).map((text) => `${word}: ${text}`);
}

function filled({ element, content }: Drop, texts: readonly string[]): HTMLElement {
  content.append(...texts.map((text) => h("p", {}, sentence(text))));
  return element;
}
