// The top of the page: what was recorded and how good it is, what stands out, search, and whose samples are shown.

import { ADDON, APP, DEPENDENCY, functionName, functionPlace, GC, ROLES } from "../model";
import { matchedShare } from "../picture";
import { START } from "../state";
import { clock, duration, percent, plural, share, shortPlace, shown, thousands } from "../text";
import { causedBy, hottest } from "../top";
import { selectionFile } from "../write";
import type { App, Part } from "./app";
import { button, choice, h, picker, quiet, refill, toggle } from "./dom";
import { download, foldedOf } from "./save";

/** Losses above this are a warning. */
const WORTH_A_WARNING = 0.01;

export function headPart(app: App): Part[] {
  return [factsPart(app), saidPart(app), threadsPart(app)];
}

function factsPart(app: App): Part {
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
  const matched = h("span", { class: "matched", role: "status" });
  const copied = () => {
    copy.textContent = "copied";
    setTimeout(() => (copy.textContent = "link"), 1200);
  };
  const copy = button("link", "copy-link", () => void navigator.clipboard?.writeText(location.href).then(copied), {
    title: "Copy a link to what you see",
  });
  const buttons = [
    button("‹", "previous", () => app.step(-1), {
      title: "Previous match (Shift-Enter)",
      "aria-label": "Previous match",
    }),
    button("›", "next", () => app.step(1), { title: "Next match (Enter)", "aria-label": "Next match" }),
    copy,
    button("SVG", "svg", () => download(app.svg(), "flame.svg", "image/svg+xml"), {
      title: "Save what is shown as a picture",
    }),
    button("folded", "folded", () => download(foldedOf(app), "selection.folded", "text/plain"), {
      title: "Save what is selected as folded stacks",
    }),
    button(
      ".nodescope",
      "nodescope",
      () =>
        void selectionFile(app.profile, app.derived.selection(app.state)).then((file) =>
          download(file, "selection.nodescope", "application/octet-stream"),
        ),
      { title: "Save what is selected as a recording" },
    ),
    button("◐", "theme", () => app.update({ theme: app.isDark ? "light" : "dark" }), {
      title: "Dark or light (t)",
      "aria-label": "Dark or light",
    }),
    button("?", "help", () => app.showHelp(), { title: "Keys (?)", "aria-label": "Keys" }),
  ];
  const facts = factsOf(app);
  const element = h(
    "header",
    { class: "head row" },
    h("h1", {}, "nodescope"),
    facts,
    h("span", { class: "end row" }, matched, search, ...buttons),
  );
  const render = () => {
    if (document.activeElement !== search) search.value = app.state.search;
    const matches = app.derived.matches(app.state);
    search.setAttribute("aria-invalid", String(typeof matches === "string"));
    const part = matchedShare(app.derived, app.state);
    matched.textContent = typeof matches === "string" ? "no pattern" : part === null ? "" : percent(part);
    matched.title = typeof matches === "string" ? matches : "Of what is shown, this part has a match on its stack";
  };
  return { element, render };
}

