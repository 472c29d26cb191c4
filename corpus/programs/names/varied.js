// Functions of every kind, cold and hot, for naming them from outside: see crates/nodescope/tests/javascript_names.rs.
'use strict';

const { Worker, isMainThread } = require('node:worker_threads');
const end = Date.now() + Number(process.env.SECONDS || 30) * 1000;

class Shape {
  #side;
  constructor(side) { this.#side = side; }
  get area() { return this.#side * this.#side + burn(300); }
  set side(value) { this.#side = value + burn(50) * 0; }
  static of(side) { return new this(side); }
  scaled(by) { return Shape.of(this.#side * by).area; }
  ['computed' + 'Name'](n) { return burn(n) + this.area; }
}

class Solid extends Shape {
  constructor(side) { super(side); this.deep = true; }
  get area() { return super.area * 6; }
}

function burn(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.sqrt(i) ^ i;
  return sum;
}

function* counted(n) {
  for (let i = 0; i < n; i++) yield burn(20) + i;
}

async function later(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += await next(i);
  return sum;
}

const next = async (i) => burn(100) + i;
const arrow = (list) => list.map((x) => x * 2).filter((x) => x % 3).reduce((a, b) => a + b, 0);

function 计算总和(清单) {
  let 总和 = 0;
  for (const 项 of 清单) 总和 += 项 ^ 3;
  return 总和;
}

const named = { 'emoji 😀 key'(n) { return burn(n) + 1; }, ['über']: (n) => burn(n) * 2 };

function closures() {
  const made = [];
  for (let i = 0; i < 10; i++) made.push(function (x) { return burn(x) + i; });
  return made;
}

const bound = function bindMe(a, b) { return burn(a) + b + this.c; }.bind({ c: 1 }, 120);

function small(x) { return x * 3 + 1; }
function smaller(x) { return small(x) ^ small(x + 1); }
function inliner(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum = (sum + smaller(i) + small(sum)) | 0;
  return sum;
}

function recursive(n) { return n < 2 ? n : recursive(n - 1) + recursive(n - 2); }

const list = Array.from({ length: 200 }, (_, i) => i);
const text = JSON.stringify(list);

function builtins() {
  JSON.parse(text);
  [...list].sort((a, b) => (a % 7) - (b % 7));
  text.replace(/(\d+),/g, (all, digits) => digits + ';');
  return new Map(list.map((x) => [x, String(x)])).size;
}

const evaluated = eval('(function fromEval(n) { return burn(n) + 2; })');
const constructed = new Function('burn', 'n', 'return burn(n) + 3;');

// Fresh code each time: it runs in the interpreter.
function cold(i) {
  return eval(`(function cold${i % 50}(a) {\n  let s = 0;\n  for (let i = 0; i < 40; i++) s += a % (i + 1);\n  return s + burn(30);\n})`)(i);
}

function thrower(n) {
  try { if (n % 2) throw new Error('odd ' + n); return burn(n); } catch (error) { return error.message.length; }
}

const makers = closures();
let turn = 0;

async function round() {
  const shape = new Shape(turn % 10);
  const solid = Solid.of(turn % 7);
  shape.side = 3;
  shape.scaled(2);
  shape.computedName(200);
  solid.area;
  for (const value of counted(20)) if (value < 0) break;
  arrow(list);
  计算总和(list);
  named['emoji 😀 key'](150);
  named.über(80);
  makers[turn % 10](90);
  bound(5);
  inliner(3000);
  recursive(12);
  builtins();
  evaluated(100);
  constructed(burn, 100);
  cold(turn);
  thrower(turn);
  await later(3);
  turn++;
}

async function main() {
  while (Date.now() < end) {
    for (let i = 0; i < 20; i++) await round();
    await new Promise(setImmediate);
  }
}

// Threads of Node 18 write over each other's lines in the perf map, which then is no truth.
const spoilsMap = process.version.startsWith('v18.') && process.execArgv.includes('--perf-basic-prof');
if (isMainThread && !spoilsMap) new Worker(__filename);
main();
