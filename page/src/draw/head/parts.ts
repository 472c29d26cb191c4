// The top of the page, from top to bottom.

import type { App, Part } from "../app.ts";
import { barPart } from "./bar.ts";
import { cautionsOf } from "./facts.ts";
import { verdictPart } from "./verdict.ts";

export function headParts(app: App): Part[] {
  const cautions = cautionsOf(app);
  const still = cautions ? [{ element: cautions, render: () => {} }] : [];
  return [barPart(app), ...still, verdictPart(app)];
}
