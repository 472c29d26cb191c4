// Walks through many different call stacks: node --cpu-prof makes a large .cpuprofile of it.
//   node --cpu-prof --cpu-prof-interval 500 bench/stacks.js SECONDS
"use strict";

const FUNCTIONS = 400;
const DEPTH = 48;
let seed = 20260101;
const random = (limit) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 1;
  return seed % limit;
};

const functions = [];
for (let row = 0; row < FUNCTIONS; row++) {
  // Each has a name, a line and a column of its own, as real ones do.
  const source = `${"\n".repeat(row % 50)}return function step${row}(depth) { return ${row} + walk(depth); }`;
  functions.push(new Function("walk", source)(walk));
}

function walk(depth) {
  if (depth === 0) return spin();
  return functions[random(FUNCTIONS)](depth - 1);
}

function spin() {
  let sum = 0;
  for (let i = 0; i < 20000; i++) sum += Math.sqrt(i);
  return sum;
}

const end = Date.now() + Number(process.argv[2] ?? 10) * 1000;
while (Date.now() < end) walk(DEPTH);