function factsOf({ profile, derived }: App): HTMLElement {
  const { meta, losses } = profile;
  const names = [
    ...new Set(
      profile.processes
        .map(({ name, pid }) => [name, pid === null ? "" : `pid ${pid}`].filter(Boolean).join(" "))
        .filter(Boolean),
    ),
  ];
  const containers = [...new Set(profile.processes.map(({ container }) => container).filter(Boolean))];
  const versions = [
    ...new Set([meta.node_version ?? "", ...profile.processes.map(({ nodeVersion }) => nodeVersion)].filter(Boolean)),
  ];
  const lane = profile.lanes[0];
  const samples = lane
    ? lane.unit === "count"
      ? lane.weight.reduce((sum, weight) => sum + weight, 0)
      : lane.time.length
    : 0;
  const start = profile.startMs === null ? "" : ` from ${clock(profile.startMs, 0, true)} UTC`;
  const named = derived.namedShare();
  const facts: [string, string][] = [
    [
      "what",
      shown(
        meta.command ||
          (names.length > 3 ? plural(names.length, "process").replace("processs", "processes") : names.join(", ")) ||
          meta.format ||
          "recording",
      ),
    ],
    ["node", versions.length > 0 ? `Node ${shown(versions.slice(0, 2).join(", "))}` : ""],
    ["container", containers.length > 0 ? `container ${shown(containers.slice(0, 2).join(", "))}` : ""],
    ["host", meta.host ? shown(meta.host) : ""],
    ["duration", lane?.timed ? `${duration(profile.durationNs)}${start}` : "no times"],
    [
      "samples",
      lane
        ? `${plural(samples, "sample")}${lane.name && lane.name !== "samples" ? ` of ${shown(lane.name)}` : ""}`
        : "no samples",
    ],
    ["text", profile.texts.some(Boolean) ? "with source text" : ""],
  ];
  const spans = facts.filter(([, text]) => text).map(([key, text]) => h("span", { class: `fact-${key}` }, text));
  const quality: [string, boolean, string][] = [];
  if (named !== null)
    quality.push([
      `${percent(named)} named`,
      1 - named > 0.05,
      Object.entries(losses.unnamed ?? {})
        .map(([why, count]) => `${thousands(count)} ${why}`)
        .join("\n"),
    ]);
  quality.push([`${thousands(losses.lost ?? 0)} lost`, (losses.lost ?? 0) > WORTH_A_WARNING * samples, ""]);
  if (losses.throttled) quality.push([`throttled ${plural(losses.throttled, "time")}`, true, ""]);
  if (losses.hidden_kernel_ns)
    quality.push([`${duration(losses.hidden_kernel_ns)} in the kernel not visible`, true, "sudo would show it"]);
  const doubt = share((losses.inlined?.uncertain ?? 0) + (losses.inlined?.unchecked ?? 0), samples);
  if (doubt > 0.005) quality.push([`${percent(doubt)} may be of inlined functions`, true, ""]);
  if (losses.skipped) quality.push([`${plural(losses.skipped, "line")} not understood`, true, ""]);
  for (const sentence of [...(losses.damage ?? []), ...(losses.notes ?? [])]) quality.push([sentence, true, ""]);
  const words = quality.map(([text, isBad, title]) =>
    h("span", { class: isBad ? "warn" : "fact-quality", title: shown(title) }, shown(text)),
  );
  return h("span", { class: "facts" }, ...spans, ...words);
}

/** The first sentences of the report: they do not change with what is selected. */
function saidPart(app: App): Part {
  const { profile, derived } = app;
  const sums = derived.sums({ ...START, threads: [] });
  const sentences: (HTMLElement | string)[] = [];
  const lane = profile.lanes[0];
  if (lane?.unit === "ns" && lane.timed && profile.durationNs > 0)
    sentences.push(`${((profile.losses.cpu_ns ?? sums.total) / profile.durationNs).toFixed(2)} cores busy`);
  const ofGc = profile.stacks.category.reduce((sum, byte, stack) => sum + (byte === GC ? sums.weight[stack] : 0), 0);
  if (ofGc > 0) sentences.push(`garbage collection took ${percent(share(ofGc, sums.total))} of all CPU time`);
  const own = hottest(causedBy(profile, sums, [APP], "function"));
  if (own) {
    const place = shortPlace(functionPlace(profile, own[0]), 48);
    const name = functionName(profile, own[0]) || "(anonymous)";
    const open = button(shown(name), "own", () => app.update({ view: "sandwich", function: own[0], threads: [] }), {
      class: "link",
    });
    sentences.push(
      h("span", {}, "of your own code, ", open, ` ${shown(place)} caused most: ${percent(share(own[1], sums.total))}`),
    );
  }
  const dependency = hottest(causedBy(profile, sums, [APP, DEPENDENCY, ADDON], "package"));
  if (dependency)
    sentences.push(
      `of the npm packages, ${shown(profile.strings[dependency[0]])} caused most: ${percent(share(dependency[1], sums.total))}`,
    );
  const element = h("p", { class: "said quiet", id: "said" }, ...sentences.map((sentence) => h("span", {}, sentence)));
  return { element, render: () => {} };
}

