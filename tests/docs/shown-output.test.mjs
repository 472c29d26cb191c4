// What the documents show as output is what the program prints. A block is checked when it starts with
// `$ nodescope …` and reads a recording of the corpus; other blocks show a live process, and no run repeats them.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const documents = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** `{ command, output }` of each block of a document that can be repeated. */
function shown(document) {
  const text = readFileSync(join(root, document), "utf8");
  const blocks = [...text.matchAll(/^```\n\$ nodescope ([^\n]*)\n(.*?)^```$/gms)];
  return blocks
    .map(([, command, output]) => ({ command, output }))
    .filter(({ command }) => command.includes(" corpus/"));
}

const all = documents.flatMap((document) => shown(document).map((block) => ({ document, ...block })));

test("there is a block to check", () => assert.ok(all.length > 0));

for (const { document, command, output } of all) {
  test(`${document}: nodescope ${command}`, () => {
    const env = { ...process.env, COLUMNS: "100" };
    const printed = execFileSync(program, command.split(" "), {
      cwd: root,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    assert.equal(printed, output);
  });
}
