// Makes dist/ui.js, the script of a page with a recording inside, and dist/served.js, that of a page behind a server:
// minified classic scripts, with the hash of what they were made from in their first lines. crates/web has a test that
// computes the same hash and fails when it differs.
//
//   npm ci && npm run build

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

/**
 * Bytes of both scripts, the style and the help, each compressed by gzip. The sources may be as long as they need to
 * be.
 */
const LARGEST_COMPRESSED = 120_000;
const here = import.meta.dirname ?? resolve(".");

/** Everything that decides what comes out: the sources, this file, and the versions of the tools. */
function sources() {
  const found = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true });
  const scripts = found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  return [...scripts, ...["build.mjs", "package.json", "tsconfig.json"].map((name) => join(here, name))]
    .map((path) => relative(here, path).replaceAll("\\", "/"))
    .sort();
}

const hash = createHash("sha256");
for (const path of sources())
  hash
    .update(`${path}\0`)
    .update(readFileSync(join(here, path)))
    .update("\0");

const digest = hash.digest("hex");

/** One classic script from what an entry needs. */
function build(entry, out) {
  const { outputFiles } = buildSync({
    absWorkingDir: here,
    entryPoints: [entry],
    write: false,
    bundle: true,
    minify: true,
    // Nothing is imported or exported: wrapped in a function this is a classic script.
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
  });
  const script = `// Made from page/src by \`npm run build\` in page: change it there. Sources: ${digest}
"use strict";
(() => {
${outputFiles[0].text}})();
`;
  writeFileSync(join(here, out), script);
}

build("src/main.ts", "dist/ui.js");
build("src/served.ts", "dist/served.js");

const shipped = ["dist/ui.js", "dist/served.js", "style.css", "help.html"].map((name) =>
  readFileSync(join(here, name)),
);
const bytes = shipped.reduce((sum, text) => sum + gzipSync(text).length, 0);
if (bytes > LARGEST_COMPRESSED) {
  throw new Error(`the page has ${bytes} bytes compressed, and may have ${LARGEST_COMPRESSED}`);
}
