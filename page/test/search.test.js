// Search: what is looked in, what matches, and what a wrong pattern says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { throughLens } from "../src/compute/lens/lens.ts";
import { matchedOf, pathToMatch } from "../src/compute/picture.ts";
import { searchFor } from "../src/compute/search.ts";
import { functionFile, functionName } from "../src/data/model.ts";
import { share } from "../src/draw/text.ts";
import { START } from "../src/select/state.ts";
import { openPage, report } from "./recordings.js";

const EXPRESS = "corpus/entries-express/input.nodescope";
const raw = await openPage(EXPRESS);
const STATE = { ...START, threads: [] };
const [code, everything] = ["code", "everything"].map((lens) => new Derived(throughLens(raw, lens, [])));
const found = (search, derived = code) => matchedOf(derived, { ...STATE, search });

test("each field is looked in alone", () => {
  const names = ({ functions }, of) => new Set([...functions].flatMap((is, id) => (is ? [of(raw, id)] : [])));
  const files = names(searchFor(raw, "file:node_modules/router/"), functionFile);
  assert.ok(files.size > 0 && [...files].every((file) => file.includes("node_modules/router/")));
  assert.deepEqual(names(searchFor(raw, "name:^log$"), functionName), new Set(["log"]));
  assert.ok(searchFor(raw, "package:^router$").functions.some(Boolean));
  assert.ok(!searchFor(raw, "package:^log$").functions.some(Boolean));
});

test("what matches is the report's, under every lens", () => {
  const { weight } = report(EXPRESS);
  const part = (...options) => share(report(EXPRESS, ...options).weight, weight);
  for (const derived of [code, everything]) {
    const near = (search, expected) =>
      assert.ok(Math.abs(found(search, derived).share - expected) < 1e-9, `${search}: ${found(search, derived).share}`);
    near("express|router", part("--search", "express|router"));
    near("category:^runtime$", part("--category", "runtime"));
    near("entry:HTTP request ▸ list", part("--entry", "HTTP request list"));
    near("uv_ category:libuv", part("--search", "uv_", "--category", "libuv"));
    near("(?i)EXPRESS entry:^http ", part("--search", "express", "--entry", "^http "));
  }
});

test("boxes are counted where there are any", () => {
  assert.equal(found("entry:▸ list /").boxes, 1);
  assert.equal(found("entry:▸ list /", everything).boxes, 0);
  assert.ok(found("^exports.spin$").boxes >= 2);
  // The lens leaves these out, and their time is still known.
  assert.equal(found("^uv_run$").boxes, 0);
  assert.ok(found("^uv_run$").share > 0.3);
  assert.equal(found("no such thing").share, 0);
  assert.equal(found(""), null);
  const path = pathToMatch(code, { ...STATE, search: "^exports.spin$" });
  assert.equal(functionName(code.profile, path.at(-1)), "exports.spin");
  assert.equal(pathToMatch(code, { ...STATE, search: "^uv_run$" }), null);
});

test("the heat map has what matches alone", () => {
  const sum = (search) => code.heat({ ...STATE, search }, 1000).cells.reduce((all, cell) => all + cell, 0);
  assert.ok(Math.abs(sum("^uv_run$") / sum("") - found("^uv_run$").share) < 1e-9);
  assert.equal(sum("("), sum(""), "a wrong pattern filters nothing");
});

test("a wrong pattern says why", () => {
  assert.equal(searchFor(raw, "("), "Unterminated group");
  assert.match(searchFor(raw, "file:a category:["), /class/i);
  assert.equal(found("("), null);
});
