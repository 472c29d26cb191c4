// What was recorded, and what is wrong with the recording: the report's headline and cautions.

import type { App } from "../app.ts";
import { h } from "../dom.ts";
import { sentence } from "../text.ts";

export function factsOf({ profile }: App): HTMLElement {
  const { said, texts } = profile;
  const parts = said?.headline ?? [];
  const spans = parts.map((text, at) => h("span", { class: at === 0 ? "fact-what" : "fact" }, sentence(text)));
  const cautions = (said?.sentences ?? []).flatMap(({ text, is_caution }) => (is_caution ? [text] : []));
  const wrong = [...cautions, ...(said?.warnings ?? [])].map((text) => h("span", { class: "warn" }, sentence(text)));
  const carried = texts.some(Boolean) && h("span", { class: "fact-text" }, "with source text");
  return h("span", { class: "facts" }, ...spans, carried, ...wrong);
}
