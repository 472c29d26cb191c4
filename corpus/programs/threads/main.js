'use strict';
// The main thread, two workers with names and one without: every isolate writes into one perf map.
const { Worker, isMainThread, workerData } = require('worker_threads');

function hash(rounds) {
  let h = 2166136261;
  for (let i = 0; i < rounds; i++) h = Math.imul(h ^ (i & 255), 16777619);
  return h;
}

function resizeImage(rounds) {
  const pixels = new Uint8ClampedArray(64 * 64);
  for (let i = 0; i < rounds; i++) pixels[i & 4095] = (pixels[(i + 7) & 4095] * 3 + i) >> 2;
  return pixels[5];
}

function busy(work, until) {
  while (Date.now() < until) work(200000);
}

if (isMainThread) {
  const until = Date.now() + (Number(process.argv[2]) || 3000);
  for (const name of ['resize 1', 'resize 2', undefined]) new Worker(__filename, { name, workerData: until });
  setInterval(function mainTurn() {
    if (Date.now() > until) clearInterval(this);
    busy(hash, Date.now() + 20);
  }, 40);
} else {
  busy(resizeImage, workerData);
}
