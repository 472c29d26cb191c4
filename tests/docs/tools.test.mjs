// scripts/install-test-tools.sh installs what exists: a package that a distribution does not have keeps none of the
// others away. Its function runs with an apt-get that only looks like one.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const script = readFileSync(join(root, "scripts/install-test-tools.sh"), "utf8");

/** One of the script's functions, by its name. */
const functionOf = (name) => script.match(new RegExp(`^${name}\\(\\) (?:\\{.*\\}$|\\{\\n[^]*?^\\})`, "m"))[0];

/** Runs apt_install where apt has only these packages; what it installed. */
function install(known, wanted) {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-tools-"));
  const programs = {
    id: "echo 0",
    "apt-get": `[ "$2" = update ] && exit
shift 3
for name; do case " ${known} " in *" $name "*) ;; *) echo "E: Unable to locate package $name"; exit 100 ;; esac; done
echo "$@" >>${folder}/installed`,
  };
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  writeFileSync(join(folder, "installed"), "");
  const text = ["say", "quiet", "apt_install"].map(functionOf).join("\n");
  const { status } = spawnSync("bash", ["-uo", "pipefail", "-c", `${text}\napt_install ${wanted}`], {
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
  });
  const installed = readFileSync(join(folder, "installed"), "utf8").split(/\s+/).filter(Boolean);
  rmSync(folder, { recursive: true });
  return { status, installed };
}

test("what apt does not have keeps nothing else away", () => {
  assert.deepEqual(install("zsh fish", "zsh fish"), { status: 0, installed: ["zsh", "fish"] });
  assert.deepEqual(install("zsh fish", "zsh linux-perf fish"), { status: 1, installed: ["zsh", "fish"] });
  assert.deepEqual(install("", "linux-perf"), { status: 1, installed: [] });
});
