// What leaves the page: what is shown as a picture for a ticket, what is selected as folded stacks, a file to save. Names are
// escaped for XML, and for folded stacks as the program does it: a semicolon becomes a colon.

import { css } from "../colors";
import { functionName, functionPlace, NONE } from "../model";
import { colorOf, type Picture } from "../picture";
import { shown } from "../text";
import type { App } from "./app";
import { h } from "./dom";

const ROW = 18;

export function svgOf(app: App, picture: Picture, width: number, nameOf: (id: number) => string): string {
  const matches = app.derived.matches(app.state);
  const found = matches instanceof Uint8Array ? matches : null;
  const parts = picture.rows.flat().map((box) => {
    const name = nameOf(box.function);
    const place = box.function === NONE ? "" : ` ${shown(functionPlace(app.profile, box.function))}`;
    const samples = box.node ? ` (${box.node.totalSamples} samples)` : "";
    const y = box.row * ROW;
    // About seven pixels a letter: the reader's font is not ours to measure.
    const room = Math.floor((box.width - 6) / 7);
    const letters = [...name];
    const text = room < 3 ? "" : letters.length <= room ? name : `${letters.slice(0, room - 1).join("")}…`;
    const rect = `<rect x="${box.x.toFixed(1)}" y="${y}" width="${Math.max(0.5, box.width - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${css(colorOf(app.derived, app.state, box, found))}"/>`;
    return `<g><title>${escape(name + place + samples)}</title>${rect}${text ? `<text x="${(box.x + 3).toFixed(1)}" y="${y + 13}">${escape(text)}</text>` : ""}</g>`;
  });
  const height = picture.rows.length * ROW;
  const namespace = ["http", "://www.w3.org/2000/svg"].join("");
  return `<svg xmlns="${namespace}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n${parts.join("\n")}\n</svg>\n`;
}

function escape(text: string): string {
  const legal = text.replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g,
    "\ufffd",
  );
  return legal.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** The selected stacks, without what is hidden, each with its weight. */
export function foldedOf({ profile, derived, state }: App): string {
  const [tree, sums] = [derived.tree(state), derived.nodeSums(state)];
  const names = Array.from(tree.function, (id) =>
    id === NONE ? "" : shown(functionName(profile, id) || "(anonymous)").replaceAll(";", ":"),
  );
  const lines: string[] = [];
  for (let node = 1; node < names.length; node++) {
    if (!(sums.self[node] > 0)) continue;
    const path: string[] = [];
    for (let at = node; at !== 0; at = tree.parent[at]) path.push(names[at]);
    lines.push(`${path.reverse().join(";")} ${sums.self[node]}\n`);
  }
  return lines.join("");
}

export function download(content: BlobPart, name: string, type: string): void {
  const link = h("a", { download: name });
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
