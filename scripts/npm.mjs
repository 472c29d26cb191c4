#!/usr/bin/env node
// Makes the npm packages out of the binaries, and publishes them.
//
//   node scripts/npm.mjs [pack] [--partial] [DIST [OUT]]    DIST/TARGET/nodescope → OUT/*.tgz (default: dist, dist/npm)
//   node scripts/npm.mjs publish [OPTION...] [OUT]          all that the registry does not have yet; npm publish gets
//                                                           the options, such as --dry-run. A version with a hyphen,
//                                                           such as 0.2.0-rc.1, gets the tag next, not latest
//
//   node scripts/npm.mjs reserve [OPTION...]                an empty 0.0.0 of each name, by hand and without provenance:
//                                                           npm trusts a workflow only for a package that exists
//
// A missing binary is an error: users of that system could not run what was published. --partial leaves it out of what
// is made, and publish refuses what was made so.

import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const source = join(root, "packaging/npm/nodescope");
const LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"];
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

/** The values of process.platform and process.arch, and Rust's name for both. */
const PLATFORMS = [
  { os: "linux", cpu: "x64", target: "x86_64-unknown-linux-musl" },
  { os: "linux", cpu: "arm64", target: "aarch64-unknown-linux-musl" },
  { os: "darwin", cpu: "x64", target: "x86_64-apple-darwin" },
  { os: "darwin", cpu: "arm64", target: "aarch64-apple-darwin" },
  { os: "win32", cpu: "x64", target: "x86_64-pc-windows-gnu" },
];

const say = (text) => process.stderr.write(`npm packages: ${text}\n`);

function fail(text) {
  say(text);
  process.exit(1);
}

/** `version = "0.1.0"` of Cargo.toml's [workspace.package]. */
function workspace(key) {
  const [, section] = readFileSync(join(root, "Cargo.toml"), "utf8").split("[workspace.package]");
  const found = section?.split("\n[")[0].match(new RegExp(`^${key} = "(.*)"$`, "m"));
  return found?.[1] ?? fail(`Cargo.toml has no ${key} in [workspace.package]`);
}

/** The fields that all packages share. */
function common() {
  const repository = workspace("repository");
  return {
    version: workspace("version"),
    license: workspace("license"),
    homepage: repository,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git` },
    publishConfig: { access: "public", provenance: true },
  };
}

const nameOf = ({ os, cpu }) => `@nodescope/${os}-${cpu}`;
const programOf = ({ os }) => (os === "win32" ? "nodescope.exe" : "nodescope");

/** Yarn's PnP keeps packages in archives, out of which no system starts a program: preferUnplugged takes it out. */
function stagePlatform(folder, platform, dist) {
  const { os, cpu, target } = platform;
  const program = join(folder, programOf(platform));
  copyFileSync(join(dist, target, programOf(platform)), program);
  chmodSync(program, 0o755);
  const description = `The program of nodescope for ${os} on ${cpu}`;
  write(folder, { name: nameOf(platform), description, ...common(), os: [os], cpu: [cpu], preferUnplugged: true });
  const readme = `# ${nameOf(platform)}\n\n${description}. Install [nodescope](https://www.npmjs.com/package/nodescope) instead.\n`;
  writeFileSync(join(folder, "README.md"), readme);
}

function stageMain(folder, platforms) {
  cpSync(source, folder, { recursive: true });
  chmodSync(join(folder, "nodescope.js"), 0o755);
  const { version } = common();
  const optionalDependencies = Object.fromEntries(platforms.map((platform) => [nameOf(platform), version]));
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  write(folder, { ...manifest, ...common(), optionalDependencies });
}

function write(folder, manifest) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const licence of LICENCES) copyFileSync(join(root, licence), join(folder, licence));
  if (manifest.preferUnplugged) writeFileSync(join(folder, "THIRD-PARTY.txt"), script("licences.sh"));
}

