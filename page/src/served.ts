// Where the page behind `nodescope view` starts: it asks its server what there is, and shows it. A script of its own,
// because a single file sends no request. The address says which recording: /?recording=ID, and /?list for all; what is
// behind # is the state.

import type { Library, Listed } from "./data/library.ts";
import { profileOf } from "./data/model.ts";
import { decode } from "./data/payload.ts";
import type { Compared, Said } from "./data/said.ts";
import { h } from "./draw/dom.ts";
import { showList } from "./draw/list.ts";
import { showError, showPage } from "./draw/page.ts";

const NO_ANSWER =
  "nodescope does not answer: it has ended, or the connection to its machine has. Run nodescope view again.";

async function ask(path: string): Promise<Response> {
  const answer = await fetch(path).catch(() => {
    throw new Error(NO_ANSWER);
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}

/** What the report says; null where there is no answer. */
async function told<T>(path: string): Promise<T | null> {
  const answer = await fetch(path).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

/** A text; null where there is none. */
async function text(path: string): Promise<string | null> {
  const answer = await fetch(path);
  return answer.ok ? answer.text() : null;
}

async function served(): Promise<Library> {
  const { recordings, open } = await (await ask("/recordings.json")).json();
  return {
    recordings: recordings.map((row: Listed & { modified_ms: number }) => ({ ...row, modifiedMs: row.modified_ms })),
    open,
    load: async (id) => {
      const [answer, said] = await Promise.all([ask(`/recording/${id}`), told<Said>(`/recording/${id}/said.json`)]);
      return profileOf(await decode(new Uint8Array(await answer.arrayBuffer())), said);
    },
    compared: (before, now) => told<Compared>(`/compared/${before}/${now}.json`),
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
async function show(root: HTMLElement, library: Library): Promise<boolean> {
  const words = new URLSearchParams(location.search);
  const chosen = words.get("recording");
  const open = chosen === null ? library.open : [chosen];
  const id = open.at(-1);
  if (id === undefined || words.has("list")) {
    showList(root, library.recordings);
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
