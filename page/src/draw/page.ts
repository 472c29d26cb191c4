// The parts of the page, from top to bottom.

import type { Library } from "../data/library.ts";
import type { Profile } from "../data/model.ts";
import { App, type Part } from "./app.ts";
import { errorText, h } from "./dom.ts";
import { flameParts } from "./flame/view.ts";
import { headParts } from "./head/parts.ts";
import { heatPart } from "./heat/view.ts";
import { sentence } from "./text.ts";
import { toolParts } from "./tools/parts.ts";

function partsOf(app: App): Part[] {
  return [...headParts(app), heatPart(app), ...toolParts(app), ...flameParts(app)];
}

/** Shows a recording; of two that the library has opened, the last against the first. */
export function showPage(profile: Profile, root: HTMLElement, library: Library | null = null): void {
  new App(profile, root, library, partsOf);
  performance.mark("nodescope-shown");
}

/** Says why there is nothing to show. */
export function showError(root: HTMLElement, what: string, error: unknown, ...more: (Node | null)[]): void {
  const head = h("header", { class: "head row" }, h("h1", {}, "nodescope"), ...more);
  const words = `${what} cannot be shown: ${sentence(errorText(error))}`;
  root.replaceChildren(head, h("p", { class: "note problem", role: "alert" }, words));
}
