// The list of recordings: sorted and filtered as the address says, by mouse and by keyboard.

import type { Listed } from "../library";
import { plural, shown } from "../text";
import { button, h, refill } from "./dom";

/** What a column shows, and what it is sorted by; the newest and the largest come first. */
const COLUMNS: [key: string, label: string, text: (row: Listed) => string, order: (a: Listed, b: Listed) => number][] =
  [
    ["name", "recording", ({ name }) => name, (a, b) => compare(a.name, b.name)],
    ["folder", "folder", ({ folder }) => folder, (a, b) => compare(a.folder, b.folder) || compare(a.name, b.name)],
    [
      "size",
      "size",
      ({ bytes }) => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`),
      (a, b) => b.bytes - a.bytes,
    ],
    [
      "time",
      "written (UTC)",
      ({ modifiedMs }) => new Date(modifiedMs).toISOString().slice(0, 19).replace("T", " "),
      (a, b) => b.modifiedMs - a.modifiedMs,
    ],
  ];

const { compare } = new Intl.Collator("en", { numeric: true });

export function showList(root: HTMLElement, recordings: readonly Listed[]): void {
  const words = new URLSearchParams(location.hash.slice(1));
  const set = (key: string, value: string) => {
    if (value) words.set(key, value);
    else words.delete(key);
    history.replaceState(null, "", `#${words}`);
    render();
  };
  const filter = h("input", {
    id: "filter",
    type: "search",
    placeholder: "filter  /",
    "aria-label": "Filter the recordings",
    spellcheck: "false",
    on: { input: () => set("filter", filter.value) },
  });
  filter.value = words.get("filter") ?? "";
  const count = h("span", { class: "facts quiet", role: "status" });
  const body = h("div", { class: "scroll" });
  const render = () => {
    const text = (words.get("filter") ?? "").toLowerCase();
    const sorted = COLUMNS.find(([key]) => key === words.get("sort"));
    const rows = recordings.filter(({ name, folder }) => `${folder}/${name}`.toLowerCase().includes(text));
    if (sorted) rows.sort(sorted[3]);
    const head = COLUMNS.map(([key, label]) => {
      const sort = key !== sorted?.[0] ? "none" : key === "size" || key === "time" ? "descending" : "ascending";
      return h(
        "th",
        { class: `list-${key}`, "aria-sort": sort },
        button(label, key, () => set("sort", key)),
      );
    });
    const lines = rows.map((row) => {
      const cells = COLUMNS.slice(1).map(([key, , text]) => h("td", { class: `list-${key}` }, shown(text(row))));
      return h(
        "tr",
        {},
        h("td", {}, h("a", { href: `/?recording=${encodeURIComponent(row.id)}` }, shown(row.name))),
        ...cells,
      );
    });
    count.textContent = plural(rows.length, "recording");
    refill(body, h("table", { id: "list" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...lines)));
  };
  const step = (by: number) => {
    const links = [...body.querySelectorAll<HTMLElement>("a")];
    links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement as HTMLElement) + by))]?.focus();
  };
  document.addEventListener("keydown", (event) => {
    const isFilter = event.target === filter;
    const actions: Record<string, () => void> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      ...(isFilter ? {} : { "/": () => filter.focus() }),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
  root.replaceChildren(
    h("header", { class: "head row" }, h("h1", {}, "nodescope"), count, h("span", { class: "end" }, filter)),
    body,
  );
  document.title = "nodescope";
  render();
}
