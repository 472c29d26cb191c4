'use strict';
// A large heap that changes all the time: much of what is allocated survives and dies old,
// so scavenges and mark-compacts dominate.
const LIVE = 300000;
const live = new Array(LIVE).fill(null);
let seed = 1;

function random(limit) {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return seed % limit;
}

function makeRecord(id) {
  return { id, left: live[random(LIVE)], tags: [{ id }, { id }, { id }, { id }], more: { a: { b: { c: id } } } };
}

function churn(count) {
  for (let i = 0; i < count; i++) {
    const slot = random(LIVE);
    if (live[slot]) live[slot].left = null;
    live[slot] = makeRecord(i);
  }
}

const end = Date.now() + (Number(process.argv[2]) || 4000);
while (Date.now() < end) churn(10000);
console.log(Math.round(process.memoryUsage().heapUsed / 1e6) + ' MB');
