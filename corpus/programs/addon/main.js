'use strict';
// Native addons: on the main thread, and on libuv's pool.
const bcrypt = require('@node-rs/bcrypt');
const { xxh3 } = require('@node-rs/xxhash');
const bufferutil = require('bufferutil');

const data = Buffer.alloc(1 << 20, 'abcdefg');
const mask = Buffer.from([1, 2, 3, 4]);

function hashBlocks() {
  let h = 0n;
  for (let i = 0; i < 20; i++) h ^= xxh3.xxh64(data, BigInt(i));
  return h;
}

function maskFrames() {
  for (let i = 0; i < 40; i++) bufferutil.mask(data, mask, data, 0, data.length);
}

function smallCalls() {
  for (let i = 0; i < 5000; i++) xxh3.xxh64('item ' + i);
}

async function login() {
  await bcrypt.hash('correct horse', 6);
  bcrypt.hashSync('battery staple', 4);
}

async function main(end) {
  while (Date.now() < end) {
    const pending = [login(), login()];
    hashBlocks();
    maskFrames();
    smallCalls();
    await Promise.all(pending);
  }
}
main(Date.now() + (Number(process.argv[2]) || 3000));
