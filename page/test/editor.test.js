// Links into editors: what becomes of paths.

import assert from "node:assert/strict";
import { test } from "node:test";

const { addressOf } = await import("../src/draw/editor.ts");

test("every editor gets the place in its own way", () => {
  const of = (editor) => addressOf(editor, "/app/src/a b#1?.js", 12, 5);
  assert.equal(of("vscode"), "vscode://file/app/src/a%20b%231%3F.js:12:5");
  assert.equal(of("cursor"), "cursor://file/app/src/a%20b%231%3F.js:12:5");
  assert.equal(of("zed"), "zed://file/app/src/a%20b%231%3F.js:12:5");
  assert.equal(of("idea"), "idea://open?file=%2Fapp%2Fsrc%2Fa%20b%231%3F.js&line=12&column=5");
  assert.equal(of("webstorm"), "webstorm://open?file=%2Fapp%2Fsrc%2Fa%20b%231%3F.js&line=12&column=5");
  assert.equal(of("none"), null);
});

test("only whole paths are linked", () => {
  assert.equal(addressOf("vscode", "file:///app/a.js", 0, 0), "vscode://file/app/a.js:1:1");
  assert.equal(addressOf("vscode", "C:\\app\\a.js", 3, 1), "vscode://file/C%3A/app/a.js:3:1");
  for (const path of ["node:fs", "a.js", "", "https://example.com/a.js", "//host/a.js", "webpack://x/a.js"])
    assert.equal(addressOf("vscode", path, 1, 1), null, path);
});
