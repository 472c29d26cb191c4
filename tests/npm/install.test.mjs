// nodescope as npm's users get it: installed from a registry with every package manager, and run on the oldest and the
// newest Node that we know. Where the package with the program is missing, the printed command brings it back.

import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { GLOBALLY, installGlobally, MANAGERS, NEW_NODE, nodeOf, npmCi, npmView, npxAtOnce } from "./managers.mjs";
import { archive, close, end, here, open, project, run, scratch, start, until, withoutUs, write } from "./workshop.mjs";

const NODES = [nodeOf("18.20.8"), NEW_NODE];
const SERVER = 'setInterval(() => { for (const end = Date.now() + 20; Date.now() < end; ); }, 40); console.log("up");';
const version = readFileSync(join(import.meta.dirname, "../../Cargo.toml"), "utf8").match(/^version = "(.*)"$/m)[1];
const holder = `@nodescope/${here}`;
const reason = [
  process.platform !== "linux" && "they look into /proc",
  !NODES.every(existsSync) && "Node 18 and 26 are missing: scripts/install-test-tools.sh fetches them",
].find(Boolean);

/** Fails with its own exit status, and with a hint, without which nothing is known of how nodescope was started. */
async function runs(command, typed, options) {
  const wrong = await run([...command, "nodescope", "report", "--no-such-option"], options);
  assert.equal(wrong.code, 2, wrong.err);
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
      if (manager.filesElsewhere) await isForbiddenAndComesBack(manager);
    });
  }

  /** A project for another system: no command helps, so the hint names the setting. */
  async function isForbiddenAndComesBack(manager) {
    const cwd = project(`${manager.name} forbids`, manager.filesElsewhere(["darwin", "arm64"]));
    await end(start(manager.install(), { cwd }));
    const [file] = Object.keys(manager.filesElsewhere([]));
    const hint = await hintOf([...manager.run(NEW_NODE), "nodescope", "--version"], { cwd });
    const setting = `add current to os and cpu of supportedArchitectures in ${file}`;
    assert.equal(hint, `${setting}, then ${manager.typed.split(" ")[0]} install`);
    write(cwd, manager.filesElsewhere(["current, darwin", "current, arm64"]));
    await end(start(manager.reinstall(), { cwd }));
    await runs(manager.run(NEW_NODE), manager.typed, { cwd });
  }

  async function isMissingAndComesBack(manager, cwd) {
    rmSync(join(cwd, "node_modules"), { recursive: true });
    await end(start(manager.installElsewhere(), { cwd }));
    const hint = await hintOf([...manager.run(NEW_NODE), "nodescope", "--version"], { cwd });
    const [, ...words] = hint.split(" ");
    assert.equal(words.at(-1), `${holder}@${version}`);
    // The shim knows its project wherever it is run.
    const shim = join(cwd, "node_modules/nodescope/nodescope.js");
    assert.equal(await hintOf([NEW_NODE, shim, "--version"], { cwd: scratch }), `cd "${cwd}" && ${hint}`);
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

  for (const manager of MANAGERS.filter(({ once }) => once)) {
    const [name] = manager.typed.split(" ");
    test(`${name} dlx`, async () => {
      const cwd = project(`${name} dlx`, manager.files);
      await runs(manager.once(), `${name} dlx nodescope`, { cwd });
      const without = project(`${name} dlx without`, manager.filesElsewhere(["darwin", "arm64"]));
      const options = name === "pnpm" ? ["--config.cpu=arm64", "--config.os=darwin"] : [];
      const hint = await hintOf([...manager.once(...options), `nodescope@${version}`, "--version"], { cwd: without });
      if (name === "yarn")
        return assert.equal(hint, "add current to os and cpu of supportedArchitectures in .yarnrc.yml");
      const words = hint.split(" ").slice(1, -2);
      assert.equal(hint, `pnpm ${words.join(" ")} dlx nodescope`);
      await runs(manager.once(...words), "pnpm dlx nodescope", { cwd });
    });
  }

  for (const manager of GLOBALLY) {
    test(`installed globally by ${manager.name}`, { skip: manager.missing }, async () => {
      const cwd = project(`global ${manager.name}`);
      const home = join(cwd, "home");
      const options = { cwd, more: manager.environment(home) };
      await end(start(manager.add(home, ...manager.without, "nodescope"), options));
      const program = join(home, "bin/nodescope");
      const hint = await hintOf([program, "--version"], options);
      assert.equal(hint, manager.hint(`nodescope@${version}`, `${holder}@${version}`));
      const words = hint.split(" ").filter((word) => word.includes("@"));
      await end(start(manager.add(home, ...words), options));
      const { out } = await end(start([program, "--version"], options));
      assert.ok(out.startsWith(`nodescope ${version} (`), out);
    });
  }

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

  test("installed globally", async (context) => {
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
    const skip = process.getuid() !== 0 && "another user can only be had by root";
    await context.test("the way behind sudo", { skip }, () => knowsTheWayBehindSudo(installed, cwd));
    await sayWhyNot(installed, cwd);
    rmSync(join(installed, "node_modules"), { recursive: true });
    const hint = await hintOf([program, "--version"], { cwd });
    assert.equal(hint, `npm install --global --include=optional nodescope@${version}`);
  });

  /** sudo knows neither npx nor Node: the hint for another user's process names the program by its absolute path. */
  async function knowsTheWayBehindSudo(installed, cwd) {
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
    // A file that is there may hold no sample yet, and then nothing was recorded.
    const report = [join(cwd, "node_modules/.bin/nodescope"), "report", "--json", `${out}.part`];
    const hasSamples = ({ code, out: text }) => code === 0 && JSON.parse(text).samples > 0;
    await until(
      "a first sample",
      async () => existsSync(`${out}.part`) && hasSamples(await run(report, { cwd, node })),
    );
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
