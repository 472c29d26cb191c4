// The first line of the page: what was recorded, the search, and what can be saved.

import { selectionFile } from "../../compute/selection-file.ts";
import type { App, Part } from "../app.ts";
import { button, h } from "../dom.ts";
import { renderMatched } from "../matched.ts";
import { download, foldedOf } from "../save.ts";
import { factsOf } from "./facts.ts";

/** For so long a button says that it copied the link. */
const COPIED_MS = 1200;

export function barPart(app: App): Part {
  const search = searchField(app);
  const matched = h("span", { class: "matched", role: "status" });
  const end = h(
    "span",
    { class: "end row" },
    matched,
    search,
    ...matchButtons(app),
    ...saveButtons(app),
    ...pageButtons(app),
  );
  const element = h("header", { class: "head row" }, h("h1", {}, "nodescope"), factsOf(app), end);
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

function saveButtons(app: App): HTMLElement[] {
  const saveSvg = () => download(app.svg(), "flame.svg", "image/svg+xml");
  const saveFolded = () => download(foldedOf(app), "selection.folded", "text/plain");
  const saveRecording = async () => {
    const file = await selectionFile(app.profile, app.derived.selection(app.state));
    download(file, "selection.nodescope", "application/octet-stream");
  };
  return [
    copyButton(),
    button("SVG", "svg", saveSvg, { title: "Save what is shown as a picture" }),
    button("folded", "folded", saveFolded, { title: "Save what is selected as folded stacks" }),
    button(".nodescope", "nodescope", () => void saveRecording(), { title: "Save what is selected as a recording" }),
  ];
}

function copyButton(): HTMLElement {
  const copied = () => {
    copy.textContent = "copied";
    setTimeout(() => {
      copy.textContent = "link";
    }, COPIED_MS);
  };
  const click = () => void navigator.clipboard?.writeText(location.href).then(copied);
  const copy = button("link", "copy-link", click, { title: "Copy a link to what you see" });
  return copy;
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
