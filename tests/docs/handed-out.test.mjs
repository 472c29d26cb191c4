// The scripts that make what is handed out refuse what must not be: programs of another commit or target, a rustc whose
// musl is too old, a file that is no program for macOS. They run on files that only look like programs.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const scratch = mkdtempSync(join(tmpdir(), "nodescope-handed-out-"));
after(() => rmSync(scratch, { recursive: true }));

const MUSL = "x86_64-unknown-linux-musl";
const WINDOWS = "x86_64-pc-windows-gnu";

function run(name, args, variables = {}) {
  const [file, ...words] = name.endsWith(".mjs")
    ? [process.execPath, join(root, "scripts", name)]
    : [join(root, "scripts", name)];
  return spawnSync(file, [...words, ...args], { encoding: "utf8", env: { ...process.env, ...variables } });
}

/** A folder with programs: what each prints about itself. */
function distOf(name, programs) {
  const dist = join(scratch, name);
  for (const [path, text] of Object.entries(programs)) {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    writeFileSync(join(dist, path), `\0nodescope 0.1.0 ${text}\0`, { mode: 0o755 });
  }
  return dist;
}

test("programs of an earlier commit or of another target are refused by everything that makes packages of them", () => {
  const variables = { NODESCOPE_COMMIT: "abc1234def" };
  const ours = { [`${MUSL}/nodescope`]: `(abc1234, ${MUSL})`, [`${WINDOWS}/nodescope.exe`]: `(abc1234, ${WINDOWS})` };
  assert.deepEqual(run("check-commit.sh", [distOf("ours", ours)], variables).stderr, "");
  for (const [name, text] of [
    ["stale", `(0000000, ${WINDOWS})`],
    ["dirty", `(abc1234-dirty, ${WINDOWS})`],
    ["another", `(abc1234, ${MUSL})`],
  ]) {
    const dist = distOf(name, { ...ours, [`${WINDOWS}/nodescope.exe`]: text });
    const refused = [
      run("check-commit.sh", [dist], variables),
      run("npm.mjs", ["--partial", dist, join(dist, "npm")], variables),
      run("release-files.sh", [], { ...variables, DIST: dist }),
    ];
    for (const { status, stderr } of refused) {
      assert.equal(status, 1, `${name}: ${stderr}`);
      assert.match(
        stderr,
        /windows-gnu\/nodescope\.exe is not of commit abc1234: scripts\/dist\.sh x86_64-pc-windows-gnu builds it anew/,
      );
    }
  }
  assert.match(readFileSync(join(root, "scripts/dist-test.sh"), "utf8"), /scripts\/check-commit\.sh "\$dist"/);
});

test("a release without a program for Windows or macOS does not pass", () => {
  const targets = [MUSL, "aarch64-unknown-linux-musl"];
  const programs = Object.fromEntries(
    targets.flatMap((target) => ["nodescope", "nodescope.debug"].map((file) => [`${target}/${file}`, target])),
  );
  const of = (name, more) => run("dist-test.sh", ["files"], { DIST: distOf(name, { ...programs, ...more }) });
  const windows = { [`${WINDOWS}/nodescope.exe`]: WINDOWS };
  assert.match(of("without windows", {}).stderr, /windows-gnu\/nodescope\.exe is not there: scripts\/dist\.sh all/);
  assert.match(of("without macos", windows).stderr, /x86_64-apple-darwin\/nodescope is not there/);
});

/** A clone with another version, and an npm that only prints its arguments. */
function publishing(name, version, archives) {
  const clone = join(scratch, name);
  for (const folder of ["scripts", "tools", "out"]) mkdirSync(join(clone, folder), { recursive: true });
  copyFileSync(join(root, "scripts/npm.mjs"), join(clone, "scripts/npm.mjs"));
  writeFileSync(join(clone, "Cargo.toml"), `[workspace.package]\nversion = "${version}"\n`);
  writeFileSync(join(clone, "tools/npm"), '#!/bin/sh\necho "npm $*" >&2\n', { mode: 0o755 });
  for (const archive of archives) writeFileSync(join(clone, "out", `${archive}-${version}.tgz`), "");
  return (...options) =>
    spawnSync(process.execPath, [join(clone, "scripts/npm.mjs"), "publish", ...options, join(clone, "out")], {
      encoding: "utf8",
      env: { ...process.env, PATH: `${join(clone, "tools")}:${process.env.PATH}` },
    });
}

const SYSTEMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];
const ARCHIVES = [...SYSTEMS.map((system) => `nodescope-${system}`), "nodescope"];

test("npm packages are published all or not at all", () => {
  for (const missing of ARCHIVES) {
    const archives = ARCHIVES.filter((archive) => archive !== missing);
    const { status, stderr } = publishing(`without ${missing}`, "0.1.0", archives)();
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`^npm packages: nothing is published: .+/${missing}-0\\.1\\.0\\.tgz missing`));
    assert.doesNotMatch(stderr, /^npm publish/m);
  }
  const { status, stderr } = publishing("all", "0.1.0", ARCHIVES)("--dry-run");
  const sent = stderr.match(/^npm publish .*$/gm);
  assert.equal(status, 0, stderr);
  assert.equal(sent.length, ARCHIVES.length);
  assert.match(sent.at(-1), /--dry-run \S+\/nodescope-0\.1\.0\.tgz$/);
  assert.doesNotMatch(stderr, /--tag/);
});

test("a prerelease is not npm's latest", () => {
  const publish = publishing("prerelease", "0.2.0-rc.1", ARCHIVES);
  const tags = (...options) => publish(...options).stderr.match(/--tag[= ]\S+/g);
  assert.deepEqual(new Set(tags()), new Set(["--tag=next"]));
  assert.deepEqual(new Set(tags("--tag=beta")), new Set(["--tag=beta"]));
});

