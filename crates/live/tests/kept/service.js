// Work of several kinds, for recordings that are kept: recursion, inlined functions, a regular expression, JSON, sorting,
// generated code, a method, a promise, and now and then a wait that blocks the event loop.
'use strict';

const words = Array.from({ length: 300 }, (_, row) => `word-${(row * 7919) % 1009}-${row}`);
const text = JSON.stringify(words.map((word, row) => ({ word, row, tags: [word, `${row}`] })));
const cell = new Int32Array(new SharedArrayBuffer(4));
const generated = new Function('n', 'let sum = 0; for (let i = 0; i < n; i++) sum += i % 11; return sum;');
let sink = 0;

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function square(x) {
  return x * x;
}

function sumOfSquares(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += square(i) % 7;
  return sum;
}

function sortWords() {
  return [...words].sort(function byEnd(a, b) {
    return a.slice(-4) < b.slice(-4) ? -1 : 1;
  }).length;
}

function matchWords() {
  return words.filter((word) => /^(w+o*)+r[a-d]-\d+[13579]-/.test(word)).length;
}

class Cart {
  constructor(rows) {
    this.rows = rows;
  }

  get total() {
    let total = 0;
    for (let pass = 0; pass < 300; pass++) total += this.rows.reduce((sum, { row }) => sum + row + pass, 0);
    return total;
  }
}

async function checkOut() {
  await null;
  return new Cart(JSON.parse(text)).total;
}

async function turn(count) {
  sink += fibonacci(23) + sumOfSquares(60_000) + generated(40_000) + sortWords() + matchWords();
  sink += await checkOut();
  if (count % 100 === 99) Atomics.wait(cell, 0, 0, 120);
  if (count === 60) console.log('ready');
  setImmediate(turn, count + 1);
}

turn(0);
