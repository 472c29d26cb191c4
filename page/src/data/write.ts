// A header and columns → the bytes of a .nodescope file of one chunk (docs/file-format.md).

import { crc32 } from "./payload.ts";

/** A column as it is stored; one of u64 as its halves. */
export interface StoredColumn {
  name: string;
  type: string;
  values: Uint8Array | Uint32Array;
}

const FIRST_BYTES = "nodescop\x02\0\0\0\0\0\0\0PROF";

export async function fileOf(header: Record<string, unknown>, columns: readonly StoredColumn[]): Promise<Blob> {
  const payload = payloadOf(header, columns);
  const stream = new Blob([payload]).stream().pipeThrough(new CompressionStream("deflate"));
  const stored = new Uint8Array(await new Response(stream).arrayBuffer());
  const first = new Uint8Array(40);
  first.set(new TextEncoder().encode(FIRST_BYTES));
  const view = new DataView(first.buffer);
  view.setUint32(20, crc32(stored), true);
  view.setBigUint64(24, BigInt(stored.length), true);
  view.setBigUint64(32, BigInt(payload.length), true);
  return new Blob([first, stored]);
}

/** The length of the header, the header, and the columns; each starts at a multiple of 8. */
function payloadOf(header: Record<string, unknown>, columns: readonly StoredColumn[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  const directory = columns.map(({ name, type, values }) => {
    const offset = size;
    size += aligned(values.byteLength);
    return { name, type, offset, length: type === "u64" ? values.length / 2 : values.length };
  });
  const json = new TextEncoder().encode(JSON.stringify({ ...header, columns: directory }));
  const start = aligned(8 + json.length);
  const payload = new Uint8Array(start + size);
  new DataView(payload.buffer).setBigUint64(0, BigInt(json.length), true);
  payload.fill(0x20, 8, start).set(json, 8);
  for (const [at, { values }] of columns.entries()) {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    payload.set(bytes, start + directory[at].offset);
  }
  return payload;
}

function aligned(length: number): number {
  return Math.ceil(length / 8) * 8;
}
