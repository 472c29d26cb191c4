// From recording and state to what is shown. Each part is kept until something that it depends on changes, so a drag
// sums samples and nodes and nothing else.

import { mainLaneOf, NONE, type Profile, rawOf } from "../data/model.ts";
import {
  hiddenStacks,
  type KeySums,
  type Keys,
  keptStacks,
  maskOf,
  type Range,
  type Selection,
  type StackSums,
  sumByKey,
  sumStacks,
} from "../select/selection.ts";
import type { State, TopBy } from "../select/state.ts";
import { Against } from "./against.ts";
import { type CellFacts, cellFacts, ownersOf } from "./cell.ts";
import { askedBy, type EntryGroup, entriesOf, sumEntries } from "./entries.ts";
import { fromLeaves, fromRoots, type Graph } from "./flame.ts";
import { foundRows, keysOf } from "./found.ts";
import { type FunctionFacts, functionFacts } from "./function-facts.ts";
import { autoRows, categoriesOf, columnStep, gridOf, type Heat, heatOf } from "./heat.ts";
import { Kept, keyOf } from "./kept.ts";
import { otherBox } from "./lens/virtual.ts";
import { type Loops, loopsIn, loopsOf } from "./loops.ts";
import { type Search, searchFor } from "./search.ts";
import {
  type Band,
  bandOfThreads,
  bandsOf,
  busiestLoop,
  copyOf,
  MOST_BANDS,
  sumThreads,
  type ThreadSums,
} from "./threads.ts";
import { causedBy, hottest, type Kinds, kindsOf, type TopRow, topOf, topOfEntries, topOfThreads } from "./top.ts";
import { buildTree, type NodeSums, sumNodes, type Tree } from "./tree.ts";

/** Bands are low: they have at most so many rows. */
const BAND_ROWS = 10;
/** Functions that ran for less are one box of the inverted graph. */
const SMALL_PART = 0.005;
const USUAL_INTERVAL_NS = 1e7;
/** Of samples without a stack: categories are bytes. */
const NO_CATEGORY = 256;
/** When a function ran is shown in so many steps. */
const STRIP_COLUMNS = 100;

export class Derived {
  readonly profile: Profile;
  /** What the selection is compared with. */
  readonly against: Against;
  private readonly kept = new Kept();
  private readonly mainLane: number;
  private readonly categoryKeys: Keys;
  /** Of the whole recording. */
  private readonly wholeThreads: ThreadSums;

  constructor(profile: Profile) {
    this.profile = profile;
    this.mainLane = mainLaneOf(profile);
    this.categoryKeys = { of: profile.stacks.category, none: NO_CATEGORY, count: NO_CATEGORY + 1 };
    this.wholeThreads = sumThreads(profile, { lane: this.mainLane, range: null, threads: null, stacks: null });
    this.against = new Against(this);
  }

  private once<T>(slot: string, key: string, make: (old: T | undefined) => T): T {
    return this.kept.once(slot, key, make);
  }

  /** The lane that is shown: the chosen one, or else the main one. */
  lane(state: State): number {
    const isOwn = state.lane < (this.profile.other?.lane ?? this.profile.lanes.length);
    return state.lane > 0 && isOwn ? state.lane : this.mainLane;
  }

  /** Of all samples of a lane. */
  whole(state: State): StackSums {
    const lane = this.lane(state);
    return this.once("whole", String(lane), () =>
      sumStacks(this.profile, { lane, range: null, threads: null, stacks: null }),
    );
  }

  /** The rows of the thread table that are shown; null for all. */
  shownThreads(state: State): readonly number[] | null {
    if (state.threads === null) return this.once("main", "", () => this.mainLoop());
    return state.threads.length > 0 ? state.threads : null;
  }

  selection(state: State): Selection {
    const threads = this.shownThreads(state);
    const mask = this.once("threads", String(threads), () => threads && maskOf(threads, this.profile.threads.length));
    const stacks = this.once("stacks", keyOf(state, "categories", "focus", "entry"), () =>
      keptStacks(rawOf(this.profile), state.categories, state.focus, this.asked(state)),
    );
    return { lane: this.lane(state), range: state.range, threads: mask, stacks };
  }

  /** The stacks whose work the chosen entry asked for; null for all. */
  private asked(state: State): Uint8Array | null {
    return this.once("asked", state.entry, () => askedBy(rawOf(this.profile), state.entry));
  }

