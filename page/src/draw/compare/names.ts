// What the two that are compared are called.

import type { Range } from "../../select/selection.ts";
import type { App } from "../app.ts";
import { shown } from "../text.ts";
import { rangeText } from "../words.ts";

export function recordingName({ library }: App, id: string | null): string {
  const found = library?.recordings.find((other) => other.id === id);
  return found
    ? shown(found.folder ? `${found.folder}/${found.name}` : found.name)
    : "a recording that is not in the list";
}

/** The file's name; with its folder where both have the same name. */
export function shortRecordingName(app: App, id: string | null): string {
  const all = app.library?.recordings ?? [];
  const found = all.find((other) => other.id === id);
  const isAlone =
    all.filter(({ id: other, name }) => name === found?.name && (other === app.id || other === app.profile.other?.id))
      .length < 2;
  return found && isAlone ? shown(found.name) : recordingName(app, id);
}

export function baseText(base: Range | "rest" | null): string {
  return base === "rest" || base === null ? "the rest" : rangeText(base);
}
