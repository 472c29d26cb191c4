// The list of recordings: sorted, filtered and picked as in the address, by mouse and by keyboard. Names are there at
// once; the text of a row comes when its recording has been read, those in sight first. New files appear by themselves.

import { includesText } from "../../compute/smart-case.ts";
import type { Catalog } from "../../data/library.ts";
import { INTERVAL_MS, REST, RecordingList, type Row } from "../../data/recording-list.ts";
import { arrange, button, errorText, h, refill } from "../dom.ts";
import { plural, shown, thousands } from "../text.ts";
import { COLUMNS, commonFolder, findingOf, gistOf, inOrder, pathOf, timeOf } from "./columns.ts";
import { Line } from "./row.ts";

/** So many recordings are asked for at a time: the next question is there when an answer leaves. */
const MOST_ASKED = 2;
/** After an answer that did not come, the next question waits longer. */
const LONG_MS = 10_000;
const KEYS = "↑ ↓ walk · Enter opens · Space picks · c compares two · / filters";

export function showList(root: HTMLElement, library: Catalog): void {
  const list = new ListView(library);
  root.replaceChildren(...list.elements);
  document.title = "nodescope";
  void list.start();
}

class ListView {
  readonly elements: HTMLElement[];
  private readonly recordings: RecordingList;
  private readonly places: readonly string[];
  /** What is in the address: `filter`, `sort` and `pick`. */
  private readonly words = new URLSearchParams(location.hash.slice(1));
  private readonly filter: HTMLInputElement;
  private readonly count = h("span", { class: "facts quiet", role: "status" });
  private readonly reading = h("span", { class: "quiet list-reading" });
  private readonly compare = h("span", { class: "list-compare" });
  private readonly trouble = h("p", { class: "warn", role: "alert" });
  private readonly head = h("thead");
  private readonly body = h("tbody");
  private readonly none = h("p", { class: "note hidden" });
  private readonly lines = new Map<string, Line>();
  /** As they are shown. */
  private rows: Row[] = [];
  /** Whether all that was there at first has been read. */
  private areRead = false;
  private asked = 0;
  private isScheduled = false;
  private shownHead = "";

  constructor(library: Catalog) {
    this.recordings = new RecordingList(library);
    this.places = library.places;
    this.filter = h("input", {
      id: "filter",
      type: "search",
      placeholder: "filter  /",
      "aria-label": "Filter the recordings",
      spellcheck: "false",
      on: { input: () => this.set("filter", this.filter.value) },
    });
    this.filter.value = this.words.get("filter") ?? "";
    const end = h("span", { class: "end row" }, this.compare, this.filter);
    const head = h("header", { class: "head row" }, h("h1", {}, "nodescope"), this.count, this.reading, end);
    const table = h("table", { id: "list" }, this.head, this.body);
    const scroll = h("div", { class: "scroll" }, table, this.none);
    this.elements = [head, h("div", { class: "list-main" }, scroll), h("p", { class: "foot quiet" }, KEYS)];
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("visibilitychange", () => this.readOn());
  }

  async start(): Promise<void> {
    this.render();
    await this.recordings.fill().catch(() => {});
    this.schedule();
    this.readOn();
    void this.watch();
  }

