// The list of recordings: sorted and filtered as the address says, by mouse and by keyboard.

import type { Listed } from "../data/library.ts";
import { button, h, refill } from "./dom.ts";
import { plural, shown } from "./text.ts";

interface Column {
  key: string;
  label: string;
  /** The newest and the largest come first. */
  sorted: "ascending" | "descending";
  text(row: Listed): string;
  order(a: Listed, b: Listed): number;
}

const { compare } = new Intl.Collator("en", { numeric: true });

const COLUMNS: Column[] = [
  {
    key: "name",
    label: "recording",
    sorted: "ascending",
    text: ({ name }) => name,
    order: (a, b) => compare(a.name, b.name),
  },
  {
    key: "folder",
    label: "folder",
    sorted: "ascending",
    text: ({ folder }) => folder,
    order: (a, b) => compare(a.folder, b.folder) || compare(a.name, b.name),
  },
  {
    key: "size",
    label: "size",
    sorted: "descending",
    text: ({ bytes }) => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`),
    order: (a, b) => b.bytes - a.bytes,
  },
  {
    key: "time",
    label: "written (UTC)",
    sorted: "descending",
    text: ({ modifiedMs }) => new Date(modifiedMs).toISOString().slice(0, 19).replace("T", " "),
    order: (a, b) => b.modifiedMs - a.modifiedMs,
  },
];

export function showList(root: HTMLElement, recordings: readonly Listed[]): void {
  const list = new RecordingList(recordings);
  root.replaceChildren(...list.elements);
  document.title = "nodescope";
  list.render();
}

class RecordingList {
  readonly elements: HTMLElement[];
  private readonly recordings: readonly Listed[];
  /** What the address says: `filter` and `sort`. */
  private readonly words = new URLSearchParams(location.hash.slice(1));
  private readonly filter: HTMLInputElement;
  private readonly count = h("span", { class: "facts quiet", role: "status" });
  private readonly body = h("div", { class: "scroll" });

  constructor(recordings: readonly Listed[]) {
    this.recordings = recordings;
    this.filter = h("input", {
      id: "filter",
      type: "search",
      placeholder: "filter  /",
      "aria-label": "Filter the recordings",
      spellcheck: "false",
      on: { input: () => this.set("filter", this.filter.value) },
    });
    this.filter.value = this.words.get("filter") ?? "";
    const end = h("span", { class: "end" }, this.filter);
    this.elements = [h("header", { class: "head row" }, h("h1", {}, "nodescope"), this.count, end), this.body];
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private set(key: string, value: string): void {
    if (value) this.words.set(key, value);
    else this.words.delete(key);
    history.replaceState(null, "", `#${this.words}`);
    this.render();
  }

  render(): void {
    const text = (this.words.get("filter") ?? "").toLowerCase();
    const by = COLUMNS.find(({ key }) => key === this.words.get("sort"));
    const rows = this.recordings.filter(({ name, folder }) => `${folder}/${name}`.toLowerCase().includes(text));
    if (by) rows.sort(by.order);
    const heads = COLUMNS.map((column) => {
      const attributes = { class: `list-${column.key}`, "aria-sort": column === by ? column.sorted : "none" };
      return h(
        "th",
        attributes,
        button(column.label, column.key, () => this.set("sort", column.key)),
      );
    });
    this.count.textContent = plural(rows.length, "recording");
    const head = h("thead", {}, h("tr", {}, ...heads));
    refill(this.body, h("table", { id: "list" }, head, h("tbody", {}, ...rows.map(lineOf))));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown") this.step(1);
    else if (event.key === "ArrowUp") this.step(-1);
    else if (event.key === "/" && event.target !== this.filter) this.filter.focus();
    else return;
    event.preventDefault();
  }

  /** From link to link. */
  private step(by: number): void {
    const links = [...this.body.querySelectorAll<HTMLElement>("a")];
    const at = links.indexOf(document.activeElement as HTMLElement) + by;
    links[Math.max(0, Math.min(links.length - 1, at))]?.focus();
  }
}

function lineOf(row: Listed): HTMLElement {
  const link = h("a", { href: `/?recording=${encodeURIComponent(row.id)}` }, shown(row.name));
  const cells = COLUMNS.slice(1).map(({ key, text }) => h("td", { class: `list-${key}` }, shown(text(row))));
  return h("tr", {}, h("td", {}, link), ...cells);
}
