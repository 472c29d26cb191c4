// The first line of the page: what was recorded, the search, what can be handed on, theme and help.

import { selectionFile } from "../../compute/selection-file.ts";
import type { App, Part } from "../app.ts";
import { button, h } from "../dom.ts";
import { drop } from "../drop.ts";
import { renderMatched } from "../matched.ts";
import { download, foldedOf } from "../save.ts";
import { carriedOf, cautionsOf, factsOf, notesOf } from "./facts.ts";

/** For so long the menu shows whether it copied the link. */
const NOTE_MS = 1500;

export function barPart(app: App): Part {
  const search = searchField(app);
  const matched = h("span", { class: "matched", role: "status" });
  const end = h(
    "span",
    { class: "end row" },
    matched,
    search,
    ...matchButtons(app),
    exportMenu(app),
    ...pageButtons(app),
  );
  const facts = [factsOf(app), cautionsOf(app), carriedOf(app), notesOf(app)];
  const element = h("header", { class: "head row" }, h("h1", {}, "nodescope"), ...facts, end);
  const render = () => {
    renderMatched(app, search, matched);
  };
  return { element, render };
}

function searchField(app: App): HTMLInputElement {
  const search = h("input", {
    id: "search",
    type: "search",
    placeholder: "search  /",
    "aria-label": "Search by regular expression",
    spellcheck: "false",
    on: {
      input: () => app.update({ search: search.value }, false),
      keydown: (event) => {
        if (event.key === "Enter") app.step(event.shiftKey ? -1 : 1);
        if (event.key === "Escape") search.blur();
      },
    },
  });
  return search;
}

function matchButtons(app: App): HTMLElement[] {
  return [
    button("‹", "previous", () => app.step(-1), {
      title: "Previous match (Shift-Enter)",
      "aria-label": "Previous match",
    }),
    button("›", "next", () => app.step(1), { title: "Next match (Enter)", "aria-label": "Next match" }),
  ];
}

/** What is shown, as something to hand on. */
function exportMenu(app: App): HTMLElement {
  const { element, summary, content } = drop("export ▾", "export", "Page, link, picture, folded stacks, recording");
  const saveSvg = () => download(app.svg(), "flame.svg", "image/svg+xml");
  const saveFolded = () => download(foldedOf(app), "selection.folded", "text/plain");
  const saveRecording = async () => {
    const file = await selectionFile(app.profile, app.derived.selection(app.state));
    download(file, "selection.nodescope", "application/octet-stream");
  };
  const note = (words: string) => {
    summary.textContent = `${words} ▾`;
    setTimeout(() => {
      summary.textContent = "export ▾";
    }, NOTE_MS);
  };
  const copyLink = () => void copied(app.address()).then((isCopied) => note(isCopied ? "copied" : "cannot copy here"));
  const isServed = app.library?.isOneFile === false;
  content.append(
    h("span", { class: "contents" }),
    button(isServed ? "link to what you see, for this machine alone" : "link to what you see", "copy-link", copyLink),
    button("picture (.svg)", "svg", saveSvg),
    button("folded stacks (.folded)", "folded", saveFolded),
    button("recording of the selection (.nodescope)", "nodescope", () => void saveRecording()),
  );
  // What it is compared with may have changed.
  element.addEventListener("toggle", () => content.firstElementChild?.replaceWith(pageLink(app)));
  return element;
}

/** The whole page as a file that opens anywhere, from the server that this one comes from. */
function pageLink({ library, id, state }: App): HTMLElement {
  const address = id === null ? null : (library?.pageAddress(id, state.against) ?? null);
  if (address === null) return h("span", { class: "contents" });
  const name = library?.recordings.find((row) => row.id === id)?.name ?? "page";
  const title =
    "All of it, not the selection. Opens without nodescope and without a network; without the text of sources";
  const file = `${name.replace(/\.nodescope$/, "")}.html`;
  return h("a", { href: address, download: file, key: "page", title }, "the whole recording as a page (.html)");
}

/** Whether it is in the clipboard now: browsers may forbid that. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function pageButtons(app: App): HTMLElement[] {
  return [
    button("◐", "theme", () => app.update({ theme: app.isDark ? "light" : "dark" }), {
      title: "Dark or light (t)",
      "aria-label": "Dark or light",
    }),
    button("?", "help", () => app.showHelp(), { title: "Help and keys (?)", "aria-label": "Help" }),
  ];
}
