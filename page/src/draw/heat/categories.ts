// Beside the heat map: the share of each category, and which of them are shown.

import { CATEGORIES } from "../../data/model.ts";
import type { App } from "../app.ts";
import { CATEGORY_COLORS, css, themed } from "../colors.ts";
import { button, h, refill, swatch } from "../dom.ts";
import { percent, share } from "../text.ts";
import { whose } from "../words.ts";

/** Pixels of the longest bar. */
const LONGEST_BAR = 24;

export function renderCategories(app: App, side: HTMLElement): void {
  const { derived, state } = app;
  const weights = derived.categoryShares(state);
  const { total } = derived.sumsOfAllCategories(state);
  const rows = CATEGORIES.map((_, byte) => ({ byte, part: share(weights[byte], total) }))
    .filter(({ part, byte }) => part > 0 || state.categories.includes(byte))
    .sort((a, b) => b.part - a.part);
  const most = Math.max(...rows.map(({ part }) => part), 1e-9);
  const buttons = rows.map(({ byte, part }) => categoryButton(app, byte, part, most));
  const showAll = () => app.update({ categories: [], zoom: [] });
  const clear = state.categories.length > 0 && button("show all", "category-all", showAll, { class: "end" });
  const list = h("div", { class: "list", role: "group", "aria-label": "Categories" }, ...buttons);
  const title =
    "Shares of the samples that are selected, by the frame that ran; the cards speak of the whole recording";
  refill(side, h("h2", { title }, `self time, ${whose(app)}`, clear), list);
}

function categoryButton(app: App, byte: number, part: number, most: number): HTMLElement {
  const { categories } = app.state;
  const label = CATEGORIES[byte][1];
  const bar = h("span", { class: "bar" });
  bar.style.width = `${Math.max(1, (LONGEST_BAR * part) / most)}px`;
  const isIn = categories.includes(byte);
  const others = categories.filter((other) => other !== byte);
  const click = () => app.update({ categories: isIn ? others : [...categories, byte], zoom: [] });
  const title = `Only ${label}`;
  const element = button("", `category-${byte}`, click, { title, "aria-pressed": String(isIn) });
  const color = swatch(css(themed(CATEGORY_COLORS[byte], app.isDark)));
  element.append(color, h("span", { class: "what" }, label), bar, h("span", { class: "part" }, percent(part)));
  return element;
}
