// Makes the scripts of dist, minified, with the hash of what they were made from in their first lines: page.js, what
// every page shares; file.js, how a page with a recording inside begins; served.js, how a page behind a server begins.
// crates/web makes one classic script of page.js and one of the two others, and has a test that computes the same hash
// and fails when it differs.
//
//   npm ci && npm run build

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Bytes of the scripts, the style and the help, each compressed by gzip. The sources may be as long as they need to be. */
const LARGEST_COMPRESSED = 120_000;
/** The modules of page.js that the two beginnings import; page.js is one object with what they export. */
const SHARED = ["data/model.ts", "data/payload.ts", "draw/dom.ts", "draw/page.ts", "draw/text.ts"];
const here = import.meta.dirname ?? resolve(".");

/** What a saved picture shares with the program's: it comes as text. */
const PICTURE = ["../crates/formats/src/svg/script.js", "../crates/formats/src/svg/style.css"];

/** Everything that decides what comes out: the sources, this file, and the versions of the tools. */
function sources() {
  const found = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true });
  const scripts = found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  return [...scripts, ...["build.mjs", "package.json", "tsconfig.json", ...PICTURE].map((name) => join(here, name))]
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

const shared = {
  name: "shared",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.ts$/ }, ({ path, resolveDir }) => {
      const module = relative(join(here, "src"), join(resolveDir, path)).replaceAll("\\", "/");
      return SHARED.includes(module) ? { path: "page", namespace: "shared" } : undefined;
    });
    onLoad({ filter: /./, namespace: "shared" }, () => ({ contents: "module.exports = page" }));
  },
};

/** A minified script, to stand in a function with others. */
async function make(out, options) {
  const { outputFiles } = await build({
    absWorkingDir: here,
    write: false,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    loader: { ".js": "text", ".css": "text" },
    legalComments: "none",
    ...options,
  });
  const origin = `// Made from page/src by \`npm run build\` in page: change it there. Sources: ${digest}\n`;
  writeFileSync(join(here, out), origin + outputFiles[0].text);
}

const all = SHARED.map((module) => `export * from "./${module}";`).join("\n");
await make("dist/page.js", {
  stdin: { contents: all, resolveDir: join(here, "src"), loader: "ts" },
  globalName: "page",
});
await make("dist/file.js", { entryPoints: ["src/file.ts"], plugins: [shared] });
await make("dist/served.js", { entryPoints: ["src/served.ts"], plugins: [shared] });

const shipped = ["dist/page.js", "dist/file.js", "dist/served.js", "style.css", "help.html"].map((name) =>
  readFileSync(join(here, name)),
);
const bytes = shipped.reduce((sum, text) => sum + gzipSync(text).length, 0);
if (bytes > LARGEST_COMPRESSED) {
  throw new Error(`the page has ${bytes} bytes compressed, and may have ${LARGEST_COMPRESSED}`);
}
