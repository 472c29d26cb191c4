// Search: what is looked in, what matches, and what a wrong pattern says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { rowKey } from "../src/compute/found.ts";
import { throughLens } from "../src/compute/lens/lens.ts";
import { matchedOf, pathToMatch, pictureOf } from "../src/compute/picture.ts";
import { searchFor } from "../src/compute/search.ts";
import { functionFile, functionName } from "../src/data/model.ts";
import { matchesOf } from "../src/draw/flame/color.ts";
import { share } from "../src/draw/text.ts";
import { START } from "../src/select/state.ts";
import { NONE, openPage, report, WORDS } from "./recordings.js";

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

test("case does not matter without a capital letter, in the page as in the program", () => {
  const { weight } = report(EXPRESS);
  for (const pattern of ["loadglobal", "LoadGlobal", "(?i)LOADGLOBAL", "(?-i)LoadGlobal", "fast\\S+now"]) {
    const part = share(report(EXPRESS, "--search", pattern).weight, weight);
    assert.ok(part > 0 && part < 1, pattern);
    assert.ok(Math.abs(found(pattern).share - part) < 1e-9, `${pattern}: ${found(pattern).share}, not ${part}`);
  }
  assert.equal(found("LOADGLOBAL").share, 0);
  assert.equal(found("(?-i)loadglobal").share, 0);
  assert.throws(() => report(EXPRESS, "--search", "LOADGLOBAL"), "no sample is left");
  const ofList = share(report(EXPRESS, "--entry", "http request.*list").weight, weight);
  assert.equal(found("entry:HTTP Request.*list").share, 0);
  assert.ok(Math.abs(found("entry:http request.*list").share - ofList) < 1e-9);
});

test("of several terms with the same word one must hold", () => {
  const { weight } = report(EXPRESS);
  const part = (...options) => share(report(EXPRESS, ...options).weight, weight);
  const near = (search, expected) =>
    assert.ok(Math.abs(found(search).share - expected) < 1e-9, `${search}: ${found(search).share}, not ${expected}`);
  near("category:^runtime$ category:^builtin$", part("--category", "runtime,builtin"));
  near("entry:▸ list entry:▸ log", part("--entry", "HTTP request (list|log)"));
  near("package:^express$ package:^router$ entry:▸ sync", part("--search", "^(express|router)$", "--entry", "sync"));
  assert.equal(found("name:^log$ package:^router$").share, 0, "of different words all must hold");
});

test("boxes of other entries do not match", () => {
  const spin = "name:^exports\\.spin$";
  const [all, ofList] = [found(spin), found(`entry:▸ list ${spin}`)];
  assert.ok(ofList.boxes > 0 && ofList.boxes < all.boxes, `${ofList.boxes} of ${all.boxes}`);
  for (const view of ["flame", "inverted", "time"]) {
    const state = { ...STATE, view, search: `entry:▸ list ${spin}` };
    const boxes = pictureOf(code, state, 20000).rows.flat();
    const isFound = matchesOf(code, state);
    const isSpin = (box) => box.function !== NONE && functionName(code.profile, box.function) === "exports.spin";
    const [marked, others] = [boxes.filter(isFound), boxes.filter((box) => isSpin(box) && !isFound(box))];
    assert.ok(marked.length > 0 && marked.every(isSpin), view);
    if (view !== "inverted") assert.ok(others.length > 0, view);
    const rootOf = (node) => (node.parent.parent ? rootOf(node.parent) : node.function);
    const isList = ({ node }) => /▸ list$/.test(functionName(code.profile, rootOf(node)));
    if (view === "flame") assert.ok(marked.every(isList) && !others.some(isList));
  }
  const path = pathToMatch(code, { ...STATE, search: `entry:▸ list ${spin}` });
  assert.match(functionName(code.profile, path[0]), /▸ list$/);
});

test("every list has the rows that the search is about", () => {
  const rows = (search, by, derived = everything) => {
    const state = { ...STATE, search };
    return derived.top(state, by).filter((row) => derived.found(state, by).has(rowKey(row)));
  };
  const names = (search, by, name) => new Set(rows(search, by).map(name));
  const nameOf = ({ key }) => functionName(raw, key);
  const LIST = ["--entry", "HTTP request list"];
  const reported = report(EXPRESS, ...LIST);
  assert.deepEqual(names("entry:▸ list /", "function", nameOf), new Set(reported.functions.map(({ name }) => name)));
  assert.deepEqual(
    names("entry:▸ list /", "package", ({ key }) => raw.strings[key]),
    new Set(reported.packages.map(({ name }) => name)),
  );
  const entries = names("entry:▸ list /", "entry", ({ key }) => raw.report.entries.list[key].text);
  assert.deepEqual(entries, new Set(["HTTP request ▸ list"]));
  const spin = report(EXPRESS, "--search", "^exports\\.spin$");
  const categories = new Set(spin.categories.filter((row) => row.self_samples > 0).map(({ name }) => name));
  assert.deepEqual(
    names("^exports\\.spin$", "category", ({ key }) => WORDS[key]),
    categories,
  );
  const threads = new Set(spin.threads.map(({ tid }) => tid));
  assert.deepEqual(
    names("^exports\\.spin$", "thread", ({ key }) => raw.threads[key].tid),
    threads,
  );
  assert.ok(threads.size < report(EXPRESS).threads.length, "another thread never ran it");
  assert.deepEqual(
    names("file:spin\\.js$", "line", ({ key }) => raw.sources[key]),
    new Set(["/srv/entries/spin.js"]),
  );
  const [row] = rows("^exports\\.spin$", "function");
  const whole = everything.top(STATE, "function").find(({ key }) => key === row.key);
  assert.deepEqual(row, whole, "the search changes no row's numbers");
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
  const heat = (search) => code.heat({ ...STATE, search }, 1000, 20);
  const sum = (search) => heat(search).cells.reduce((all, cell) => all + cell, 0);
  assert.ok(heat("").rows > 1, "with rows, as the page has it");
  assert.ok(Math.abs(sum("^uv_run$") / sum("") - found("^uv_run$").share) < 1e-9);
  assert.equal(sum("("), sum(""), "a wrong pattern filters nothing");
});

test("a wrong pattern says why", () => {
  assert.equal(searchFor(raw, "("), "Unterminated group");
  assert.match(searchFor(raw, "file:a category:["), /class/i);
  assert.equal(found("("), null);
});
