// Blanks the machine code in a jitdump: names, addresses and times stay. trim-jitdump.js <jit-PID.dump >OUT
"use strict";

const CODE_LOAD = 0;
const FIXED_BYTES = 56; // header and fields of a JIT_CODE_LOAD, before the name
const dump = require("node:fs").readFileSync(0);

for (let at = dump.readUInt32LE(8); at + 16 <= dump.length; ) {
  const size = dump.readUInt32LE(at + 4);
  if (size < 16 || at + size > dump.length) break;
  if (dump.readUInt32LE(at) === CODE_LOAD) {
    const name_end = dump.indexOf(0, at + FIXED_BYTES);
    dump.fill(0, name_end + 1, at + size);
  }
  at += size;
}
process.stdout.write(dump);
