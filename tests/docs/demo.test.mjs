// What the documents show of the demo is what this program says of the recording that ships with it: README.md's report,
// and docs/demo.html. NODESCOPE_UPDATE=1 writes both.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const recording = "crates/nodescope/src/demo/recording.nodescope";
const README = join(root, "README.md");
const PAGE = join(root, "docs/demo.html");
/** It opens from a ticket, and lies in the repository. */
const LARGEST_PAGE = 1_000_000;
const isUpdate = process.env.NODESCOPE_UPDATE !== undefined;

/** The first block of README.md, between its fences: it begins with a headline, and not with a command. */
const BLOCK = /(?<=^```\n)\S+ · pid [\s\S]*?(?=^```$)/m;

/** The beginning of the report, up to its tables. */
function head() {
  const env = { ...process.env, COLUMNS: "100", NO_COLOR: "1" };
  const options = { cwd: root, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
  const all = execFileSync(program, ["report", recording], options);
  return `${all.slice(0, all.indexOf("\n\nWhere the time went"))}\n`;
}

function page() {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-demo-page-"));
  try {
    const out = join(folder, "demo.html");
    execFileSync(program, ["export", recording, "-o", out], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    return readFileSync(out, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("README.md shows the report of the recording that ships", () => {
  const text = readFileSync(README, "utf8");
  assert.match(text, BLOCK);
  if (isUpdate) writeFileSync(README, text.replace(BLOCK, head));
  else assert.equal(text.match(BLOCK)[0], head());
});

test("docs/demo.html is the page of the recording that ships", () => {
  const made = page();
  assert.ok(Buffer.byteLength(made) < LARGEST_PAGE, `${Buffer.byteLength(made)} bytes`);
  if (isUpdate) writeFileSync(PAGE, made);
  // Not by `equal`: it would print both.
  else
    assert.ok(
      readFileSync(PAGE, "utf8") === made,
      "docs/demo.html is stale: NODESCOPE_UPDATE=1 node --test tests/docs/demo.test.mjs",
    );
});
