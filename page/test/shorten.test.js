// Short names and paths: the table of the program's own tests, and what its report prints.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { test } from "node:test";
import { commonFolder, nativeName, shortPlace } from "../src/compute/shorten.ts";
import { functionName } from "../src/data/model.ts";
import { DEMO, open, report, reportText, root } from "./recordings.js";

test("native names are those of the program", () => {
  const rust = readFileSync(pathTo(root, "crates/views/src/shorten.rs"), "utf8");
  const table = rust.slice(rust.indexOf("fn native_names()"), rust.indexOf("fn common_folders()"));
  const rows = [...table.matchAll(/\(\s*"([^"]*)",\s*"([^"]*)",?\s*\)/g)];
  assert.ok(rows.length > 12);
  for (const [, whole, short] of rows) assert.equal(nativeName(whole), short, whole);
});

test("what stands in brackets among the arguments of a template is no list of parameters", () => {
  const search = "v8::internal::BinarySearch<(v8::internal::SearchMode)1, v8::internal::DescriptorArray>";
  assert.equal(nativeName(search), search);
  assert.equal(nativeName(`${search}(v8::internal::Name)`), search);
});

test("folders that paths have in common", () => {
  assert.equal(commonFolder(["/srv/shop/a.js", "/srv/shop/lib/b.js"]), "/srv/shop");
  assert.equal(commonFolder(["/srv/shop/a.js", "/srv/shopping/b.js"]), "/srv");
  assert.equal(commonFolder(["/srv/a.js", "/opt/b.js"]), "");
  assert.equal(commonFolder([]), "");
});

test("places are those that the report prints", async () => {
  for (const name of [DEMO, "node22-http", "corpus/entries-express/input.nodescope"]) {
    const profile = await open(name);
    const { out } = reportText(name);
    const reported = report(name).own_functions.slice(0, 3);
    assert.ok(reported.length > 0);
    for (const row of reported) {
      const ids = [...profile.functions.name.keys()].filter(
        (id) => functionName(profile, id) === row.name && profile.functions.line[id] === row.line,
      );
      assert.ok(
        ids.some((id) => out.includes(shortPlace(profile, id))),
        ids.map((id) => shortPlace(profile, id)).join(),
      );
    }
  }
});
