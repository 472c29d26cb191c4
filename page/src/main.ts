// Where the page of a single file starts: the recording is in the page, in pieces of base64, and beside it what the
// report says of it.

import { profileOf } from "./data/model.ts";
import { decode, fromBase64 } from "./data/payload.ts";
import { showError, showPage } from "./draw/page.ts";

async function start(root: HTMLElement): Promise<void> {
  const pieces = [...document.querySelectorAll(".recording")];
  try {
    const bytes = fromBase64(pieces.map((piece) => piece.textContent).join(""));
    for (const piece of pieces) piece.remove();
    const said = document.getElementById("report-words")?.textContent;
    showPage(profileOf(await decode(bytes), said ? JSON.parse(said) : null), root);
  } catch (error) {
    showError(root, "This recording", error);
    throw error;
  }
}

const root = document.getElementById("page");
if (root) void start(root);
