// What one cell of the heat map holds: its load, and the functions that most of it was for.

import { APP, NONE, type Profile, samplesIn } from "../data/model.ts";
import { forEachRow, type Selection } from "../select/selection.ts";
import { kindOfBox } from "./lens/virtual.ts";

export interface CellFacts {
  weight: number;
  samples: number;
  /** The heaviest first. */
  functions: { id: number; weight: number }[];
}

const MOST_FUNCTIONS = 3;

/** Of each stack the innermost function of the application; where there is none, the function that ran. */
export function ownersOf(profile: Profile): Uint32Array {
  const { parent, box, listed: functions } = profile.stacks;
  const own = new Uint32Array(parent.length).fill(NONE);
  for (let stack = 0; stack < own.length; stack++) {
    if (box[stack] === APP && kindOfBox(profile, functions[stack]) === "function") own[stack] = functions[stack];
    else if (parent[stack] !== NONE) own[stack] = own[parent[stack]];
  }
  return own.map((id, stack) => (id === NONE ? functions[stack] : id));
}

/** The selection is that of the cell; `isIn` marks which threads are in its band. */
export function cellFacts(
  profile: Profile,
  selection: Selection,
  isIn: (thread: number) => boolean,
  owners: Uint32Array,
): CellFacts {
  const sums = new Map<number, number>();
  let [weight, samples] = [0, 0];
  forEachRow(profile, selection, (row, lane, stack) => {
    if (!isIn(lane.thread[row])) return;
    weight += lane.weight[row];
    samples += samplesIn(lane, row);
    const id = stack === NONE ? NONE : owners[stack];
    if (id !== NONE) sums.set(id, (sums.get(id) ?? 0) + lane.weight[row]);
  });
  const functions = [...sums].map(([id, own]) => ({ id, weight: own })).sort((a, b) => b.weight - a.weight);
  return { weight, samples, functions: functions.slice(0, MOST_FUNCTIONS) };
}
