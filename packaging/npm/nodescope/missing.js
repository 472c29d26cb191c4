// Says what to do where the package with this system's program is missing.
"use strict";

const { existsSync } = require("node:fs");
const { dirname, join, sep } = require("node:path");
const { optionalDependencies, version } = require("./package.json");

// The package manager of a project is the one whose lockfile is there. As an optional dependency of the project, the
// package does not trouble colleagues on other systems.
const MANAGERS = [
  { name: "npm", lockfile: "package-lock.json", add: "npm install --include=optional --save-optional" },
  { name: "npm", lockfile: "npm-shrinkwrap.json", add: "npm install --include=optional --save-optional" },
  { name: "pnpm", lockfile: "pnpm-lock.yaml", add: "pnpm add --save-optional" },
  { name: "yarn", lockfile: "yarn.lock", add: "yarn add --optional" },
  { name: "bun", lockfile: "bun.lock", add: "bun add --optional" },
  { name: "bun", lockfile: "bun.lockb", add: "bun add --optional" },
];

exports.report = function report(holder) {
  const [what, hint] = holder in optionalDependencies ? missing(holder) : unsupported();
  process.stderr.write(`nodescope: ${what}\nhint: ${hint}\n`);
  process.exitCode = 1;
};

function unsupported() {
  const systems = Object.keys(optionalDependencies).map((name) => name.split("/")[1]);
  return [
    `there is no program for ${process.platform}-${process.arch}, only for ${systems.join(", ")}`,
    "cargo builds it from source: https://github.com/nodescope/nodescope",
  ];
}

function missing(holder) {
  const other = Object.keys(optionalDependencies).find(isInstalled);
  const why = other
    ? `${other} is there instead, so it was installed on another system`
    : "a lockfile of another system or an option left optional dependencies out";
  return [`the package ${holder}, which holds the program for this system, is missing: ${why}`, fix(holder)];
}

function fix(holder) {
  if (__dirname.split(sep).includes("_npx")) return `npx --include=optional nodescope@${version}`;
  const manager = managerOf(__dirname);
  if (manager) return `${manager.add} ${holder}@${version}`;
  return `npm install --global --include=optional nodescope@${version}`;
}

function isInstalled(name) {
  try {
    require.resolve(`${name}/package.json`);
    return true;
  } catch {
    return false;
  }
}

// By the lockfile above a folder. A package manager that keeps packages elsewhere runs us itself, and says its name.
function managerOf(folder) {
  const found = MANAGERS.find(({ lockfile }) => existsSync(join(folder, lockfile)));
  if (found) return found;
  if (dirname(folder) !== folder) return managerOf(dirname(folder));
  const agent = (process.env.npm_config_user_agent || "").split("/", 1)[0];
  return MANAGERS.find(({ name }) => name === agent && name !== "npm");
}
