// The menu of a box: what can be done with its function, its package and its category.

import { keyOfEntry } from "../../compute/entries.ts";
import { pathOf } from "../../compute/flame.ts";
import { entryOf, kindOfBox } from "../../compute/lens/virtual.ts";
import type { ShownBox } from "../../compute/picture.ts";
import { CATEGORIES, functionName, functionPlace, NONE } from "../../data/model.ts";
import type { App } from "../app.ts";
import { button, h } from "../dom.ts";
import { itemName, nameOf, sourceOf } from "../words.ts";

type Row = [text: string, action: () => void];

/** What the menu is of: a box, or a function that has none here. */
export type MenuOf = Pick<ShownBox, "function" | "category" | "node">;

export class Menu {
  readonly element = h("div", { class: "menu hidden", role: "menu" });
  private readonly app: App;
  /** Gives the focus back to what opened it. */
  private leave: () => void = () => {};

  constructor(app: App) {
    this.app = app;
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(event.relatedTarget as Node | null)) this.hide();
    });
  }

  get isOpen(): boolean {
    return !this.element.classList.contains("hidden");
  }

  hide(): void {
    this.element.classList.add("hidden");
  }

  open(box: MenuOf, x: number, y: number, leave: () => void): void {
    this.leave = leave;
    const buttons = rowsOf(this.app, box).map(([text, action], at) => {
      const act = () => {
        this.hide();
        this.leave();
        action();
      };
      return button(text, `menu-${at}`, act, { title: text, role: "menuitem" });
    });
    this.element.replaceChildren(...buttons);
    this.element.classList.remove("hidden");
    const { offsetWidth, offsetHeight, style } = this.element;
    style.left = `${Math.max(4, Math.min(x, innerWidth - offsetWidth - 8))}px`;
    style.top = `${Math.max(4, Math.min(y, innerHeight - offsetHeight - 8))}px`;
    buttons[0].focus();
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      this.hide();
      this.leave();
    } else if (step) {
      const list = [...this.element.children] as HTMLElement[];
      const at = list.indexOf(document.activeElement as HTMLElement) + step;
      list[(at + list.length) % list.length].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function rowsOf(app: App, box: MenuOf): Row[] {
  const rows = [...boxRows(app, box), ...packageRows(app, box.function)];
  const category = { kind: "category", id: box.category } as const;
  const label = CATEGORIES[box.category][1];
  const name = functionName(app.profile, box.function);
  const pattern = `^${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$`;
  const words = `${name} ${functionPlace(app.profile, box.function)}`;
  return [
    ...rows,
    [`Only ${label} (category)`, () => app.focus(category)],
    [`Hide ${label} (category)`, () => app.hide(category)],
    ["Search for this name", () => app.update({ search: pattern })],
    ["Copy name and place", () => void navigator.clipboard?.writeText(words)],
  ];
}

/** What a lens made of a stack can be kept, too: by what it stands for. */
function boxRows(app: App, box: MenuOf): Row[] {
  const { function: id, node } = box;
  const kind = kindOfBox(app.profile, id);
  if (kind === "function") return functionRows(app, id);
  const name = nameOf(app.profile, id);
  const hide: Row = [`Hide ${name}`, () => app.hide({ kind: "function", id })];
  if (kind === "entry") return [...entryRows(app, id), hide];
  const zoom: Row[] = node ? [[`Zoom in to ${name}`, () => app.update({ zoom: pathOf(node) })]] : [];
  const callers: Row = [
    `Callers and callees of ${name}`,
    () => app.update({ view: "sandwich", function: id, zoom: [] }),
  ];
  if (kind === "root") return [callers, hide];
  const open: Row = [`A box for each frame of ${name}`, () => app.openPackage(app.profile.functions.package[id])];
  return [open, ...zoom, callers];
}

function entryRows(app: App, id: number): Row[] {
  const entry = entryOf(app.profile, id);
  if (!entry) return [];
  const only: Row = [`Only ${entry.text}`, () => app.update({ entry: keyOfEntry(entry), zoom: [] })];
  return [only, ...(entry.function === null ? [] : functionRows(app, entry.function).slice(0, -1))];
}

function functionRows(app: App, id: number): Row[] {
  const name = nameOf(app.profile, id);
  const item = { kind: "function", id } as const;
  const source = sourceOf(app.profile, id);
  const toSource: Row[] = source ? [[`Source of ${name} (s)`, () => app.update({ view: "source", source })]] : [];
  return [
    [`Callers and callees of ${name}`, () => app.update({ view: "sandwich", function: id, zoom: [] })],
    ...toSource,
    [`Only stacks through ${name}`, () => app.focus(item)],
    [`Hide ${name}`, () => app.hide(item)],
  ];
}

function packageRows(app: App, functionId: number): Row[] {
  const id = app.profile.functions.package[functionId];
  if (id === NONE) return [];
  const item = { kind: "package", id } as const;
  const name = itemName(app.profile, item);
  const isOpen = app.state.opened.includes(id);
  const fold: Row[] = isOpen ? [[`Package ${name} as one box`, () => app.openPackage(id)]] : [];
  return [
    ...fold,
    [`Only stacks through package ${name}`, () => app.focus(item)],
    [`Hide package ${name}`, () => app.hide(item)],
  ];
}
