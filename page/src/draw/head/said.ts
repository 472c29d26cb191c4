// The report's sentences: they are about the whole recording, and do not change with what is selected.

import type { App, Part } from "../app.ts";
import { button, h } from "../dom.ts";
import { sentence, shown } from "../text.ts";

export function saidPart(app: App): Part {
  const { said } = app.profile;
  const quality = (said?.sentences ?? []).flatMap(({ text, is_caution }) => (is_caution ? [] : [text]));
  const spans = [
    ...quality.map((text) => h("span", {}, ...linked(app, text))),
    ...(said?.findings ?? []).map((texts) => findingOf(app, texts)),
    ...(said?.closing ?? []).map((text) => h("span", {}, ...linked(app, text))),
  ];
  const element = h("p", { class: "said quiet", id: "said" }, ...spans);
  return { element, render: () => {} };
}

/** A headline, and what to look at. */
function findingOf(app: App, [headline = "", ...details]: string[]): HTMLElement {
  const rest = details.flatMap((text) => [" ", ...linked(app, text)]);
  return h("span", { class: "finding" }, h("b", {}, ...linked(app, headline)), ...rest);
}

/** A sentence in which the functions that it names can be opened. */
function linked(app: App, text: string): (HTMLElement | string)[] {
  const named = (app.profile.said?.mentions ?? [])
    .map(({ words, function: id }) => ({ words, id, at: text.indexOf(words) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at || b.words.length - a.words.length);
  const parts: (HTMLElement | string)[] = [];
  let end = 0;
  for (const { words, id, at } of named) {
    if (at < end) continue;
    const show = () => app.update({ view: "sandwich", function: id, threads: [] });
    parts.push(sentence(text.slice(end, at)), button(shown(words), `said-${id}`, show, { class: "link" }));
    end = at + words.length;
  }
  return [...parts, sentence(text.slice(end))];
}
