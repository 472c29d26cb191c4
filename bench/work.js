// A fixed amount of work, like a small service's: JSON, strings, maps, hashes, gzip. Prints the CPU time that it took,
// in ms.
//   node bench/work.js ROUNDS
"use strict";

const { createHash } = require("node:crypto");
const { gzipSync } = require("node:zlib");

function round(seed) {
  const rows = Array.from({ length: 400 }, (_, i) => ({ id: i, name: `row ${i * seed}`, tags: ["a", "b", String(i)] }));
  const text = JSON.stringify(rows);
  const index = new Map(JSON.parse(text).map((row) => [row.name, row]));
  const words = text.split(/[^a-z0-9]+/).filter((word) => index.has(`row ${word}`)).length;
  return words + createHash("sha256").update(gzipSync(text)).digest().readUInt32LE(0);
}

for (let i = 0; i < Number(process.argv[2] ?? 500); i++) round(i);
const { user, system } = process.cpuUsage();
console.log(((user + system) / 1000).toFixed(1));
