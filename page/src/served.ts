// The page behind `nodescope view`: asks its server what there is, and shows it. A script of its own, because a single file
// never talks to anybody. The address says which recording: /?recording=ID, and /?list for all; what is behind # is the state.

import type { Library, Listed } from "./library";
import type { Parts } from "./main";
import { h } from "./ui/dom";
import { showList } from "./ui/list";

const { App, decode, profileOf } = (globalThis as unknown as { nodescope: Parts }).nodescope;

async function ask(path: string): Promise<Response> {
  const answer = await fetch(path).catch(() => {
    throw new Error(
      "nodescope does not answer: it has ended, or the connection to its machine has. Run nodescope view again.",
    );
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}

async function served(): Promise<Library> {
  const { recordings, open } = await (await ask("/recordings.json")).json();
  return {
    recordings: recordings.map((row: Listed & { modified_ms: number }) => ({ ...row, modifiedMs: row.modified_ms })),
    open,
    load: async (id) => profileOf(await decode(new Uint8Array(await (await ask(`/recording/${id}`)).arrayBuffer()))),
    source: async (id, row) => {
      const answer = await fetch(`/recording/${id}/source/${row}`);
      return answer.ok ? answer.text() : null;
    },
  };
}

async function start(): Promise<void> {
  const root = document.getElementById("page")!;
  const words = new URLSearchParams(location.search);
  let link: HTMLElement | null = null;
  try {
    const library = await served();
    const list = library.open.length > 0 ? "/?list" : "/";
    link = library.recordings.length > 1 ? h("a", { href: list, id: "all" }, "‹ recordings") : null;
    const chosen = words.get("recording");
    const open = chosen === null ? library.open : [chosen];
    if (open.length === 0 || words.has("list")) return showList(root, library.recordings);
    const id = open[open.length - 1];
    const name = library.recordings.find((row) => row.id === id)?.name;
    if (name) document.title = `${name} · nodescope`;
    new App(await library.load(id), root, { ...library, open });
    if (link) keepBeside(root, link);
    performance.mark("nodescope-shown");
  } catch (error) {
    const words = `This cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    root.replaceChildren(h("p", { class: "note", role: "alert" }, words, " ", link));
    throw error;
  }
}

/** The head is made anew when another recording is put beside this one. */
function keepBeside(root: HTMLElement, link: HTMLElement): void {
  const put = () => {
    if (!link.isConnected) root.querySelector("h1")?.after(link);
  };
  new MutationObserver(put).observe(root, { childList: true });
  put();
}

void start();
