// Checks the form of a program for macOS, which nothing here can run: its magic number, its processor, that it is a
// program, and on arm64, where the system starts nothing without one, its signature.
//
//   node scripts/mach-o.mjs FILE x86_64|aarch64     prints nothing, or what is wrong and exits with 1

import { readFileSync } from "node:fs";

const MAGIC_64 = 0xfeedfacf;
const PROCESSORS = { x86_64: 0x01000007, aarch64: 0x0100000c };
const EXECUTE = 2;
const HEADER_BYTES = 32;
const CODE_SIGNATURE = 0x1d;
/** What starts a signature: CSMAGIC_EMBEDDED_SIGNATURE, with the highest byte first. */
const SIGNATURE = 0xfade0cc0;

const [file, processor] = process.argv.slice(2);
const bytes = readFileSync(file);
const fault = faultOf(bytes, processor);
if (fault) {
  console.error(`${file} ${fault}`);
  process.exitCode = 1;
}

function faultOf(program, name) {
  if (program.length < HEADER_BYTES || program.readUInt32LE(0) !== MAGIC_64) return "is no Mach-O file of 64 bits";
  if (program.readUInt32LE(4) !== PROCESSORS[name]) return `is not for ${name}`;
  if (program.readUInt32LE(12) !== EXECUTE) return "is no program";
  if (name === "aarch64" && !isSigned(program)) return "has no signature, without which macOS does not start it";
}

function isSigned(program) {
  const commands = program.readUInt32LE(16);
  for (let at = HEADER_BYTES, count = 0; count < commands && at + 16 <= program.length; count += 1) {
    if (program.readUInt32LE(at) === CODE_SIGNATURE) {
      const start = program.readUInt32LE(at + 8);
      return start + 4 <= program.length && program.readUInt32BE(start) === SIGNATURE;
    }
    at += program.readUInt32LE(at + 4);
  }
  return false;
}
