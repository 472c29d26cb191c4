// The versions of npm packages. Code that a package generated has no folder of its own, so that its version is not
// known: where the recording has one version of the package only, it is that. As crates/views does it.

import { NONE, type Profile } from "../data/model.ts";

/** For each function the version that it counts to: a string, or NONE. */
export function versionsOf({ functions }: Profile): Uint32Array {
  const sole = soleVersions(functions);
  return functions.version.map((own, id) => (own === NONE ? (sole.get(functions.package[id]) ?? NONE) : own));
}

/** By the string of a package its version, where the recording has no two; NONE where it has. */
export function soleVersions({ package: names, version }: Profile["functions"]): Map<number, number> {
  const sole = new Map<number, number>();
  for (const [id, name] of names.entries()) {
    if (name === NONE || version[id] === NONE) continue;
    const known = sole.get(name);
    sole.set(name, known === undefined || known === version[id] ? version[id] : NONE);
  }
  return sole;
}
