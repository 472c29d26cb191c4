// Elements. Text becomes text nodes, never markup; this file is the only one that makes elements.

type Child = Node | string | null | false;

interface Props {
  class?: string;
  title?: string;
  /** Identifies elements that are made anew, so that the focus stays. */
  key?: string;
  on?: Partial<{ [Name in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[Name]) => void }>;
  /** Everything else is an attribute. */
  [attribute: string]: unknown;
}

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  const { key, on, ...attributes } = props;
  if (key) element.dataset.key = key;
  for (const [name, value] of Object.entries(attributes)) if (value) element.setAttribute(name, String(value));
  for (const [name, listen] of Object.entries(on ?? {})) element.addEventListener(name, listen as EventListener);
  for (const child of children) if (child) element.append(child);
  return element;
}

/** Changes the text of an element that screen readers announce; the same text is not announced again. */
export function announce(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts new children in; what had the focus gets it back. */
export function refill(container: HTMLElement, ...children: Child[]): void {
  const active = document.activeElement;
  const key = active instanceof HTMLElement && container.contains(active) ? active.dataset.key : undefined;
  container.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
  if (key === undefined) return;
  const all = [...container.querySelectorAll<HTMLElement>("[data-key]")];
  all.find((element) => element.dataset.key === key)?.focus({ preventScroll: true });
}

const KEYS = new WeakMap<HTMLElement, string>();

/** The same, unless what they were made from last had the same key: new elements cost style and layout in each frame. */
export function refillOnce(container: HTMLElement, key: string, make: () => Child[]): void {
  if (KEYS.get(container) === key) return;
  KEYS.set(container, key);
  refill(container, ...make());
}

/** Makes these the children, in this order. What is in its place already is not touched; the focus stays. */
export function arrange(container: HTMLElement, children: readonly HTMLElement[]): void {
  const active = document.activeElement;
  let at = container.firstElementChild;
  for (const child of children) {
    if (child === at) at = at.nextElementSibling;
    else container.insertBefore(child, at);
  }
  while (at) {
    const next = at.nextElementSibling;
    at.remove();
    at = next;
  }
  const isMoved = active instanceof HTMLElement && active !== document.activeElement && container.contains(active);
  if (isMoved) active.focus({ preventScroll: true });
}

export function button(text: string, key: string, click: () => void, extra: Props = {}): HTMLButtonElement {
  const element = h("button", { ...extra, key, on: { click, ...extra.on } }, text);
  element.type = "button";
  return element;
}

/** The head of a column; where it shows no text, what a screen reader reads out. */
export function columnHead(text: string, style = "", unseen = ""): HTMLElement {
  const words = text ? h("span", {}, text) : h("span", { class: "unseen" }, unseen);
  return h("th", { class: style, scope: "col" }, words);
}

/** A button that is in or out. */
export function toggle(text: string, key: string, isOn: boolean, click: () => void, title = ""): HTMLButtonElement {
  return button(text, key, click, { title, "aria-pressed": String(isOn) });
}

/** Buttons of which one is in. */
export function choice<T extends string>(
  label: string,
  all: readonly T[],
  chosen: T,
  choose: (value: T) => void,
  words: Partial<Record<T, string>> = {},
  titles: Partial<Record<T, string>> = {},
): HTMLElement {
  const buttons = all.map((value) =>
    toggle(words[value] ?? value, `${label}-${value}`, value === chosen, () => choose(value), titles[value]),
  );
  return h("span", { class: "segment", role: "group", "aria-label": label }, ...buttons);
}

export function picker<T extends string>(
  label: string,
  all: readonly T[],
  chosen: T,
  choose: (value: T) => void,
  words: Partial<Record<T, string>> = {},
): HTMLElement {
  const options = all.map((value) => {
    const option = h("option", {}, words[value] ?? value);
    option.value = value;
    option.selected = value === chosen;
    return option;
  });
  const select = h("select", { key: label, "aria-label": label }, ...options);
  select.addEventListener("change", () => choose(select.value as T));
  return select;
}

/** A picture as a table, for readers who cannot see it. */
export function plainTable(caption: string, heads: string[], rows: string[][]): HTMLElement {
  const row = (tag: "td" | "th", cells: string[]) => h("tr", {}, ...cells.map((text) => h(tag, {}, text)));
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h("thead", {}, row("th", heads)),
    h("tbody", {}, ...rows.map((cells) => row("td", cells))),
  );
}

export function quiet(text: string): HTMLElement {
  return h("span", { class: "quiet" }, text);
}

export function swatch(color: string): HTMLElement {
  const element = h("span", { class: "swatch" });
  element.style.background = color;
  return element;
}

/** The message of an error. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
