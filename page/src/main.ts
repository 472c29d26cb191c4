// Where the page starts. It also hands out the pure parts, so that tests can hold them against the program's own figures.

import { profileOf } from "./model";
import { decode, fromBase64 } from "./payload";
import { App, showError } from "./ui/app";

async function start(): Promise<void> {
  const root = document.getElementById("page")!;
  try {
    const recording = document.getElementById("recording")!;
    const bytes = fromBase64(recording.textContent ?? "");
    recording.remove();
    new App(profileOf(await decode(bytes)), root);
    performance.mark("nodescope-shown");
  } catch (error) {
    showError(root, error);
    throw error;
  }
}

if (typeof document !== "undefined") void start();

export { decode, profileOf };
export * as colors from "./colors";
export * as diff from "./diff";
export * as flame from "./flame";
export * as heat from "./heat";
export * as loops from "./loops";
export * as search from "./search";
export * as selection from "./selection";
export * as state from "./state";
export * as text from "./text";
export * as top from "./top";
export * as tree from "./tree";
