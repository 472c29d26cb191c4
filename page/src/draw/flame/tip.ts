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

  /**
   * Shows it or not, near the mouse, on the side where the window has more room: to measure it would cost a layout in
   * every frame of a drag. What stands above a place that it must not hide is shown below that place.
   */
  place(isShown: boolean, { clientX, clientY }: Pick<PointerEvent, "clientX" | "clientY">, isBelow = false): void {
    this.element.classList.toggle("hidden", !isShown);
    const { style } = this.element;
    const [isLow, isRight] = [!isBelow && clientY > innerHeight / 2, clientX > innerWidth / 2];
    style.left = isRight ? "auto" : `${clientX + 12}px`;
    style.right = isRight ? `${innerWidth - clientX + 12}px` : "auto";
    style.top = isLow ? "auto" : `${clientY + 18}px`;
    style.bottom = isLow ? `${innerHeight - clientY + 12}px` : "auto";
  }
}
