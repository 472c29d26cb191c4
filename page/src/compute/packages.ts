// The versions of npm packages. Code that a package generated has no folder of its own, so that its version is not
// known: where the recording has one version of the package only, it is that. As crates/views does it.

import { NONE, type Profile } from "../data/model.ts";

/** For each function the version that it counts to: a string, or NONE. */
export function versionsOf({ functions }: Profile): Uint32Array {
  const { package: names, version } = functions;
  const sole = new Map<number, number>();
  for (const [id, name] of names.entries()) {
    if (name === NONE || version[id] === NONE) continue;
    const known = sole.get(name);
    sole.set(name, known === undefined || known === version[id] ? version[id] : NONE);
  }
  return version.map((own, id) => (own === NONE ? (sole.get(names[id]) ?? NONE) : own));
}
