"use strict";
// Makes a log of `node --prof` small enough for the corpus: trim-prof-log.js EVERY <in.log >out.log
// Keeps one tick in EVERY, of the code only what a kept tick was in (wherever it moved), and everything else
// except the texts of scripts and their positions.
const every = Number(process.argv[2]) || 1;
const lines = require("node:fs").readFileSync(0, "latin1").split("\n");
const dropped = new Set(["script-source", "code-source-info", "feedback-vector"]);

let number = 0;
const isKept = lines.map((line) => {
  const tag = line.slice(0, line.indexOf(","));
  return tag === "tick" ? number++ % every === 0 : !dropped.has(tag) && tag !== "code-creation" && tag !== "code-move";
});

const seen = lines
  .filter((line, at) => isKept[at] && line.startsWith("tick,"))
  .flatMap((line) =>
    line
      .split(",")
      .filter((field) => field.startsWith("0x"))
      .map(Number),
  )
  .sort((a, b) => a - b);

function wasSeen(start, size) {
  let low = 0;
  let high = seen.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seen[middle] < start) low = middle + 1;
    else high = middle;
  }
  return seen[low] < start + size;
}

const code = new Map();
lines.forEach((line, at) => {
  const fields = line.split(",");
  let row;
  let start;
  if (fields[0] === "code-creation") {
    row = { size: Number(fields[5]), lines: [] };
    start = Number(fields[4]);
  } else if (fields[0] === "code-move" && code.has(Number(fields[1]))) {
    row = code.get(Number(fields[1]));
    start = Number(fields[2]);
    code.delete(Number(fields[1]));
  } else {
    return;
  }
  code.set(start, row);
  row.lines.push(at);
  if (wasSeen(start, row.size)) for (const kept of row.lines.splice(0)) isKept[kept] = true;
});

process.stdout.write(lines.filter((_, at) => isKept[at]).join("\n"), "latin1");
