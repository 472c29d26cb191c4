// Prints a `perf script` text of as many samples as asked for: the recordings of five releases in the corpus, again and
// again, each time a minute later.
//
//   node bench/repeat.mjs 500000 > big.txt

import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const corpus = join(import.meta.dirname, "../corpus");
const texts = [18, 20, 22, 24, 26].map((release) =>
  gunzipSync(readFileSync(join(corpus, `node${release}-http/input.txt.gz`))).toString(),
);
const wanted = Number(process.argv[2]);
const HEAD = /^(\S.*?\s)(\d+)(\.\d{6}: )/gm;

let samples = 0;
for (let round = 0; samples < wanted; round++) {
  for (const text of texts) {
    const later = text.replace(HEAD, (_, words, seconds, rest) => {
      samples++;
      return words + (Number(seconds) + round * 60) + rest;
    });
    const bytes = Buffer.from(later);
    // A pipe takes a part at a time.
    for (let written = 0; written < bytes.length; ) written += writeSync(1, bytes, written);
  }
}
