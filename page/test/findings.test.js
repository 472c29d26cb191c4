// What a click on a finding of the report selects.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Derived } from "../src/compute/derived.ts";
import { shownAt, stateOfFinding, stateOfSpan } from "../src/compute/findings.ts";
import { fromHash, START, toHash } from "../src/select/state.ts";
import { DEMO, openPage, report } from "./recordings.js";

const STALLS = "tests/browser/stalls.nodescope";

describe("a finding", () => {
  test("has its times: as many as the report counts, the longest first", async () => {
    for (const name of [DEMO, STALLS, "node22-gc"]) {
      const { findings } = (await openPage(name)).report;
      const reported = report(name).findings;
      assert.deepEqual(
        findings.map(({ id, text }) => [id, text]),
        reported.map(({ id, text }) => [id, text]),
      );
      for (const [at, { spans }] of findings.entries()) {
        if (reported[at].count) assert.equal(spans.length, reported[at].count, reported[at].id);
        const lengths = spans.map(({ start_ns, end_ns }) => end_ns - start_ns);
        assert.deepEqual(
          lengths,
          lengths.toSorted((a, b) => b - a),
        );
      }
    }
  });

  test("leads to its longest time, on its thread, and to each of the others", async () => {
    const profile = await openPage(DEMO);
    const [finding] = profile.report.findings;
    const [longest] = report(DEMO).stalls;
    const state = { ...START, search: "kept", ...stateOfFinding(profile, finding, 0) };
    assert.deepEqual(
      state.range.map((ns) => ns / 1e9),
      [longest.start_s, longest.end_s],
    );
    assert.deepEqual([state.threads, state.focus, state.search], [[finding.spans[0].thread], [], "kept"]);
    assert.equal(state.function, finding.function);
    assert.ok(new Derived(profile).sums(state).count > 0);
    for (const at of finding.spans.keys()) {
      const there = fromHash(toHash({ ...START, ...stateOfFinding(profile, finding, at) }));
      assert.equal(shownAt(profile, finding, there), at, "a link knows it again");
      assert.equal(shownAt(profile, finding, { ...there, base: "rest" }), at);
      assert.equal(shownAt(profile, finding, { ...there, categories: [5] }), -1);
    }
    assert.equal(shownAt(profile, finding, START), -1);
  });

  test("that no single time stands out for leads to its function on its threads", async () => {
    const profile = await openPage("node22-gc");
    const finding = profile.report.findings.find(({ spans }) => spans.length === 0);
    const state = { ...START, ...stateOfFinding(profile, finding, 0) };
    assert.deepEqual([state.range, state.threads], [null, finding.threads]);
    assert.deepEqual(state.focus, [{ kind: "function", id: finding.function }]);
    assert.equal(shownAt(profile, finding, fromHash(toHash(state))), 0);
  });

  test("that waited shows what it waited in", async () => {
    const profile = await openPage(STALLS);
    const lane = profile.lanes.findIndex(({ name }) => name === "waits");
    const blocked = profile.report.stalls.find(({ kind }) => kind === "blocked");
    const ran = profile.report.stalls.find(({ kind }) => kind === "ran");
    assert.deepEqual([stateOfSpan(profile, blocked).lane, stateOfSpan(profile, ran).lane], [lane, 0]);
    assert.ok(new Derived(profile).sums({ ...START, ...stateOfSpan(profile, blocked) }).count > 0);
  });
});
