// Our files in speedscope itself, the page that its npm package ships: it shows the functions and totals that the
// report has.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually, exportCase, launch, newPage, program } from "./browser.js";

const release = join(dirname(fileURLToPath(import.meta.resolve("speedscope/package.json"))), "dist/release");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
const profiles = new Map();
let browser;
let server;
let origin;

before(async () => {
  browser = await launch();
  server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname.slice(1));
    try {
      const body = readFileSync(profiles.get(name) ?? join(release, name.replaceAll("..", "")));
      response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  origin = `http://127.0.0.1:${server.address().port}`;
});
after(async () => {
  await browser.close();
  server.close();
});

/**
 * Opens a file in speedscope's sandwich view; its rows are the functions of the busiest thread, most self time first.
 */
async function openInSpeedscope(path) {
  profiles.set("profile", path);
  const page = await newPage(browser, { viewport: { width: 1400, height: 1200 } });
  await page.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/profile`)}&view=sandwich`);
  // The list of threads is a table as well.
  const read = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("tr")].map((row) =>
        [...row.querySelectorAll("td")].map((cell) => cell.textContent),
      ),
    );
  const rows = await eventually(async () => {
    const found = (await read()).filter(([total]) => /%\)$/.test(total));
    assert.ok(found.length >= 10, `${found.length} rows`);
    return found;
  });
  return { page, rows };
}

/** `12.34ms (5.6%)` → 5.6 */
const share = (text) => Number(text.match(/\(<?([\d.]+)%\)/)[1]);

function report(path, ...options) {
  const text = execFileSync(program, ["report", path, "--json", ...options], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return JSON.parse(text);
}

describe("speedscope", () => {
  for (const [name, ending] of [
    ["node22-http", ".speedscope.json"],
    ["node22-unicode", ".speedscope.json"],
    ["node22-hostile-names", ".speedscope.json"],
    ["node22-http", ".pb.gz"],
  ]) {
    test(`opens ${name} as ${ending} and shows the report's totals`, async () => {
      const path = fileURLToPath(exportCase(name, ending));
      const { page, rows } = await openInSpeedscope(path);
      assert.deepEqual(page.trouble, []);
      await page.close();
      const busiest = ending === ".pb.gz" ? [] : ["--thread", busiestThread(path)];
      const sums = new Map();
      for (const { name: own, self, total } of report(path, ...busiest).functions) {
        const sum = sums.get(own) ?? { self: [], total: [] };
        sum.self.push(self * 100);
        sum.total.push(total * 100);
        sums.set(own, sum);
      }
      for (const [total, self, label] of rows.slice(0, 10)) {
        const known = sums.get(label.trim()) ?? sums.get(label.trim().replace(/^Builtins_/, ""));
        assert.ok(known, `${label} is not in the report`);
        const near = (list, shown) => list.some((value) => Math.abs(value - shown) < 0.6);
        assert.ok(near(known.self, share(self)) && near(known.total, share(total)), `${label}: ${total} ${self}`);
      }
    });
  }
});

/** The thread that speedscope opens on. */
function busiestThread(path) {
  const file = JSON.parse(readFileSync(path, "utf8"));
  return file.profiles[file.activeProfileIndex].name.match(/tid: (\d+)/)[1];
}
