// The size of an element. To ask the browser for it makes a layout of everything that changed in this frame, so it is
// asked once, and again when the element has changed.

/** How often the window has changed its size. One listener for all, because views come and go. */
let windowChanges = 0;
let isListening = false;

function listenToWindow(): void {
  if (isListening) return;
  isListening = true;
  window.addEventListener("resize", () => {
    windowChanges++;
  });
}

export class Size {
  private readonly element: HTMLElement;
  private known: { width: number; height: number } | null = null;
  private knownAt = 0;

  /** `changed` is called when the element is in sight and its size is another one than the last that was given. */
  constructor(element: HTMLElement, changed: () => void) {
    this.element = element;
    listenToWindow();
    const observer = new ResizeObserver(() => {
      const before = this.known;
      this.forget();
      const isOther = before && (before.width !== this.width || before.height !== this.height);
      if (isOther && this.width > 0) changed();
    });
    observer.observe(element);
  }

  /** For a caller that knows that the element is about to change: the observer reports it only after the layout. */
  forget(): void {
    this.known = null;
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
    if (known && known.width > 0 && this.knownAt === windowChanges) return known;
    this.knownAt = windowChanges;
    this.known = { width: element.clientWidth, height: element.clientHeight };
    return this.known;
  }
}
