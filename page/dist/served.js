// Made from page/src by `npm run build` in page: change it there. Sources: b110fd9933d357cab1bc32b7def55f1ca9012a74694b2794d0da35e1a3e02b26
"use strict";
(() => {
function h(tag, props = {}, ...children) {
	const element = document.createElement(tag);
	const { key, on, ...attributes } = props;
	if (key) element.dataset.key = key;
	for (const [name, value] of Object.entries(attributes)) if (value) element.setAttribute(name, String(value));
	for (const [name, listen] of Object.entries(on ?? {})) element.addEventListener(name, listen);
	for (const child of children) if (child) element.append(child);
	return element;
}
function refill(container, ...children) {
	const active = document.activeElement;
	const key = active instanceof HTMLElement && container.contains(active) ? active.dataset.key : void 0;
	container.replaceChildren(...children.filter((child) => Boolean(child)));
	if (key === void 0) return;
	for (const element of container.querySelectorAll("[data-key]")) {
		if (element.dataset.key === key) return element.focus({ preventScroll: true });
	}
}
function button(text, key, click, extra = {}) {
	const element = h("button", { ...extra, key, on: { click, ...extra.on } }, text);
	element.type = "button";
	return element;
}

var UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
function shown(text) {
	return text.replace(UNSEEN, (letter) => {
		const code = letter.charCodeAt(0).toString(16);
		return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
	});
}
var GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
function thousands(number) {
	return GROUPED.format(number);
}
function plural(count, word) {
	return `${thousands(count)} ${word}${count === 1 ? "" : "s"}`;
}

var COLUMNS = [
	["name", "recording", ({ name }) => name, (a, b) => compare(a.name, b.name)],
	["folder", "folder", ({ folder }) => folder, (a, b) => compare(a.folder, b.folder) || compare(a.name, b.name)],
	["size", "size", ({ bytes }) => bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`, (a, b) => b.bytes - a.bytes],
	["time", "written (UTC)", ({ modifiedMs }) => new Date(modifiedMs).toISOString().slice(0, 19).replace("T", " "), (a, b) => b.modifiedMs - a.modifiedMs]
];
var { compare } = new Intl.Collator("en", { numeric: true });
function showList(root, recordings) {
	const words = new URLSearchParams(location.hash.slice(1));
	const set = (key, value) => {
		if (value) words.set(key, value);
		else words.delete(key);
		history.replaceState(null, "", `#${words}`);
		render();
	};
	const filter = h("input", {
		id: "filter",
		type: "search",
		placeholder: "filter  /",
		"aria-label": "Filter the recordings",
		spellcheck: "false",
		on: { input: () => set("filter", filter.value) }
	});
	filter.value = words.get("filter") ?? "";
	const count = h("span", { class: "facts quiet", role: "status" });
	const body = h("div", { class: "scroll" });
	const render = () => {
		const text = (words.get("filter") ?? "").toLowerCase();
		const sorted = COLUMNS.find(([key]) => key === words.get("sort"));
		const rows = recordings.filter(({ name, folder }) => `${folder}/${name}`.toLowerCase().includes(text));
		if (sorted) rows.sort(sorted[3]);
		const head = COLUMNS.map(([key, label]) => {
			const sort = key !== sorted?.[0] ? "none" : key === "size" || key === "time" ? "descending" : "ascending";
			return h("th", { class: `list-${key}`, "aria-sort": sort }, button(label, key, () => set("sort", key)));
		});
		const lines = rows.map((row) => {
			const cells = COLUMNS.slice(1).map(([key, , text2]) => h("td", { class: `list-${key}` }, shown(text2(row))));
			return h("tr", {}, h("td", {}, h("a", { href: `/?recording=${encodeURIComponent(row.id)}` }, shown(row.name))), ...cells);
		});
		count.textContent = plural(rows.length, "recording");
		refill(body, h("table", { id: "list" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...lines)));
	};
	const step = (by) => {
		const links = [...body.querySelectorAll("a")];
		links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + by))]?.focus();
	};
	document.addEventListener("keydown", (event) => {
		const isFilter = event.target === filter;
		const actions = { ArrowDown: () => step(1), ArrowUp: () => step(-1), ...isFilter ? {} : { "/": () => filter.focus() } };
		if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
		event.preventDefault();
		actions[event.key]();
	});
	root.replaceChildren(h("header", { class: "head row" }, h("h1", {}, "nodescope"), count, h("span", { class: "end" }, filter)), body);
	document.title = "nodescope";
	render();
}

var { App, decode, profileOf } = globalThis.nodescope;
async function ask(path) {
	const answer = await fetch(path).catch(() => {
		throw new Error("nodescope does not answer: it has ended, or the connection to its machine has. Run nodescope view again.");
	});
	if (!answer.ok) throw new Error((await answer.text()).trim());
	return answer;
}
async function served() {
	const { recordings, open } = await (await ask("/recordings.json")).json();
	return {
		recordings: recordings.map((row) => ({ ...row, modifiedMs: row.modified_ms })),
		open,
		load: async (id) => profileOf(await decode(new Uint8Array(await (await ask(`/recording/${id}`)).arrayBuffer()))),
		source: async (id, row) => {
			const answer = await fetch(`/recording/${id}/source/${row}`);
			return answer.ok ? answer.text() : null;
		}
	};
}
async function start() {
	const root = document.getElementById("page");
	const words = new URLSearchParams(location.search);
	let link = null;
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
		const words2 = `This cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
		root.replaceChildren(h("p", { class: "note", role: "alert" }, words2, " ", link));
		throw error;
	}
}
function keepBeside(root, link) {
	const put = () => {
		if (!link.isConnected) root.querySelector("h1")?.after(link);
	};
	new MutationObserver(put).observe(root, { childList: true });
	put();
}
void start();
})();
