// The state of the page and what changes it. Parts draw themselves from what `Derived` knows; every change goes through
// `update`, which also writes the address. Which parts there are is decided in page.ts.

import { Derived } from "../compute/derived.ts";
import { keyOf } from "../compute/kept.ts";
import { throughLens } from "../compute/lens/lens.ts";
import { join } from "../data/join.ts";
import type { Library, Listed } from "../data/library.ts";
import { type Profile, withStacks } from "../data/model.ts";
import type { Compared } from "../data/report.ts";
import type { Item } from "../select/selection.ts";
import { fromHash, LENSES, type Lens, SIDES, type State, toHash, type View } from "../select/state.ts";
import { errorText, h } from "./dom.ts";

/** A part of the page: an element that can draw itself. */
export interface Part {
  element: HTMLElement;
  render(): void;
}

const VIEW_KEYS: Record<string, View> = {
  1: "flame",
  2: "time",
  3: "inverted",
  4: "top",
  5: "sandwich",
  6: "source",
};

const LENS_KEYS: Record<string, Lens> = { m: "code", p: "packages", j: "node", e: "everything" };
/** The address follows the mouse so late: browsers refuse a page that changes it more than a hundred times in 30 s. */
const ADDRESS_MS = 500;
/** So many kinds of stacks are kept: a switch back is at once. */
const MOST_KEPT = 6;

export class App {
  state: State;
  /** What is shown, with what it is compared with behind it. */
  profile: Profile;
  derived: Derived;
  /** What the report says of this recording against the one that it is compared with. */
  compared: Compared | null = null;
  /** Go to the next match (1) or the one before (-1). The flame graph sets it, the search field calls it. */
  step: (direction: number) => void = () => {};
  /** What is shown as an SVG picture. The flame graph sets it, the head calls it. */
  svg: () => string = () => "";
  readonly library: Library | null;
  /** The recording that is shown, as the library knows it. */
  readonly id: string | null;
  private readonly own: Profile;
  private readonly root: HTMLElement;
  private readonly makeParts: (app: App) => Part[];
  private parts: Part[] = [];
  /** With what it is compared with, and its stacks as they were recorded. */
  private recording: Profile;
  /** What suits it, by the report (docs/page.md). */
  private readonly lensOfRecording: Lens;
  /** By the parts of the state that decide which stacks are shown. */
  private readonly kept = new Map<string, Profile>();
  private shownStacks = "";
  private isScheduled = false;
  /** What is fetched to compare with, or was fetched last. */
  private comparedWith: string | null = null;
  /** Until the address follows what has moved; 0 where it does. */
  private addressTimer = 0;
  private readonly help = document.querySelector<HTMLDialogElement>("#help");

