// What the pictures in docs/pictures are of, as one hash: the page, what it shows of the demo, and the recording that the
// demo's is compared with. It stands in docs/pictures/are-of.txt.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
/** docs/demo.html has the scripts and the style of the page, the recording, and the report. */
const PARTS = ["docs/demo.html", "page/dist/served.js", "tests/browser/shop-mended.nodescope"];

export const ARE_OF = join(root, "docs/pictures/are-of.txt");

export function whatPicturesAreOf() {
  const hash = createHash("sha256");
  for (const path of PARTS) hash.update(readFileSync(join(root, path)));
  return `${hash.digest("hex")}\n`;
}
