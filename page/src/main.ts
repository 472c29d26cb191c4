// Where the page starts. It also hands out the pure parts, so that tests can hold them against the program's own figures.

import { thingsDown, thingsOfCallers, thingsUp } from "./boxes";
import { CATEGORY_COLORS, colorOfChange, colorOfName, GROUP, MATCH, ramp, TIER_COLORS, themed } from "./colors";
import { basePieces, changesOf, sumPieces } from "./diff";
import { calleesOf, callersOf, follow, fromLeaves, fromRoots, layout, outermost, pathOf } from "./flame";
import { autoRows, columnStep, gridOf, heatOf, rangeOfCells } from "./heat";
import { join } from "./join";
import { culprit, loopsOf } from "./loops";
import { profileOf } from "./model";
import { decode, fromBase64 } from "./payload";
import { matchedWeight, matching } from "./search";
import { hiddenStacks, keptStacks, sumStacks } from "./selection";
import { linesOf } from "./source";
import { fromHash, START, toHash } from "./state";
import { duration, percent, share, shown } from "./text";
import { timeOrder } from "./timeorder";
import { causedBy, kindsOf, ownKinds, topOf, topOfThreads } from "./top";
import { buildTree, sumNodes } from "./tree";
import { App, showError } from "./ui/app";
import { selectionFile } from "./write";

async function start(): Promise<void> {
  const root = document.getElementById("page")!;
  const pieces = [...document.querySelectorAll(".recording")];
  // Behind a server, src/served.ts goes on.
  if (pieces.length === 0) return;
  try {
    const bytes = fromBase64(pieces.map((piece) => piece.textContent).join(""));
    for (const piece of pieces) piece.remove();
    new App(profileOf(await decode(bytes)), root);
    performance.mark("nodescope-shown");
  } catch (error) {
    showError(root, error);
    throw error;
  }
}

/** For the tests: the parts that can be held against the program's own figures, and what starts a page. */
const parts = {
  App,
  decode,
  profileOf,
  join,
  selectionFile,
  CATEGORY_COLORS,
  TIER_COLORS,
  GROUP,
  MATCH,
  colorOfChange,
  colorOfName,
  ramp,
  themed,
  basePieces,
  changesOf,
  sumPieces,
  thingsDown,
  thingsOfCallers,
  thingsUp,
  calleesOf,
  callersOf,
  follow,
  fromLeaves,
  fromRoots,
  layout,
  outermost,
  pathOf,
  autoRows,
  columnStep,
  gridOf,
  heatOf,
  rangeOfCells,
  culprit,
  loopsOf,
  hiddenStacks,
  keptStacks,
  sumStacks,
  matchedWeight,
  matching,
  timeOrder,
  linesOf,
  START,
  fromHash,
  toHash,
  duration,
  percent,
  share,
  shown,
  causedBy,
  kindsOf,
  ownKinds,
  topOf,
  topOfThreads,
  buildTree,
  sumNodes,
};
Object.assign(globalThis, { nodescope: parts });
export type Parts = typeof parts;

if (typeof document !== "undefined") void start();
