'use strict';
// Known shares of self time: burnA 50 %, burnB 30 %, burnC 20 %, whatever the machine's speed.
// Each turn runs the function that is furthest behind its share, by the clock, for about 2 ms.
// Run with --no-turbo-inlining --no-maglev-inlining, so that no time moves to a caller.
let sink = 1;

function burnA(rounds) {
  let x = sink;
  for (let i = 0; i < rounds; i++) x = (x * 1103515245 + 12345) & 0x7fffffff;
  sink = x;
}

function burnB(rounds) {
  let x = sink;
  for (let i = 0; i < rounds; i++) x = ((x << 5) - x + i) & 0x7fffffff;
  sink = x;
}

function burnC(rounds) {
  let x = sink;
  for (let i = 0; i < rounds; i++) x = ((x >>> 3) ^ (x << 7) ^ i) & 0x7fffffff;
  sink = x;
}

const SLICE_NS = 2e6;
const burners = [
  { burn: burnA, share: 0.5, spent: 0, rounds: 1e5 },
  { burn: burnB, share: 0.3, spent: 0, rounds: 1e5 },
  { burn: burnC, share: 0.2, spent: 0, rounds: 1e5 },
];

function furthestBehind() {
  return burners.reduce((a, b) => (b.spent / b.share < a.spent / a.share ? b : a));
}

function turn(burner) {
  const start = process.hrtime();
  burner.burn(burner.rounds);
  const [seconds, nanos] = process.hrtime(start);
  const took = seconds * 1e9 + nanos;
  burner.spent += took;
  burner.rounds = Math.max(1000, Math.round(burner.rounds * Math.min(2, SLICE_NS / took)));
}

const end = Date.now() + (Number(process.argv[2]) || 5000);
while (Date.now() < end) turn(furthestBehind());
const total = burners.reduce((sum, b) => sum + b.spent, 0);
for (const b of burners) console.log(b.burn.name, (100 * b.spent / total).toFixed(2) + ' %');
