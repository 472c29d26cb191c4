// The texts of sources: those that the recording carries, and those that the library has.

import type { App } from "../app.ts";

export class SourceTexts {
  private readonly app: App;
  /** Texts that the library was asked for; null until they arrive. */
  private readonly texts = new Map<number, string | null>();

  constructor(app: App) {
    this.app = app;
  }

  /** The text, if it is here; asks for it otherwise, and draws again when it arrives. */
  of(row: number): string | null {
    const { app, texts } = this;
    const own = app.profile.texts[row];
    if (own != null || texts.has(row)) return own ?? texts.get(row) ?? null;
    texts.set(row, null);
    if (app.id === null) return null;
    const arrived = (text: string | null) => {
      if (text === null) return;
      texts.set(row, text);
      app.schedule();
    };
    app.library?.source(app.id, row).then(arrived, () => {});
    return null;
  }

  whyNone(): string {
    const { library } = this.app;
    return library && !library.isOneFile
      ? "The text of this source is not available: the recording does not hold it, and it is not on this machine."
      : "This file carries no source text: export with --with-source.";
  }
}