  private set(key: string, value: string): void {
    if (value) this.words.set(key, value);
    else this.words.delete(key);
    history.replaceState(null, "", `#${this.words}`);
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => this.render());
  }

  private render(): void {
    this.isScheduled = false;
    const { rows } = this.recordings;
    this.areRead ||= this.recordings.unread === 0;
    const text = this.words.get("filter") ?? "";
    const matching = rows.filter((row) => includesText(textOf(row), text));
    this.rows = inOrder(matching, ...this.sorting(), this.areRead);
    this.renderHead(rows.length);
    const common = commonFolder(rows);
    const picked = this.picked();
    const elements = this.rows.map((row) => {
      const line = this.lines.get(row.id) ?? new Line();
      this.lines.set(row.id, line);
      const [isPicked, isGrowing] = [picked.includes(row), this.recordings.isGrowing(row)];
      line.render(row, { isPicked, isGrowing, common, pick: () => this.pick(row) });
      return line.element;
    });
    arrange(this.body, elements);
    this.none.classList.toggle("hidden", elements.length > 0);
    this.none.textContent =
      rows.length === 0 ? "No recording is here any more. A new one appears by itself." : `No recording has “${text}”.`;
  }

  private renderHead(all: number): void {
    const { rows, recordings } = this;
    const few = rows.length < all ? `${thousands(rows.length)} of ` : "";
    const places = this.places.length === 1 ? ` in ${shown(this.places[0])}` : "";
    const count = `${few}${plural(all, "recording")}${places}`;
    if (this.count.textContent !== count) this.count.textContent = count;
    this.reading.textContent = recordings.unread > 0 ? `reading, ${thousands(recordings.unread)} to go` : "";
    const hasContainer = recordings.rows.some((row) => gistOf(row)?.container);
    this.body.parentElement?.classList.toggle("without-containers", !hasContainer);
    // A button that is made anew under the mouse takes no click.
    const key = `${this.words.get("sort")} ${this.words.get("pick")} ${Math.min(2, recordings.rows.length)}`;
    if (key === this.shownHead) return;
    this.shownHead = key;
    this.renderTitles();
    this.renderPicks();
  }

  private renderTitles(): void {
    const [by, isReversed] = this.sorting();
    const heads = COLUMNS.map((column) => {
      const other = column.sorted === "ascending" ? "descending" : "ascending";
      const sort = column !== by ? "none" : isReversed ? other : column.sorted;
      const next = column === by && !isReversed ? `-${column.key}` : column.key;
      const mark = sort === "none" ? "" : sort === "descending" ? " ▾" : " ▴";
      const label = `${column.label}${mark}`;
      const title = button(label, column.key, () => this.set("sort", next), { title: column.title });
      return h("th", { class: `list-${column.key}`, scope: "col", "aria-sort": sort }, title);
    });
    const pick = h("th", { class: "list-pick" }, h("span", { class: "unseen" }, "compare"));
    refill(this.head, h("tr", {}, pick, ...heads));
  }

  private sorting(): [(typeof COLUMNS)[number], boolean] {
    const typed = this.words.get("sort") ?? "time";
    const key = typed.replace(/^-/, "");
    const [time] = COLUMNS.filter((column) => column.key === "time");
    return [COLUMNS.find((column) => column.key === key) ?? time, typed !== key];
  }

  /** The recordings to compare, in the order in which they were picked. */
  private picked(): Row[] {
    const ids = (this.words.get("pick") ?? "").split(".");
    return ids.flatMap((id) => this.recordings.rows.find((row) => row.id === id) ?? []).slice(0, 2);
  }

  /** Picks a recording, or takes that back; of three, the first is let go. */
  private pick(row: Row): void {
    const picked = this.picked();
    const others = picked.filter((other) => other !== row);
    const all = others.length < picked.length ? others : [...picked, row].slice(-2);
    this.set("pick", all.map(({ id }) => id).join("."));
  }

  /** Where the two that are picked are compared: the newer against the older. */
  private comparison(): string | null {
    const [before, now] = this.picked().sort((a, b) => timeOf(a) - timeOf(b));
    return now ? `/?recording=${encodeURIComponent(now.id)}#against=${encodeURIComponent(before.id)}` : null;
  }

  private renderPicks(): void {
    const picked = this.picked();
    const href = this.comparison();
    const clear = button("×", "unpick", () => this.set("pick", ""), { "aria-label": "Pick none", title: "Pick none" });
    const [before, now] = [...picked].sort((a, b) => timeOf(a) - timeOf(b)).map((row) => shown(pathOf(row)));
    const what = href
      ? h("a", { href, class: "action", key: "compare", title: `${now} against ${before}` }, "compare the two")
      : h("span", { class: "quiet" }, picked.length === 1 ? "pick another one to compare" : "pick two to compare");
    if (this.recordings.rows.length < 2) refill(this.compare);
    else refill(this.compare, what, picked.length > 0 && clear);
  }

  /** Reads what has not been read, the first in sight first, while the page is looked at. */
  private readOn(): void {
    while (document.visibilityState === "visible" && this.asked < MOST_ASKED) {
      const row = this.recordings.next(this.rows) ?? this.recordings.next(this.recordings.rows);
      if (!row) return;
      this.asked++;
      void this.read(row);
    }
  }

  private async read(row: Row): Promise<void> {
    // `watch` reports a server that does not answer.
    const isRead = await this.recordings.read(row).then(
      () => true,
      () => false,
    );
    this.asked--;
    this.schedule();
    if (isRead) this.readOn();
  }

  /** Looks for new files again and again, while the page is looked at. */
  private async watch(): Promise<void> {
    for (let pauseMs = INTERVAL_MS; ; ) {
      await pause(pauseMs);
      await untilVisible();
      const start = performance.now();
      try {
        await this.recordings.look();
        pauseMs = Math.max(INTERVAL_MS, REST * (performance.now() - start));
        this.report("");
      } catch (error) {
        pauseMs = LONG_MS;
        this.report(errorText(error));
      }
      this.schedule();
      this.readOn();
    }
  }

  private report(text: string): void {
    if (this.trouble.textContent === text) return;
    this.trouble.textContent = text;
    if (text) this.elements[0].after(this.trouble);
    else this.trouble.remove();
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target === this.filter;
    const action = this.actionOf(event.key, isTyping);
    if (!action) return;
    event.preventDefault();
    action();
  }

  private actionOf(key: string, isTyping: boolean): (() => void) | undefined {
    const focused = this.rows.find((row) => this.linkOf(row) === document.activeElement);
    const compared = this.comparison();
    const always: Record<string, (() => void) | undefined> = {
      ArrowDown: () => this.walk(focused, 1),
      ArrowUp: () => this.walk(focused, -1),
      Escape: this.filter.value ? () => this.unfilter() : undefined,
    };
    const elsewhere: Record<string, (() => void) | undefined> = {
      "/": () => this.filter.focus(),
      " ": focused && (() => this.pick(focused)),
      c: compared === null ? undefined : () => location.assign(compared),
      Home: focused && (() => this.walk(undefined, 1)),
      End: focused && (() => this.walk(this.rows.at(-1), 0)),
    };
    return always[key] ?? (isTyping ? undefined : elsewhere[key]);
  }

  private unfilter(): void {
    this.filter.value = "";
    this.set("filter", "");
  }

  /** From row to row. */
  private walk(from: Row | undefined, by: number): void {
    const at = (from ? this.rows.indexOf(from) : -1) + by;
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, at))];
    if (row) this.linkOf(row)?.focus();
  }

  private linkOf(row: Row): HTMLElement | null {
    return this.lines.get(row.id)?.element.querySelector("a") ?? null;
  }
}

/** What the filter looks in. */
function textOf(row: Row): string {
  const gist = gistOf(row);
  return [pathOf(row), gist?.service, gist?.processes, gist?.container, findingOf(row)].join("\n");
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Returns at once where the page is in sight. */
function untilVisible(): Promise<void> {
  return new Promise((done) => {
    const look = () => {
      if (document.visibilityState !== "visible") return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });
}
