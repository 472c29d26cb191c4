// Functions that run after an await, in every shape. Each ends in a marker, a function of its own name that keeps the
// stack that V8 itself tells, and then works for a while. The markers' stacks are written to the file that is named
// by the first argument, one JSON line each. Memory is allocated all the time, and collected by force where the
// program may.

import { appendFileSync } from 'node:fs';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

Error.stackTraceLimit = 100;
const [, , truthFile, workMs = '4'] = process.argv;
const known = new Set();
let kept = [];
let calls = 0;

function tell(name, stack) {
  const line = JSON.stringify({ name, stack });
  if (known.has(line)) return;
  known.add(line);
  appendFileSync(truthFile, line + '\n');
}

function work(ms) {
  const end = performance.now() + ms;
  let sum = 0;
  while (performance.now() < end) {
    kept = kept.length > 2000 ? [] : kept;
    for (let i = 0; i < 50; i++) kept.push({ i, text: [sum, i] });
    sum += kept.length;
  }
  if (globalThis.gc && ++calls % 97 === 0) globalThis.gc();
  if (globalThis.gc && calls % 11 === 0) globalThis.gc({ type: 'minor' });
  return sum;
}

// Each marker has a name and code of its own.
function marker(name) {
  const make = new Function('tell', 'work', `return function marker_${name}(ms) {
    tell('${name}', new Error().stack);
    return work(ms) + 1;
  }`);
  return make(tell, work);
}

const soon = () => new Promise((resolve) => setImmediate(resolve));
const ms = Number(workMs);

// The leaf that most shapes share: its callers differ, its own place does not.
async function leaf(mark) {
  await soon();
  mark(ms);
  return 1;
}

async function plainInner(mark) {
  const value = await leaf(mark);
  return value;
}

async function plainFirst() {
  return 1 + (await plainInner(marks.first));
}

async function plainSecond() {
  await sleep(0);
  const value = await plainInner(marks.second);
  return value;
}

async function all() {
  await Promise.all([sleep(1), leaf(marks.all)]);
}

async function allSettled() {
  await Promise.allSettled([leaf(marks.settled), sleep(1)]);
}

async function any() {
  await Promise.any([Promise.reject(new Error('no')), leaf(marks.any)]);
}

async function race() {
  await Promise.race([leaf(marks.race), sleep(10000)].slice(0, 1));
}

async function thenBetween() {
  await leaf(marks.then).then((value) => value + 1);
}

async function thenCallback() {
  await soon().then(() => marks.callback(ms));
}

async function finallyBetween() {
  await leaf(marks.finally).catch(() => 0).finally(() => 1);
}

async function* values(mark) {
  await soon();
  mark(ms);
  yield 1;
}

async function forAwait() {
  for await (const value of values(marks.forAwait)) work(value / 10);
}

async function* outerValues(mark) {
  yield* values(mark);
}

async function yieldStar() {
  for await (const value of outerValues(marks.yieldStar)) work(value / 10);
}

async function rejected() {
  try {
    await soon().then(() => {
      throw new Error('wanted');
    });
  } catch {
    marks.rejected(ms);
  }
}

async function afterRejected() {
  await rejected();
}

class Service {
  async load() {
    return leaf(marks.method);
  }

  async handle() {
    const loaded = await this.load();
    return loaded;
  }

  static async start() {
    await new Service().handle();
  }
}

class Thenable {
  then(resolve, reject) {
    leaf(marks.thenable).then(resolve, reject);
  }
}

async function thenable() {
  await new Thenable();
}

async function wrapped() {
  await new Promise((resolve, reject) => leaf(marks.wrapped).then(resolve, reject));
}

const storage = new AsyncLocalStorage();

async function inStorage() {
  await storage.run({ id: 1 }, () => plainInner(marks.storage));
}

async function several() {
  const shared = leaf(marks.several);
  await Promise.all([shared, shared.then(() => 1)]);
}

async function deep(depth) {
  return depth === 0 ? leaf(marks.deep) : 1 + (await deep(depth - 1));
}

const arrow = async () => {
  await leaf(marks.arrow);
};

async function* numbers() {
  for (let i = 0; i < 2; i++) {
    await soon();
    yield i;
  }
}

async function afterYield() {
  for await (const number of numbers()) if (number === 1) marks.afterYield(ms);
}

// What TypeScript makes of async functions for old targets.
function __awaiter(thisArg, _arguments, P, generator) {
  function adopt(value) { return value instanceof P ? value : new P(function (resolve) { resolve(value); }); }
  return new (P || (P = Promise))(function (resolve, reject) {
    function fulfilled(value) { try { step(generator.next(value)); } catch (e) { reject(e); } }
    function rejected(value) { try { step(generator["throw"](value)); } catch (e) { reject(e); } }
    function step(result) { result.done ? resolve(result.value) : adopt(result.value).then(fulfilled, rejected); }
    step((generator = generator.apply(thisArg, _arguments || [])).next());
  });
}

function transpiledLeaf() {
  return __awaiter(this, void 0, void 0, function* leafBody() {
    yield soon();
    marks.transpiled(ms);
  });
}

function transpiled() {
  return __awaiter(this, void 0, void 0, function* outerBody() {
    yield transpiledLeaf();
  });
}

async function aroundTranspiled() {
  await transpiled();
}

const marks = Object.fromEntries(
  ['first', 'second', 'all', 'settled', 'any', 'race', 'then', 'callback', 'finally', 'forAwait', 'yieldStar',
    'rejected', 'method', 'thenable', 'wrapped', 'storage', 'several', 'deep', 'arrow', 'afterYield', 'transpiled',
    'top'].map((name) => [name, marker(name)]),
);

async function forever(shape) {
  for (;;) await shape();
}

for (const shape of [plainFirst, plainSecond, all, allSettled, any, race, thenBetween, thenCallback, finallyBetween,
  forAwait, yieldStar, afterRejected, Service.start, thenable, wrapped, inStorage, several, () => deep(9), arrow,
  afterYield, aroundTranspiled]) {
  forever(shape);
}

for (;;) await leaf(marks.top);
