// The tooltip beside the mouse.

import { h } from "../dom.ts";

export class Tip {
  readonly element = h("div", { class: "tip hidden", "aria-hidden": "true" });

  fill([title, ...lines]: readonly string[]): void {
    this.element.replaceChildren(h("b", {}, title), ...lines.filter(Boolean).map((line) => h("div", {}, line)));
  }

  hide(): void {
    this.element.classList.add("hidden");
  }

  /** Shows it or not, near the mouse and inside the window. */
  place(isShown: boolean, { clientX, clientY }: Pick<PointerEvent, "clientX" | "clientY">): void {
    this.element.classList.toggle("hidden", !isShown);
    const { offsetWidth, offsetHeight, style } = this.element;
    const isLow = clientY + 18 + offsetHeight > innerHeight;
    const y = isLow ? clientY - offsetHeight - 12 : clientY + 18;
    style.left = `${Math.max(4, Math.min(clientX + 12, innerWidth - offsetWidth - 8))}px`;
    style.top = `${Math.max(4, y)}px`;
  }
}
