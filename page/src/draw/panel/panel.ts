// What is known of the selected function, beside the picture: its time, when, on which lines, who called it, what it
// called, and how V8 ran it.

import { shortPlace } from "../../compute/shorten.ts";
import { linesOf } from "../../compute/source-lines.ts";
import { CATEGORIES, functionPackage, functionPlace } from "../../data/model.ts";
import type { App, Part } from "../app.ts";
import { button, h, quiet, refill } from "../dom.ts";
import { editorAddress, editorPicker } from "../editor.ts";
import { sourceTable } from "../tables/source-table.ts";
import type { SourceTexts } from "../tables/source-text.ts";
import { shown } from "../text.ts";
import { nameOf, shortNameOf, sourceOf } from "../words.ts";
import { calledBy, figures, tiers } from "./lists.ts";
import { Strip } from "./strip.ts";

/** Lines before the first and behind the last that has a sample. */
const AROUND = 2;
const MOST_LINES = 200;

/** `openMenu` opens the menu of a function under a button. */
export function panelPart(app: App, texts: SourceTexts, openMenu: OpenMenu): Part {
  const panel = new Panel(app, texts, openMenu);
  return { element: panel.element, render: () => panel.render() };
}

type OpenMenu = (id: number, under: HTMLElement) => void;

class Panel {
  readonly element = h("aside", { class: "panel hidden", id: "panel", "aria-label": "The selected function" });
  private readonly app: App;
  private readonly texts: SourceTexts;
  private readonly openMenu: OpenMenu;
  private readonly head = h("div", { class: "panel-head" });
  private readonly numbers = h("div");
  private readonly strip: Strip;
  private readonly sourceNote = h("div", { class: "quiet" });
  private readonly source = h("div", { class: "panel-source scroll" });
  private readonly calls = h("div", { class: "panel-calls" });
  private readonly tiers = h("div", { class: "panel-tiers" });
  /** The function and text that the source was scrolled for. */
  private last = "";
  private shownFunction = 0;
  /** The lists of which all rows are shown. */
  private readonly whole = new Set<string>();

  constructor(app: App, texts: SourceTexts, openMenu: OpenMenu) {
    this.app = app;
    this.texts = texts;
    this.openMenu = openMenu;
    this.strip = new Strip(app);
    const { head, numbers, strip, sourceNote, source, calls } = this;
    this.element.append(head, numbers, strip.element, sourceNote, source, calls, this.tiers);
  }

  render(): void {
    const { app } = this;
    const { function: id, isPanel } = app.state;
    const isShown = isPanel && id !== null && app.derived.isKnownFunction(id);
    if (!isShown && this.element.contains(document.activeElement)) this.leave();
    this.element.classList.toggle("hidden", !isShown);
    if (!isShown) return;
    if (id !== this.shownFunction) this.whole.clear();
    this.shownFunction = id;
    const facts = app.derived.functionFacts(app.state, id);
    refill(this.head, ...heading(app, id, this.openMenu));
    refill(this.numbers, figures(app, id));
    this.strip.render(facts.times);
    this.renderSource(id, facts.lines);
    this.renderCalls(id);
    refill(this.tiers, ...tiers(app, facts.tiers));
  }

  private renderCalls(id: number): void {
    const add = (title: string) => {
      this.whole.add(title);
      this.renderCalls(id);
    };
    const has = (title: string) => this.whole.has(title);
    refill(this.calls, ...calledBy(this.app, id, { has, add }));
  }

  /** Gives the focus to what the function was selected in. */
  private leave(): void {
    const row = document.querySelector<HTMLElement>(`#top [data-key="row-${this.shownFunction}"]`);
    (row ?? document.querySelector<HTMLElement>("#flame"))?.focus({ preventScroll: true });
  }

  /** The lines from where the function starts to the last that has a sample. */
  private renderSource(id: number, seen: readonly [number, number] | null): void {
    const { app } = this;
    const place = sourceOf(app.profile, id);
    this.sourceNote.classList.toggle("hidden", place === null);
    this.source.classList.toggle("hidden", place === null);
    if (!place) return;
    const [row, start] = place;
    const text = this.texts.of(row);
    const [first, last] = [Math.min(start, seen?.[0] ?? start), Math.max(start, seen?.[1] ?? start)];
    const rows = app.derived.lines(app.state, row).rows;
    const lines = linesOf(rows, text, start)
      .filter(({ number }) => number >= first && number <= last + (text === null ? 0 : AROUND))
      .slice(0, MOST_LINES);
    this.source.classList.toggle("hidden", lines.length === 0);
    this.sourceNote.textContent = text === null ? this.texts.whyNone() : "";
    const { total } = app.derived.sums(app.state);
    const addressOf = (line: number) => editorAddress(app, row, line);
    refill(this.source, sourceTable(lines, { total, wanted: start, isNarrow: true, addressOf }));
    const key = `${id}|${text === null}`;
    if (key !== this.last) this.showHottest();
    this.last = key;
  }

  private showHottest(): void {
    const { source } = this;
    const hot = source.querySelector<HTMLElement>("tr.hot");
    source.scrollTop = hot ? Math.max(0, hot.offsetTop - source.clientHeight / 2) : 0;
  }
}

/** What it is and where, and the ways to all of it. */
function heading(app: App, id: number, openMenu: OpenMenu): HTMLElement[] {
  const { profile } = app;
  const close = button("✕", "panel-close", () => app.closePanel(), {
    title: "Close (Escape)",
    "aria-label": "Close what is known of the function",
  });
  const menu: HTMLElement = button("⋯", "panel-menu", () => openMenu(id, menu), {
    title: "Hide it, keep it alone, search, copy (o on a box)",
    "aria-label": "What to do with the function",
    "aria-haspopup": "menu",
  });
  const name = h(
    "div",
    { class: "row" },
    h("b", { class: "panel-name", title: nameOf(profile, id) }, shortNameOf(profile, id)),
    menu,
    close,
  );
  const source = sourceOf(profile, id);
  const place = shown(functionPlace(profile, id));
  const toSource = source && (() => app.update({ view: "source", source }));
  const where = toSource
    ? button(shown(shortPlace(profile, id)), "panel-place", toSource, {
        class: "link",
        title: `${place}\nAll of the source`,
      })
    : h("span", { class: "quiet", title: place }, shown(shortPlace(profile, id)));
  const address = source && editorAddress(app, ...source, profile.functions.column[id]);
  const editor = address ? h("a", { href: address }, "open in the editor") : null;
  const all = button("all callers & callees", "panel-sandwich", () => app.update({ view: "sandwich", zoom: [] }), {
    class: "link",
  });
  const category = app.derived.top(app.state, "function").find(({ key }) => key === id)?.category;
  const kind = [functionPackage(profile, id), category === undefined ? "" : CATEGORIES[category][1]].filter(Boolean);
  return [
    name,
    h("div", { class: "row" }, where, quiet(shown(kind.join(" · ")))),
    h("div", { class: "row panel-ways" }, all, editor, ...(source ? [editorPicker(app)] : [])),
  ];
}
