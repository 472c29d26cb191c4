// The top of the page, from top to bottom.

import type { App, Part } from "../app.ts";
import { barPart } from "./bar.ts";
import { entriesPart } from "./entries.ts";
import { saidPart } from "./said.ts";
import { threadsPart } from "./threads.ts";

export function headParts(app: App): Part[] {
  return [barPart(app), saidPart(app), entriesPart(app), threadsPart(app)];
}
