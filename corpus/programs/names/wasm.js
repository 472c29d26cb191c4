'use strict';
// WebAssembly whose functions and shares are known: made here, byte by byte, so that no compiler is needed. Three
// callers have a third of the time each; with an argument it ends after so many milliseconds of CPU time.
const leb = (n) => { const out = []; do { const low = n & 127; n >>>= 7; out.push(n ? low | 128 : low); } while (n); return out; };
const signed = (n) => { const out = []; for (;;) { const low = n & 127; n >>= 7; if ((n === 0 && !(low & 64)) || (n === -1 && low & 64)) return [...out, low]; out.push(low | 128); } };
const text = (word) => [...leb(Buffer.byteLength(word)), ...Buffer.from(word)];
const list = (items) => [...leb(items.length), ...items.flat()];
const section = (id, bytes) => [id, ...leb(bytes.length), ...bytes];
const body = (locals, code) => { const bytes = [...list(locals), ...code, 0x0b]; return [...leb(bytes.length), ...bytes]; };
const constant = (n) => [0x41, ...signed(n)];
const INDEX = { back: 0, spin: 1, deep: 2, viaImport: 3, unnamed: 4, step: 5, many: 6 };
const call = (name) => [0x10, INDEX[name]];
// do { sum = ROUND } while (--n)
const loop = (round) => body([[1, 0x7f]], [0x03, 0x40, ...round, 0x21, 1, 0x20, 0, ...constant(1), 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1]);
const spinning = (factor) => loop([0x20, 1, 0x20, 0, 0x73, ...constant(factor), 0x6c, ...constant(7), 0x6a]);
const ROUNDS = 20000;
const functions = [
  spinning(31),
  // n ? deep(n - 1) + 1 : spin(ROUNDS)
  body([], [0x20, 0, 0x45, 0x04, 0x7f, ...constant(ROUNDS), ...call('spin'), 0x05, 0x20, 0, ...constant(1), 0x6b, ...call('deep'), ...constant(1), 0x6a, 0x0b]),
  body([], [0x20, 0, ...call('back'), ...constant(1), 0x6a]),
  spinning(33),
  // step(n) = n * 3 + 1, and many(n) calls it n times
  body([], [0x20, 0, ...constant(3), 0x6c, ...constant(1), 0x6a]),
  loop([0x20, 1, ...call('step')]),
];
const bytes = (moduleName, names) => Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  ...section(1, list([[0x60, 1, 0x7f, 1, 0x7f]])),
  ...section(2, list([[...text('env'), ...text('back'), 0, 0]])),
  ...section(3, list(functions.map(() => [0]))),
  ...section(7, list(Object.entries(INDEX).slice(1).map(([name, index]) => [...text(name), 0, index]))),
  ...section(10, list(functions)),
  ...section(0, [...text('name'), ...section(0, text(moduleName)), ...section(1, list(names.map(([index, name]) => [...leb(index), ...text(name)])))]),
]);
const named = Object.entries(INDEX).filter(([name]) => name !== 'unnamed').map(([name, index]) => [index, name]);
const start = (moduleName, names) => {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes(moduleName, names)), { env: { back(n) { return instance.exports.spin(n); } } });
  return instance.exports;
};
const shapes = start('shapes', named);
function callDeep() { return shapes.deep(20) + 1; }
function callImport() { return shapes.viaImport(ROUNDS) + 1; }
function callUnnamed() { return shapes.unnamed(ROUNDS) + 1; }
function round() { callDeep(); callImport(); callUnnamed(); }
// Modules that come and go, each with names of its own, and functions too short to have a frame for long.
let count = 0;
function callFresh() {
  const fresh = start(`fresh${count}`, named.map(([index, name]) => [index, `${name}_${count}`]));
  count += 1;
  for (let i = 0; i < 200; i++) fresh.many(2000);
  return fresh.spin(ROUNDS);
}
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
const limit = Number(process.argv[2] ?? Infinity);
const isVaried = limit === Infinity;
function turn() {
  for (let i = 0; i < 50; i++) round();
  if (isVaried) callFresh();
  if (spent() < limit) setImmediate(turn);
}
setImmediate(turn);
