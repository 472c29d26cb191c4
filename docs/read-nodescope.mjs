// Reads a .nodescope file as docs/file-format.md describes it, with nothing but what browsers and Node 18 have.
//
//   node docs/read-nodescope.mjs FILE      prints what is in it, as JSON

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const VERSION = 1;
const NONE = 0xffffffff;
const ARRAYS = { u8: Uint8Array, u32: Uint32Array, u64: BigUint64Array };

/** Yields the chunks of a file: `{ header, columns }`, each a profile in itself. Throws where the file is damaged. */
export async function* chunks(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (text(bytes.subarray(0, 8)) !== "nodescop") throw new Error("this is not a .nodescope file");
  const version = view.getUint32(8, true);
  if (version > VERSION) throw new Error(`format version ${version} is newer than ${VERSION}`);
  for (let at = 16; at < bytes.length; ) {
    if (text(bytes.subarray(at, at + 4)) !== "PROF") throw new Error(`damaged at byte ${at}: no chunk starts here`);
    const checksum = view.getUint32(at + 4, true);
    const stored = bytes.subarray(at + 24, at + 24 + Number(view.getBigUint64(at + 8, true)));
    if (crc32(stored) !== checksum) throw new Error(`damaged at byte ${at}: the checksum does not match`);
    yield parse(await inflate(stored));
    at += 24 + stored.length;
  }
}

/** Takes a chunk's payload apart. The columns are views of its bytes: nothing is copied. */
function parse(payload) {
  const length = Number(new DataView(payload.buffer).getBigUint64(0, true));
  const header = JSON.parse(text(payload.subarray(8, 8 + length)));
  const start = Math.ceil((8 + length) / 8) * 8;
  const column = ({ name, type, offset, length }) => [name, new ARRAYS[type](payload.buffer, start + offset, length)];
  return { header, columns: Object.fromEntries(header.columns.map(column)) };
}

async function inflate(stored) {
  const stream = new Blob([stored]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function text(bytes) {
  return new TextDecoder().decode(bytes);
}

/** The CRC-32 of zlib, gzip and PNG. */
function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}

/** The samples of a lane by the function that ran, most first: what reading the columns looks like. */
export function hottest({ header, columns }, lane = 0) {
  const counts = new Map();
  for (const stack of columns[`lanes.${lane}.stack`]) {
    if (stack === NONE) continue; // a sample without a stack
    const name = header.strings[columns["functions.name"][columns["frames.function"][columns["stacks.frame"][stack]]]];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function summary(chunk) {
  const { header, columns } = chunk;
  const tables = Object.fromEntries(["strings", "sources", "modules", "processes", "threads"].map((name) => [name, header[name].length]));
  for (const [table, column] of Object.entries({ functions: "name", frames: "function", stacks: "frame", markers: "kind" })) {
    tables[table] = columns[`${table}.${column}`].length;
  }
  // Older files have these times as markers.
  tables.off_cpu = columns["off_cpu.thread"]?.length ?? 0;
  const lanes = header.lanes.map(({ name, unit }, lane) => ({
    name: header.strings[name],
    unit,
    rows: columns[`lanes.${lane}.stack`].length,
    weight: String(columns[`lanes.${lane}.weight`].reduce((sum, weight) => sum + weight, 0n)),
    hottest: hottest(chunk, lane)[0],
  }));
  return { format: header.meta.format, tables, lanes };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const all = [];
  for await (const chunk of chunks(await readFile(process.argv[2]))) all.push(summary(chunk));
  console.log(JSON.stringify(all, null, 2));
}