  selectionKey(state: State): string {
    return keyOf(state, "lane", "range", "threads", "categories", "focus", "entry");
  }

  sums(state: State): StackSums {
    return this.once<StackSums>("sums", this.selectionKey(state), (old) => {
      const [selection, whole] = [this.selection(state), this.whole(state)];
      const isAll = !selection.range && !selection.threads && !selection.stacks;
      return isAll ? whole : sumStacks(this.profile, selection, old === whole ? undefined : old);
    });
  }

  /** As if no category were picked: what the list of categories shows. */
  sumsOfAllCategories(state: State): StackSums {
    return state.categories.length === 0
      ? this.sums(state)
      : this.once("sums-all", this.selectionKey(state), () => {
          const stacks = keptStacks(rawOf(this.profile), [], state.focus, this.asked(state));
          return sumStacks(this.profile, { ...this.selection(state), stacks });
        });
  }

  /** The weight of each thread, as if no thread were picked. */
  threadShares(state: State): Float64Array {
    const selection = { ...this.selection(state), threads: null };
    const key = keyOf(state, "lane", "range", "categories", "focus", "entry");
    return this.once<ThreadSums>("thread-sums", key, (old = copyOf(this.wholeThreads)) =>
      sumThreads(this.profile, selection, old),
    ).weight;
  }

  /** The weight of each thread in the whole recording, without waiting. */
  get threadWeights(): Float64Array {
    return this.wholeThreads.weight;
  }

  /** What asked for the work, as if no entry were picked. */
  entries(state: State): { groups: EntryGroup[]; total: number } {
    return this.once("entries", this.selectionKey({ ...state, entry: "" }), () => {
      const sums = state.entry === "" ? this.sums(state) : this.sumsOfAllEntries(state);
      const byEntry = this.once<KeySums | null>("entry-sums", this.selectionKey({ ...state, entry: "" }), (old) =>
        sumEntries(this.profile, sums, old),
      );
      return { groups: entriesOf(this.profile, byEntry), total: sums.total };
    });
  }

  private sumsOfAllEntries(state: State): StackSums {
    const stacks = keptStacks(rawOf(this.profile), state.categories, state.focus);
    return sumStacks(this.profile, { ...this.selection(state), stacks });
  }

  categoryShares(state: State): Float64Array {
    const key = this.selectionKey({ ...state, categories: [] });
    return this.once<KeySums>("category-sums", key, (old) =>
      sumByKey(this.profile, this.sumsOfAllCategories(state), this.categoryKeys, old),
    ).weight;
  }

  hidden(state: State): Uint8Array | null {
    return this.once("hidden", keyOf(state, "hidden"), () => hiddenStacks(this.profile, state.hidden));
  }

  /** By the functions of boxes; where it is about functions, not about what asked for the work, by those of lists. */
  tree(state: State): Tree {
    const isListed = this.isListed(state);
    return this.once(`tree-${isListed}`, keyOf(state, "lane", "hidden"), () => {
      const { listed, function: boxes } = this.profile.stacks;
      return buildTree(this.profile, this.hidden(state), this.whole(state), isListed ? listed : boxes);
    });
  }

  /** Whether boxes are of the functions of lists, where these differ from those of boxes. */
  private isListed(state: State): boolean {
    const { listed, function: boxes } = this.profile.stacks;
    return byFunction(state) && listed !== boxes;
  }

  /** What boxes are made from. */
  private nodeKey(state: State): string {
    return this.selectionKey(state) + keyOf(state, "hidden");
  }

  nodeSums(state: State): NodeSums {
    return this.once<NodeSums>(`nodes-${this.isListed(state)}`, this.nodeKey(state), (old) =>
      sumNodes(this.tree(state), this.sums(state), old),
    );
  }

  /** The same of what the selection is compared with. */
  private baseNodes(state: State, sums: StackSums): NodeSums {
    const key = this.nodeKey(state) + keyOf(state, "base", "against");
    return this.once<NodeSums>(`base-nodes-${this.isListed(state)}`, key, (old) =>
      sumNodes(this.tree(state), sums, old),
    );
  }

  /** The sums that boxes of the selection, or of what it is compared with, are parts of. */
  sideSums(state: State, isBefore: boolean): StackSums {
    return (isBefore && this.against.sums(state)) || this.sums(state);
  }

