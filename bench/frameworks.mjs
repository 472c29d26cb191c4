// Whether work behind an await is found under the route that awaits it, on real frameworks under load: how many samples
// reach their handler, and whether two routes of different cost have the shares of the service's own clock.
//
//   node bench/frameworks.mjs [SECONDS [NAME...]]
//
// The default is 10 seconds for each. npm installs the frameworks into the cache once.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const program = process.env.NODESCOPE_BIN ?? resolve(import.meta.dirname, "../target/release/nodescope");
const [seconds, names] = [Number(process.argv[2] ?? 10), process.argv.slice(3)];
const cache = join(process.env.NODESCOPE_CACHE ?? join(homedir(), ".cache/nodescope"), "frameworks");
const PACKAGES = [
  ...["express@5.3.0", "fastify@5.12.8", "koa@3.2.1", "@hapi/hapi@21.4.10", "reflect-metadata@0.2.2", "rxjs@7.8.2"],
  ...["@nestjs/core@11.1.6", "@nestjs/common@11.1.6", "@nestjs/platform-express@11.1.6"],
  ...["next@15.5.29", "react@19", "react-dom@19"],
];

/**
 * Two routes: handler, service and repository, with an await between each. The costly one works three times as long.
 */
const SERVICE = `
const used = (globalThis.used ??= { cheap: 0, costly: 0 });
const cpu = () => { const { user, system } = process.cpuUsage(); return user + system; };
const soon = () => new Promise((resolve) => setTimeout(resolve, 1));
function spin(ms) { const end = performance.now() + ms; let sum = 0; while (performance.now() < end) sum += JSON.stringify(process.versions).length; return sum; }
function parseCheap() { const start = cpu(); const sum = spin(1); used.cheap += cpu() - start; return sum; }
function parseCostly() { const start = cpu(); const sum = spin(3); used.costly += cpu() - start; return sum; }
async function loadCheap() { await soon(); return parseCheap(); }
async function loadCostly() { const [sum] = await Promise.all([soon().then(() => parseCostly()), soon()]); return sum; }
async function handleCheap() { return { sum: await loadCheap() }; }
async function handleCostly() { return { sum: await loadCostly() }; }
const ready = (port) => console.log(JSON.stringify({ port }));
process.on("SIGTERM", () => { console.log(JSON.stringify(used)); process.exit(); });
`;

const APPS = {
  express: `const app = require("express")();
    app.get("/cheap", async (_, answer) => answer.json(await handleCheap()));
    app.get("/costly", async (_, answer) => answer.json(await handleCostly()));
    const server = app.listen(0, () => ready(server.address().port));`,
  fastify: `const app = require("fastify")();
    app.get("/cheap", handleCheap); app.get("/costly", handleCostly);
    app.listen({ port: 0 }).then(() => ready(app.server.address().port));`,
  koa: `const app = new (require("koa"))();
    app.use(async (context) => { context.body = await (context.path === "/cheap" ? handleCheap() : handleCostly()); });
    const server = app.listen(0, () => ready(server.address().port));`,
  hapi: `const app = require("@hapi/hapi").server({ port: 0 });
    app.route({ method: "GET", path: "/cheap", handler: () => handleCheap() });
    app.route({ method: "GET", path: "/costly", handler: () => handleCostly() });
    app.start().then(() => ready(app.info.port));`,
  nest: `require("reflect-metadata");
    const { Controller, Get, Module } = require("@nestjs/common");
    class Shop { cheap() { return handleCheap(); } costly() { return handleCostly(); } }
    for (const name of ["cheap", "costly"]) Get(name)(Shop.prototype, name, Object.getOwnPropertyDescriptor(Shop.prototype, name));
    Controller()(Shop);
    class App {} Module({ controllers: [Shop] })(App);
    require("@nestjs/core").NestFactory.create(App, { logger: false }).then(async (app) => { await app.listen(0); ready(app.getHttpServer().address().port); });`,
};

/** Next builds its routes, each with a copy of the service, and serves them by a server of ours. */
const NEXT = {
  "next.config.js": `module.exports = { experimental: { serverMinification: false }, eslint: { ignoreDuringBuilds: true } };`,
  "app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;",
  "service.js": `${SERVICE.replace(/process\.on.*/, "")}; export { handleCheap, handleCostly };`,
  ...Object.fromEntries(
    ["Cheap", "Costly"].map((kind) => [
      `app/${kind.toLowerCase()}/route.js`,
      `import { handle${kind} } from "../../service.js"; export const dynamic = "force-dynamic";
       export async function GET() { return Response.json(await handle${kind}()); }`,
    ]),
  ),
};
APPS.next = `process.env.NEXT_TELEMETRY_DISABLED = "1";
    const app = require("next")({ dev: false, dir: __dirname + "/next-app" });
    app.prepare().then(() => { const server = require("http").createServer(app.getRequestHandler()).listen(0, () => ready(server.address().port)); });`;

