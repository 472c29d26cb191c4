// nodescope as npm's users get it: installed from a registry with every package manager, and run on the oldest and the
// newest Node that we know. Where the package with the program is missing, the printed command brings it back.

import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { installGlobally, MANAGERS, NEW_NODE, nodeOf, npmCi, npmView, npxAtOnce } from "./managers.mjs";
import { archive, close, end, here, open, project, run, scratch, start, until, withoutUs, write } from "./workshop.mjs";

const NODES = [nodeOf("18.20.8"), NEW_NODE];
const SERVER = 'setInterval(() => { for (const end = Date.now() + 20; Date.now() < end; ); }, 40); console.log("up");';
const version = readFileSync(join(import.meta.dirname, "../../Cargo.toml"), "utf8").match(/^version = "(.*)"$/m)[1];
const holder = `@nodescope/${here}`;
const reason = [
  process.platform !== "linux" && "they look into /proc",
  !NODES.every(existsSync) && "Node 18 and 26 are missing: scripts/install-test-tools.sh fetches them",
].find(Boolean);

/** Fails with exit status 1 and a hint, without which nothing is known of how nodescope was started. */
async function runs(command, typed, options) {
  const { code, err } = await run([...command, "nodescope", "report", "nonesuch.folded"], options);
  assert.equal(code, 1, err);
  assert.match(err, new RegExp(`hint: to make one: ${typed} record PID`));
}

/** The sentence, and the command that it ends with. */
async function hintOf(command, options) {
  const { code, err } = await run(command, options);
  assert.equal(code, 1, err);
  assert.match(err, new RegExp(`^nodescope: the package ${holder}.* is missing: .+$`, "m"));
  return err.match(/^hint: (.*)$/m)[1];
}