  sideNodes(state: State, isBefore: boolean): NodeSums {
    const base = isBefore && this.against.sums(state);
    return base ? this.baseNodes(state, base) : this.nodeSums(state);
  }

  /** The boxes of the selection, or of what it is compared with. */
  graph(state: State, isBefore = false): Graph {
    // What is compared is compared box by box.
    const other = this.against.base(state) ? null : otherBox(this.profile);
    const small = other === null ? null : { id: other, part: SMALL_PART };
    // A graph that is kept opens its boxes later, from these sums: their room must not hold those of another selection.
    const sums = this.sideNodes(state, isBefore);
    const key = this.nodeKey(state) + (isBefore ? keyOf(state, "base", "against") : "");
    return this.once(`graph-${isBefore}`, `${key}${state.view}${other}`, () =>
      state.view === "inverted" ? fromLeaves(this.tree(state), sums, small) : fromRoots(this.tree(state), sums),
    );
  }

  /** What is searched for; null for nothing, words for a pattern that is none. */
  search(state: State): Search | string | null {
    return this.once("search", state.search, () => searchFor(this.profile, state.search));
  }

  /** For each stack as it was recorded 1 or 0: whether its samples match; null where nothing is searched for. */
  matching(state: State): Uint8Array | null {
    const search = this.search(state);
    return search === null || typeof search === "string" ? null : search.stacks;
  }

  /** The selection without the samples that do not match. */
  private matchedSelection(state: State): Selection | null {
    const matching = this.matching(state);
    if (matching === null) return null;
    const selection = this.selection(state);
    const stacks = this.once("matched-stacks", keyOf(state, "categories", "focus", "entry", "search"), () => {
      const { stacks: kept } = selection;
      return kept ? matching.map((own, stack) => own & kept[stack]) : matching;
    });
    return { ...selection, stacks };
  }

  /** The sums of what matches, by box; null where nothing is searched for. */
  matchedSums(state: State): NodeSums | null {
    const selection = this.matchedSelection(state);
    if (!selection) return null;
    const key = this.nodeKey(state) + this.isListed(state) + keyOf(state, "search");
    return this.once("matched", key, () => sumNodes(this.tree(state), sumStacks(this.profile, selection)));
  }

  /** The rows of a list that something searched for is in, as texts of `rowKey`; null where nothing is searched for. */
  found(state: State, by: TopBy): Set<string> | null {
    const [search, selection] = [this.search(state), this.matchedSelection(state)];
    if (!selection || search === null || typeof search === "string") return null;
    return this.once(`found-${by}`, this.selectionKey(state) + keyOf(state, "hidden", "search"), () => {
      const { profile } = this;
      if (by === "thread" || by === "process") return keysOf(topOfThreads(profile, selection, by));
      const sums = sumStacks(profile, selection);
      if (by === "entry") return keysOf(topOfEntries(profile, entriesOf(profile, sumEntries(profile, sums))));
      const kinds = this.kinds(state, by);
      // Lines that were counted apart have no place on stacks.
      if (by === "line" && kinds.keys.length === 0) return keysOf(topOf(profile, sums, by, null, kinds));
      return foundRows(profile, kinds, by, search, sums);
    });
  }

  kinds(state: State, by: TopBy): Kinds {
    return this.once(`kinds-${by}`, keyOf(state, "hidden"), () => kindsOf(this.profile, by, this.hidden(state)));
  }

  top(state: State, by: TopBy): TopRow[] {
    return this.once(`top-${by}`, this.selectionKey(state) + keyOf(state, "hidden"), () => {
      if (by === "entry") {
        return topOfEntries(this.profile, entriesOf(this.profile, sumEntries(this.profile, this.sums(state))));
      }
      if (by === "thread" || by === "process") return topOfThreads(this.profile, this.selection(state), by);
      return topOf(this.profile, this.sums(state), by, this.hidden(state), this.kinds(state, by));
    });
  }

  /** What each function of the application caused, with what it called up to the next one. */
  caused(state: State): Map<number, number> {
    return this.once("caused", this.selectionKey(state), () => causedBy(this.profile, this.sums(state)));
  }

  /** When, on which lines and in which tiers a function ran. */
  functionFacts(state: State, id: number): FunctionFacts {
    return this.once("facts", `${id}|${this.selectionKey(state)}`, () =>
      functionFacts(this.profile, this.selection(state), id, STRIP_COLUMNS),
    );
  }

