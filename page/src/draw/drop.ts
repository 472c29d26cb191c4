// A button that opens what is under it: a menu, or a list. It closes when the reader clicks elsewhere, by Escape, and
// when something in it was chosen.

import { h } from "./dom.ts";

export interface Drop {
  element: HTMLDetailsElement;
  summary: HTMLElement;
  content: HTMLElement;
}

export function drop(label: string, key: string, title: string): Drop {
  const summary = h("summary", { key, title }, label);
  const content = h("div", { class: "drop-content" });
  const element = h("details", { class: "drop" }, summary, content);
  const close = () => {
    element.open = false;
  };
  content.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("button, a")) close();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.preventDefault();
    close();
    summary.focus();
  });
  const outside = ({ target }: Event) => {
    if (target instanceof Node && !element.contains(target)) close();
  };
  element.addEventListener("toggle", () => {
    const change = element.open ? document.addEventListener : document.removeEventListener;
    change.call(document, "pointerdown", outside);
    change.call(document, "focusin", outside);
  });
  return { element, summary, content };
}
