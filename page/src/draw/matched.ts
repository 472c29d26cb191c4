// What the search found, beside its field.

import { matchedOf } from "../compute/picture.ts";
import type { App } from "./app.ts";
import { percent, thousands } from "./text.ts";

const HELP = `A regular expression, for names, files and packages. Before it may stand where to look:
file: package: category: entry:, such as  package:lodash category:gc
Without a capital letter, small and capital letters are the same`;
const MATCHED =
  "Boxes that match; and of what is shown, the part that has a match on its stack, also in frames without a box";

export function renderMatched(app: App, field: HTMLInputElement, matched: HTMLElement): void {
  if (document.activeElement !== field) field.value = app.state.search;
  field.title = HELP;
  const search = app.derived.search(app.state);
  const isWrong = typeof search === "string";
  field.setAttribute("aria-invalid", String(isWrong));
  const found = matchedOf(app.derived, app.state);
  const words = found
    ? `${thousands(found.boxes)} ${found.boxes === 1 ? "match" : "matches"} · ${percent(found.share)}`
    : "";
  matched.textContent = isWrong ? `not a pattern: ${search}` : words;
  matched.title = found ? MATCHED : "";
}
