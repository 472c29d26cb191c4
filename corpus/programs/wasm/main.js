'use strict';
// A WebAssembly module written by hand: spin(n) loops n times over mix(x); main calls it, and a
// callback into JS. With a name section, so that the functions have names.
const text = (s) => [s.length, ...Buffer.from(s)];
const section = (id, bytes) => [id, ...leb(bytes.length), ...bytes];
function leb(n) {
  const out = [];
  do { out.push((n & 127) | (n > 127 ? 128 : 0)); n >>>= 7; } while (n);
  return out;
}
const I32 = 0x7f;
const mix = [0, 0x20, 0, 0x41, ...[0x8d, 0xcc, 0x01], 0x6c, 0x41, 7, 0x6a, 0x0b]; // x * 26125 + 7
const spin = [
  1, 2, I32, // i, x
  0x03, 0x40, // loop
  0x20, 2, 0x10, 1, 0x21, 2, // x = mix(x)
  0x20, 1, 0x41, 1, 0x6a, 0x22, 1, 0x20, 0, 0x48, 0x0d, 0, // if (++i < n) continue
  0x0b, 0x20, 2, 0x0b,
];
const run = [0, 0x20, 0, 0x10, 2, 0x10, 0, 0x20, 0, 0x10, 2, 0x0b]; // spin(n); report(it); return spin(n)
const code = (body) => [...leb(body.length), ...body];
const names = [
  ...text('name'),
  ...section(0, text('hotloop')),
  ...section(1, [4, 0, ...text('report'), 1, ...text('mix'), 2, ...text('spin loop;1'), 3, ...text('run')]),
];
const bytes = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  ...section(1, [2, 0x60, 1, I32, 1, I32, 0x60, 1, I32, 0]),
  ...section(2, [1, ...text('env'), ...text('report'), 0, 1]),
  ...section(3, [3, 0, 0, 0]),
  ...section(7, [1, ...text('run'), 0, 3]),
  ...section(10, [3, ...code(mix), ...code(spin), ...code(run)]),
  ...section(0, names),
]);

let reports = 0;
function report(value) { reports += value & 1; }
const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { report } });
function callWasm() { return instance.exports.run(200000); }

const end = Date.now() + (Number(process.argv[2]) || 3000);
while (Date.now() < end) callWasm();
console.log(reports);
