// The bytes of a recording → typed arrays. Knows the container (docs/file-format.md), not what the columns mean.
// Columns of u64 become doubles: nanoseconds stay exact for 104 days.

import { type Column, doublesOf, type Header, isExact, type Payload } from "./format.ts";
import { Growing } from "./growing.ts";

const VERSION = 2;
/** The first version whose files may grow. */
const GROWING_VERSION = 2;
const FILE_HEADER = 16;
const CHUNK_HEADER = 24;
const MORE_HEADER = 16;

/** Base64, as a single-file page carries it → bytes. */
export function fromBase64(text: string): Uint8Array {
  // Ten times as fast, where a browser has it.
  const own = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (own) return own.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Reads a finished recording, or one that was written while it grew and may have been cut off. */
export async function decode(file: Uint8Array): Promise<Payload> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isOurs = file.length >= FILE_HEADER && ascii(file, 0, 8) === "nodescop";
  if (!isOurs) throw new Error("this is not a recording of nodescope");
  const version = view.getUint32(8, true);
  if (version > VERSION) {
    throw new Error(`this recording has format version ${version}, and this page reads up to ${VERSION}`);
  }
  const tag = ascii(file, FILE_HEADER, 4);
  if (tag === "MORE" && version >= GROWING_VERSION) return decodeGrowing(file, view);
  if (tag !== "PROF") throw new Error(`damaged at byte ${FILE_HEADER}: no chunk starts here`);
  return decodeFinished(file, view);
}

async function decodeFinished(file: Uint8Array, view: DataView): Promise<Payload> {
  const start = FILE_HEADER + CHUNK_HEADER;
  const length = file.length < start ? Infinity : Number(view.getBigUint64(FILE_HEADER + 8, true));
  if (start + length > file.length) throw new Error("the recording ends in the middle");
  if (start + length < file.length) throw new Error("this recording has several parts: nodescope export joins them");
  const stored = file.subarray(start);
  // The browser inflates elsewhere meanwhile; what comes of it is of no interest when the sum is wrong.
  const inflated = inflate([stored], "deflate");
  inflated.catch(() => {});
  if (crc32(stored) !== view.getUint32(FILE_HEADER + 4, true)) {
    throw new Error(`damaged at byte ${FILE_HEADER}: the checksum does not match`);
  }
  return parse(await inflated);
}

const BROKEN = "the compressed data is broken, or has another length than it claims";

/** A chunk of a growing recording. */
interface Part {
  at: number;
  stored: Uint8Array;
  becomes: number;
}

/** Reads the chunks of a growing recording, up to the first that is bad. */
async function decodeGrowing(file: Uint8Array, view: DataView): Promise<Payload> {
  const { parts, damage } = wholeChunks(file, view);
  const { bytes, count } = await inflateParts(parts);
  const growing = new Growing();
  const broken = count < parts.length ? `damaged at byte ${parts[count].at}: ${BROKEN}` : damage;
  const { taken, error } = takeParts(growing, parts.slice(0, count), bytes);
  const problem = error || broken;
  if (taken === 0) throw new Error(problem);
  const payload = growing.finish();
  const { meta } = payload.header;
  if (problem) meta.losses = { ...meta.losses, damage: [...(meta.losses?.damage ?? []), problem] };
  return payload;
}

/** How many of the parts could be joined, and what is wrong with the next one. */
function takeParts(growing: Growing, parts: readonly Part[], bytes: Uint8Array): { taken: number; error: string } {
  let start = 0;
  for (const [taken, { at, becomes }] of parts.entries()) {
    try {
      growing.add(bytes.subarray(start, start + becomes));
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return { taken, error: `damaged at byte ${at}: ${words}` };
    }
    start += becomes;
  }
  return { taken: parts.length, error: "" };
}

