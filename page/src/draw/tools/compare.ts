// What the selection is compared with: how it is chosen.

import type { Range } from "../../select/selection.ts";
import type { App } from "../app.ts";
import { baseText, recordingName, shortRecordingName } from "../compare/names.ts";
import { button, h, picker } from "../dom.ts";

/**
 * The selected range against the rest, or against another one that was set as base before; or all against another
 * recording.
 */
export function comparing(app: App): HTMLElement[] {
  const { range, base, against } = app.state;
  if (against) return [comparedChip(app, shortRecordingName(app, against), recordingName(app, against))];
  if (base) return [comparedChip(app, baseText(base))];
  const buttons = range ? rangeButtons(app, range) : [];
  if (app.others.length === 0) return buttons;
  const ids = ["", ...app.others.map(({ id }) => id)];
  const names = Object.fromEntries(ids.map((id) => [id, id ? recordingName(app, id) : "compare with …"]));
  return [...buttons, picker("compare with", ids, "", (id) => app.update({ against: id, zoom: [] }), names)];
}

function comparedChip(app: App, words: string, title = ""): HTMLElement {
  const end = () => app.update({ base: null, against: null });
  const stop = button("✕", "compare-stop", end, { "aria-label": "Stop comparing" });
  return h("span", { class: "chip", id: "against", title }, h("span", {}, `against ${words}`), stop);
}

function rangeButtons(app: App, range: Range): HTMLElement[] {
  return [
    button("against the rest", "compare-rest", () => app.update({ base: "rest", zoom: [] }), {
      title: "Colour by what is more or less than in the rest of the recording",
    }),
    button("set as base", "compare-base", () => app.update({ base: range, zoom: [] }), {
      title: "Then select another range: it is compared with this one",
    }),
  ];
}
