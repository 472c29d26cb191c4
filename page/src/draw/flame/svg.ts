// What is shown as a picture for a ticket. Names are escaped for XML.

import type { Picture, ShownBox } from "../../compute/picture.ts";
import { functionPlace, NONE } from "../../data/model.ts";
import type { App } from "../app.ts";
import { css } from "../colors.ts";
import { shown } from "../text.ts";
import { nameOfBox, shortNameOf } from "../words.ts";
import { colorOf, matchesOf } from "./color.ts";
import { FAINT, ROW } from "./paint.ts";

/** In two parts: the page has no address in it, and a test holds that. */
const NAMESPACE = ["http", "://www.w3.org/2000/svg"].join("");
/** About so many pixels a letter: the reader's font cannot be measured here. */
const LETTER = 7;

export function svgOf(app: App, picture: Picture, width: number): string {
  const matches = matchesOf(app.derived, app.state);
  const boxes = picture.rows.flat().map((box) => boxOf(app, box, matches));
  const height = picture.rows.length * ROW;
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return `<svg xmlns="${NAMESPACE}" ${size} font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${boxes.join("\n")}
</svg>
`;
}

function boxOf(app: App, box: ShownBox, matches: ReturnType<typeof matchesOf>): string {
  const { profile } = app;
  const name = nameOfBox(profile, box);
  const place = box.function === NONE ? "" : ` ${shown(functionPlace(profile, box.function))}`;
  const samples = box.node ? ` (${box.node.totalSamples} samples)` : "";
  const [x, y] = [box.x.toFixed(1), box.row * ROW];
  const width = Math.max(0.5, box.width - 0.5).toFixed(1);
  const isFound = matches?.(box) ?? false;
  const fill = css(colorOf(app, box, isFound));
  const faint = matches && !isFound ? ` fill-opacity="${FAINT}"` : "";
  const rect = `<rect x="${x}" y="${y}" width="${width}" height="${ROW - 1}" fill="${fill}"${faint}/>`;
  const short = shortened(nameOfBox(profile, box, shortNameOf), Math.floor((box.width - 6) / LETTER));
  const text = short ? `<text x="${(box.x + 3).toFixed(1)}" y="${y + 13}">${escapeXml(short)}</text>` : "";
  return `<g><title>${escapeXml(name + place + samples)}</title>${rect}${text}</g>`;
}

function shortened(name: string, letters: number): string {
  if (letters < 3) return "";
  const all = [...name];
  return all.length <= letters ? name : `${all.slice(0, letters - 1).join("")}…`;
}

/** XML has no halves of characters, and two numbers that are no characters. */
const ILLEGAL = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g;

function escapeXml(text: string): string {
  const legal = text.replace(ILLEGAL, "\ufffd");
  return legal.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
