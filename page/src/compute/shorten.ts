// Names and paths as people read them: paths from the application's folder on, packages without what leads to them, C++
// names without their arguments. As crates/views does it (crates/views/src/shorten.rs); the whole text is on hover.

import { APP, functionFile, functionName, functionPlace, NONE, type Profile } from "../data/model.ts";

/** As tables and boxes have it: of native code without its parameters. */
export function shortName(profile: Profile, id: number): string {
  const { source, line } = profile.functions;
  const name = functionName(profile, id);
  const isNative = line[id] === 0 && (source[id] !== NONE || functionFile(profile, id) !== "");
  return isNative ? nativeName(name) : name;
}

/** `v8::internal::Heap::CollectGarbage` for that name with its parameters. */
export function nativeName(name: string): string {
  // Clones that the compiler made: `foo(int) [clone .constprop.0]`.
  const whole = name.split(" [clone")[0];
  const open = parametersAt(whole);
  if (open < 0) return whole;
  const declared = whole.slice(0, open);
  // Templates begin with the type that they return.
  const short = declared.includes("operator") ? declared : declared.slice(lastSpace(declared) + 1);
  return short === "" ? name : short;
}

/** Where the list of parameters begins: the last bracket that opens at the outermost level; -1 for nowhere. */
function parametersAt(name: string): number {
  const close = name.lastIndexOf(")");
  if (isInTemplate(name.slice(close + 1))) return -1;
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    if (name[at] === ")") depth++;
    if (name[at] !== "(") continue;
    if (depth === 0) return -1;
    if (--depth === 0) return at > 0 && name[at - 1] !== ":" ? at : -1;
  }
  return -1;
}

/** Whether what stands before belongs to arguments of a template: `Search<(Mode)1, Array>` has no parameters. */
function isInTemplate(rest: string): boolean {
  let depth = 0;
  for (const letter of rest.replaceAll("->", "")) {
    if (letter === "<") depth++;
    else if (letter === ">" && --depth < 0) return true;
  }
  return false;
}

/** The last space outside of all brackets; -1 for none. */
function lastSpace(text: string): number {
  let [depth, found] = [0, -1];
  for (let at = 0; at < text.length; at++) {
    if ("<({[".includes(text[at])) depth++;
    else if (">)}]".includes(text[at])) depth = Math.max(0, depth - 1);
    else if (text[at] === " " && depth === 0) found = at;
  }
  return found;
}

const folders = new WeakMap<readonly string[], string[]>();

/** `lib/orders.js` for `/srv/shop/lib/orders.js`, `express/lib/router.js` for what lies in `node_modules`. */
export function shortPath(profile: Profile, path: string): string {
  const inside = path.lastIndexOf("/node_modules/");
  if (inside >= 0) return path.slice(inside + "/node_modules/".length);
  const bare = path.replace(/^file:\/\//, "");
  const rests = foldersOf(profile).filter((folder) => bare.startsWith(`${folder}/`));
  return rests.reduce((short, folder) => {
    const rest = bare.slice(folder.length + 1);
    return rest.length < short.length ? rest : short;
  }, bare);
}

/** `lib/orders.js:12` */
export function shortPlace(profile: Profile, id: number): string {
  return shortPath(profile, functionPlace(profile, id));
}

/** The working folders of the recorded processes; else what all scripts of the application have in common. */
function foldersOf(profile: Profile): string[] {
  const known = folders.get(profile.sources);
  if (known) return known;
  const { processes, strings } = profile.origin.header;
  const own = processes.map(({ folder = NONE }) => (folder === NONE ? "" : (strings[folder] ?? "")));
  const some = [...new Set(own.filter(Boolean))];
  const all = some.length > 0 ? some : [commonFolder(ownPaths(profile))].filter(Boolean);
  folders.set(profile.sources, all);
  return all;
}

/** The scripts of the application. */
function ownPaths({ frames, functions, sources }: Profile): string[] {
  const own = new Set<number>();
  frames.category.forEach((category, frame) => {
    if (category === APP) own.add(functions.source[frames.function[frame]]);
  });
  return [...own].map((source) => sources[source] ?? "").filter((path) => path.startsWith("/"));
}

/** The longest folder that all paths lie in; empty where that is the root. */
export function commonFolder(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  let folder = parentOf(paths[0]);
  for (const path of paths) while (folder !== "" && !path.startsWith(`${folder}/`)) folder = parentOf(folder);
  return folder;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
