// What the selection is compared with, and how things changed since: another range, the rest, or another recording.

import type { Other, Profile } from "../data/model.ts";
import type { Selection, StackSums } from "../select/selection.ts";
import type { State, TopBy } from "../select/state.ts";
import {
  basePieces,
  type Change,
  changesOf,
  commonUnit,
  everything,
  type Measure,
  type RateUnit,
  type Side,
  scaleOf,
  sumPieces,
  type Things,
} from "./diff.ts";
import { Kept, keyOf } from "./kept.ts";
import { busiestLoop, weightsOfThreads } from "./threads.ts";
import { hasOwnTime, type Kinds, ownKinds, type TopRow, topOf } from "./top.ts";

/** What is shown, as `Derived` knows it. */
interface Shown {
  readonly profile: Profile;
  readonly threadWeights: Float64Array;
  selection(state: State): Selection;
  selectionKey(state: State): string;
  shownThreads(state: State): readonly number[] | null;
  hidden(state: State): Uint8Array | null;
  kinds(state: State, by: TopBy): Kinds;
  top(state: State, by: TopBy): TopRow[];
}

export class Against {
  private readonly shown: Shown;
  private readonly kept = new Kept();

  constructor(shown: Shown) {
    this.shown = shown;
  }

  /** What the selection is compared with; null when it is not. */
  base(state: State): Side | null {
    const selection = this.shown.selection(state);
    const { other, lanes, durationNs } = this.shown.profile;
    if (state.against !== null) return other && this.otherSide(state, selection, other);
    if (!state.base || (state.base === "rest" && !state.range) || !lanes[selection.lane]?.timed) return null;
    return this.timed(selection, basePieces(state.base, state.range, durationNs), this.shown.profile.meta.interval_ns);
  }

  private timed(selection: Selection, pieces: Side["pieces"], intervalNs: number | null | undefined): Side {
    return { selection, pieces, scale: scaleOf(this.shown.profile.lanes[selection.lane], intervalNs ?? null, pieces) };
  }

  /** All of the other recording that is like the selection. */
  private otherSide(state: State, selection: Selection, { lane: first, durationNs, intervalNs }: Other): Side {
    const { lanes } = this.shown.profile;
    // The lane with the same event, or its main one.
    const same = lanes.findIndex(({ name }, at) => at >= first && name === lanes[selection.lane]?.name);
    const lane = same < 0 ? first : same;
    const threads = this.otherThreads(state, lane);
    return this.timed({ ...selection, lane, threads, range: null }, [[0, durationNs]], intervalNs);
  }

  /** Whether main loops are compared: those that a page opens on. */
  areLoops(state: State): boolean {
    return state.threads === null && busiestLoop(this.shown.profile, this.shown.threadWeights) !== null;
  }

  /** The threads of the other recording that do the same as those shown: two recordings share no thread. */
  private otherThreads(state: State, lane: number): Uint8Array | null {
    const { threads } = this.shown.profile;
    const isMain = state.threads === null;
    // A recording of one thread shows all of it: that is its main loop.
    const now = isMain ? busiestLoop(this.shown.profile, this.shown.threadWeights) : this.shown.shownThreads(state);
    if (!now) return null;
    const roles = new Set(now.map((id) => threads[id]?.role));
    const loop = isMain ? busiestLoop(this.shown.profile, weightsOfThreads(this.shown.profile, lane)) : null;
    return Uint8Array.from(threads, ({ role }, id) => Number(loop ? loop.includes(id) : roles.has(role)));
  }

  /** What is shown. */
  side(state: State): Side {
    const { durationNs, meta } = this.shown.profile;
    return this.timed(this.shown.selection(state), [state.range ?? [0, durationNs]], meta.interval_ns);
  }

  sums(state: State): StackSums | null {
    const base = this.base(state);
    return (
      base &&
      this.kept.once("base", this.shown.selectionKey(state) + keyOf(state, "base", "against"), () =>
        sumPieces(this.shown.profile, base),
      )
    );
  }

  /** The unit of what is compared; null where it is shares: that was chosen, or the two have no unit in common. */
  rateUnit(state: State): RateUnit | null {
    const base = this.base(state);
    return base && state.measure === "rate" ? commonUnit(base, this.side(state)) : null;
  }

  private measure(state: State): Measure {
    return this.rateUnit(state) ? "rate" : "share";
  }

  /** What all that is shown used, the larger of both; 1 for shares. Changes are large or small beside it. */
  whole(state: State): number {
    const change = this.rateUnit(state) && this.wholeChange(state);
    return change ? Math.max(change.before, change.now) || 1 : 1;
  }

  private changesKey(state: State): string {
    return this.shown.selectionKey(state) + keyOf(state, "hidden", "base", "against", "measure");
  }

  /** How things changed; null where nothing is compared. */
  changes(state: State, things: () => Things): Change[] | null {
    const base = this.base(state);
    return base && changesOf(this.shown.profile, base, this.side(state), things(), this.measure(state));
  }

  /** How all that is shown changed, as a rate; null where that cannot be compared. */
  wholeChange(state: State): Change | null {
    const base = this.base(state);
    if (!base || !this.rateUnit({ ...state, measure: "rate" })) return null;
    return this.kept.once("whole-change", this.changesKey(state), () => {
      return changesOf(this.shown.profile, base, this.side(state), everything(this.shown.profile), "rate")[0];
    });
  }

  /** The rows of a list by their own weight; `of` finds the place of a row. */
  topChanges(state: State, by: TopBy): { changes: Change[]; of: Map<string, number>; kinds: Kinds } | null {
    const base = this.base(state);
    if (!hasOwnTime(by) || !base) return null;
    return this.kept.once(`top-changes-${by}`, this.changesKey(state), () => {
      const kinds = this.shown.kinds(state, by);
      const things = ownKinds(this.shown.profile, this.shown.hidden(state), kinds);
      const changes = changesOf(this.shown.profile, base, this.side(state), things, this.measure(state));
      return { changes, kinds, of: new Map(kinds.keys.map((row, at) => [`${row}:${kinds.lines[at]}`, at])) };
    });
  }

  /** Rows that were there before and are gone. */
  gone(state: State, by: TopBy): TopRow[] {
    const base = this.sums(state);
    if (!base || !hasOwnTime(by)) return [];
    const here = new Set(this.shown.top(state, by).map(({ key, line }) => `${key}:${line}`));
    const before = topOf(this.shown.profile, base, by, this.shown.hidden(state), this.shown.kinds(state, by));
    const none = { self: 0, total: 0, selfSamples: 0, totalSamples: 0 };
    return before
      .filter(({ key, line, self }) => self > 0 && !here.has(`${key}:${line}`))
      .map((row) => ({ ...row, ...none }));
  }
}
