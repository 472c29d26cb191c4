// The size of an element. To ask the browser for it makes a layout of everything that changed in this frame, so it is
// asked once, and again when the element has changed.

export class Size {
  private readonly element: HTMLElement;
  private known: { width: number; height: number } | null = null;

  /** `changed` is called when the size is another one than the last that was given. */
  constructor(element: HTMLElement, changed: () => void) {
    this.element = element;
    const observer = new ResizeObserver(() => {
      const before = this.known;
      this.known = null;
      if (before && (before.width !== this.width || before.height !== this.height)) changed();
    });
    observer.observe(element);
    window.addEventListener("resize", () => {
      this.known = null;
    });
  }

  get width(): number {
    return this.now().width;
  }

  get height(): number {
    return this.now().height;
  }

  /** What is hidden has no size, and may be shown by now. */
  private now(): { width: number; height: number } {
    const { element, known } = this;
    if (known && known.width > 0) return known;
    this.known = { width: element.clientWidth, height: element.clientHeight };
    return this.known;
  }
}
