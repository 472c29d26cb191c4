// The shim alone, with a shell in the place of the program: environment, name and exit status, on Nodes that start the
// program as a child and on those that give their place to it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { nodeOf } from "./managers.mjs";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "nodescope-shim-test-"));
const shim = join(folder, "node_modules/nodescope");
const holder = join(folder, "node_modules/@nodescope", `${process.platform}-${process.arch}`);

/** Without process.execve, with one that names no environment by itself, and with the newest. */
const RELEASES = ["18.20.8", "23.11.1", "24.0.0", "26.10.0"];

before(() => {
  cpSync(join(root, "packaging/npm/nodescope"), shim, { recursive: true });
  mkdirSync(holder, { recursive: true });
  copyFileSync("/bin/sh", join(holder, "nodescope"));
});
after(() => rmSync(folder, { recursive: true }));

/** What a shell of that name does with these words, started through the shim. */
function start(node, words, environment = {}) {
  const env = { PATH: process.env.PATH, ...environment };
  return spawnSync(node, [join(shim, "nodescope.js"), ...words], { encoding: "utf8", env });
}

for (const release of RELEASES) {
  const node = nodeOf(release);
  const reason = [
    process.platform === "win32" && "it runs a shell of Unix",
    !existsSync(node) && `Node ${release} is missing: scripts/install-test-tools.sh fetches it`,
  ].find(Boolean);

  test(`Node ${release}: the program gets environment, words and name`, { skip: reason }, () => {
    const agent = { npm_config_user_agent: "npm/11.0.0 node/v26.0.0 linux x64" };
    const { stdout, stderr } = start(node, ["-c", 'env; echo "$0 $1"', "a word", "$b"], { MARK: "kept", ...agent });
    assert.match(stdout, /^MARK=kept$/m, stderr);
    assert.match(stdout, new RegExp(`^PATH=${process.env.PATH.replaceAll(".", "\\.")}$`, "m"));
    assert.match(stdout, /^a word \$b$/m);
    assert.match(start(node, ["-c", "nonesuch-command"], agent).stderr, /^npx nodescope: /);
  });

  test(`Node ${release}: the exit status is the program's`, { skip: reason }, () => {
    for (const status of [0, 1, 2, 3, 127, 255]) assert.equal(start(node, ["-c", `exit ${status}`]).status, status);
    assert.equal(start(node, ["-c", "kill -TERM $$"]).signal, "SIGTERM");
  });
}
