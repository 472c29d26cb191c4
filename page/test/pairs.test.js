// A pair has one row, whatever comes between.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Pairs } from "../src/compute/pairs.ts";

const NONE = 0xffffffff;

test("a pair keeps its row while the table grows", () => {
  const pairs = new Pairs(4);
  const known = new Map();
  for (let turn = 0; turn < 3; turn++) {
    for (let at = 0; at < 5000; at++) {
      const pair = [(at % 97) - 3, at % 89 === 0 ? NONE : Math.imul(at, 0x9e3779b1) >>> 0];
      const row = pairs.add(...pair);
      assert.equal(row, known.get(String(pair)) ?? known.size, `${pair}`);
      known.set(String(pair), row);
      assert.deepEqual([pairs.first[row], pairs.second[row]], pair);
    }
  }
  assert.equal(pairs.count, known.size);
});

test("the order of a pair counts", () => {
  const pairs = new Pairs();
  assert.deepEqual([pairs.add(1, 2), pairs.add(2, 1), pairs.add(1, 2), pairs.add(-1, 2)], [0, 1, 0, 2]);
});
