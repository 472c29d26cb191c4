// Whose samples are shown: roles as buttons, single threads behind "each thread …"; and which event.

import { ROLES } from "../../data/model.ts";
import type { App, Part } from "../app.ts";
import { button, h, picker, quiet, refill, toggle } from "../dom.ts";
import { percent, share, shown, thousands } from "../text.ts";

const ROLE_TITLES: Record<string, string> = {
  main: "The main event loop: your JavaScript runs here",
  worker: "Worker threads: JavaScript beside the main loop",
  pool: "libuv's thread pool: files, DNS, crypto, compression",
  v8: "V8's own threads: garbage collection and compilers",
  other: "All other threads",
};
/** The busiest threads have a button each. */
const MOST_THREADS = 60;

export function threadsPart(app: App): Part {
  const bar = new ThreadBar(app);
  return { element: bar.element, render: () => bar.render() };
}

class ThreadBar {
  readonly element = h("div", { class: "threads row", role: "group", "aria-label": "Threads" });
  private readonly app: App;
  private readonly list = h("div", { class: "row each hidden" });
  private isOpen = false;

  constructor(app: App) {
    this.app = app;
  }

  render(): void {
    const { app } = this;
    const now = app.derived.shownThreads(app.state);
    this.list.classList.toggle("hidden", !this.isOpen);
    refill(this.list, ...(this.isOpen ? this.threadButtons(now) : []));
    const flip = () => {
      this.isOpen = !this.isOpen;
      this.render();
    };
    const each = button(this.isOpen ? "fewer" : "each thread …", "each", flip, {
      "aria-expanded": String(this.isOpen),
    });
    refill(
      this.element,
      toggle("all", "role-all", now === null, () => this.show([])),
      ...this.roleButtons(now),
      app.profile.threads.length > 1 && each,
      this.lanePicker(),
      this.list,
    );
  }

  /** None stands for all. */
  private show(threads: readonly number[]): void {
    this.app.update({ threads, zoom: [] });
  }

  /** Threads that ran, with their parts of what is selected. */
  private roleButtons(now: readonly number[] | null): HTMLElement[] {
    const { profile, derived } = this.app;
    const [all, partOf] = [derived.threadWeights, this.parts()];
    return Object.keys(ROLES).flatMap((role) => {
      const ids = profile.threads.flatMap((thread, id) => (thread.role === role && all[id] > 0 ? [id] : []));
      if (ids.length === 0) return [];
      const count = ids.length > 1 ? ` ×${ids.length}` : "";
      const isIn = ids.every((id) => now?.includes(id));
      const isAlone = isIn && now?.length === ids.length;
      const words = `${ROLES[role]}${count} ${percent(partOf(ids))}`;
      return [toggle(words, `role-${role}`, isIn, () => this.show(isAlone ? [] : ids), ROLE_TITLES[role])];
    });
  }

  /** The part of some threads in what is selected of all. */
  private parts(): (ids: readonly number[]) => number {
    const { derived, state } = this.app;
    const weights = derived.threadShares(state);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return (ids) =>
      share(
        ids.reduce((sum, id) => sum + weights[id], 0),
        total,
      );
  }

  private threadButtons(now: readonly number[] | null): HTMLElement[] {
    const { threads } = this.app.profile;
    const [all, partOf] = [this.app.derived.threadWeights, this.parts()];
    const ids = threads.map((_, id) => id).filter((id) => all[id] > 0);
    const busiest = ids.sort((a, b) => all[b] - all[a]).slice(0, MOST_THREADS);
    const buttons = busiest.map((id) => {
      const { name, tid, role } = threads[id];
      const words = `${shown(name) || "thread"} ${tid ?? ""} ${percent(partOf([id]))}`;
      const isIn = now?.includes(id) ?? false;
      const others = (now ?? []).filter((other) => other !== id);
      const flip = () => this.show(isIn ? others : [...others, id]);
      return toggle(words, `thread-${id}`, isIn, flip, ROLES[role] ?? role);
    });
    const left = ids.length - busiest.length;
    const more = `and ${thousands(left)} that were less busy: the top table has all, by thread`;
    return left > 0 ? [...buttons, quiet(more)] : buttons;
  }

  /** Lanes are what was counted: the CPU's clock, cache misses, waiting. */
  private lanePicker(): HTMLElement | null {
    const { app } = this;
    const lanes = app.profile.lanes.slice(0, app.profile.other?.lane);
    if (lanes.length < 2) return null;
    const names = lanes.map(({ name, time }, at) => [at, `${shown(name)} (${thousands(time.length)})`]);
    const ids = lanes.map((_, at) => String(at));
    const choose = (lane: string) => app.update({ lane: Number(lane), zoom: [] });
    return picker("event", ids, String(app.derived.lane(app.state)), choose, Object.fromEntries(names));
  }
}