test("documents name the files of this version", () => {
  const version = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.*)"$/m)[1];
  for (const name of ["README.md", "docs/install.md", "docs/npm.md"]) {
    const text = readFileSync(join(root, name), "utf8");
    const named = text.matchAll(/(?:nodescope[\w/-]*[-_:@]|`v|checkout v)(\d+\.\d+\.\d+)(?!-rc)/g);
    const versions = Array.from(named, ([, found]) => found);
    assert.ok(versions.length > 0, name);
    assert.deepEqual(new Set(versions), new Set([version]), name);
  }
});

test("documents name the command that opens an inspector on macOS", () => {
  for (const name of ["packaging/npm/nodescope/README.md", "docs/platforms.md"]) {
    const lines = readFileSync(join(root, name), "utf8").split("\n");
    const commands = lines.filter((line) => /^(npx )?nodescope record .*--via inspector/.test(line));
    const [windows, macos] = ["Windows", "macOS"].map((system) => commands.filter((line) => line.includes(system)));
    assert.deepEqual([commands.length, windows.length, macos.length], [2, 1, 1], name);
    assert.match(macos[0], /--via inspector --no-sigusr1-listener/);
  }
});

test("programs for macOS are linked by one release of zig, whichever is in the path", () => {
  const [tools, cache, target] = ["zig-tools", "zig-cache", "zig-target"].map((name) => join(scratch, name));
  const release = readFileSync(join(root, "scripts/zig.sh"), "utf8").match(/^release=(.*)$/m)[1];
  const pinned = join(cache, `zig-${release}`, "ziglang/zig");
  for (const folder of [tools, dirname(pinned)]) mkdirSync(folder, { recursive: true });
  for (const file of [pinned, join(tools, "zig"), join(tools, "rustup")])
    writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(tools, "rustc"), "#!/bin/sh\necho /sysroot\n", { mode: 0o755 });
  writeFileSync(join(tools, "cargo"), "#!/bin/sh\nexit 7\n", { mode: 0o755 });
  run("dist.sh", ["aarch64-apple-darwin"], {
    PATH: `${tools}:${process.env.PATH}`,
    DIST: join(scratch, "zig-built"),
    NODESCOPE_CACHE: cache,
    CARGO_TARGET_DIR: target,
  });
  assert.match(readFileSync(join(target, "zig-aarch64-apple-darwin"), "utf8"), new RegExp(`exec "${pinned}" cc `));
});

test("a rustc whose musl does not know packed relocations builds nothing for musl", () => {
  const tools = join(scratch, "tools");
  mkdirSync(tools);
  writeFileSync(join(tools, "cargo"), "#!/bin/sh\necho built; exit 7\n", { mode: 0o755 });
  const build = (release) => {
    writeFileSync(join(tools, "rustc"), `#!/bin/sh\necho 'rustc ${release} (0000000 2026-01-01)'\n`, { mode: 0o755 });
    writeFileSync(join(tools, "rustup"), "#!/bin/sh\n", { mode: 0o755 });
    return run("dist.sh", [MUSL], { PATH: `${tools}:${process.env.PATH}`, DIST: join(scratch, "built") });
  };
  for (const release of ["1.88.0", "1.92.1"]) {
    const { status, stdout, stderr } = build(release);
    assert.deepEqual([status, stdout], [1, ""], stderr);
    assert.match(
      stderr,
      new RegExp(`rustc ${release} links a musl that is too old .*: Rust 1\\.93 or newer is needed`),
    );
  }
  for (const release of ["1.93.0-nightly", "1.95.0", "2.0.0"]) assert.equal(build(release).stdout, "built\n", release);
});

test("a program for macOS has its form, and is signed on arm64", () => {
  const program = (magic, processor, kind, commands) => {
    const file = Buffer.alloc(256);
    file.writeUInt32LE(magic, 0);
    file.writeUInt32LE(processor, 4);
    file.writeUInt32LE(kind, 12);
    file.writeUInt32LE(commands.length, 16);
    let at = 32;
    for (const [command, size, offset] of commands) {
      file.writeUInt32LE(command, at);
      file.writeUInt32LE(size, at + 4);
      file.writeUInt32LE(offset, at + 8);
      at += size;
    }
    file.writeUInt32BE(0xfade0cc0, 200);
    return file;
  };
  const [arm, intel, uuid] = [0x0100000c, 0x01000007, [0x1b, 24, 0]];
  const signature = [0x1d, 16, 200];
  for (const [file, processor, complaint] of [
    [program(0xfeedfacf, arm, 2, [uuid, signature]), "aarch64", ""],
    [program(0xfeedfacf, intel, 2, [uuid]), "x86_64", ""],
    [program(0xfeedfacf, arm, 2, [uuid]), "aarch64", "has no signature"],
    [program(0xfeedfacf, arm, 2, [uuid, [0x1d, 16, 100]]), "aarch64", "has no signature"],
    [program(0xfeedfacf, intel, 2, [uuid]), "aarch64", "is not for aarch64"],
    [program(0xfeedfacf, arm, 6, [uuid, signature]), "aarch64", "is no program"],
    [program(0x464c457f, arm, 2, []), "aarch64", "is no Mach-O file"],
    [Buffer.from("short"), "aarch64", "is no Mach-O file"],
  ]) {
    writeFileSync(join(scratch, "program"), file);
    const { status, stderr } = run("mach-o.mjs", [join(scratch, "program"), processor]);
    assert.equal(status, complaint ? 1 : 0, stderr);
    assert.ok(stderr.includes(complaint) && (complaint || !stderr), stderr);
  }
});

test("the licences of all crates are listed, and of what else is linked", {
  skip: spawnSync("cargo", ["--version"]).status !== 0 && "cargo is missing",
}, () => {
  const { status, stdout, stderr } = run("licences.sh", []);
  assert.equal(status, 0, stderr);
  const [list, ...texts] = stdout.split(/^-{100}$/m);
  const locked = readFileSync(join(root, "Cargo.lock"), "utf8");
  // A crate for each licence, and one that only another system needs.
  for (const name of ["zlib-rs", "serde", "aho-corasick", "libc", "windows-sys"]) {
    const version = locked.match(new RegExp(`name = "${name}"\nversion = "(.*)"`))[1];
    assert.match(list, new RegExp(`^${name} +${version.replaceAll(".", "\\.")} +\\S`, "m"));
    assert.ok(
      texts.some((text) => text.includes(`${name} ${version}`)),
      `${name} has no text`,
    );
  }
  assert.ok(!/^(nodescope|inferno|insta|syn) /m.test(list), list);
  assert.match(
    texts.find((text) => text.includes("zlib-rs")),
    /origin of this software must not be misrepresented/,
  );
  assert.match(texts.at(-1), /musl.*Rich Felker[\s\S]*Permission is hereby granted/);
  assert.equal(run("licences.sh", []).stdout, stdout);
  assert.ok(!stdout.includes(homedir()), "a folder of this machine");
});
