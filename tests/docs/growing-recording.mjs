// Takes a growing recording apart and puts it together again with right checksums, so that a test can change what a
// chunk says.

import { constants, deflateRawSync, inflateRawSync } from "node:zlib";

/** The chunks of a recording: the JSON header of each, and its columns. */
export function partsOf(bytes) {
  const stored = [];
  const lengths = [];
  for (let at = 16; at < bytes.length; at += 16 + stored.at(-1).length) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at);
    stored.push(bytes.subarray(at + 16, at + 16 + view.getUint32(8, true)));
    lengths.push(view.getUint32(12, true));
  }
  const payload = inflateRawSync(Buffer.concat(stored), { finishFlush: constants.Z_SYNC_FLUSH });
  let end = 0;
  return lengths.map((length) => {
    const part = payload.subarray(end, end + length);
    end += length;
    const header = part.readUInt32LE(0);
    return { header: JSON.parse(part.subarray(4, 4 + header)), columns: part.subarray(4 + header) };
  });
}

/** A recording of these chunks, and where each starts. What is in `stored` of one stands for its compressed data. */
export function recordingOf(parts) {
  const pieces = [Buffer.from("nodescop\x02\0\0\0\0\0\0\0", "latin1")];
  const starts = [];
  let at = 16;
  for (const { header, columns = Buffer.alloc(0), stored } of parts) {
    const json = Buffer.from(JSON.stringify(header));
    const payload = Buffer.concat([Buffer.alloc(4), json, columns]);
    payload.writeUInt32LE(json.length);
    const data = stored ?? deflateRawSync(payload, { finishFlush: constants.Z_SYNC_FLUSH });
    const head = Buffer.from("MORE____________");
    for (const [field, number] of [crc32(data), data.length, payload.length].entries()) {
      head.writeUInt32LE(number, 4 + 4 * field);
    }
    starts.push(at);
    pieces.push(head, data);
    at += 16 + data.length;
  }
  return { bytes: new Uint8Array(Buffer.concat(pieces)), starts };
}

function crc32(bytes) {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}

/** A number as a column has it. */
function packed(number) {
  const bytes = [];
  let rest = number < 0 ? -2 * number - 1 : 2 * number;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}

const SAMPLE = ["time_ns", "thread", "stack", "weight"];
const THREAD = { process: 0, tid: 1, name: 0, role: "main" };

/** Rows of samples in a lane. */
export function samples(rows, name = "lanes.0", values = SAMPLE, numbers = [1, 0, 0, 1]) {
  return {
    header: { tables: [{ name, rows, values }] },
    columns: Buffer.concat(numbers.map(packed).map((bytes) => Buffer.alloc(rows * bytes.length, bytes))),
  };
}

/** Chunks that are bad under a right checksum. */
export const BAD_CHUNKS = [
  ["JSON", { header: "x" }],
  ["a list as losses", { header: { meta: { losses: [1] } } }],
  ["a long header", { header: { padding: "x".repeat(9 << 20) } }],
  ["broken compression", { header: {}, stored: Buffer.alloc(40, 0xff) }],
  [
    "a length that is wrong",
    { header: { padding: "x" }, stored: deflateRawSync("y", { finishFlush: constants.Z_SYNC_FLUSH }) },
  ],
  ["a process that is not there", { header: { again: { processes: { 5: {} } } } }],
  ["a thread that is not there", { header: { again: { threads: { 99: THREAD } } } }],
  ["a thread that is no number", { header: { again: { threads: { length: THREAD } } } }],
  ["more rows than bytes", { header: { tables: [{ name: "lanes.0", rows: 1e9, values: SAMPLE }] } }],
  ["a column that is missing", samples(1, "lanes.0", SAMPLE.slice(1), [0, 0, 1])],
  ["a lane that is not there", samples(1, "lanes.7")],
  ["a lane by another name", samples(1, "lanes.00")],
  ["a sample of a thread that is not there", samples(1, "lanes.0", SAMPLE, [1, 99, 0, 1])],
  ["a sample of a stack that is not there", samples(1, "lanes.0", SAMPLE, [1, 0, 99999, 1])],
  ["a stack before its caller", samples(1, "stacks", ["parent", "frame", "category"], [99999, 0, 0])],
  ["a process that a thread refers to", { header: { threads: [{ ...THREAD, process: 9 }] } }],
  ["a string that a rewritten thread refers to", { header: { again: { threads: { 0: { ...THREAD, name: 99999 } } } } }],
  ["a thread below 0", samples(1, "lanes.0", SAMPLE, [1, -2, 0, 1])],
];
