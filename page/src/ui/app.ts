// The page: one state, one render. Parts draw themselves from what `Derived` knows; every change goes through `update`,
// which also writes the address.

import { Derived } from "../derive";
import { join } from "../join";
import type { Library, Listed } from "../library";
import type { Profile } from "../model";
import type { Item } from "../selection";
import { fromHash, type State, toHash } from "../state";
import { h } from "./dom";
import { flamePart } from "./flameview";
import { headPart } from "./head";
import { heatPart } from "./heatview";
import { toolPart } from "./tools";

/** A part of the page: an element that can draw itself. */
export interface Part {
  element: HTMLElement;
  render(): void;
}

export class App {
  state: State;
  /** What is shown, with what it is compared with behind it. */
  profile: Profile;
  derived: Derived;
  /** Where the keyboard stands in the big picture; parts ask each other through here. */
  step: (direction: number) => void = () => {};
  svg: () => string = () => "";
  /** The recording that is shown, as the library knows it. */
  readonly id: string | null;
  private parts: Part[] = [];
  private isScheduled = false;
  private readonly help = document.querySelector<HTMLDialogElement>("#help");

  /** Of two recordings that are open, the last is shown against the first. */
  constructor(
    private readonly own: Profile,
    private readonly root: HTMLElement,
    readonly library: Library | null = null,
  ) {
    this.id = library?.open.at(-1) ?? null;
    this.state = this.fromAddress();
    this.profile = own;
    this.derived = new Derived(own);
    this.show();
    window.addEventListener("popstate", () => this.reset(this.fromAddress()));
    window.addEventListener("hashchange", () => this.reset(this.fromAddress()));
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
    this.parts = [headPart, heatPart, toolPart, flamePart].flatMap((make) => make(this));
    this.root.replaceChildren(...this.parts.map(({ element }) => element));
  }

  /** The recordings that this one can be compared with. */
  get others(): Listed[] {
    return this.library?.recordings.filter(({ id }) => id !== this.id) ?? [];
  }

  /** Fetches what the state compares with, puts it behind this recording, and draws again. */
  private async compare(id: string | null): Promise<void> {
    if ((this.profile.other?.id ?? null) === id) return;
    const found = this.others.find((other) => other.id === id);
    try {
      if (id !== null && !found) throw new Error("it is not in the list");
      const other = id === null ? null : await this.library!.load(id);
      if (this.state.against !== id) return;
      this.profile = other ? join(this.own, other, id!, found!.name) : this.own;
      this.derived = new Derived(this.profile);
      this.show();
      this.render();
    } catch (error) {
      this.root.prepend(
        h(
          "p",
          { class: "warn" },
          `The recording to compare with cannot be opened: ${error instanceof Error ? error.message : String(error)}`,
        ),
      );
      this.update({ against: null }, false);
    }
  }

  get isDark(): boolean {
    if (this.state.theme !== "auto") return this.state.theme === "dark";
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  /** Changes the state. What goes on while the mouse moves is no step back in the history. */
  update(change: Partial<State>, isStep = true): void {
    this.state = { ...this.state, ...change };
    const hash = `#${toHash(this.state)}`;
    if (hash !== (location.hash || "#")) history[isStep ? "pushState" : "replaceState"](null, "", hash);
    this.schedule();
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
    const { hidden, focus, categories } = this.state;
    if (hidden.length > 0) this.update({ hidden: hidden.slice(0, -1) });
    else if (focus.length > 0) this.update({ focus: focus.slice(0, -1) });
    else if (categories.length > 0) this.update({ categories: [] });
  }

  showHelp(): void {
    this.help?.showModal();
  }

  private reset(state: State): void {
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
    void this.compare(this.state.against);
    for (const part of this.parts) part.render();
  }

  /** Keys that work everywhere but in a field. */
  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) ||
      this.help?.open
    )
      return;
    const views: Record<string, State["view"]> = {
      1: "flame",
      2: "time",
      3: "inverted",
      4: "top",
      5: "sandwich",
      6: "source",
    };
    const actions: Record<string, () => void> = {
      "/": () => document.querySelector<HTMLElement>("#search")?.focus(),
      "?": () => this.showHelp(),
      d: () => this.update({ isUpward: !this.state.isUpward }),
      t: () => this.update({ theme: this.isDark ? "light" : "dark" }),
      b: () => this.update({ isBefore: !this.state.isBefore }),
      u: () => this.undo(),
      n: () => this.step(1),
      N: () => this.step(-1),
      Escape: () => this.escape(),
    };
    const view = views[event.key];
    const action = view ? () => this.update({ view, zoom: [] }) : actions[event.key];
    if (!action || event.defaultPrevented) return;
    event.preventDefault();
    action();
  }

  /** One thing at a time, the smallest first. */
  private escape(): void {
    if (this.state.zoom.length > 0) this.update({ zoom: [] });
    else if (this.state.range) this.update({ range: null });
    else if (this.state.search) this.update({ search: "" });
  }
}

/** Says why there is nothing to show. */
export function showError(root: HTMLElement, error: unknown): void {
  root.replaceChildren(
    h(
      "p",
      { class: "note" },
      `This recording cannot be shown: ${error instanceof Error ? error.message : String(error)}`,
    ),
  );
}