  /** Of two recordings that are open, the last is shown against the first. */
  constructor(own: Profile, root: HTMLElement, library: Library | null, makeParts: (app: App) => Part[]) {
    this.own = own;
    this.root = root;
    this.library = library;
    this.makeParts = makeParts;
    this.id = library?.open.at(-1) ?? null;
    this.state = this.fromAddress();
    this.recording = own;
    // Without the report nothing is known of what asked for the work.
    this.lensOfRecording = LENSES.find((lens) => lens === own.report?.lens) ?? "code";
    this.profile = this.withLens();
    this.derived = new Derived(this.profile);
    this.show();
    window.addEventListener("popstate", () => this.reset(this.fromAddress()));
    window.addEventListener("hashchange", () => this.reset(this.fromAddress()));
    window.addEventListener("pagehide", () => this.settleAddress());
    window.addEventListener("resize", () => this.schedule());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.schedule());
    document.addEventListener("keydown", (event) => this.key(event));
    this.render();
  }

  private fromAddress(): State {
    const state = fromHash(location.hash);
    const { open } = this.library ?? { open: [] };
    if (location.hash.length <= 1 && open.length === 2) state.against = open[0];
    return state;
  }

  /** Makes the parts anew for another profile. */
  private show(): void {
    this.parts = this.makeParts(this);
    this.root.replaceChildren(...this.parts.map(({ element }) => element));
  }

  /** Shows another profile, with the stacks that the reader has chosen. */
  private take(profile: Profile): void {
    this.recording = profile;
    this.kept.clear();
    this.look();
    this.show();
  }

  /** How much of a stack is shown. */
  get lens(): Lens {
    return this.state.lens ?? this.lensOfRecording;
  }

  /** Shows the stacks that the reader has chosen. */
  private look(): void {
    this.profile = this.withLens();
    this.derived = new Derived(this.profile);
  }

  /** The recording with the stacks that the reader has chosen. */
  private withLens(): Profile {
    const { state, kept } = this;
    this.shownStacks = this.stacksKey();
    const known = kept.get(this.shownStacks);
    if (known) return known;
    const profile = throughLens(withStacks(this.recording, state.isPhysical), this.lens, state.opened);
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(this.shownStacks, profile);
    return profile;
  }

  private stacksKey(): string {
    return this.lens + keyOf(this.state, "isPhysical", "opened");
  }

  /** Gives the frames of a package's runs a box each, or takes it back. */
  openPackage(id: number): void {
    const { opened } = this.state;
    this.update({ opened: opened.includes(id) ? opened.filter((other) => other !== id) : [...opened, id] });
  }

  /** The recordings that this one can be compared with. */
  get others(): Listed[] {
    return this.library?.recordings.filter(({ id }) => id !== this.id) ?? [];
  }

  /** Fetches what the state compares with, puts it behind this recording, and draws again. Every frame asks for it. */
  private async compare(id: string | null): Promise<void> {
    if (id === this.comparedWith) return;
    this.comparedWith = id;
    try {
      const [profile, compared] = id === null ? [this.own, null] : await this.joinedWith(id);
      if (id !== this.comparedWith) return;
      this.compared = compared;
      this.take(profile);
      this.render();
    } catch (error) {
      if (id !== this.comparedWith) return;
      this.comparedWith = this.profile.other?.id ?? null;
      const words = `The recording to compare with cannot be opened: ${errorText(error)}`;
      this.root.prepend(h("p", { class: "warn" }, words));
      this.update({ against: null }, false);
    }
  }

  private async joinedWith(id: string): Promise<[Profile, Compared | null]> {
    const found = this.others.find((other) => other.id === id);
    if (!this.library || !found || this.id === null) throw new Error("it is not in the list");
    const [other, compared] = await Promise.all([this.library.load(id), this.library.compared(id, this.id)]);
    return [join(this.own, other, id, found.name), compared];
  }

  get isDark(): boolean {
    if (this.state.theme !== "auto") return this.state.theme === "dark";
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  /** Changes the state. What goes on while the mouse moves is no step back in the history. */
  update(change: Partial<State>, isStep = true): void {
    if (isStep) this.settleAddress();
    this.state = { ...this.state, ...change };
    if (isStep) this.writeAddress("pushState");
    else this.addressTimer ||= window.setTimeout(() => this.writeAddress("replaceState"), ADDRESS_MS);
    this.schedule();
  }

  /** The address of what is shown now. */
  address(): string {
    this.settleAddress();
    return location.href;
  }

  private settleAddress(): void {
    if (this.addressTimer !== 0) this.writeAddress("replaceState");
  }

  private writeAddress(how: "pushState" | "replaceState"): void {
    clearTimeout(this.addressTimer);
    this.addressTimer = 0;
    const hash = `#${toHash(this.state)}`;
    if (hash !== (location.hash || "#")) history[how](null, "", hash);
  }

  /** Selects a function, and shows what is known of it beside the picture. */
  select(id: number, change: Partial<State> = {}): void {
    this.update({ function: id, isPanel: true, ...change });
  }

  closePanel(): void {
    this.update(this.state.view === "sandwich" ? { isPanel: false } : { isPanel: false, function: null });
  }

  hide(item: Item): void {
    this.update({ hidden: [...this.state.hidden, item], zoom: [] });
  }

  focus(item: Item): void {
    if (item.kind === "category") this.update({ categories: [item.id], zoom: [] });
    else this.update({ focus: [...this.state.focus, item], zoom: [] });
  }

  /** Takes back what was hidden or focused last. */
  undo(): void {
    const { hidden, focus, categories, entry } = this.state;
    if (hidden.length > 0) this.update({ hidden: hidden.slice(0, -1) });
    else if (focus.length > 0) this.update({ focus: focus.slice(0, -1) });
    else if (categories.length > 0) this.update({ categories: [] });
    else if (entry) this.update({ entry: "" });
  }

  showHelp(): void {
    if (!this.help) return;
    this.help.showModal();
    // The focus is on the button at its end: in a low window that would be all to see.
    this.help.scrollTop = 0;
  }

  private reset(state: State): void {
    clearTimeout(this.addressTimer);
    this.addressTimer = 0;
    if (toHash(state) === toHash(this.state)) return;
    this.state = state;
    this.schedule();
  }

  schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => this.render());
  }

  private render(): void {
    this.isScheduled = false;
    const { theme } = this.state;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    if (this.shownStacks !== this.stacksKey()) this.look();
    void this.compare(this.state.against);
    for (const part of this.parts) part.render();
  }

  /** Keys that work everywhere but in a field. */
  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || this.help?.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    const [view, lens] = [VIEW_KEYS[event.key], LENS_KEYS[event.key]];
    const ofLens = lens && (() => this.update({ lens, zoom: [] }));
    const action = view ? () => this.update({ view, zoom: [] }) : (ofLens ?? this.actionOf(event.key));
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Gives the focus to the heat map, which may be folded away. */
  private goToMap(): void {
    if (this.state.isMapFolded) this.update({ isMapFolded: false });
    requestAnimationFrame(() => document.querySelector<HTMLElement>("#heat")?.focus());
  }

  /** Gives the focus to the picture, or to the first row of the table that stands in its place. */
  private goToPicture(): void {
    const all = document.querySelectorAll<HTMLElement>("#flame, #top tbody button, .source a, .source button");
    [...all].find((element) => element.checkVisibility())?.focus();
  }

  private actionOf(key: string): (() => void) | undefined {
    const actions: Record<string, () => void> = {
      "/": () => document.querySelector<HTMLElement>("#search")?.focus(),
      "?": () => this.showHelp(),
      d: () => this.update({ isUpward: !this.state.isUpward }),
      t: () => this.update({ theme: this.isDark ? "light" : "dark" }),
      b: () => this.update({ sides: SIDES[(SIDES.indexOf(this.state.sides) + 1) % SIDES.length] }),
      a: () => this.update({ isPhysical: !this.state.isPhysical, zoom: [] }),
      h: () => this.update({ isMapFolded: !this.state.isMapFolded }),
      w: () => this.goToMap(),
      f: () => this.goToPicture(),
      u: () => this.undo(),
      n: () => this.step(1),
      N: () => this.step(-1),
      Escape: () => this.escape(),
    };
    return actions[key];
  }

  /** One thing at a time, the smallest first. */
  private escape(): void {
    if (this.state.isPanel) this.closePanel();
    else if (this.state.zoom.length > 0) this.update({ zoom: [] });
    else if (this.state.range) this.update({ range: null });
    else if (this.state.search) this.update({ search: "" });
  }
}
