// The top of the page, from top to bottom.

import type { App, Part } from "../app.ts";
import { comparedPart } from "../compare/heading.ts";
import { h } from "../dom.ts";
import { barPart } from "./bar.ts";
import { verdictPart } from "./verdict.ts";

export function headParts(app: App): Part[] {
  return [barPart(app), comparedPart(app, "recording"), answerPart(app)];
}

/** The cards; beside them what a range is compared with: in their place, so that the picture stays where it is. */
function answerPart(app: App): Part {
  const parts = [verdictPart(app), comparedPart(app, "range")];
  const element = h("div", { class: "answer" }, ...parts.map((part) => part.element));
  const render = () => {
    for (const part of parts) part.render();
  };
  return { element, render };
}
