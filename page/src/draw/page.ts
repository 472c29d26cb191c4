// The parts of the page, from top to bottom.

import type { Library } from "../data/library.ts";
import type { Profile } from "../data/model.ts";
import { App, type Part } from "./app.ts";
import { errorText, h } from "./dom.ts";
import { flameParts } from "./flame/view.ts";
import { headParts } from "./head/parts.ts";
import { heatPart } from "./heat/view.ts";
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
  root.replaceChildren(
    h("p", { class: "note", role: "alert" }, `${what} cannot be shown: ${errorText(error)}`, " ", ...more),
  );
}
