// What the report found, word for word, as cards: they are about the whole recording, and do not change with what is
// selected. A card is a link to the time, the threads and the function that it speaks of.

import { shownAt, stateOfFinding } from "../../compute/findings.ts";
import type { PageFinding } from "../../data/report.ts";
import { START, type State, toHash } from "../../select/state.ts";
import type { App, Part } from "../app.ts";
import { button, h, quiet, refill } from "../dom.ts";
import { sentence, shown } from "../text.ts";

/** So many cards stand side by side; the others stand behind a button. */
const MOST_CARDS = 3;

export function verdictPart(app: App): Part {
  const verdict = new Verdict(app);
  return { element: verdict.element, render: () => verdict.render() };
}

class Verdict {
  readonly element = h("section", { class: "verdict", id: "verdict", "aria-label": "What stands out" });
  private readonly app: App;
  private isOpen = false;

  constructor(app: App) {
    this.app = app;
  }

  render(): void {
    const { findings = [], closing = [] } = this.app.profile.report ?? {};
    // Beside another recording the question is what changed; the heading above answers it.
    const isAny = findings.length + closing.length > 0 && this.app.profile.other === null;
    this.element.classList.toggle("hidden", !isAny);
    this.element.classList.toggle("open", this.isOpen);
    if (!isAny) return;
    const cards = findings.map((finding, at) => findingCard(this.app, finding, at));
    const last = closing.length > 0 ? [closingCard(this.app, closing)] : [];
    const shown = this.isOpen ? [...cards, ...last] : this.firstOf(cards, last);
    const left = cards.filter((card) => !shown.includes(card)).length;
    refill(this.element, this.gutter(left), h("div", { class: "cards" }, ...shown));
  }

  /** Those that have room; beside a comparison the one that it is about. */
  private firstOf(cards: HTMLElement[], last: HTMLElement[]): HTMLElement[] {
    if (this.app.derived.against.base(this.app.state) === null) return [...cards, ...last].slice(0, MOST_CARDS);
    const about = cards.find((card) => card.classList.contains("shown"));
    return [about ?? cards[0] ?? last[0]];
  }

  /** Whose words these are about, and the way to all of them. */
  private gutter(left: number): HTMLElement {
    const flip = () => {
      this.isOpen = !this.isOpen;
      this.render();
    };
    const label = this.isOpen ? "less ▴" : left > 0 ? `${left} more ▾` : "in full ▾";
    const attributes = {
      class: "link",
      "aria-expanded": String(this.isOpen),
      title: "Every finding, with all its words",
    };
    return h("div", { class: "gutter" }, quiet("whole recording"), button(label, "verdict-all", flip, attributes));
  }
}

function closingCard(app: App, closing: readonly string[]): HTMLElement {
  const words = closing.flatMap((text, at) => [at > 0 ? " " : "", h("span", {}, ...linked(app, text))]);
  return h("article", { class: "card closing" }, h("div", { class: "card-text" }, ...words));
}

/** A headline that leads to what it speaks of; once there, to the same against the rest; and then back. */
function findingCard(app: App, finding: PageFinding, row: number): HTMLElement {
  const [headline = "", ...details] = finding.text;
  const at = shownAt(app.profile, finding, app.state);
  const [next, title] = nextOf(app, finding, at);
  const link = linkTo(app, next, `finding-${row}`, sentence(headline), title);
  link.classList.add("card-open");
  if (at >= 0) link.setAttribute("aria-current", "true");
  const rest = details.flatMap((text) => [" ", h("span", { class: "quiet" }, ...linked(app, text))]);
  const text = h("div", { class: "card-text" }, link, ...rest);
  const isShown = at >= 0;
  return h("article", { class: `card ${isShown ? "shown" : ""}` }, text, isShown && actions(app, finding, at, row));
}

function nextOf({ profile, state }: App, finding: PageFinding, at: number): [Partial<State>, string] {
  if (at < 0) return [stateOfFinding(profile, finding, 0), "Show the time, threads and function of this"];
  if (finding.spans.length > 0 && state.base !== "rest") return [{ base: "rest" }, "Compare this time with the rest"];
  const { lane, range, base, threads, focus } = START;
  return [{ lane, range, base, threads, focus, zoom: [] }, "Show the whole recording again"];
}

/** From one of its times to the next, and against the rest. */
function actions(app: App, finding: PageFinding, at: number, row: number): HTMLElement | null {
  const { spans } = finding;
  const { base } = app.state;
  if (spans.length === 0) return null;
  const step = (by: number) => {
    const to = (at + by + spans.length) % spans.length;
    return { ...stateOfFinding(app.profile, finding, to), base };
  };
  const several = [
    linkTo(app, step(-1), `finding-${row}-before`, "‹", "The one before"),
    quiet(`${at + 1} of ${spans.length}`),
    linkTo(app, step(1), `finding-${row}-next`, "›", "The next one; the longest is the first"),
  ];
  const isAgainst = base === "rest";
  const words = isAgainst ? "not against the rest" : "against the rest";
  const against = linkTo(app, { base: isAgainst ? null : "rest" }, `finding-${row}-rest`, words, "");
  return h("div", { class: "card-actions" }, ...(spans.length > 1 ? several : []), against);
}

/** A link, because all that it changes is in the address. */
function linkTo(app: App, change: Partial<State>, key: string, text: string, title: string): HTMLElement {
  return h("a", { href: `#${toHash({ ...app.state, ...change })}`, key, title }, text);
}

/** A sentence in which the functions that it names can be opened. */
function linked(app: App, text: string): (HTMLElement | string)[] {
  const named = (app.profile.report?.mentions ?? [])
    .map(({ words, function: id }) => ({ words, id, at: text.indexOf(words) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at || b.words.length - a.words.length);
  const parts: (HTMLElement | string)[] = [];
  let end = 0;
  for (const { words, id, at } of named) {
    if (at < end) continue;
    const change: Partial<State> = { view: "sandwich", function: id, zoom: [] };
    parts.push(
      sentence(text.slice(end, at)),
      linkTo(app, change, `verdict-${id}`, shown(words), "Callers and callees"),
    );
    end = at + words.length;
  }
  return [...parts, sentence(text.slice(end))];
}
