'use strict';
// Every way to write a function, each kept busy, so that the names V8 gives them show in the perf map.
const SPIN = 4000;
let sink = 0;

function spin(n) {
  for (let i = 0; i < n; i++) sink = (sink * 31 + i) | 0;
  return sink;
}

function plainFunction() { return spin(SPIN); }
const arrowFunction = () => spin(SPIN);
const namedExpression = function innerName() { return spin(SPIN); };
async function asyncFunction() { await null; return spin(SPIN); }
const asyncArrow = async () => { await null; return spin(SPIN); };
function* generatorFunction() { yield spin(SPIN); yield spin(SPIN); }
async function* asyncGenerator() { yield spin(SPIN); yield spin(SPIN); }
function recursive(depth) { return depth === 0 ? spin(SPIN) : recursive(depth - 1); }
function $dollar_under() { return spin(SPIN); }
function _() { return spin(SPIN); }
const bound = function toBind() { return spin(SPIN); }.bind(null);
const symbol = Symbol('mySymbol');
const computed = 'computed key with blanks';

class Base {
  constructor() { this.value = spin(SPIN); }
  method() { return spin(SPIN); }
}

class Shape extends Base {
  field = () => spin(SPIN);
  static staticField = spin(SPIN);
  static { spin(SPIN); }
  constructor() { super(); this.extra = spin(SPIN); }
  get accessor() { return spin(SPIN); }
  set accessor(value) { spin(value); }
  static staticMethod() { return spin(SPIN); }
  static get staticAccessor() { return spin(SPIN); }
  #privateMethod() { return spin(SPIN); }
  get #privateAccessor() { return spin(SPIN); }
  callPrivate() { return this.#privateMethod() + this.#privateAccessor; }
  async asyncMethod() { await null; return spin(SPIN); }
  *generatorMethod() { yield spin(SPIN); }
  *[Symbol.iterator]() { yield spin(SPIN); }
  [symbol]() { return spin(SPIN); }
  [computed]() { return spin(SPIN); }
  'quoted-name'() { return spin(SPIN); }
  42() { return spin(SPIN); }
  method() { return super.method() + spin(SPIN); }
}

const object = {
  shorthand() { return spin(SPIN); },
  get getter() { return spin(SPIN); },
  set setter(value) { spin(value); },
  property: function () { return spin(SPIN); },
  arrow: () => spin(SPIN),
};
object.assignedLater = function () { return spin(SPIN); };
object.nested = { deep: { deeper: function () { return spin(SPIN); } } };
function OldClass() { this.value = spin(SPIN); }
OldClass.prototype.oldMethod = function () { return spin(SPIN); };

const proxy = new Proxy(object, {
  get(target, key, receiver) { spin(SPIN); return Reflect.get(target, key, receiver); },
});

async function round() {
  plainFunction(); arrowFunction(); namedExpression(); recursive(5); $dollar_under(); _(); bound();
  await asyncFunction();
  await asyncArrow();
  for (const x of generatorFunction()) sink ^= x;
  for await (const x of asyncGenerator()) sink ^= x;
  const shape = new Shape();
  shape.field(); shape.method(); shape.accessor = shape.accessor & 255; Shape.staticMethod(); sink ^= Shape.staticAccessor;
  shape.callPrivate();
  await shape.asyncMethod();
  for (const x of shape.generatorMethod()) sink ^= x;
  for (const x of shape) sink ^= x;
  shape[symbol](); shape[computed](); shape['quoted-name'](); shape[42]();
  object.shorthand(); object.setter = object.getter & 255; object.property(); object.arrow(); object.assignedLater();
  object.nested.deep.deeper(); new OldClass().oldMethod(); proxy.shorthand();
  [3, 1, 2].map((x) => spin(SPIN) + x).sort(function (a, b) { spin(SPIN); return a - b; });
  (() => spin(SPIN))();
  (function () { spin(SPIN); })();
  'abc'.replace(/[a-c]/g, (c) => String(spin(SPIN)) + c);
  JSON.parse('{"a":[1,2]}', function reviver(key, value) { spin(SPIN); return value; });
  JSON.stringify({ toJSON() { return spin(SPIN); } });
  `${{ toString() { return String(spin(SPIN)); } }}`;
  eval('(function inEval() { return spin(SPIN); })')();
  new Function('spin', 'return spin(4000)')(spin);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => { setTimeout(() => { spin(SPIN); resolve(); }, 0); });
  queueMicrotask(() => spin(SPIN));
  process.nextTick(function onTick() { spin(SPIN); });
}

async function main(end) {
  while (Date.now() < end) await round();
}

main(Date.now() + (Number(process.argv[2]) || 2000)).then(() => console.log(sink !== 0.5));
