// Where the page behind `nodescope view` starts: it asks its server what there is, and shows it. A script of its own,
// because a single file sends no request. The address names the recording: /?recording=ID, and /?list for all; what is
// behind # is the state.

import type { Catalog, Library, Listed, Summary } from "./data/library.ts";
import { profileOf } from "./data/model.ts";
import { decode } from "./data/payload.ts";
import type { Compared, PageReport } from "./data/report.ts";
import { h } from "./draw/dom.ts";
import { showList } from "./draw/list/view.ts";
import { showError, showPage } from "./draw/page.ts";

/** The answer to a question whose answer is known. */
const NOT_CHANGED = 304;
const NO_ANSWER =
  "nodescope does not answer: it has ended, or the connection to its machine has. Run nodescope view again.";

async function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(path, { headers }).catch(() => {
    throw new Error(NO_ANSWER);
  });
  if (!answer.ok && answer.status !== NOT_CHANGED) throw new Error((await answer.text()).trim());
  return answer;
}

/** What the report says, as JSON; null where there is no answer. */
async function reported<T>(path: string): Promise<T | null> {
  const answer = await fetch(path).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

/** A text; null where there is none. */
async function text(path: string): Promise<string | null> {
  const answer = await fetch(path);
  return answer.ok ? answer.text() : null;
}

interface Listing {
  recordings: Listed[];
  open: string[];
  places: string[];
}

/** Asks for the list; each call but the first is answered only where something has changed. */
function asker(): () => Promise<Listing | null> {
  let mark = "";
  return async () => {
    const answer = await ask("/recordings.json", mark ? { "If-None-Match": mark } : {});
    if (answer.status === NOT_CHANGED) return null;
    mark = answer.headers.get("ETag") ?? "";
    const { recordings, ...rest } = await answer.json();
    const listed = ({ modified_ms: modifiedMs, ...row }: Listed & { modified_ms: number }) => ({ ...row, modifiedMs });
    return { recordings: recordings.map(listed), ...rest };
  };
}

async function served(): Promise<Catalog> {
  const list = asker();
  const { recordings, open, places } = (await list()) ?? { recordings: [], open: [], places: [] };
  return {
    isOneFile: false,
    recordings,
    open,
    places,
    changed: async () => (await list())?.recordings ?? null,
    known: async () => (await ask("/gists.json")).json(),
    summary: async (id) => (await ask(`/recording/${id}/gist.json`)).json() as Promise<Summary>,
    load: async (id) => {
      const [answer, report] = await Promise.all([
        ask(`/recording/${id}`),
        reported<PageReport>(`/recording/${id}/page-report.json`),
      ]);
      return profileOf(await decode(new Uint8Array(await answer.arrayBuffer())), report);
    },
    compared: (before, now) => reported<Compared>(`/compared/${before}/${now}.json`),
    pageAddress: (id, before) => (before ? `/compared/${before}/${id}/page.html` : `/recording/${id}/page.html`),
    source: (id, row) => text(`/recording/${id}/source/${row}`),
    place: (id, row) => text(`/recording/${id}/place/${row}`),
  };
}

async function start(root: HTMLElement): Promise<void> {
  let link: HTMLElement | null = null;
  try {
    const library = await served();
    link = linkToList(library);
    const isRecording = await show(root, library);
    if (isRecording && link) keepBeside(root, link);
  } catch (error) {
    showError(root, "This", error, link);
    throw error;
  }
}

/** The recordings that the address or the command line named; else the list, and then false. */
async function show(root: HTMLElement, library: Catalog): Promise<boolean> {
  const words = new URLSearchParams(location.search);
  const chosen = words.get("recording");
  const open = chosen === null ? library.open : [chosen];
  const id = open.at(-1);
  if (id === undefined || words.has("list")) {
    showList(root, library);
    return false;
  }
  const name = library.recordings.find((row) => row.id === id)?.name;
  if (name) document.title = `${name} · nodescope`;
  showPage(await library.load(id), root, { ...library, open });
  return true;
}

function linkToList({ recordings, open }: Library): HTMLElement | null {
  const href = open.length > 0 ? "/?list" : "/";
  return recordings.length > 1 ? h("a", { href, id: "all" }, "‹ recordings") : null;
}

/** The head is made anew when another recording is put beside this one. */
function keepBeside(root: HTMLElement, link: HTMLElement): void {
  const put = () => {
    if (!link.isConnected) root.querySelector("h1")?.after(link);
  };
  new MutationObserver(put).observe(root, { childList: true });
  put();
}

const root = document.getElementById("page");
if (root) void start(root);
