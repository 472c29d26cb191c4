// `nodescope report --json` is what docs/report.schema.json describes: nothing is missing, and nothing is there that it
// does not describe.
//
// NODESCOPE_BIN  the program (default: target/debug/nodescope)

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope");
const schema = JSON.parse(readFileSync(join(root, "docs/report.schema.json"), "utf8"));
const isInstalled = existsSync(join(root, "tests/docs/node_modules/ajv"));
const skip = isInstalled ? false : "tests/docs has no npm packages, because npm ci failed";

/** One of each kind: our own, by perf events and by the inspector, and what other tools wrote. */
const RECORDINGS = [
  "crates/nodescope/src/demo/recording.nodescope",
  "tests/browser/stalls.nodescope",
  "corpus/node22-http/input.txt.gz",
  "corpus/node22-gc/input.txt.gz",
  "corpus/cpuprofile-node18-http/input.cpuprofile.gz",
  "corpus/node24-prof-workers",
  "corpus/folded-simple",
  "corpus/pprof-datadog-time",
  "corpus/perf-multi-event",
  "corpus/perf-cut",
];

/** The input of a corpus case, whatever its ending. */
function input(path) {
  if (!path.startsWith("corpus/")) return path;
  const folder = path.split("/").slice(0, 2).join("/");
  const names = execFileSync("ls", [join(root, folder)], { encoding: "utf8" }).split("\n");
  return join(
    folder,
    names.find((name) => name.startsWith("input")),
  );
}

test("every report has the documented shape", { skip }, async () => {
  const { default: Ajv } = await import("ajv/dist/2020.js");
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema);
  for (const path of RECORDINGS) {
    const printed = execFileSync(program, ["report", "--json", input(path)], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
      maxBuffer: 1 << 28,
    });
    const is = validate(JSON.parse(printed));
    assert.ok(is, `${path}: ${JSON.stringify(validate.errors?.slice(0, 5))}`);
  }
});

test("what the text of a finding states is there as numbers, too", () => {
  const options = { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 };
  const { findings } = JSON.parse(execFileSync(program, ["report", "--json", RECORDINGS[0]], options));
  const [{ text, count, worst_s, every_s, share, samples, entry, asked_by }] = findings;
  const [headline, cause] = text;
  assert.match(headline, new RegExp(` ${count} times, .*, every ${every_s.toFixed(1)} s: `));
  assert.ok(cause.includes(`${Math.round(share * 100)} % of it in the timer ${entry.function} (`), cause);
  assert.ok(worst_s > 0.2 && samples > 100 && asked_by === "timer", `${worst_s} ${samples} ${asked_by}`);
});

/** Every object of the schema, with the path that leads to it. */
function* objects(node, path = "") {
  if (node === null || typeof node !== "object") return;
  if (node.properties) yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* objects(value, `${path}/${key}`);
}

test("every field is described, and no other is permitted", () => {
  let fields = 0;
  for (const [path, object] of objects(schema)) {
    assert.equal(object.unevaluatedProperties ?? object.additionalProperties, false, path);
    for (const [name, field] of Object.entries(object.properties)) {
      assert.ok(field.description?.length > 5, `${path}/${name} has no description`);
      fields += 1;
    }
  }
  assert.ok(fields > 50);
});