/** What a script of this folder prints. The script itself prints what is wrong. */
function script(name, ...args) {
  try {
    return execFileSync(join(root, "scripts", name), args, { stdio: ["ignore", "pipe", "inherit"] });
  } catch {
    return fail(`${name} failed`);
  }
}

async function pack(out, stage) {
  const folder = mkdtempSync(join(tmpdir(), "nodescope-npm-"));
  try {
    stage(folder);
    const options = ["--loglevel=error", "--ignore-scripts", "--pack-destination", out];
    const { stdout } = await promisify(execFile)(npm, ["pack", ...options, folder]);
    return stdout.trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function packAll(args) {
  const isPartial = args.includes("--partial");
  const [dist = join(root, "dist"), out = join(dist, "npm")] = args
    .filter((arg) => arg !== "--partial")
    .map((path) => resolve(path));
  const isBuilt = (platform) => existsSync(join(dist, platform.target, programOf(platform)));
  for (const platform of PLATFORMS.filter((platform) => !isBuilt(platform))) {
    const what = `${join(dist, platform.target, programOf(platform))} is not there`;
    if (!isPartial) fail(`${what}; --partial leaves ${nameOf(platform)} out`);
    say(`${what}: ${nameOf(platform)} is left out`);
  }
  script("check-commit.sh", dist);
  const platforms = PLATFORMS.filter(isBuilt);
  if (platforms.length === 0) fail("there is nothing to pack");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const packing = platforms.map((platform) => pack(out, (folder) => stagePlatform(folder, platform, dist)));
  packing.push(pack(out, (folder) => stageMain(folder, platforms)));
  for (const file of await Promise.all(packing)) say(`made ${join(out, file)}`);
}

/** The packages of systems first: nodescope must not be there before what it depends on. */
function publishAll(args) {
  const options = args.filter((arg) => arg.startsWith("-"));
  const [out = join(root, "dist/npm")] = args.filter((arg) => !arg.startsWith("-"));
  const names = [...PLATFORMS.map(nameOf), "nodescope"];
  const archives = names.map((name) => ({ name, file: join(out, archiveOf(name)) }));
  const missing = archives.filter(({ file }) => !existsSync(file)).map(({ file }) => file);
  if (missing.length > 0)
    fail(`nothing is published: ${missing.join(", ")} missing; scripts/dist.sh all and node scripts/npm.mjs make all`);
  const version = workspace("version");
  const isTagged = options.some((option) => /^--tag(=|$)/.test(option));
  const tag = version.includes("-") && !isTagged ? ["--tag=next"] : [];
  for (const { name, file } of archives) publish(`${name}@${version}`, file, [...tag, ...options]);
}

async function reserveAll(options) {
  const out = mkdtempSync(join(tmpdir(), "nodescope-npm-"));
  try {
    for (const name of [...PLATFORMS.map(nameOf), "nodescope"]) {
      const manifest = {
        name,
        ...common(),
        version: "0.0.0",
        description: "Nothing yet: a profiler for Node.js will be here",
      };
      const file = await pack(out, (folder) => write(folder, manifest));
      publish(`${name}@${manifest.version}`, join(out, file), ["--provenance=false", ...options]);
    }
  } finally {
    rmSync(out, { recursive: true });
  }
}

/** What `npm pack` calls it. */
const archiveOf = (name) => `${name.replace("@", "").replace("/", "-")}-${workspace("version")}.tgz`;

function publish(id, file, options) {
  const { status } = spawnSync(npm, ["publish", "--loglevel=warn", ...options, file], {
    stdio: ["inherit", 2, "inherit"],
  });
  if (status === 0) return say(`published ${id}`);
  const known = spawnSync(npm, ["view", id, "version"], { encoding: "utf8" });
  if (!known.stdout?.trim()) fail(`${id} was not published`);
  say(`the registry had ${id} before`);
}

const [first, ...rest] = process.argv.slice(2);
if (first === "publish") publishAll(rest);
else if (first === "reserve") await reserveAll(rest);
else await packAll(first === "pack" ? rest : process.argv.slice(2));
