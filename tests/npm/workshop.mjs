// What all tests share: packages made from the program under test, a registry that has them, and folders to install
// into. Everything is in one scratch folder, homes and caches too.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { NEW_NODE } from "./managers.mjs";

const root = resolve(import.meta.dirname, "../..");
const program = resolve(process.env.NODESCOPE_BIN ?? join(root, "target/debug/nodescope"));
const PROGRAMS = {
  "linux-x64": "x86_64-unknown-linux-musl/nodescope",
  "linux-arm64": "aarch64-unknown-linux-musl/nodescope",
  "darwin-x64": "x86_64-apple-darwin/nodescope",
  "darwin-arm64": "aarch64-apple-darwin/nodescope",
  "win32-x64": "x86_64-pc-windows-gnu/nodescope.exe",
};

/** What the programs print about themselves: they are of the commit that scripts/npm.mjs is given. */
const COMMIT = "abc1234";

/** Where cargo and its sources are, which list the licences; the tests have another home. */
const RUST = {
  CARGO_HOME: process.env.CARGO_HOME ?? join(homedir(), ".cargo"),
  RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(homedir(), ".rustup"),
};

/** Nothing is there: what asks for another registry fails. */
const NOWHERE = "http://127.0.0.1:9";
const PROXIES = { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: "127.0.0.1" };

export const here = `${process.platform}-${process.arch}`;
export const scratch = mkdtempSync(join(tmpdir(), "nodescope-npm-test-"));
// One test is another user.
chmodSync(scratch, 0o755);
let registry = NOWHERE;
let server;

/** Programs of other systems are never started: any file will do. Symbols for debuggers make up most of ours. */
function fillDist(dist) {
  for (const [platform, path] of Object.entries(PROGRAMS)) {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    writeFileSync(join(dist, path), `a program for ${platform}\n`);
  }
  const ours = join(dist, PROGRAMS[here]);
  try {
    execFileSync("strip", ["-o", ours, program]);
  } catch {
    copyFileSync(program, ours);
  }
  // Behind the end of a program nothing is loaded.
  for (const path of Object.values(PROGRAMS)) appendFileSync(join(dist, path), `(${COMMIT}, ${dirname(path)})\n`);
}

/** The registry keeps running until close. */
export async function open() {
  const dist = join(scratch, "dist");
  fillDist(dist);
  server = spawn(NEW_NODE, [join(import.meta.dirname, "registry.mjs"), join(scratch, "registry")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const address = once(server.stdout, "data");
  await end(script(["pack", dist]));
  registry = String((await address)[0]).trim();
  // The registry lets any client publish, but npm wants a token.
  const publisher = { npm_config_userconfig: join(scratch, "npmrc") };
  const token = `registry=${registry}\n${registry.replace("http:", "")}:_authToken=none\n`;
  writeFileSync(join(scratch, "npmrc"), token);
  await end(script(["reserve"], publisher));
  await end(script(["publish", "--provenance=false", join(dist, "npm")], publisher));
}

const script = (args, more = {}) =>
  start([NEW_NODE, join(root, "scripts/npm.mjs"), ...args], {
    cwd: root,
    more: { ...RUST, NODESCOPE_COMMIT: COMMIT, ...more },
  });

export function close() {
  server?.stdin.end();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}

/** An archive that scripts/npm.mjs made. */
export const archive = (name) => join(scratch, "dist/npm", name);

/** A registry that has nothing of ours, as npm's is today. */
export const withoutUs = () => ({ npm_config_registry: `${registry}nonesuch/` });

/** A folder to install into. */
export function project(name, files = {}) {
  const folder = join(scratch, name.replaceAll(" ", "-"));
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "name": "project", "private": true }\n');
  write(folder, files);
  return folder;
}

export function write(folder, files = {}) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text(registry));
}

/** What a user's shell has: nothing of the npm that runs these tests. */
function environment(cwd, node, more) {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|node_|bun_|yarn_|pnpm_|init_cwd|xdg_|nodescope_|.*_proxy)/i.test(name),
  );
  const home = join(scratch, "home", cwd.replaceAll("/", "-"));
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, ".npmrc"), `registry=${registry}\n`);
  const path = [dirname(node), join(import.meta.dirname, "node_modules/.bin"), process.env.PATH].join(delimiter);
  return { ...Object.fromEntries(own), ...PROXIES, HOME: home, PATH: path, YARN_ENABLE_GLOBAL_CACHE: "false", ...more };
}

/** Starts a command with a Node in front of PATH. */
export function start([file, ...args], { cwd, node = NEW_NODE, more = {}, stdin = "ignore" }) {
  const child = spawn(file, args, { cwd, env: environment(cwd, node, more), stdio: [stdin, "pipe", "pipe"] });
  child.out = "";
  child.err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (child.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (child.err += text));
  child.ended = once(child, "close").then(([code, signal]) => ({ code, signal, out: child.out, err: child.err }));
  return child;
}

export const run = (command, options) => start(command, options).ended;

/** The same, where it must succeed. */
export async function end(child) {
  const result = await child.ended;
  if (result.code !== 0)
    throw new Error(`${child.spawnargs.join(" ")}: ${result.code ?? result.signal}\n${result.out}${result.err}`);
  return result;
}

export async function until(what, condition) {
  for (const limit = Date.now() + 30_000; !(await condition()); ) {
    if (Date.now() > limit) throw new Error(`${what} did not happen`);
    await new Promise((tick) => setTimeout(tick, 20));
  }
}
