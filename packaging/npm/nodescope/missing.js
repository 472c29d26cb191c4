// Says what to do where the package with this system's program is missing.
"use strict";

const { existsSync, readFileSync } = require("node:fs");
const { dirname, join, relative } = require("node:path");
const { optionalDependencies, version } = require("./package.json");

// The package manager of a project is the one whose lockfile is there. As an optional dependency of the project, the
// package does not trouble colleagues on other systems.
const MANAGERS = [
  { name: "npm", lockfile: "package-lock.json", add: "npm install --include=optional --save-optional" },
  { name: "npm", lockfile: "npm-shrinkwrap.json", add: "npm install --include=optional --save-optional" },
  {
    name: "pnpm",
    lockfile: "pnpm-lock.yaml",
    add: "pnpm add --save-optional",
    settings: ["pnpm-workspace.yaml", "package.json"],
  },
  { name: "yarn", lockfile: "yarn.lock", add: "yarn add --optional" },
  { name: "bun", lockfile: "bun.lock", add: "bun add --optional" },
  { name: "bun", lockfile: "bun.lockb", add: "bun add --optional" },
];

// What is in no project: the folder that tells, and the command.
const OUTSIDE = [
  { folder: /[\\/]_npx[\\/]/, fix: (self) => `npx --include=optional ${self}` },
  { folder: /[\\/]global[\\/]v?\d+[\\/]/, fix: (self) => `pnpm add --global ${self}` },
  { folder: /[\\/]yarn[\\/](data[\\/])?global[\\/]/i, fix: (self, holder) => `yarn global add ${self} ${holder}` },
  {
    folder: /[\\/](install[\\/]global|bunx-\d+-[^\\/]*)[\\/]/,
    fix: (self, holder) => `bun add --global ${self} ${holder}`,
  },
];

exports.report = function report(holder, typed) {
  const [what, hint] = holder in optionalDependencies ? missing(holder, typed) : unsupported();
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

function missing(holder, typed) {
  const other = Object.keys(optionalDependencies).find(isInstalled);
  const why = other
    ? `${other} is there instead, so it was installed on another system`
    : "a lockfile of another system or an option left optional dependencies out";
  return [`the package ${holder}, which holds the program for this system, is missing: ${why}`, fix(holder, typed)];
}

function fix(name, typed) {
  const [self, holder] = [`nodescope@${version}`, `${name}@${version}`];
  if (typed === "pnpm dlx nodescope") return `pnpm --package=${self} --package=${holder} dlx nodescope`;
  // Of the project, whose settings it takes.
  if (typed === "yarn dlx nodescope") return permit(".yarnrc.yml");
  const places = [process.argv[1], __filename];
  const outside = OUTSIDE.find(({ folder }) => places.some((path) => folder.test(path)));
  if (outside) return outside.fix(self, holder);
  const { manager, folder } = projectAround(__dirname);
  if (!manager) return `npm install --global --include=optional ${self}`;
  const file = fileThatForbids(manager, folder);
  if (file) return `${permit(file)}, then ${manager.name} install`;
  const isElsewhere = folder && relative(folder, process.cwd()).startsWith("..");
  return `${isElsewhere ? `cd "${folder}" && ` : ""}${manager.add} ${holder}`;
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
function projectAround(folder) {
  const manager = MANAGERS.find(({ lockfile }) => existsSync(join(folder, lockfile)));
  if (manager) return { manager, folder };
  if (dirname(folder) !== folder) return projectAround(dirname(folder));
  const [agent] = (process.env.npm_config_user_agent || "").split("/", 1);
  return { manager: MANAGERS.find(({ name }) => name === agent && name !== "npm") };
}

const permit = (file) => `add current to os and cpu of supportedArchitectures in ${file}`;

// Where a setting forbids this system, no command brings the package back. Yarn from 2 on leaves it out for no other
// reason.
function fileThatForbids({ name, lockfile, settings = [] }, folder) {
  const has = (file, text) =>
    folder && existsSync(join(folder, file)) && readFileSync(join(folder, file), "utf8").includes(text);
  if (name === "yarn") {
    const isNew = process.versions.pnp || /^yarn\/(?!1\.)/.test(process.env.npm_config_user_agent || "");
    return (isNew || has(lockfile, "__metadata:")) && ".yarnrc.yml";
  }
  return settings.find((file) => has(file, "supportedArchitectures"));
}
