// Blocks event loops in several ways, and logs each block: kind, start and end in milliseconds of CLOCK_MONOTONIC.
// node blocks.js LOG FIFO KIND,KIND,… MILLISECONDS
const { execSync, spawn } = require('child_process');
const { Worker, isMainThread, workerData } = require('worker_threads');
const crypto = require('crypto');
const fs = require('fs');
const zlib = require('zlib');

const [log, fifo, kinds, text] = isMainThread ? process.argv.slice(2) : workerData;
const length = Number(text);
const now = () => Number(process.hrtime.bigint()) / 1e6;

function childBlock() { execSync(`sleep ${length / 1000}`); }
function atomicsBlock() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, length); }
function fifoBlock() { fs.readFileSync(fifo); }
function loopBlock() { const end = now() + length; while (now() < end); }
function cryptoBlock() { const end = now() + length; while (now() < end) crypto.pbkdf2Sync('a', 'b', 20000, 64, 'sha512'); }
const noise = crypto.randomBytes(1 << 18);
function zlibBlock() { const end = now() + length; while (now() < end) zlib.gzipSync(noise); }
function workerBlock() { const end = now() + length; while (now() < end); }

function block(kind) {
  const start = now();
  kind();
  const end = now();
  fs.appendFileSync(log, `${kind.name} ${start} ${end}\n`);
}

const all = { child: childBlock, atomics: atomicsBlock, fifo: fifoBlock, loop: loopBlock, crypto: cryptoBlock, zlib: zlibBlock };
if (isMainThread) {
  const wanted = kinds.split(',');
  if (wanted.includes('worker')) new Worker(__filename, { workerData: [log, fifo, kinds, text] });
  const own = wanted.filter((kind) => kind in all);
  let next = 0;
  const turn = () => {
    const kind = own[next++ % own.length];
    // The writer opens the pipe at once and then waits.
    if (kind === 'fifo') spawn('sh', ['-c', `exec 3>${fifo}; sleep ${length / 1000}; echo >&3`]);
    setTimeout(() => { block(all[kind]); setTimeout(turn, 60); }, kind === 'fifo' ? 20 : 40);
  };
  if (own.length > 0) turn();
  else setInterval(() => {}, 1000);
  console.log('ready');
} else {
  setInterval(() => block(workerBlock), 2 * length);
}
