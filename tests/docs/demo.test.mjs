// What the documents show of the demo is what this program says of the recording that ships with it: README.md's report,
// docs/demo.html, the comparison in docs/page.md, and the pictures. NODESCOPE_UPDATE=1 writes all but the pictures, which
// `make pictures` takes.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ARE_OF, whatPicturesAreOf } from "./pictures-are-of.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const recording = "crates/nodescope/src/demo/recording.nodescope";
/** Of the same service under the same load, with its slow function mended. */
const mended = "tests/browser/shop-mended.nodescope";
const README = join(root, "README.md");
const PAGE = join(root, "docs/demo.html");
const ABOUT_PAGE = join(root, "docs/page.md");
/** It opens from a ticket, and lies in the repository. */
const LARGEST_PAGE = 1_000_000;
const isUpdate = process.env.NODESCOPE_UPDATE !== undefined;

/** The first block of README.md, between its fences: it begins with a headline, and not with a command. */
const BLOCK = /(?<=^```\n)\S+ · pid [\s\S]*?(?=^```$)/m;

/** The sentence of docs/page.md that the picture of a comparison shows. */
const COMPARED = /(?<=^> )The main loop used .*$/m;

/** The beginning of the report, up to its tables. */
function head() {
  const env = { ...process.env, COLUMNS: "100", NO_COLOR: "1" };
  const options = { cwd: root, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
  const all = execFileSync(program, ["report", recording], options);
  return `${all.slice(0, all.indexOf("\n\nWhere the time went"))}\n`;
}

/** What `nodescope export` writes as one page. */
function exported(...words) {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-demo-page-"));
  try {
    const out = join(folder, "demo.html");
    execFileSync(program, ["export", ...words, "-o", out], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    return readFileSync(out, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What the page says first of the mended service against the one that ships. */
function compared() {
  const [, words] = exported(mended, "--against", recording).match(/id="compared-words">(.*)<\/script>/);
  return JSON.parse(words).loops.text;
}

test("README.md shows the report of the recording that ships", () => {
  const text = readFileSync(README, "utf8");
  assert.match(text, BLOCK);
  if (isUpdate) writeFileSync(README, text.replace(BLOCK, head));
  else assert.equal(text.match(BLOCK)[0], head());
});

test("docs/demo.html is the page of the recording that ships", () => {
  const made = exported(recording, "--with-source");
  assert.ok(Buffer.byteLength(made) < LARGEST_PAGE, `${Buffer.byteLength(made)} bytes`);
  if (isUpdate) writeFileSync(PAGE, made);
  // Not by `equal`: it would print both.
  else
    assert.ok(
      readFileSync(PAGE, "utf8") === made,
      "docs/demo.html is stale: NODESCOPE_UPDATE=1 node --test tests/docs/demo.test.mjs",
    );
});

test("docs/page.md says of a comparison what its picture shows", () => {
  const text = readFileSync(ABOUT_PAGE, "utf8");
  assert.match(text, COMPARED);
  if (isUpdate) writeFileSync(ABOUT_PAGE, text.replace(COMPARED, compared));
  else assert.equal(text.match(COMPARED)[0], compared());
});

test("pictures show the page as it is", () => {
  assert.equal(readFileSync(ARE_OF, "utf8"), whatPicturesAreOf(), "stale: KEEP_RECORDING=1 make pictures");
});
