// What of a recording is the user's: which frames are of functions of their own, which are of packages, and with which
// lens the page opens.

import { ADDON, APP, DEPENDENCY, LIBUV, NODE, NONE, type Profile, samplesIn, WASM } from "../../data/model.ts";
import type { Lens } from "../../select/state.ts";

/** What a frame is to a lens. */
export const [OTHER, OWN, PACKAGE, CORE] = [0, 1, 2, 3];

/** Of a stack: what it has anywhere. */
export const [HAS_OWN, HAS_PACKAGE, HAS_JAVASCRIPT] = [1, 2, 4];

/** Tiers of JavaScript; those behind are of WebAssembly. */
const [FIRST_TIER, LAST_TIER] = [1, 5];
/** With less of the user's own than this part, packages are shown at once. */
const LEAST_OWN = 0.01;

export function kindOfFrame({ stacks, functions }: Profile, stack: number): number {
  const category = stacks.category[stack];
  if (category === APP) return OWN;
  if (category === DEPENDENCY) return PACKAGE;
  if (category === NODE || category === LIBUV) return CORE;
  if (category !== WASM && category !== ADDON) return OTHER;
  return functions.package[stacks.function[stack]] === NONE ? OWN : PACKAGE;
}

/** For each stack as it is, what it has anywhere, as bits. */
export function contents(profile: Profile): Uint8Array {
  const { parent, frame } = profile.stacks;
  const has = new Uint8Array(parent.length);
  for (let stack = 0; stack < has.length; stack++) {
    const kind = kindOfFrame(profile, stack);
    const tier = profile.frames.tier[frame[stack]];
    has[stack] =
      (parent[stack] === NONE ? 0 : has[parent[stack]]) |
      (kind === OWN ? HAS_OWN : kind === PACKAGE ? HAS_PACKAGE : 0) |
      (tier >= FIRST_TIER && tier <= LAST_TIER ? HAS_JAVASCRIPT : 0);
  }
  return has;
}

/** The user's code; where that is next to nothing, packages, too; and all where there is nothing of either. */
export function lensFor(profile: Profile): Lens {
  const has = contents(profile);
  const lane = profile.lanes.find(({ time }) => time.length > 0);
  let [user, javascript, own] = [0, 0, 0];
  for (let row = 0; row < (lane?.raw.length ?? 0); row++) {
    if (!lane || lane.raw[row] === NONE) continue;
    const [bits, samples] = [has[lane.raw[row]], samplesIn(lane, row)];
    if (bits & (HAS_OWN | HAS_PACKAGE)) user += samples;
    if (!(bits & HAS_JAVASCRIPT)) continue;
    javascript += samples;
    if (bits & HAS_OWN) own += samples;
  }
  if (user === 0) return "everything";
  return own < LEAST_OWN * javascript ? "packages" : "code";
}