function buildNext() {
  const folder = join(cache, "next-app");
  if (existsSync(join(folder, "built"))) return;
  for (const [name, text] of Object.entries(NEXT)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const words = [join(cache, "node_modules/next/dist/bin/next"), "build"];
  execFileSync(process.execPath, words, {
    cwd: folder,
    stdio: "ignore",
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" },
  });
  writeFileSync(join(folder, "built"), "");
}

function install() {
  if (existsSync(join(cache, "installed"))) return;
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), '{ "private": true }');
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...PACKAGES], {
    cwd: cache,
    stdio: "ignore",
  });
  writeFileSync(join(cache, "installed"), "");
}

/** Both routes, over two connections each, until it is stopped. */
function load(port) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  let isOver = false;
  const ask = (path) => {
    const again = () => isOver || ask(path);
    http.get({ port, path, agent }, (answer) => answer.resume().on("end", again)).on("error", () => {});
  };
  for (const path of ["/cheap", "/costly", "/cheap", "/costly"]) ask(path);
  return () => {
    isOver = true;
    agent.destroy();
  };
}

/** CPU time by stack in ns, the outermost function first. */
const folded = (file) =>
  execFileSync(program, ["export", "--async", "--to", "folded", "-o", "-", file], { maxBuffer: 1 << 28 })
    .toString()
    .trim()
    .split("\n")
    .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]);

async function measure(name, folder) {
  const script = join(cache, `${name}.js`);
  writeFileSync(script, SERVICE + APPS[name]);
  const service = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  const stop = load((await next()).port);
  const out = join(folder, `${name}.nodescope`);
  const recorder = spawn(program, ["record", String(service.pid), "-q", "-F", "99", "-d", `${seconds}s`, "-o", out], {
    stdio: "ignore",
  });
  await new Promise((done) => recorder.once("exit", done));
  stop();
  service.kill("SIGTERM");
  const used = await next();
  const { losses, entries } = JSON.parse(execFileSync(program, ["report", "--json", out], { maxBuffer: 1 << 28 }));
  return { used, awaits: losses.awaits, entries, stacks: folded(out) };
}

function show(name, { used, awaits, entries, stacks }) {
  const count = (isWanted) => stacks.reduce((sum, [stack, ns]) => sum + (isWanted(stack) ? ns : 0), 0);
  const has = (stack, name) => stack.split(";").some((frame) => frame.includes(name));
  const of = (kind) => count((stack) => has(stack, `parse${kind}`));
  const reached = (kind) => count((stack) => has(stack, `parse${kind}`) && has(stack, `handle${kind}`));
  const wrong = count(
    (stack) =>
      (has(stack, "parseCheap") && has(stack, "handleCostly")) ||
      (has(stack, "parseCostly") && has(stack, "handleCheap")),
  );
  const all = of("Cheap") + of("Costly");
  const [cheap, costly] = [reached("Cheap"), reached("Costly")];
  const percent = (part, whole) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
  const { read, inferred, late, unread, cut } = awaits;
  const total = read + inferred + late + unread + cut;
  /** Of JavaScript: what is known to be a request's. */
  const asked = (isWanted) => entries.filter(({ kind }) => isWanted(kind)).reduce((sum, { share }) => sum + share, 0);
  const requests = percent(
    asked((kind) => kind === "http"),
    asked((kind) => kind !== "none"),
  );
  const truth = percent(used.costly, used.cheap + used.costly);
  console.log(
    `${name.padEnd(8)} ${(all / 1e9).toFixed(1)} s of work, ${percent(cheap + costly, all)} under its handler, ${percent(wrong, all)} under the other, ${requests} is requests'; ` +
      `costly route ${percent(costly, cheap + costly)}, by its own clock ${truth}; ` +
      `chains read ${percent(read + cut, total)}, inferred ${percent(inferred, total)}`,
  );
}

const folder = mkdtempSync(join(tmpdir(), "nodescope-frameworks-"));
try {
  install();
  buildNext();
  for (const name of names.length > 0 ? names : Object.keys(APPS)) show(name, await measure(name, folder));
} finally {
  rmSync(folder, { recursive: true });
}