describe("npm packages", { concurrency: 3, skip: reason }, () => {
  before(open);
  after(close);

  for (const manager of MANAGERS) {
    test(manager.name, { skip: manager.missing }, async () => {
      const cwd = project(manager.name, manager.files);
      await end(start(manager.install(), { cwd }));
      for (const node of NODES) await runs(manager.run(node), manager.typed, { cwd, node });
      if (manager.name === "npm") await passesThrough(manager, cwd);
      if (manager.installElsewhere) await isMissingAndComesBack(manager, cwd);
    });
  }

  async function isMissingAndComesBack(manager, cwd) {
    for (const made of ["node_modules", ".pnp.cjs", ".yarn"]) rmSync(join(cwd, made), { recursive: true, force: true });
    write(cwd, manager.filesElsewhere);
    await end(start(manager.installElsewhere(), { cwd }));
    const [, ...words] = (await hintOf([...manager.run(NEW_NODE), "nodescope", "--version"], { cwd })).split(" ");
    assert.equal(words.at(-1), `${holder}@${version}`);
    // What a project forbids no command brings back.
    if (!manager.add) return;
    await end(start([...manager.add(), ...words], { cwd }));
    await runs(manager.run(NEW_NODE), manager.typed, { cwd });
    // Colleagues on other systems can still install the project.
    const manifest = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(manifest.optionalDependencies), [holder]);
  }

  // As older ones wrote it where node_modules of another system was there (npm/cli#4828).
  test("a lockfile without the packages of systems", async () => {
    const [npm] = MANAGERS;
    const cwd = project("lockfile");
    await end(start(npm.install(), { cwd }));
    const path = join(cwd, "package-lock.json");
    const lock = JSON.parse(readFileSync(path, "utf8"));
    const systems = Object.keys(lock.packages).filter((name) => name.startsWith("node_modules/@nodescope/"));
    assert.equal(systems.length, 5, "npm locks the packages of all systems");
    for (const name of systems) delete lock.packages[name];
    writeFileSync(path, JSON.stringify(lock));
    rmSync(join(cwd, "node_modules"), { recursive: true });
    // npm ci says itself what is missing, and installs nothing; npm install brings it back.
    const refused = await run(npmCi(), { cwd });
    assert.ok(refused.code !== 0 && refused.err.includes(`Missing: ${holder}@${version} from lock file`), refused.err);
    await end(start([...npm.add(), "install"], { cwd }));
    await runs(npm.run(NEW_NODE), npm.typed, { cwd });
  });

  test("npx without an installation", async () => {
    const cwd = project("npx");
    const { out } = await end(start(npxAtOnce("nodescope", "--version"), { cwd }));
    assert.ok(out.startsWith(`nodescope ${version} (`), out);
    assert.ok(!existsSync(join(cwd, "node_modules")) && !existsSync(join(cwd, "package-lock.json")));
    const without = project("npx without");
    const hint = await hintOf(npxAtOnce("--omit=optional", "nodescope", "--version"), { cwd: without });
    assert.equal(hint, `npx --include=optional nodescope@${version}`);
    const again = npxAtOnce(...hint.split(" ").slice(1), "--version");
    assert.equal((await end(start(again, { cwd: without }))).out, out);
  });

  test("the two archives of a clone, where no registry has nodescope", async () => {
    const cwd = project("archives");
    const files = ["nodescope", `nodescope-${here}`].map((name) => archive(`${name}-${version}.tgz`));
    const prefix = join(cwd, "prefix");
    await end(start(installGlobally(prefix, ...files), { cwd, more: withoutUs() }));
    const { out } = await end(start([join(prefix, "bin/nodescope"), "--version"], { cwd }));
    assert.ok(out.startsWith(`nodescope ${version} (`), out);
  });

  test("each name is reserved before the first version", async () => {
    const cwd = project("versions");
    for (const name of ["nodescope", holder]) {
      const { out } = await end(start(npmView(name, "versions"), { cwd }));
      assert.deepEqual(JSON.parse(out), ["0.0.0", version], name);
    }
  });

  test("installed globally", async () => {
    const cwd = project("global");
    const prefix = join(cwd, "prefix");
    await end(start(installGlobally(prefix), { cwd }));
    const program = join(prefix, "bin/nodescope");
    for (const node of NODES) {
      const { out } = await end(start([program, "--version"], { cwd, node }));
      assert.ok(out.startsWith(`nodescope ${version} (`), out);
      // By its path, and by its name where PATH has it.
      const { err } = await run([program, "report", "nonesuch.folded"], { cwd, node });
      assert.match(err, /hint: to make one: prefix\/bin\/nodescope record PID/);
      const PATH = [join(prefix, "bin"), dirname(node), process.env.PATH].join(":");
      await runs(["/usr/bin/env"], "nodescope", { cwd, node, more: { PATH } });
    }
    const installed = join(prefix, "lib/node_modules/nodescope");
    for (const file of ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"])
      assert.ok(existsSync(join(installed, "node_modules", holder, file)), file);
    await knowsTheWayBehindSudo(installed, cwd);
    await sayWhyNot(installed, cwd);
    rmSync(join(installed, "node_modules"), { recursive: true });
    const hint = await hintOf([program, "--version"], { cwd });
    assert.equal(hint, `npm install --global --include=optional nodescope@${version}`);
  });

  /** sudo knows neither npx nor Node: the hint for another user's process names the program by its absolute path. */
  async function knowsTheWayBehindSudo(installed, cwd) {
    // Another user can only be had by root.
    if (process.getuid() !== 0) return;
    const shim = JSON.stringify(join(installed, "nodescope.js"));
    const asNobody = `process.setgroups([]); process.setgid(65534); process.setuid(65534); require(${shim})`;
    for (const node of NODES) {
      const words = ["nodescope", "record", "--via", "perf", String(process.pid), "-o", "-"];
      const more = { npm_config_user_agent: "npm/11.0.0 node/v26.0.0 linux x64" };
      const { err } = await run([node, "-e", asNobody, ...words], { cwd, node, more });
      const [, path] = err.match(/^hint: .*sudo (\/\S+) record/m) ?? assert.fail(err);
      assert.ok(path.endsWith(`/@nodescope/${here}/nodescope`), path);
      await end(start([path, "--version"], { cwd, more: { PATH: "/nonesuch" } }));
    }
  }

  /** Systems that are not ours, and a program that may not be started. */
  async function sayWhyNot(installed, cwd) {
    const pretend = `Object.defineProperty(process, "arch", { value: "mips" }); require(${JSON.stringify(join(installed, "nodescope.js"))})`;
    const { code, err } = await run([NEW_NODE, "-e", pretend], { cwd });
    assert.equal(code, 1);
    assert.match(
      err,
      /^nodescope: there is no program for linux-mips, only for linux-x64, .*win32-x64\nhint: cargo builds it/,
    );
    const [program] = readdirSync(installed, { recursive: true }).filter((path) => path.endsWith(`${here}/nodescope`));
    chmodSync(join(installed, program), 0o644);
    for (const node of NODES) {
      const refused = await run([join(installed, "nodescope.js"), "--version"], { cwd, node });
      assert.equal(refused.code, 1);
      assert.match(refused.err, /^nodescope: cannot start .*nodescope: .*EACCES/);
    }
  }

  /** Signals, the end by a signal, and the terminal. */
  async function passesThrough(npm, cwd) {
    writeFileSync(join(cwd, "server.js"), SERVER);
    const server = start([NEW_NODE, "--inspect=127.0.0.1:0", "server.js"], { cwd });
    try {
      await until("the server's start", () => server.out.includes("up"));
      for (const node of NODES) {
        await endsBySignal(cwd, node, server.pid);
        await diesWithItsProgram(cwd, node, server.pid);
        await endsByCtrlC(npm, cwd, node);
      }
    } finally {
      server.kill();
    }
  }

  const record = (out) => ["record", "--via", "inspector", "-d", "1h", "--overwrite", "-o", out];

  async function endsBySignal(cwd, node, pid) {
    const out = join(cwd, "ended.nodescope");
    const recorder = start([join(cwd, "node_modules/.bin/nodescope"), ...record(out), String(pid)], { cwd, node });
    await until("a first chunk", () => existsSync(`${out}.part`) && readFileSync(`${out}.part`).length > 0);
    recorder.kill("SIGTERM");
    const { code, err } = await recorder.ended;
    assert.equal(code, 0, err);
    assert.ok(existsSync(out) && !existsSync(`${out}.part`), err);
    rmSync(out);
  }

  async function diesWithItsProgram(cwd, node, pid) {
    const out = join(cwd, `killed-on-${basename(dirname(node))}.nodescope`);
    const shim = start([join(cwd, "node_modules/.bin/nodescope"), ...record(out), String(pid)], { cwd, node });
    await until("a recording", () => existsSync(`${out}.part`));
    // The program is the shim's child, or has taken its place.
    const isNode = readFileSync(`/proc/${shim.pid}/comm`, "utf8") !== "nodescope\n";
    assert.equal(isNode, node !== NEW_NODE);
    const children = readFileSync(`/proc/${shim.pid}/task/${shim.pid}/children`, "utf8");
    process.kill(isNode ? Number.parseInt(children, 10) : shim.pid, "SIGKILL");
    assert.equal((await shim.ended).signal, "SIGKILL");
  }

  /** In a terminal, which sends Ctrl-C to npx, to the shim and to the program. */
  async function endsByCtrlC(npm, cwd, node) {
    const out = join(cwd, "ctrl-c.nodescope");
    const words = [...npm.run(), "nodescope", ...record(out), "server.js"];
    const terminal = start(["script", "-qec", words.join(" "), join(scratch, "typescript")], {
      cwd,
      node,
      stdin: "pipe",
    });
    await until("the bar of a terminal", () => terminal.out.includes("Ctrl-C ends and keeps them"));
    terminal.stdin.write("\x03");
    await terminal.ended;
    assert.ok(existsSync(out) && !existsSync(`${out}.part`), terminal.out);
    assert.ok(terminal.out.includes("\x1b[1m"), "a terminal shows bold text");
    assert.match(terminal.out, new RegExp(`next: npx nodescope view ${out}`));
    rmSync(out);
  }
});
