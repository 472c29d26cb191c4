// The big picture: boxes on a canvas that scrolls, or the top table. Owns mouse, keys, tooltip and menu over it.

import { colorOfChange, colorOfName, css, type Rgb, TIER_COLORS, themed } from "../colors";
import { pathOf } from "../flame";
import { CATEGORIES, functionName, functionPackage, functionPlace, NONE, TIERS } from "../model";
import { colorOf, type Picture, pictureOf, type ShownBox } from "../picture";
import { duration, percent, plural, points, seconds, share, shown, thousands } from "../text";
import type { App, Part } from "./app";
import { button, h, plainTable, refill, sized, swatch } from "./dom";
import { getFont } from "./heatview";
import { svgOf } from "./save";
import { sourceOf, sourceView } from "./sourceview";
import { itemName } from "./tools";
import { topTable, VERDICTS } from "./topview";

export const ROW = 18;
const PADDING = 3;
/** Boxes that the table beside the picture lists. */
const MOST_ROWS = 100;

export function flamePart(app: App): Part[] {
  const { profile, derived } = app;
  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    id: "flame",
    "aria-label": "Flame graph: arrow keys go from box to box, Enter zooms, m opens a menu",
    "aria-describedby": "current",
  });
  const space = h("div");
  const scroll = h("div", { class: "scroll" }, canvas, space);
  const note = h("div", { class: "note hidden" });
  const [top, source] = [topTable(app), sourceView(app)];
  const table = h("div", { class: "unseen", id: "flame-table" });
  const tip = h("div", { class: "tip hidden", "aria-hidden": "true" });
  const menu = h("div", { class: "menu hidden", role: "menu" });
  const picture = h(
    "section",
    { class: "picture", "aria-label": "Picture" },
    note,
    scroll,
    top.element,
    source.element,
    table,
    tip,
    menu,
  );
  const current = h("span", { class: "current", id: "current", role: "status" });
  const legend = h("span", { class: "legend end" });
  const foot = h("footer", { class: "foot" }, current, legend);
  let shownPicture: Picture = { rows: [], root: null, home: 0, note: "" };
  let cursor: ShownBox | null = null;
  let hovered: ShownBox | null = null;
  let [width, lastHome, tableTimer] = [0, "", 0];
  const widths = new Map<number, number>();

  const render = () => {
    const table = { top, source }[app.state.view as string];
    for (const other of [top, source]) other.element.classList.toggle("hidden", other !== table);
    hideMenu();
    if (table) {
      for (const element of [scroll, note]) element.classList.add("hidden");
      current.textContent = "";
      table.render();
      legend.replaceChildren();
      return;
    }
    scroll.classList.remove("hidden");
    width = Math.max(100, scroll.clientWidth);
    const last = cursor;
    shownPicture = pictureOf(derived, app.state, width);
    note.classList.toggle("hidden", shownPicture.note === "");
    scroll.classList.toggle("hidden", shownPicture.note !== "");
    note.textContent = shownPicture.note;
    const height = shownPicture.rows.length * ROW;
    const view = Math.max(1, scroll.clientHeight);
    space.style.height = `${Math.max(0, height - view)}px`;
    const home = `${app.state.view}|${app.state.isUpward}|${app.state.zoom}|${app.state.function}`;
    if (home !== lastHome)
      scroll.scrollTop = Math.max(0, shownPicture.home * ROW - (app.state.view === "sandwich" ? view / 2 : 0));
    lastHome = home;
    hovered = null;
    cursor = last && (sameBox(last) ?? null);
    draw();
    tell(cursor);
    renderLegend();
    clearTimeout(tableTimer);
    tableTimer = window.setTimeout(renderTable, 250);
  };

  /** After a change the keyboard stays on the same function in the same row. */
  const sameBox = (last: ShownBox) =>
    shownPicture.rows[last.row]?.find(
      (box) =>
        box.function === last.function &&
        (last.node === null || box.node?.parent?.function === last.node.parent?.function),
    );

  const nameOf = (id: number) => (id === NONE ? "all" : shown(functionName(profile, id)) || "(anonymous)");

  const draw = () => {
    const view = Math.max(1, scroll.clientHeight);
    const context = sized(canvas, width, view);
    context.font = getFont(12);
    context.textBaseline = "middle";
    const matches = derived.matches(app.state);
    const found = matches instanceof Uint8Array ? matches : null;
    const fills = new Map<Rgb, string>();
    const fill = (color: Rgb) => {
      let text = fills.get(color);
      if (!text) fills.set(color, (text = css(themed(color, app.isDark))));
      return text;
    };
    const first = Math.floor(scroll.scrollTop / ROW);
    const end = Math.min(shownPicture.rows.length, Math.ceil((scroll.scrollTop + view) / ROW));
    for (let row = first; row < end; row++) {
      const y = row * ROW - scroll.scrollTop;
      for (const box of shownPicture.rows[row]) {
        context.fillStyle = fill(colorOf(derived, app.state, box, found));
        context.fillRect(box.x, y, Math.max(0.5, box.width - (box.width > 2 ? 1 : 0)), ROW - 1);
        if (box.width < 22) continue;
        const text = fit(context, box.function, box.width - 2 * PADDING);
        if (!text) continue;
        context.fillStyle = "#000";
        context.fillText(text, box.x + PADDING, y + ROW / 2);
      }
    }
    const styles = getComputedStyle(document.documentElement);
    const middle = app.state.view === "sandwich" ? shownPicture.rows[shownPicture.home]?.[0] : null;
    for (const [box, color] of [
      [middle ?? null, "--text"],
      [hovered, "--text"],
      [cursor, "--accent"],
    ] as const) {
      if (!box) continue;
      context.strokeStyle = styles.getPropertyValue(color);
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, box.row * ROW - scroll.scrollTop + 1, Math.max(2, box.width - 3), ROW - 3);
    }
  };

  /** As much of a name as there is room for; whole characters only. */
  const fit = (context: CanvasRenderingContext2D, id: number, room: number): string => {
    const name = nameOf(id);
    let full = widths.get(id);
    if (full === undefined) widths.set(id, (full = context.measureText(name.slice(0, 400)).width));
    if (full <= room) return name.slice(0, 400);
    const letters = [...name.slice(0, 400)];
    let count = Math.floor((letters.length * room) / full);
    while (count > 1 && context.measureText(`${letters.slice(0, count).join("")}…`).width > room) count--;
    return count > 1 ? `${letters.slice(0, count).join("")}…` : "";
  };

  const linesOf = (box: ShownBox): string[] => {
    const { total } = derived.boxSums(app.state);
    if (box.function === NONE) return ["all", box.node ? plural(box.node.totalSamples, "sample") : ""];
    const { tiers, tier } = box;
    const others = TIERS.filter((_, at) => at > 0 && at !== tier && (tiers >> at) & 1);
    const tierText = tier === 0 ? "" : `${TIERS[tier]}${others.length > 0 ? ` (also ${others.join(", ")})` : ""}`;
    const kind = [shown(functionPackage(profile, box.function)), CATEGORIES[box.category][1], tierText]
      .filter(Boolean)
      .join(" · ");
    return [
      nameOf(box.function),
      shown(functionPlace(profile, box.function)),
      kind,
      weightText(box, total),
      changeText(box),
    ];
  };

  const changeText = (box: ShownBox): string => {
    const { change } = box;
    if (!change) return "";
    return `before ${percent(change.before)} · now ${percent(change.now)} · ${points(change.now - change.before)} points: ${VERDICTS[change.verdict]}`;
  };

  const weightText = ({ node, span }: ShownBox, total: number): string => {
    if (span)
      return `${seconds(span.start)}–${seconds(span.end)} s · ${duration(span.end - span.start)} · ${plural(span.samples, "sample")}`;
    const figure = (word: string, weight: number, samples: number) =>
      `${word} ${percent(share(weight, total))} (${thousands(samples)})`;
    return `${figure("self", node!.self, node!.selfSamples)} · ${figure("total", node!.total, node!.totalSamples)}`;
  };

  const tell = (box: ShownBox | null) => {
    current.textContent = box ? linesOf(box).filter(Boolean).join("   ") : "";
    current.title = current.textContent;
  };

  const boxAt = (clientX: number, clientY: number): ShownBox | null => {
    const area = canvas.getBoundingClientRect();
    const row = shownPicture.rows[Math.floor((clientY - area.top + scroll.scrollTop) / ROW)] ?? [];
    const x = clientX - area.left;
    return row.find((box) => x >= box.x && x < box.x + Math.max(1, box.width)) ?? null;
  };

  const showTip = (event: PointerEvent) => {
    const box = boxAt(event.clientX, event.clientY);
    if (box !== hovered) {
      hovered = box;
      draw();
      if (box) {
        const [name, ...rest] = linesOf(box);
        tip.replaceChildren(h("b", {}, name), ...rest.filter(Boolean).map((line) => h("div", {}, line)));
        tell(box);
      } else tell(cursor);
    }
    tip.classList.toggle("hidden", !box || !menu.classList.contains("hidden"));
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const y = event.clientY + 18 + high > innerHeight ? event.clientY - high - 12 : event.clientY + 18;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - wide - 8))}px`;
    tip.style.top = `${Math.max(4, y)}px`;
  };

  const hideTip = () => {
    tip.classList.add("hidden");
    if (hovered) {
      hovered = null;
      draw();
      tell(cursor);
    }
  };

  const zoomTo = (box: ShownBox) => {
    cursor = box;
    tip.classList.add("hidden");
    if (box.span)
      return app.update({
        range: [Math.floor(box.span.start), Math.max(Math.floor(box.span.start) + 1, Math.ceil(box.span.end))],
      });
    if (app.state.view === "sandwich") return app.update({ function: box.function });
    const path = pathOf(box.node!);
    const isRoot = path.length === app.state.zoom.length;
    return app.update({ zoom: isRoot ? path.slice(0, -1) : path });
  };

  const openMenu = (box: ShownBox, x: number, y: number) => {
    if (box.function === NONE) return;
    cursor = box;
    tip.classList.add("hidden");
    const id = box.function;
    const packageId = profile.functions.package[id];
    const name = nameOf(id);
    const rows: [string, () => void][] = [
      [`Callers and callees of ${name}`, () => app.update({ view: "sandwich", function: id, zoom: [] })],
      [`Only stacks through ${name}`, () => app.focus({ kind: "function", id })],
      [`Hide ${name}`, () => app.hide({ kind: "function", id })],
    ];
    const place = sourceOf(app, id);
    if (place) rows.splice(1, 0, [`Source of ${name} (s)`, () => app.update({ view: "source", source: place })]);
    if (packageId !== NONE) {
      const packageName = itemName(app, { kind: "package", id: packageId });
      rows.push([`Only stacks through package ${packageName}`, () => app.focus({ kind: "package", id: packageId })]);
      rows.push([`Hide package ${packageName}`, () => app.hide({ kind: "package", id: packageId })]);
    }
    const label = CATEGORIES[box.category][1];
    rows.push([`Only ${label} (category)`, () => app.focus({ kind: "category", id: box.category })]);
    rows.push([`Hide ${label} (category)`, () => app.hide({ kind: "category", id: box.category })]);
    rows.push([
      "Search for this name",
      () => app.update({ search: `^${functionName(profile, id).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$` }),
    ]);
    rows.push([
      "Copy name and place",
      () => void navigator.clipboard?.writeText(`${functionName(profile, id)} ${functionPlace(profile, id)}`),
    ]);
    const act = (action: () => void) => () => (hideMenu(), canvas.focus({ preventScroll: true }), action());
    menu.replaceChildren(
      ...rows.map(([text, action], at) => button(text, `menu-${at}`, act(action), { title: text, role: "menuitem" })),
    );
    menu.classList.remove("hidden");
    menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
    menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8))}px`;
    (menu.firstElementChild as HTMLElement).focus();
    draw();
  };

  const hideMenu = () => menu.classList.add("hidden");

  menu.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Escape") {
      hideMenu();
      canvas.focus({ preventScroll: true });
    } else if (steps[event.key]) {
      const list = [...menu.children] as HTMLElement[];
      const at = list.indexOf(document.activeElement as HTMLElement) + steps[event.key];
      list[(at + list.length) % list.length].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  menu.addEventListener("focusout", (event) => !menu.contains(event.relatedTarget as Node | null) && hideMenu());
  canvas.addEventListener("pointermove", showTip);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const box = boxAt(event.clientX, event.clientY);
    if (box) zoomTo(box);
  });
  canvas.addEventListener("contextmenu", (event) => {
    const box = boxAt(event.clientX, event.clientY);
    if (!box) return;
    event.preventDefault();
    openMenu(box, event.clientX, event.clientY);
  });
  scroll.addEventListener("scroll", () => (hideTip(), draw()));
  canvas.addEventListener("focus", () => {
    if (!cursor && canvas.matches(":focus-visible")) moveTo(shownPicture.rows[shownPicture.home]?.[0] ?? null);
  });

  const moveTo = (box: ShownBox | null) => {
    if (!box) return;
    cursor = box;
    const [y, view] = [box.row * ROW, scroll.clientHeight];
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    else if (y + ROW > scroll.scrollTop + view) scroll.scrollTop = y + ROW - view;
    draw();
    tell(box);
  };

  const neighbour = (box: ShownBox, key: string): ShownBox | null => {
    const row = shownPicture.rows[box.row];
    const at = row.indexOf(box);
    if (key === "ArrowRight") return row[at + 1] ?? null;
    if (key === "ArrowLeft") return row[at - 1] ?? null;
    const other = shownPicture.rows[box.row + (key === "ArrowDown" ? 1 : -1)] ?? [];
    // The one that touches it most: callers enclose their callees.
    const overlap = (candidate: ShownBox) =>
      Math.min(candidate.x + candidate.width, box.x + box.width) - Math.max(candidate.x, box.x);
    let best: ShownBox | null = null;
    for (const candidate of other)
      if (overlap(candidate) > 0 && (!best || overlap(candidate) > overlap(best) + 1e-6)) best = candidate;
    return best;
  };

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = cursor ?? shownPicture.rows[shownPicture.home]?.[0];
    if (!box) return;
    const area = canvas.getBoundingClientRect();
    const place = () =>
      openMenu(box, area.left + Math.max(0, box.x) + 10, area.top + (box.row + 1) * ROW - scroll.scrollTop);
    const actions: Record<string, () => void> = {
      Enter: () => zoomTo(box),
      " ": () => zoomTo(box),
      Backspace: () => app.update({ zoom: app.state.zoom.slice(0, -1) }),
      s: () => {
        const at = box.function === NONE ? null : sourceOf(app, box.function);
        if (at) app.update({ view: "source", source: at });
      },
      m: place,
      ContextMenu: place,
    };
    const action = event.key.startsWith("Arrow")
      ? () => moveTo(cursor ? neighbour(box, event.key) : box)
      : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  /** The next match, by row and then from left to right. */
  app.step = (direction) => {
    const matches = derived.matches(app.state);
    if (!(matches instanceof Uint8Array)) return;
    const all = shownPicture.rows.flat().filter((box) => box.function !== NONE && matches[box.function]);
    if (all.length === 0) return;
    const at = cursor ? all.indexOf(cursor) : -1;
    moveTo(all[at < 0 ? (direction > 0 ? 0 : all.length - 1) : (at + direction + all.length) % all.length]);
  };
  app.svg = () => svgOf(app, shownPicture, width, nameOf);

  const renderLegend = () => {
    const { colorBy, view } = app.state;
    const entry = (color: Rgb, text: string) => h("span", {}, swatch(css(themed(color, app.isDark))), text);
    if (view !== "time" && colorBy === "category" && derived.base(app.state)) {
      return refill(
        legend,
        entry(colorOfChange("more", 1), "more"),
        entry(colorOfChange("less", -1), "less or gone"),
        entry(colorOfChange("new", 1), "new"),
        entry(colorOfChange("noise", 0), "within noise"),
      );
    }
    if (colorBy === "category") return legend.replaceChildren();
    if (colorBy === "tier")
      return refill(
        legend,
        ...TIERS.map((name, tier) => ({ name: tier === 0 ? "not JavaScript" : name, tier }))
          .filter(({ tier }) => tier < 6)
          .map(({ name, tier }) => entry(TIER_COLORS[tier], name)),
      );
    const seen = new Map<string, number>();
    for (const box of shownPicture.rows.flat()) {
      const name = box.function === NONE ? "" : functionPackage(profile, box.function);
      if (name) seen.set(name, Math.max(seen.get(name) ?? 0, box.width));
    }
    const names = [...seen].sort((a, b) => b[1] - a[1]).slice(0, 10);
    return refill(legend, ...names.map(([name]) => entry(colorOfName(name), shown(name))));
  };

  const renderTable = () => {
    const boxes = shownPicture.rows
      .flat()
      .sort((a, b) => b.width - a.width)
      .slice(0, MOST_ROWS);
    const { total } = derived.boxSums(app.state);
    const row = (box: ShownBox) => [
      nameOf(box.function),
      box.function === NONE ? "" : shown(functionPlace(profile, box.function)),
      weightText(box, total),
    ];
    table.replaceChildren(
      plainTable("The widest boxes of the picture as a table", ["function", "place", "weight"], boxes.map(row)),
    );
  };
  return [
    { element: picture, render },
    { element: foot, render: () => {} },
  ];
}
