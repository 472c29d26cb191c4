// Time and heap profiles of a small program, as @datadog/pprof takes them.
const pprof = require("@datadog/pprof");
const fs = require("fs"), zlib = require("zlib");
const kept = [];
function render(rows) { let text = ""; for (const row of rows) text += `<td>${row.name.toUpperCase()}</td>`; return text; }
function parse(text) { return JSON.parse(text); }
const sorted = (rows) => rows.slice().sort((a, b) => (a.name < b.name ? -1 : 1));
function handle() {
  const rows = parse(JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, name: "item " + (id * 7919) % 300 }))));
  kept.push(render(sorted(rows)).slice(0, 2000).split("").join(""));
  if (kept.length > 2000) kept.shift();
}
async function main() {
  pprof.heap.start(64 * 1024, 64);
  pprof.time.start({ durationMillis: 2000, intervalMicros: 10000 });
  const end = Date.now() + 2000;
  await new Promise((done) => { (function turn() { handle(); if (Date.now() < end) setImmediate(turn); else done(); })(); });
  const time = pprof.time.stop();
  const heap = await pprof.heap.profile();
  const raw = (profile) => zlib.gunzipSync(pprof.encodeSync(profile));
  fs.writeFileSync("time.pb", raw(time));
  fs.writeFileSync("heap.pb.gz", pprof.encodeSync(heap));
  fs.writeFileSync("heap.pb", raw(heap));
  fs.writeFileSync("time.pb.gz", pprof.encodeSync(time));
}
main();
