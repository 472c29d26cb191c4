// The keys, in a dialog.

import { button, h } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search by regular expression; Enter or n for the next box, Shift-Enter or N for the one before"],
  ["1 … 6", "flame graph, time order, inverted, top table, callers and callees, source"],
  ["s", "the source of the box or of the row of the top table"],
  ["b", "comparing: boxes as wide as they were before"],
  ["d", "roots on top or at the bottom"],
  ["u", "undo: show again what was hidden last, or leave the focus"],
  ["t", "dark or light"],
  ["Escape", "zoom out; then clear the selection; then the search"],
];
const HEAT: [string, string][] = [
  ["drag, or two clicks", "select a range; everything below follows"],
  ["↑ ↓ ← →", "move the selection by a row, by a column; with Shift its end"],
  ["Home, End", "to the first or last column"],
];
const PICTURE: [string, string][] = [
  ["click, Enter", "zoom in (in time order: select that time)"],
  ["↑ ↓ ← →", "from box to box"],
  ["Backspace", "zoom out by one"],
  ["right click, m", "menu: hide, focus, callers and callees, source"],
];

export function helpDialog(): HTMLDialogElement {
  const list = (rows: [string, string][]) => h("dl", {}, ...rows.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]));
  const dialog = h("dialog", { attributes: { "aria-label": "Keys" } });
  dialog.append(
    h("h2", {}, "Everywhere"), list(KEYS),
    h("h2", {}, "Heat map"), list(HEAT),
    h("h2", {}, "Flame graph"), list(PICTURE),
    h("p", { class: "quiet" }, "This file holds names of functions, files and threads, times and stacks. It holds no source text, and it loads nothing."),
    button("close", "close", () => dialog.close()),
  );
  return dialog;
}
