// From box to box: by arrow keys, by matches, and to the same box after a change.

import type { Picture, ShownBox } from "../../compute/picture.ts";

/** The box that the keyboard starts at. */
export function homeBox(picture: Picture): ShownBox | null {
  return picture.rows[picture.home]?.[0] ?? null;
}

/** The box beside, above or under one. */
export function neighbour(picture: Picture, box: ShownBox, key: string): ShownBox | null {
  const row = picture.rows[box.row] ?? [];
  const at = row.indexOf(box);
  if (key === "ArrowRight") return row[at + 1] ?? null;
  if (key === "ArrowLeft") return row[at - 1] ?? null;
  const other = picture.rows[box.row + (key === "ArrowDown" ? 1 : -1)] ?? [];
  // The one that touches it most: callers enclose their callees.
  const overlap = (candidate: ShownBox) =>
    Math.min(candidate.x + candidate.width, box.x + box.width) - Math.max(candidate.x, box.x);
  let best: ShownBox | null = null;
  for (const candidate of other) {
    if (overlap(candidate) > 0 && (!best || overlap(candidate) > overlap(best) + 1e-6)) best = candidate;
  }
  return best;
}

/** The next match (1) or the one before (-1), by row and then from left to right. */
export function nextMatch(
  picture: Picture,
  isFound: (box: ShownBox) => boolean,
  from: ShownBox | null,
  direction: number,
): ShownBox | null {
  const all = picture.rows.flat().filter(isFound);
  if (all.length === 0) return null;
  const at = from ? all.indexOf(from) : -1;
  if (at < 0) return all[direction > 0 ? 0 : all.length - 1];
  return all[(at + direction + all.length) % all.length];
}

/** After a change the keyboard stays on the same function in the same row. */
export function sameBox(picture: Picture, last: ShownBox): ShownBox | null {
  const isSame = (box: ShownBox) =>
    box.function === last.function &&
    box.isBefore === last.isBefore &&
    (last.node === null || box.node?.parent?.function === last.node.parent?.function);
  return picture.rows[last.row]?.find(isSame) ?? null;
}
