// Links that open a place in the reader's own editor. Which one is remembered by the browser, and is none at first: a
// link that nothing answers is worse than no link. A server says where a source is on its machine; a page alone takes
// the recorded path, where that is a whole one.

import type { App } from "./app.ts";
import { h, picker } from "./dom.ts";

const EDITORS = ["none", "vscode", "cursor", "webstorm", "idea", "zed"] as const;
type Editor = (typeof EDITORS)[number];

const WORDS: Record<Editor, string> = {
  none: "no editor",
  vscode: "VS Code",
  cursor: "Cursor",
  webstorm: "WebStorm",
  idea: "IntelliJ IDEA",
  zed: "Zed",
};

type Address = (path: string, line: number, column: number) => string;

const ofFile =
  (scheme: string): Address =>
  (path, line, column) =>
    `${scheme}://file${path.split("/").map(encodeURIComponent).join("/")}:${line}:${column}`;
const ofOpen =
  (scheme: string): Address =>
  (path, line, column) =>
    `${scheme}://open?file=${encodeURIComponent(path)}&line=${line}&column=${column}`;

const ADDRESSES: Record<Exclude<Editor, "none">, Address> = {
  vscode: ofFile("vscode"),
  cursor: ofFile("cursor"),
  webstorm: ofOpen("webstorm"),
  idea: ofOpen("idea"),
  zed: ofFile("zed"),
};

const STORED = "nodescope-editor";

/** A page of a file may have no store. */
function stored(): Editor {
  try {
    return EDITORS.find((editor) => editor === localStorage.getItem(STORED)) ?? "none";
  } catch {
    return "none";
  }
}

let chosen: Editor | null = null;

export function editorPicker(app: App): HTMLElement {
  chosen ??= stored();
  const choose = (editor: Editor) => {
    chosen = editor;
    try {
      localStorage.setItem(STORED, editor);
    } catch {
      // Then it is remembered until the page is closed.
    }
    app.schedule();
  };
  return h("label", { class: "row" }, "open in", picker("editor", EDITORS, chosen, choose, WORDS));
}

/** The address of a place; null where there is no editor, or no whole path. */
export function addressOf(editor: Editor, path: string, line: number, column: number): string | null {
  const plain = path.replace(/^file:\/\//, "").replaceAll("\\", "/");
  const whole = /^[A-Za-z]:\//.test(plain) ? `/${plain}` : plain;
  if (editor === "none" || !whole.startsWith("/") || whole.startsWith("//")) return null;
  return ADDRESSES[editor](whole, Math.max(1, line), Math.max(1, column));
}

/** Where sources are on the server's machine, by recording and row; null until it has answered, and where they are not. */
const places = new Map<string, string | null>();

/** The path of a source here. Asks for it, and draws again when the answer is there. */
function placeOf(app: App, row: number): string | null {
  const { library, id, profile } = app;
  if (!library || id === null) return profile.sources[row] ?? null;
  const key = `${id}/${row}`;
  const known = places.get(key);
  if (known !== undefined) return known;
  places.set(key, null);
  const arrived = (path: string | null) => {
    if (path === null) return;
    places.set(key, path);
    app.schedule();
  };
  library.place(id, row).then(arrived, () => {});
  return null;
}

/** The address of a line of a source in the chosen editor. */
export function editorAddress(app: App, row: number, line: number, column = 1): string | null {
  chosen ??= stored();
  if (chosen === "none") return null;
  const path = placeOf(app, row);
  return path === null ? null : addressOf(chosen, path, line, column);
}