  /** The function that callers and callees open on: the chosen one, or the one that caused or took most. */
  chosenFunction(state: State): number | null {
    if (state.function !== null) return state.function;
    const most = hottest(this.caused(state))?.[0] ?? this.top(state, "function")[0]?.key;
    return most ?? null;
  }

  /** The lines of a source. Where the recording knows none, the functions at the lines where they start. */
  lines(state: State, source: number): { rows: TopRow[]; areFunctions: boolean } {
    const rows = this.top(state, "line").filter(({ key }) => key === source);
    if (rows.length > 0) return { rows, areFunctions: false };
    const { source: sources, line } = this.profile.functions;
    return {
      rows: this.top(state, "function")
        .filter(({ key }) => sources[key] === source)
        .map((row) => ({ ...row, line: line[row.key] })),
      areFunctions: true,
    };
  }

  /** What the heat map is of: the samples that are searched for, where that is done. */
  private heatSelection(state: State): Selection {
    return this.matchedSelection(state) ?? this.selection(state);
  }

  /** `width` is that of the picture, where a column has at least three pixels; `most` rows have room. */
  heat(state: State, width: number, most: number): Heat {
    const { durationNs } = this.profile;
    const interval = this.profile.meta.interval_ns ?? USUAL_INTERVAL_NS;
    const columnNs = columnStep(durationNs, width, 3, interval);
    const bands = this.bands(state);
    const hasBands = bands.length > 1;
    const auto = autoRows(columnNs, interval, hasBands ? BAND_ROWS : most);
    const rows = hasBands ? auto : state.rows || auto;
    const key = keyOf(state, "lane", "threads", "categories", "focus", "entry", "bands", "search");
    return this.once("heat", `${columnNs}/${rows}${key}`, () => {
      const bandOf = hasBands ? bandOfThreads(bands, this.profile.threads.length) : null;
      const grid = { ...gridOf(durationNs, columnNs, rows), bands: bands.length || 1, bandOf };
      return heatOf(this.profile, this.heatSelection(state), grid);
    });
  }

  /** Of each cell the category that has most of its weight. */
  heatCategories(state: State, heat: Heat): Uint8Array {
    const key = keyOf(state, "lane", "threads", "categories", "focus", "entry", "bands", "search");
    return this.once("heat-categories", `${heat.columnNs}/${heat.rows}${key}`, () =>
      categoriesOf(this.profile, this.heatSelection(state), heat),
    );
  }

  /** What is in the cells of a range; in one band, or in all. */
  cells(state: State, heat: Heat, range: Range, band: number | null): CellFacts {
    const owners = this.once("owners", "", () => ownersOf(this.profile));
    const isIn = (thread: number) =>
      !heat.bandOf || (band === null ? heat.bandOf[thread] >= 0 : heat.bandOf[thread] === band);
    return cellFacts(this.profile, { ...this.heatSelection(state), range }, isIn, owners);
  }

  /** The bands of the heat map, the busiest first; none where it has one. */
  bands(state: State): Band[] {
    return this.allBands(state).slice(0, MOST_BANDS);
  }

  /** With those that the map has no room for. */
  allBands(state: State): Band[] {
    const { bands } = state;
    if (bands === "all") return [];
    return this.once("bands", keyOf(state, "bands", "threads"), () =>
      bandsOf(this.profile, this.threadWeights, this.shownThreads(state), bands),
    );
  }

  loops(state: State): Loops {
    const { threads } = this.selection(state);
    return this.once("loops", keyOf(state, "threads"), () => loopsOf(this.profile.report, threads));
  }

  /** Those of the range that is selected. */
  loopsInRange(state: State): Loops {
    return this.once("loops-in", keyOf(state, "threads", "range"), () => loopsIn(this.loops(state), state.range));
  }

  /** The rows of the busiest loop; null where that is all there is. */
  private mainLoop(): number[] | null {
    const { threads, other } = this.profile;
    const loop = busiestLoop(this.profile, this.threadWeights);
    return loop && loop.length < (other?.thread ?? threads.length) ? loop : null;
  }

  isKnownFunction(id: number): boolean {
    return id !== NONE && id < this.profile.functions.name.length;
  }
}

/** Callers under what they called, and callers and callees: a root that stands for a function is that function. */
function byFunction({ view }: State): boolean {
  return view === "inverted" || view === "sandwich";
}