/** What the parts become, and how many of them are good: all, mostly; else the good ones are found by halving. */
async function inflateParts(parts: Part[]): Promise<{ bytes: Uint8Array; count: number }> {
  const first = async (count: number) => {
    const length = parts.slice(0, count).reduce((sum, { becomes }) => sum + becomes, 0);
    // A last, empty block ends the stream, which every chunk leaves open at a byte's border.
    const bytes = await inflate(
      [...parts.slice(0, count).map(({ stored }) => stored), Uint8Array.of(3, 0)],
      "deflate-raw",
    ).catch(() => null);
    return bytes?.byteLength === length ? new Uint8Array(bytes) : null;
  };
  const all = await first(parts.length);
  if (all) return { bytes: all, count: parts.length };
  let good = { bytes: new Uint8Array(), count: 0 };
  for (let bad = parts.length; bad - good.count > 1; ) {
    const count = (good.count + bad) >> 1;
    const bytes = await first(count);
    if (bytes) good = { bytes, count };
    else bad = count;
  }
  return good;
}

function wholeChunks(file: Uint8Array, view: DataView): { parts: Part[]; damage: string } {
  const parts: Part[] = [];
  for (let at = FILE_HEADER; at < file.length; ) {
    const damage = (what: string) => ({ parts, damage: `damaged at byte ${at}: ${what}` });
    const start = at + MORE_HEADER;
    if (start > file.length) return damage("the file ends in the middle of a chunk");
    if (ascii(file, at, 4) !== "MORE") return damage("no part of a growing recording starts here");
    const end = start + view.getUint32(at + 8, true);
    if (end > file.length) return damage("the file ends in the middle of a chunk");
    const stored = file.subarray(start, end);
    if (crc32(stored) !== view.getUint32(at + 4, true)) return damage("the checksum does not match");
    parts.push({ at, stored, becomes: view.getUint32(at + 12, true) });
    at = end;
  }
  return { parts, damage: "" };
}

/** Eight tables, one behind the other: what a byte becomes by itself, and with one to seven bytes of zero behind it. */
const CRC_TABLES = new Uint32Array(8 * 256);
for (let at = 0; at < CRC_TABLES.length; at++) {
  let crc = at < 256 ? at : CRC_TABLES[at - 256];
  if (at < 256) for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  else crc = (crc >>> 8) ^ CRC_TABLES[crc & 255];
  CRC_TABLES[at] = crc;
}

/** As zlib and gzip have it; eight bytes at a time. */
export function crc32(bytes: Uint8Array): number {
  const tables = CRC_TABLES;
  let [crc, at] = [-1, 0];
  for (; at + 8 <= bytes.length; at += 8) {
    crc ^= bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    crc =
      tables[1792 + (crc & 255)] ^
      tables[1536 + ((crc >>> 8) & 255)] ^
      tables[1280 + ((crc >>> 16) & 255)] ^
      tables[1024 + (crc >>> 24)] ^
      tables[768 + bytes[at + 4]] ^
      tables[512 + bytes[at + 5]] ^
      tables[256 + bytes[at + 6]] ^
      tables[bytes[at + 7]];
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ tables[(crc ^ bytes[at]) & 255];
  return ~crc >>> 0;
}

async function inflate(stored: Uint8Array[], format: CompressionFormat): Promise<ArrayBuffer> {
  const stream = new Blob(stored as BlobPart[]).stream().pipeThrough(new DecompressionStream(format));
  return new Response(stream).arrayBuffer();
}

function parse(payload: ArrayBuffer): Payload {
  const length = Number(new DataView(payload).getBigUint64(0, true));
  const header: Header = JSON.parse(new TextDecoder().decode(new Uint8Array(payload, 8, length)));
  const start = Math.ceil((8 + length) / 8) * 8;
  const columns = new Map<string, Column>();
  const halves = new Map<string, Uint32Array>();
  for (const { name, type, offset, length } of header.columns) {
    const at = start + offset;
    if (type === "u8") columns.set(name, new Uint8Array(payload, at, length));
    else if (type === "u32") columns.set(name, new Uint32Array(payload, at, length));
    else {
      const stored = new Uint32Array(payload, at, 2 * length);
      // In place, because these are the largest columns: twice would be half of the page's memory.
      const isOnly = isExact(stored);
      columns.set(name, isOnly ? doublesOf(stored, new Float64Array(payload, at, length)) : doublesOf(stored));
      if (!isOnly) halves.set(name, stored);
    }
  }
  return { header, columns, halves };
}

function ascii(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
