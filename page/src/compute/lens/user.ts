// What of a recording is the user's: which frames are of functions of their own, and which are of packages.

import { ADDON, APP, DEPENDENCY, LIBUV, NODE, NONE, type Profile, WASM } from "../../data/model.ts";

/** What a frame is to a lens. */
export const [OTHER, OWN, PACKAGE, CORE] = [0, 1, 2, 3];

export function kindOfFrame({ stacks, functions }: Profile, stack: number): number {
  const category = stacks.category[stack];
  if (category === APP) return OWN;
  if (category === DEPENDENCY) return PACKAGE;
  if (category === NODE || category === LIBUV) return CORE;
  if (category !== WASM && category !== ADDON) return OTHER;
  return functions.package[stacks.function[stack]] === NONE ? OWN : PACKAGE;
}

/** Of each stack as it is what its own frame is. */
export function kindsOfFrames(profile: Profile): Uint8Array {
  const kinds = new Uint8Array(profile.stacks.parent.length);
  for (let stack = 0; stack < kinds.length; stack++) kinds[stack] = kindOfFrame(profile, stack);
  return kinds;
}

/** For each stack as it is 1 or 0: whether anything on it is the user's, their own or a package's. */
export function withUser({ stacks }: Profile, kinds: Uint8Array): Uint8Array {
  const { parent } = stacks;
  const has = new Uint8Array(kinds.length);
  for (let stack = 0; stack < has.length; stack++) {
    const isUser = kinds[stack] === OWN || kinds[stack] === PACKAGE;
    has[stack] = Number(isUser) | (parent[stack] === NONE ? 0 : has[parent[stack]]);
  }
  return has;
}
