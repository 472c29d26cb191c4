#!/usr/bin/env node
// Starts the program for this system, which an optional dependency holds. Every run pays for this file: it loads
// nothing that it does not need, and where Node can, the program takes the place of Node's process. Terminal,
// signals and exit status are then the program's own.
"use strict";

const isWindows = process.platform === "win32";
const holder = `@nodescope/${process.platform}-${process.arch}`;

const program = find();
if (program === undefined) require("./missing.js").report(holder, typed());
// Node before 22.21.1 and 24.10 passes an empty environment where none is named.
else if (canReplaceItself(program)) process.execve(program, [typed(), ...process.argv.slice(2)], process.env);
else require("./child.js").run(program, typed(), process.argv.slice(2));

function find() {
  try {
    return require.resolve(`${holder}/nodescope${isWindows ? ".exe" : ""}`);
  } catch {
    return undefined;
  }
}

// Node 22.15, 23.11 and newer. Before Node 26 a failed execve aborts, so what would fail is left to child.js, which
// says why.
function canReplaceItself(program) {
  if (isWindows || typeof process.execve !== "function") return false;
  const fs = require("node:fs");
  try {
    fs.accessSync(program, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// What the user types to run nodescope again. The program gets it as its name, and prints it in hints.
function typed() {
  const runner = (process.env.npm_config_user_agent || "").split("/", 1)[0];
  const runners = { npm: "npx nodescope", pnpm: "pnpm nodescope", yarn: "yarn nodescope", bun: "bunx nodescope" };
  const command = runners[runner] || (isInPath() ? "nodescope" : process.argv[1]);
  return isOfDlx() ? command.replace(/^(pnpm|yarn) /, "$1 dlx ") : command;
}

// `pnpm dlx` and `yarn dlx` install into a folder of their own. Yarn calls it its project; pnpm starts us from there, or
// from its store, with a path for modules of that folder.
function isOfDlx() {
  const folder = /[\\/]dlx(-\d+$|(-\d+|[\\/][^\\/]+[\\/][^\\/]+)[\\/]node_modules[\\/])/;
  const { PROJECT_CWD, NODE_PATH } = process.env;
  return [process.argv[1], PROJECT_CWD, NODE_PATH].some((path) => path && folder.test(path));
}

function isInPath() {
  const { existsSync } = require("node:fs");
  const { delimiter, join } = require("node:path");
  const file = isWindows ? "nodescope.cmd" : "nodescope";
  return (process.env.PATH || "").split(delimiter).some((folder) => folder && existsSync(join(folder, file)));
}
