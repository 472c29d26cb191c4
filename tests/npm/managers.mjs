// The package managers: how each installs nodescope, how it is left without the program of this system, and how a user
// of it runs nodescope. Words of a command that start with a manager's own program; `node` is that of the test.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

const packages = join(import.meta.dirname, "node_modules");
const cache = process.env.NODESCOPE_CACHE ?? join(homedir(), ".cache/nodescope");

export const nodeOf = (release) => join(cache, `node-${release}`, "node");

/** npm and pnpm want a new Node, whichever the shim runs on. */
export const NEW_NODE = nodeOf("26.10.0");

const npm = join(packages, "npm/bin/npm-cli.js");
const npx = join(packages, "npm/bin/npx-cli.js");
const pnpm = join(packages, "pnpm/bin/pnpm.mjs");
const yarn = join(packages, "yarn/bin/yarn.js");
const berry = join(packages, "@yarnpkg/cli-dist/bin/yarn.js");
const bun = join(cache, "bun-1.4.4/bun");

const berryIs = (nodeLinker) => ({
  ".yarnrc.yml": (registry) =>
    `npmRegistryServer: "${registry}"\nunsafeHttpWhitelist: ["127.0.0.1"]\nnodeLinker: ${nodeLinker}\n` +
    `enableScripts: false\nenableTelemetry: false\nenableImmutableInstalls: false\nnpmMinimalAgeGate: 0\n`,
});

/** What a project states of the systems that it is meant for. */
const permits = ([os, cpu]) => `supportedArchitectures:\n  os: [${os}]\n  cpu: [${cpu}]\n`;

export const MANAGERS = [
  {
    name: "npm",
    install: () => [NEW_NODE, npm, "install", "nodescope"],
    installElsewhere: () => [NEW_NODE, npm, "ci", "--omit=optional"],
    add: () => [NEW_NODE, npm],
    run: () => [NEW_NODE, npx],
    typed: "npx nodescope",
  },
  {
    name: "pnpm",
    files: { "pnpm-workspace.yaml": () => "minimumReleaseAge: 0\n" },
    filesElsewhere: (systems) => ({ "pnpm-workspace.yaml": () => `minimumReleaseAge: 0\n${permits(systems)}` }),
    install: () => [NEW_NODE, pnpm, "add", "--ignore-scripts", "nodescope"],
    reinstall: () => [NEW_NODE, pnpm, "install", "--ignore-scripts"],
    installElsewhere: () => [NEW_NODE, pnpm, "install", "--no-optional"],
    add: () => [NEW_NODE, pnpm],
    run: () => [NEW_NODE, pnpm],
    typed: "pnpm nodescope",
    once: (...options) => [NEW_NODE, pnpm, ...options, "dlx"],
  },
  {
    name: "yarn 1",
    install: () => [NEW_NODE, yarn, "add", "--ignore-scripts", "nodescope"],
    installElsewhere: () => [NEW_NODE, yarn, "install", "--force", "--ignore-optional"],
    add: () => [NEW_NODE, yarn],
    run: (node) => [node, yarn, "--silent"],
    typed: "yarn nodescope",
  },
  {
    name: "yarn with PnP",
    files: berryIs("pnp"),
    install: () => [NEW_NODE, berry, "add", "nodescope"],
    reinstall: () => [NEW_NODE, berry, "install"],
    filesElsewhere: (systems) => ({
      ".yarnrc.yml": (registry) => berryIs("pnp")[".yarnrc.yml"](registry) + permits(systems),
    }),
    run: (node) => [node, berry],
    typed: "yarn nodescope",
    once: () => [NEW_NODE, berry, "dlx", "--quiet"],
  },
  {
    name: "yarn with node_modules",
    files: berryIs("node-modules"),
    install: () => [NEW_NODE, berry, "add", "nodescope"],
    run: (node) => [node, berry],
    typed: "yarn nodescope",
  },
  {
    name: "bun",
    missing: existsSync(bun) ? undefined : "Bun is not installed",
    install: () => [bun, "add", "--ignore-scripts", "nodescope"],
    installElsewhere: () => [bun, "install", "--omit=optional"],
    add: () => [bun],
    run: () => [bun, "x"],
    typed: "bunx nodescope",
  },
];

/**
 * Installations for all projects, into a home: how each is left without the program of this system. Yarn's own folder
 * would be the machine's where root runs it.
 */
export const GLOBALLY = [
  {
    name: "pnpm",
    environment: (home) => ({ PNPM_HOME: home, PATH: [join(home, "bin"), process.env.PATH].join(delimiter) }),
    add: (_, ...words) => [NEW_NODE, pnpm, "add", "--global", "--config.minimum-release-age=0", ...words],
    without: ["--os=darwin", "--cpu=arm64"],
    hint: (self) => `pnpm add --global ${self}`,
  },
  {
    name: "yarn 1",
    environment: (home) => ({ PREFIX: home }),
    add: (home, ...words) => [NEW_NODE, yarn, "global", "add", "--global-folder", join(home, "yarn/global"), ...words],
    without: ["--ignore-optional"],
    hint: (self, holder) => `yarn global add ${self} ${holder}`,
  },
  {
    name: "bun",
    missing: existsSync(bun) ? undefined : "Bun is not installed",
    environment: (home) => ({ BUN_INSTALL: home }),
    add: (_, ...words) => [bun, "add", "--global", ...words],
    without: ["--omit=optional"],
    hint: (self, holder) => `bun add --global ${self} ${holder}`,
  },
];

export const npmCi = () => [NEW_NODE, npm, "ci"];

/** Without asking. */
export const npxAtOnce = (...words) => [NEW_NODE, npx, "--yes", ...words];

/** `npm install -g` of these, and the folder of what it links. */
export const installGlobally = (prefix, ...files) => [
  NEW_NODE,
  npm,
  "install",
  "--global",
  "--ignore-scripts",
  "--prefix",
  prefix,
  ...(files.length > 0 ? files : ["nodescope"]),
];

export const npmView = (...words) => [NEW_NODE, npm, "view", "--json", ...words];
