// The top of the page, from top to bottom.

import type { App, Part } from "../app.ts";
import { comparedPart } from "../compare/heading.ts";
import { barPart } from "./bar.ts";
import { verdictPart } from "./verdict.ts";

export function headParts(app: App): Part[] {
  return [barPart(app), comparedPart(app, "recording"), verdictPart(app)];
}