/** Roles as buttons; single threads behind "threads". */
function threadsPart(app: App): Part {
  const { profile, derived } = app;
  const weights = derived.threadWeights;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const roles = Object.keys(ROLES)
    .map((role) => {
      const ids = profile.threads.flatMap((thread, id) => (thread.role === role && weights[id] > 0 ? [id] : []));
      return {
        role,
        ids,
        part: share(
          ids.reduce((sum, id) => sum + weights[id], 0),
          total,
        ),
      };
    })
    .filter(({ ids }) => ids.length > 0);
  const list = h("div", { class: "row hidden" });
  let isOpen = false;
  const element = h("div", { class: "threads row", role: "group", "aria-label": "Threads" });
  const same = (a: readonly number[] | null, b: readonly number[]) =>
    a !== null && a.length === b.length && b.every((id) => a.includes(id));
  const flip = (ids: number[]) => {
    const now = derived.shownThreads(app.state);
    const without = (now ?? []).filter((id) => !ids.includes(id));
    const isIn = now !== null && ids.every((id) => now.includes(id));
    app.update({ threads: isIn ? without : [...without, ...ids], zoom: [] });
  };
  const threadButtons = (now: readonly number[] | null) => {
    const busiest = profile.threads
      .map((_, id) => id)
      .filter((id) => weights[id] > 0)
      .sort((a, b) => weights[b] - weights[a])
      .slice(0, 60);
    return busiest.map((id) => {
      const { name, tid, role } = profile.threads[id];
      const words = `${shown(name) || "thread"} ${tid ?? ""} ${percent(share(weights[id], total))}`;
      return toggle(words, `thread-${id}`, now?.includes(id) ?? false, () => flip([id]), ROLES[role] ?? role);
    });
  };
  const render = () => {
    const now = derived.shownThreads(app.state);
    const roleButtons = roles.map(({ role, ids, part }) => {
      const words = `${ROLES[role]}${ids.length > 1 ? ` ×${ids.length}` : ""} ${percent(part)}`;
      return toggle(words, `role-${role}`, now !== null && ids.every((id) => now.includes(id)), () =>
        same(now, ids) ? app.update({ threads: [], zoom: [] }) : app.update({ threads: ids, zoom: [] }),
      );
    });
    list.classList.toggle("hidden", !isOpen);
    refill(list, ...(isOpen ? threadButtons(now) : []));
    const lanes = profile.lanes.slice(0, profile.other?.lane).map((_, index) => String(index));
    const laneNames = Object.fromEntries(
      profile.lanes.map(({ name, time }, index) => [String(index), `${shown(name)} (${thousands(time.length)})`]),
    );
    refill(
      element,
      quiet("threads"),
      toggle("all", "role-all", now === null, () => app.update({ threads: [], zoom: [] })),
      ...roleButtons,
      profile.threads.length > 1 &&
        button(isOpen ? "fewer" : "each …", "each", () => ((isOpen = !isOpen), render()), {
          "aria-expanded": String(isOpen),
        }),
      lanes.length > 1 &&
        picker(
          "event",
          lanes,
          String(derived.lane(app.state)),
          (lane) => app.update({ lane: Number(lane), zoom: [] }),
          laneNames,
        ),
      h(
        "span",
        { class: "end row" },
        quiet("heat map for"),
        choice("heat map for", ["all", "process", "thread"], app.state.bands, (bands) => app.update({ bands }), {
          process: "each process",
          thread: "each thread",
        }),
      ),
      list,
    );
  };
  return { element, render };
}
