// What of a recording is the user's: which frames are of functions of their own, and which are of packages.

import { ADDON, APP, DEPENDENCY, LIBUV, NODE, NONE, type Profile, WASM } from "../../data/model.ts";

/** What a frame is to a lens. */
export const [OTHER, OWN, PACKAGE, CORE] = [0, 1, 2, 3];

/** Of a stack: what it has anywhere. */
export const [HAS_OWN, HAS_PACKAGE] = [1, 2];

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
  const { parent } = profile.stacks;
  const has = new Uint8Array(parent.length);
  for (let stack = 0; stack < has.length; stack++) {
    const kind = kindOfFrame(profile, stack);
    has[stack] =
      (parent[stack] === NONE ? 0 : has[parent[stack]]) | (kind === OWN ? HAS_OWN : kind === PACKAGE ? HAS_PACKAGE : 0);
  }
  return has;
}
