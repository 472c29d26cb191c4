// Where the page of a single file starts: the recording is in the page, in pieces of base64, and beside it what the
// report says of it. Where it is compared with another one, that is in the page, too.

import type { Library } from "./data/library.ts";
import { type Profile, profileOf } from "./data/model.ts";
import { decode, fromBase64 } from "./data/payload.ts";
import { showError, showPage } from "./draw/page.ts";

async function start(root: HTMLElement): Promise<void> {
  try {
    const own = await recording("");
    showPage(own, root, pair(own));
  } catch (error) {
    showError(root, "This recording", error);
    throw error;
  }
}

/** A recording of the page; `ending` distinguishes two of them. */
async function recording(ending: string): Promise<Profile> {
  const pieces = [...document.querySelectorAll(`.recording${ending}`)];
  const bytes = fromBase64(pieces.map((piece) => piece.textContent).join(""));
  for (const piece of pieces) piece.remove();
  return profileOf(await decode(bytes), json(`report-words${ending}`));
}

function json<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) : null;
}

const [BEFORE, AFTER] = ["before", "after"];

/** The two recordings of a page that compares them; null where it has one. */
function pair(own: Profile): Library | null {
  const names = json<[string, string]>("compared-names");
  if (!names) return null;
  const listed = (id: string, name: string) => ({ id, name, folder: "", bytes: 0, modifiedMs: 0 });
  let before: Promise<Profile> | null = null;
  const loadBefore = () => {
    before ??= recording("-before");
    return before;
  };
  return {
    isOneFile: true,
    recordings: [listed(BEFORE, names[0]), listed(AFTER, names[1])],
    open: [BEFORE, AFTER],
    load: (id) => (id === BEFORE ? loadBefore() : Promise.resolve(own)),
    compared: () => Promise.resolve(json("compared-words")),
    // It is one file.
    pageAddress: () => null,
    source: () => Promise.resolve(null),
    place: (_, row) => Promise.resolve(own.sources[row] ?? null),
  };
}

const root = document.getElementById("page");
if (root) void start(root);
