// Made from page/src by `npm run build` in page: change it there. Sources: b110fd9933d357cab1bc32b7def55f1ca9012a74694b2794d0da35e1a3e02b26
"use strict";
(() => {
var NONE = 4294967295;
var CATEGORIES = [
	["app", "app"],
	["dependency", "dependency"],
	["node", "Node core"],
	["builtin", "V8 builtin"],
	["runtime", "V8 runtime"],
	["gc", "GC"],
	["compiler", "compiler"],
	["regexp", "regexp"],
	["wasm", "wasm"],
	["addon", "native addon"],
	["libuv", "libuv"],
	["system", "system library"],
	["kernel", "kernel"],
	["idle", "idle"],
	["unknown", "unknown"]
];
var APP = 0;
var DEPENDENCY = 1;
var GC = 5;
var ADDON = 9;
var IDLE = 13;
var UNKNOWN = 14;
var TIERS = ["–", "unmarked", "interpreted", "Sparkplug", "Maglev", "TurboFan", "Liftoff", "TurboFan (wasm)"];
var ROLES = {
	main: "main loop",
	worker: "worker",
	pool: "libuv pool",
	v8: "V8 platform",
	other: "other"
};
var [RAN, BLOCKED, STARVED] = [0, 1, 2];
function profileOf(origin) {
	const { header, columns } = origin;
	const text = (id) => id === NONE ? "" : header.strings[id] ?? "";
	const table2 = (name, keys) => Object.fromEntries(keys.split(" ").map((key) => [key, required(columns.get(`${name}.${key}`), `${name}.${key}`)]));
	const lanes = header.lanes.map(({ name, unit, timed, counted }, index) => {
		const { time_ns, ...rest } = table2(`lanes.${index}`, "time_ns thread stack weight");
		const { weight } = rest;
		const equal = unit !== "count" && weight.every((own) => own === weight[0]) ? weight[0] ?? 0 : 0;
		return { ...rest, name: text(name), unit, timed, counted, time: time_ns, equal };
	});
	const frames = table2("frames", "function line category tier");
	const stacks = table2("stacks", "parent frame category");
	const { meta } = header;
	return {
		meta,
		losses: meta.losses ?? {},
		strings: header.strings,
		sources: header.sources.map((row) => text(row.path)),
		modules: header.modules.map((row) => text(row.name)),
		threads: header.threads.map(({ process, tid, name, role }) => ({ process, tid, name: text(name), role })),
		processes: header.processes.map((row) => ({
			pid: row.pid,
			name: text(row.name),
			container: text(row.container),
			nodeVersion: text(row.node_version)
		})),
		lanes,
		turns: turnsOf(origin),
		durationNs: Math.max(meta.duration_ns ?? 0, ...lanes.map(lastTime)),
		startMs: meta.start_unix_ns ? Number(BigInt(meta.start_unix_ns) / 1000n) / 1e3 : null,
		functions: table2("functions", "name source line column module package"),
		frames,
		stacks: { ...stacks, function: stacks.frame.map((id) => frames.function[id]) },
		lineTicks: table2("line_ticks", "stack line ticks"),
		texts: header.sources.map((row) => row.text === NONE ? null : header.strings[row.text] ?? null),
		other: null,
		origin
	};
}
function required(column2, name) {
	if (column2 === void 0) throw new Error(`the recording has no column ${name}`);
	return column2;
}
function lastTime({ time, timed }) {
	return timed && time.length > 0 ? time[time.length - 1] + 1 : 0;
}
function turnsOf({ columns }) {
	const rows = (table2, by, value, isLong) => {
		const column2 = (name) => columns.get(`${table2}.${name}`) ?? [];
		const [thread, start2, end, run, ready] = ["thread", "start_ns", "end_ns", "run_ns", "ready_ns"].map(column2);
		const spent = (row) => {
			const waited = ready[row] < 2 ** 63 ? ready[row] : 0;
			const blocked = end[row] - start2[row] - run[row] - waited;
			return run[row] < Math.max(waited, blocked) ? blocked > waited ? BLOCKED : STARVED : RAN;
		};
		return [...column2(by)].flatMap((is, row) => is === value ? [{ thread: thread[row], start: start2[row], end: end[row], isLong: isLong(row), spent: spent(row) }] : []);
	};
	const turns = [...rows("loops", "problem", NONE, () => false), ...rows("long_turns", "kind", 0, () => true)];
	return turns.length > 0 ? turns : rows("markers", "kind", 0, (row) => columns.get("markers.text")[row] === NONE);
}
function functionName(profile, id) {
	return profile.strings[profile.functions.name[id]] ?? "";
}
function functionWords(profile, id) {
	const name = functionName(profile, id) || "(anonymous)";
	return name === "(anonymous)" ? `${name} ${functionPlace(profile, id).replace(/.*\//, "")}`.trim() : name;
}
function functionFile(profile, id) {
	const { source, module, line } = profile.functions;
	if (source[id] !== NONE) return profile.sources[source[id]];
	return module[id] !== NONE && line[id] === 0 ? profile.modules[module[id]] : "";
}
function functionPlace(profile, id) {
	const file2 = functionFile(profile, id);
	const line = profile.functions.line[id];
	return file2 && line > 0 ? `${file2}:${line}` : file2;
}
function functionPackage(profile, id) {
	const name = profile.functions.package[id];
	return name === NONE ? "" : profile.strings[name] ?? "";
}
function samplesIn(lane, row) {
	return lane.unit === "count" ? lane.weight[row] : 1;
}

function fromRoots(tree, sums) {
	return downwards(tree, sums, nodeOf(tree, null, [0], sums));
}
function fromLeaves(tree, sums) {
	const root = nodeOf(tree, null, [0], sums);
	const fill = addRan(tree, sums, root);
	const { open } = upwards(tree, root);
	return { root, open: (node) => (node.parent === root && node.weights === null && fill(node), open(node)) };
}
function addRan(tree, sums, root) {
	const { function: functions } = tree;
	const { self, selfSamples } = sums;
	let last = 0;
	for (let node = 1; node < functions.length; node++) if (functions[node] > last) last = functions[node];
	const starts = new Int32Array(last + 2);
	for (let node = 1; node < functions.length; node++) if (selfSamples[node] > 0 || self[node] > 0) starts[functions[node] + 1]++;
	for (let id = 0; id <= last; id++) starts[id + 1] += starts[id];
	const next = starts.slice();
	const members = new Int32Array(starts[last + 1]);
	for (let node = 1; node < functions.length; node++) {
		if (selfSamples[node] > 0 || self[node] > 0) members[next[functions[node]]++] = node;
	}
	root.children = [];
	for (let id = 0; id <= last; id++) {
		if (starts[id] === starts[id + 1]) continue;
		const box = emptyNode(id, root);
		let most = -1;
		for (let at = starts[id]; at < starts[id + 1]; at++) {
			const node = members[at];
			box.total += self[node];
			box.totalSamples += selfSamples[node];
			most = addLooks(tree, box, node, self[node], most);
		}
		[box.self, box.selfSamples] = [box.total, box.totalSamples];
		root.children.push(box);
	}
	sorted(root.children);
	return (box) => {
		box.members = members.subarray(starts[box.function], starts[box.function + 1]);
		[box.weights, box.samples] = [Float64Array.from(box.members, (node) => self[node]), Float64Array.from(box.members, (node) => selfSamples[node])];
	};
}
function calleesOf(tree, sums, id) {
	const root = nodeOf(tree, null, outermost(tree, sums, id), sums);
	root.function = id;
	return downwards(tree, sums, root);
}
function callersOf(tree, sums, id) {
	const members = outermost(tree, sums, id);
	const root = nodeOf(tree, null, members, sums);
	root.function = id;
	root.weights = members.map((node) => sums.total[node]);
	root.samples = members.map((node) => sums.totalSamples[node]);
	return upwards(tree, root);
}
function outermost(tree, sums, id) {
	const found = [];
	for (let node = 1; node < tree.function.length; node++) {
		if (tree.function[node] !== id || sums?.totalSamples[node] === 0) continue;
		let above = tree.parent[node];
		while (above !== 0 && tree.function[above] !== id) above = tree.parent[above];
		if (above === 0) found.push(node);
	}
	return found;
}
function downwards(tree, sums, root) {
	const open = (node) => {
		if (node.children) return node.children;
		if (node.members.length === 1) return node.children = sorted(onlyChildren(tree, sums, node));
		const groups = new Map();
		for (const member of Array.from(node.members)) {
			for (let at = tree.firstChild[member]; at < tree.firstChild[member + 1]; at++) {
				const child = tree.children[at];
				if (sums.totalSamples[child] === 0 && sums.total[child] === 0) continue;
				const group = groups.get(tree.function[child]);
				if (group) group.push(child);
				else groups.set(tree.function[child], [child]);
			}
		}
		return node.children = sorted([...groups.values()].map((members) => nodeOf(tree, node, members, sums)));
	};
	return { root, open };
}
function onlyChildren(tree, sums, node) {
	const member = node.members[0];
	const children = [];
	for (let at = tree.firstChild[member]; at < tree.firstChild[member + 1]; at++) {
		const child = tree.children[at];
		if (sums.totalSamples[child] > 0 || sums.total[child] > 0) children.push(nodeOf(tree, node, [child], sums));
	}
	return children;
}
function nodeOf(tree, parent, members, sums) {
	const node = emptyNode(members.length > 0 ? tree.function[members[0]] : NONE, parent);
	node.members = members;
	let most = -1;
	for (const member of members) {
		node.self += sums.self[member];
		node.total += sums.total[member];
		node.selfSamples += sums.selfSamples[member];
		node.totalSamples += sums.totalSamples[member];
		most = addLooks(tree, node, member, sums.total[member], most);
	}
	return node;
}
function upwards(tree, root) {
	const places = new Int32Array(tree.parent.length);
	const open = (node) => {
		if (node.children) return node.children;
		const { members, weights, samples } = node;
		const groups = new Map();
		for (let index = 0; index < members.length; index++) {
			const step = tree.parent[members[index]];
			if (step === 0) continue;
			const id = tree.function[step];
			let group = groups.get(id);
			if (group === void 0) {
				group = emptyNode(id, node);
				[group.members, group.weights, group.samples] = [[], [], []];
				groups.set(id, group);
			}
			addMember(group, step, weights[index], samples[index], places);
		}
		for (const group of groups.values()) {
			let most = -1;
			for (let index = 0; index < group.members.length; index++) {
				places[group.members[index]] = 0;
				most = addLooks(tree, group, group.members[index], group.weights[index], most);
			}
		}
		return node.children = sorted([...groups.values()]);
	};
	return { root, open };
}
function addMember(group, step, weight, samples, places) {
	const place = places[step] - 1;
	if (place < 0) {
		group.members.push(step);
		group.weights.push(weight);
		group.samples.push(samples);
		places[step] = group.members.length;
	} else {
		group.weights[place] += weight;
		group.samples[place] += samples;
	}
	group.total += weight;
	group.totalSamples += samples;
}
var NOBODY = [];
function emptyNode(id, parent) {
	return {
		function: id,
		category: UNKNOWN,
		tier: 0,
		tiers: 0,
		self: 0,
		total: 0,
		selfSamples: 0,
		totalSamples: 0,
		parent,
		members: NOBODY,
		weights: null,
		samples: null,
		children: null
	};
}
function addLooks(tree, node, member, weight, most) {
	node.tiers |= tree.tiers[member];
	if (weight <= most) return most;
	node.category = tree.category[member];
	node.tier = tree.tier[member];
	return weight;
}
function sorted(nodes) {
	return nodes.sort((a, b) => b.total - a.total || a.function - b.function);
}
function follow(graph, path) {
	let node = graph.root;
	for (const id of path) {
		const next = graph.open(node).find((child) => child.function === id);
		if (!next) break;
		node = next;
	}
	return node;
}
function pathOf(node) {
	const path = [];
	for (let at = node; at?.parent; at = at.parent) path.push(at.function);
	return path.reverse();
}
var OPENED = 3;
function layout(graph, from, width, least) {
	const boxes = [{ node: from, x: 0, width, depth: 0 }];
	const scale = from.total > 0 ? width / from.total : 0;
	for (let at = 0; at < boxes.length; at++) {
		const { node, x, depth, width: own } = boxes[at];
		if (own < OPENED * least) continue;
		let left = x;
		for (const child of graph.open(node)) {
			const childWidth = child.total * scale;
			if (childWidth < least) break;
			boxes.push({ node: child, x: left, width: childWidth, depth: depth + 1 });
			left += childWidth;
		}
	}
	return boxes;
}

var BASE = 2 ** 32;
function thingsDown(tree, boxes, roots) {
	const { children, parent } = linked(boxes);
	const size = tree.parent.length;
	const [exact, deepest] = [new Int32Array(size).fill(-1), new Int32Array(size).fill(-1)];
	for (let at = 0; at < roots.length; at++) exact[roots[at]] = deepest[roots[at]] = 0;
	for (let node = 1; node < size; node++) {
		const above = tree.parent[node];
		if (deepest[node] === 0 || deepest[above] < 0) continue;
		if (exact[above] >= 0) exact[node] = children.get(exact[above] * BASE + tree.function[node]) ?? -1;
		deepest[node] = exact[node] < 0 ? deepest[above] : exact[node];
	}
	return things(tree, deepest, parent);
}
function thingsUp(tree, boxes, path) {
	const { children, parent } = linked(boxes);
	const deepest = tree.parent.map((_, node) => climb(tree, children, node, path));
	return things(tree, deepest, parent);
}
function thingsOfCallers(tree, boxes, id) {
	const { children, parent } = linked(boxes);
	const deepest = new Int32Array(tree.parent.length).fill(-1);
	for (const node of outermost(tree, null, id)) deepest[node] = climb(tree, children, node, [id]);
	for (let node = 1; node < deepest.length; node++) if (deepest[node] < 0) deepest[node] = deepest[tree.parent[node]];
	return things(tree, deepest, parent);
}
function climb(tree, children, node, path) {
	let at = node;
	for (const id of path) {
		if (at === 0 || tree.function[at] !== id) return -1;
		at = tree.parent[at];
	}
	let box = 0;
	while (at !== 0) {
		const next = children.get(box * BASE + tree.function[at]);
		if (next === void 0) break;
		[box, at] = [next, tree.parent[at]];
	}
	return box;
}
function things(tree, ofNodes, parent) {
	return { of: tree.nodeOf.map((node) => ofNodes[node]), count: parent.length, parent };
}
function linked(boxes) {
	const places = new Map(boxes.map(({ node }, at) => [node, at]));
	const parent = Int32Array.from(boxes, ({ node }) => (node.parent && places.get(node.parent)) ?? 0);
	const children = new Map();
	boxes.forEach(({ node }, at) => at > 0 && children.set(parent[at] * BASE + node.function, at));
	return { children, parent };
}

var CATEGORY_COLORS = [
	[98, 196, 84],
	[178, 222, 122],
	[80, 196, 188],
	[160, 224, 216],
	[236, 212, 86],
	[186, 138, 240],
	[148, 182, 220],
	[238, 170, 206],
	[128, 148, 240],
	[238, 104, 92],
	[226, 132, 132],
	[248, 176, 160],
	[250, 158, 52],
	[214, 218, 226],
	[184, 184, 184]
];
var GROUP = [236, 236, 232];
var MATCH = [240, 70, 240];
var TIER_COLORS = [
	[216, 216, 212],
	[222, 190, 214],
	[246, 206, 120],
	[214, 214, 110],
	[132, 206, 150],
	[84, 180, 226],
	[200, 176, 240],
	[164, 140, 236]
];
function colorOfChange(verdict, change) {
	const mix = (from, to) => [0, 1, 2].map((at) => from[at] + (to[at] - from[at]) * Math.sqrt(Math.min(1, Math.abs(change))));
	if (verdict === "noise") return [222, 222, 218];
	if (verdict === "new") return [250, 158, 52];
	return change > 0 ? mix([250, 214, 206], [242, 92, 80]) : mix([210, 224, 250], [96, 152, 242]);
}
function themed(color, isDark) {
	if (!isDark) return color;
	const factor = Math.max(...color) - Math.min(...color) < 15 ? 0.68 : 0.84;
	return [color[0] * factor, color[1] * factor, color[2] * factor];
}
function css([red, green, blue]) {
	return `rgb(${Math.round(red)},${Math.round(green)},${Math.round(blue)})`;
}
function colorOfName(name) {
	let hash = 2166136261;
	for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
	hash ^= hash >>> 13;
	return oklch(0.82, 0.09, (hash >>> 0) % 360);
}
function ramp(part, isDark) {
	return isDark ? oklch(0.3 + 0.64 * part, 0.06 + 0.09 * Math.sin(Math.PI * (0.2 + 0.6 * part)), 20 + 75 * part) : oklch(0.955 - 0.6 * part, 0.06 + 0.11 * Math.sin(Math.PI * (0.15 + 0.6 * part)), 92 - 68 * part);
}
function oklch(lightness, chroma, hue) {
	const [a, b] = [chroma * Math.cos(hue * Math.PI / 180), chroma * Math.sin(hue * Math.PI / 180)];
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const channel = (linear) => {
		const part = Math.min(1, Math.max(0, linear));
		return 255 * (part <= 31308e-7 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055);
	};
	return [
		channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
		channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
		channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)
	];
}

function sumStacks(profile, selection, reuse) {
	const size = profile.stacks.parent.length;
	const lane = profile.lanes[selection.lane];
	const [first, end] = lane ? rowsIn(lane.time, lane.timed ? selection.range : null) : [0, 0];
	const sums = reuse ?? { weight: new Float64Array(size + 1), samples: new Float64Array(size + 1), total: 0, count: 0, of: selection, rows: [0, 0] };
	const { of, rows } = sums;
	[sums.of, sums.rows] = [selection, [first, end]];
	const isMoved = reuse && of.lane === selection.lane && of.threads === selection.threads && of.stacks === selection.stacks;
	if (isMoved && Math.abs(first - rows[0]) + Math.abs(end - rows[1]) < end - first && first < rows[1] && rows[0] < end) {
		addRows(profile, sums, first, rows[0], 1);
		addRows(profile, sums, rows[0], first, -1);
		addRows(profile, sums, rows[1], end, 1);
		addRows(profile, sums, end, rows[1], -1);
	} else {
		if (reuse) {
			sums.weight.fill(0);
			sums.samples.fill(0);
			[sums.total, sums.count] = [0, 0];
		}
		addRows(profile, sums, first, end, 1);
	}
	const { weight, samples } = sums;
	if (lane?.equal) for (let slot = 0; slot <= size; slot++) weight[slot] = samples[slot] * lane.equal;
	return sums;
}
function addRows(profile, sums, first, end, sign) {
	const lane = profile.lanes[sums.of.lane];
	if (!lane) return;
	const { weight, samples, of } = sums;
	const { threads, stacks } = of;
	const { thread, stack, weight: weights } = lane;
	const { equal } = lane;
	const isCount = lane.unit === "count";
	const size = weight.length - 1;
	let [total, count] = [0, 0];
	for (let row = first; row < end; row++) {
		if (threads !== null && threads[thread[row]] === 0) continue;
		let slot = stack[row];
		if (slot === NONE) slot = size;
		if (stacks !== null && (slot === size || stacks[slot] === 0)) continue;
		if (equal > 0) {
			samples[slot] += sign;
			count += sign;
			continue;
		}
		const own = sign * weights[row];
		const number = isCount ? own : sign;
		weight[slot] += own;
		samples[slot] += number;
		total += own;
		count += number;
	}
	sums.total += total + count * equal;
	sums.count += count;
}
function forEachRow(profile, selection, each) {
	const lane = profile.lanes[selection.lane];
	if (!lane) return;
	const { threads, stacks } = selection;
	const [first, end] = rowsIn(lane.time, lane.timed ? selection.range : null);
	for (let row = first; row < end; row++) {
		if (threads && threads[lane.thread[row]] === 0) continue;
		const stack = lane.stack[row];
		if (stacks && (stack === NONE || stacks[stack] === 0)) continue;
		each(row, lane, stack);
	}
}
function rowsIn(times, range) {
	if (!range) return [0, times.length];
	const first = partition(times, range[0]);
	return [first, Math.max(first, partition(times, range[1]))];
}
function partition(times, bound) {
	let [low, high] = [0, times.length];
	while (low < high) {
		const middle = low + high >>> 1;
		if (times[middle] < bound) low = middle + 1;
		else high = middle;
	}
	return low;
}
function keptStacks(profile, categories, focus) {
	if (categories.length === 0 && focus.length === 0) return null;
	const { category, parent } = profile.stacks;
	const wanted2 = new Uint8Array(256).fill(categories.length === 0 ? 1 : 0);
	for (const byte of categories) wanted2[byte] = 1;
	const kept = Uint8Array.from(category, (byte) => wanted2[byte]);
	for (const item of focus) {
		const has = topmost(profile, item);
		for (let stack = 0; stack < has.length; stack++) {
			if (parent[stack] !== NONE && has[parent[stack]]) has[stack] = 1;
			kept[stack] &= has[stack];
		}
	}
	return kept;
}
function hiddenStacks(profile, hidden) {
	if (hidden.length === 0) return null;
	const all = new Uint8Array(profile.stacks.parent.length);
	for (const item of hidden) {
		const has = topmost(profile, item);
		for (let stack = 0; stack < all.length; stack++) all[stack] |= has[stack];
	}
	return all;
}
function topmost(profile, { kind, id }) {
	const { category, function: functions } = profile.stacks;
	const packages = profile.functions.package;
	const has = new Uint8Array(category.length);
	for (let stack = 0; stack < has.length; stack++) {
		const value = kind === "category" ? category[stack] : kind === "function" ? functions[stack] : packages[functions[stack]];
		has[stack] = value === id ? 1 : 0;
	}
	return has;
}

var FEWEST_BLOCKS = 5;
var MOST_BLOCKS = 20;
var CERTAIN = 2;
function basePieces(base, range, durationNs) {
	if (base !== "rest") return [base];
	const [from, to] = range ?? [0, 0];
	return [[0, from], [to, durationNs]].filter(([start2, end]) => end > start2);
}
function sumPieces(profile, { selection, pieces }) {
	const sums = pieces.map((range) => sumStacks(profile, { ...selection, range }));
	const all = sums[0] ?? sumStacks(profile, { ...selection, range: [0, 0] });
	for (const other of sums.slice(1)) {
		for (let stack = 0; stack < all.weight.length; stack++) {
			all.weight[stack] += other.weight[stack];
			all.samples[stack] += other.samples[stack];
		}
		all.total += other.total;
		all.count += other.count;
	}
	return all;
}
function spreadOf(profile, { selection, pieces }, { of, count, parent }) {
	const room = () => new Float64Array(count);
	const spread = { value: room(), total: 0, count: 0, squares: room(), products: room(), blockSquares: 0, blocks: 0 };
	const isTimed = profile.lanes[selection.lane]?.timed ?? false;
	const own = room();
	for (const range of isTimed ? blocksOf(pieces) : pieces.slice(0, 1)) {
		own.fill(0);
		let weight = 0;
		forEachRow(profile, { ...selection, range }, (row, lane, stack) => {
			const thing = of[stack === NONE ? of.length - 1 : stack];
			if (thing >= 0) own[thing] += lane.weight[row];
			weight += lane.weight[row];
			spread.count += samplesIn(lane, row);
		});
		for (let thing = count - 1; thing >= 0; thing--) {
			if (own[thing] === 0) continue;
			if (parent && parent[thing] !== thing) own[parent[thing]] += own[thing];
			spread.value[thing] += own[thing];
			spread.squares[thing] += own[thing] * own[thing];
			spread.products[thing] += own[thing] * weight;
		}
		spread.total += weight;
		spread.blockSquares += weight * weight;
		spread.blocks++;
	}
	return spread;
}
function blocksOf(pieces) {
	const all = pieces.reduce((sum, [from, to]) => sum + to - from, 0);
	const count = Math.min(MOST_BLOCKS, Math.max(FEWEST_BLOCKS, Math.floor(all / 1e9)));
	return pieces.flatMap(([from, to]) => {
		const blocks = Math.max(1, Math.round((to - from) * count / all));
		const cut2 = (at) => from + Math.round((to - from) * at / blocks);
		return Array.from({ length: blocks }, (_, at) => [cut2(at), cut2(at + 1)]);
	});
}
function shareIn(spread, thing) {
	return spread.total > 0 ? spread.value[thing] / spread.total : 0;
}
function variance(spread, thing, ofBoth) {
	const { squares, products, blockSquares, blocks, total, count } = spread;
	if (blocks < 2 || total === 0 || count === 0) return Infinity;
	const part = shareIn(spread, thing);
	const sum = squares[thing] - 2 * part * products[thing] + part * part * blockSquares;
	const byBlocks = blocks / (blocks - 1) * Math.max(0, sum) / (total * total);
	return Math.max(byBlocks, ofBoth * (1 - ofBoth) / count);
}
function verdictOf(before, now, thing, isCounted) {
	const [was, is] = [shareIn(before, thing), shareIn(now, thing)];
	const of = (verdict) => ({ before: was, now: is, verdict });
	if (!isCounted) return of("unknown");
	const ofBoth = (before.value[thing] + now.value[thing]) / Math.max(1, before.total + now.total);
	const error = Math.sqrt(variance(before, thing, ofBoth) + variance(now, thing, ofBoth));
	if (!(Math.abs(is - was) > CERTAIN * error)) return of("noise");
	if (was === 0 || is === 0) return of(was === 0 ? "new" : "gone");
	return of(is > was ? "more" : "less");
}
function changesOf(profile, before, now, things2) {
	const [was, is] = [before, now].map((side) => spreadOf(profile, side, things2));
	const isCounted = [before, now].every(({ selection }) => profile.lanes[selection.lane].counted && profile.lanes[selection.lane].timed);
	return Array.from({ length: things2.count }, (_, thing) => verdictOf(was, is, thing, isCounted));
}

var FINE = [500, 200, 100, 50, 20, 10, 5, 2, 1];
var ENOUGH = 45;
var STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 86400];
var ROW_CHOICES = [0, 10, 20, 25, 50, 100];
function columnStep(durationNs, width, least, intervalNs) {
	if (durationNs <= (ENOUGH - 1) * 1e9) return (FINE.find((step, at) => durationNs > (ENOUGH - 1) * step * 1e6 || FINE[at + 1] * 1e6 < 5 * 0.9 * intervalNs) ?? 1) * 1e6;
	const fits = STEPS.find((step) => Math.ceil(durationNs / (step * 1e9)) * least <= width);
	return (fits ?? STEPS[STEPS.length - 1]) * 1e9;
}
function autoRows(columnNs, intervalNs) {
	return [50, 25, 20, 10].find((rows) => columnNs / rows >= 1.8 * intervalNs) ?? 5;
}
function gridOf(durationNs, columnNs, rows) {
	return { columnNs, rows, columns: Math.max(1, Math.ceil(durationNs / columnNs)), bands: 1, bandOf: null };
}
function heatOf(profile, selection, grid) {
	const { columnNs, columns, rows, bands, bandOf } = grid;
	const cells = new Float64Array(bands * columns * rows);
	forEachRow(profile, { ...selection, range: null }, (row, lane) => {
		const band = bandOf ? bandOf[lane.thread[row]] : 0;
		if (band < 0) return;
		const time = lane.time[row];
		const column2 = Math.min(columns - 1, Math.floor(time / columnNs));
		const fraction = Math.min(rows - 1, Math.floor((time - column2 * columnNs) * rows / columnNs));
		cells[(band * columns + column2) * rows + fraction] += lane.weight[row];
	});
	let max = 0;
	for (let at = 0; at < cells.length; at++) if (cells[at] > max) max = cells[at];
	return { ...grid, cells, max };
}
function cellAt(grid, timeNs) {
	return Math.floor(timeNs * grid.rows / grid.columnNs);
}
function rangeOfCells(grid, a, b) {
	const cellNs = grid.columnNs / grid.rows;
	return [Math.min(a, b) * cellNs, (Math.max(a, b) + 1) * cellNs];
}

function join(now, before, id, name) {
	const text = union(now.strings, before.strings);
	const sources = union(now.sources, before.sources);
	const modules = union(now.modules, before.modules);
	const functionOf = sameFunctions(now, before);
	const [threads, stacks, frames] = [now.threads.length, now.stacks.parent.length, now.frames.function.length];
	const added = functionOf.flatMap((id2, row) => id2 >= now.functions.name.length ? [row] : []);
	const also = (own, other, of) => {
		const rest = Uint32Array.from(added, (row) => of && other[row] !== NONE ? of[other[row]] : other[row]);
		return behind(own, rest);
	};
	const both = now.functions;
	const more = before.functions;
	const later = (ids, by) => ids.map((id2) => id2 === NONE ? NONE : id2 + by);
	const lane = (own) => ({ ...own, thread: later(own.thread, threads), stack: later(own.stack, stacks) });
	return {
		...now,
		strings: text.all,
		sources: sources.all,
		modules: modules.all,
		processes: [...now.processes, ...before.processes],
		threads: [...now.threads, ...before.threads.map((row) => ({ ...row, process: row.process + now.processes.length }))],
		lanes: [...now.lanes, ...before.lanes.map(lane)],
		other: { id, name, lane: now.lanes.length, thread: threads, durationNs: before.durationNs, startMs: before.startMs },
		functions: {
			name: also(both.name, more.name, text.of),
			source: also(both.source, more.source, sources.of),
			line: also(both.line, more.line),
			column: also(both.column, more.column),
			module: also(both.module, more.module, modules.of),
			package: also(both.package, more.package, text.of)
		},
		frames: {
			function: behind(now.frames.function, before.frames.function.map((id2) => functionOf[id2])),
			line: behind(now.frames.line, before.frames.line),
			category: behind(now.frames.category, before.frames.category),
			tier: behind(now.frames.tier, before.frames.tier)
		},
		stacks: {
			parent: behind(now.stacks.parent, later(before.stacks.parent, stacks)),
			frame: behind(now.stacks.frame, later(before.stacks.frame, frames)),
			category: behind(now.stacks.category, before.stacks.category),
			function: behind(now.stacks.function, before.stacks.function.map((id2) => functionOf[id2]))
		},
		lineTicks: {
			stack: behind(now.lineTicks.stack, later(before.lineTicks.stack, stacks)),
			line: behind(now.lineTicks.line, before.lineTicks.line),
			ticks: behind(now.lineTicks.ticks, before.lineTicks.ticks)
		}
	};
}
function behind(first, second) {
	const all = new first.constructor(first.length + second.length);
	all.set(first);
	all.set(second, first.length);
	return all;
}
function union(first, second) {
	const places = new Map(first.map((text, at) => [text, at]));
	const all = [...first];
	const of = second.map((text) => {
		let at = places.get(text);
		if (at === void 0) places.set(text, at = all.push(text) - 1);
		return at;
	});
	return { all, of };
}
function sameFunctions(now, before) {
	const known = byName(now);
	const found = new Array(before.functions.name.length).fill(-1);
	for (const [words, ids] of byName(before)) {
		let left = known.get(words) ?? [];
		for (const id of ids) {
			const same = left.find((other) => positionOf(now, other) === positionOf(before, id));
			if (same === void 0) continue;
			found[id] = same;
			left = left.filter((other) => other !== same);
		}
		for (const id of ids) if (found[id] < 0) found[id] = left.shift() ?? -1;
	}
	let next = now.functions.name.length;
	return found.map((id) => id < 0 ? next++ : id);
}
function byName(profile) {
	const groups = new Map();
	const ids = Array.from(profile.functions.name, (_, id) => id).sort((a, b) => positionOf(profile, a) - positionOf(profile, b));
	for (const id of ids) {
		const words = `${functionName(profile, id)}
${placeOf(profile, id)}`;
		const group = groups.get(words);
		if (group) group.push(id);
		else groups.set(words, [id]);
	}
	return groups;
}
function placeOf({ functions, sources, modules }, id) {
	if (functions.source[id] !== NONE) return sources[functions.source[id]].replace("file://", "");
	const path = functions.module[id] === NONE ? "" : modules[functions.module[id]];
	return path.slice(path.lastIndexOf("/") + 1).replace(/\.so\b.*/, ".so").replace(/^perf-\d+\.map$/, "[JIT]");
}
function positionOf({ functions }, id) {
	return functions.line[id] * 65536 + functions.column[id];
}

var TOP_BY = ["function", "file", "package", "category", "line", "thread", "process"];
function kindsOf(profile, by, hidden) {
	const size = profile.stacks.parent.length;
	const of = new Int32Array(size).fill(-1);
	const kinds = { of, isOutermost: new Uint8Array(size), keys: [], lines: [] };
	const known = new Map();
	for (let stack = 0; stack < size; stack++) {
		if (hidden?.[stack]) continue;
		const [key, line] = keyOf(profile, stack, by);
		if (key < 0) continue;
		const both = key * 16777216 + line;
		let kind = known.get(both);
		if (kind === void 0) {
			kind = kinds.keys.length;
			known.set(both, kind);
			kinds.keys.push(key);
			kinds.lines.push(line);
		}
		of[stack] = kind;
	}
	markOutermost(profile, kinds);
	return kinds;
}
function keyOf(profile, stack, by) {
	const { functions, stacks, frames } = profile;
	const id = stacks.function[stack];
	switch (by) {
		case "function":
			return [id, 0];
		case "file":
			if (functions.source[id] !== NONE) return [2 * functions.source[id], 0];
			return [functions.module[id] === NONE ? -1 : 2 * functions.module[id] + 1, 0];
		case "package":
			return [functions.package[id] === NONE ? -1 : functions.package[id], 0];
		case "category":
			return [stacks.category[stack], 0];
		case "line": {
			const line = frames.line[stacks.frame[stack]];
			return [functions.source[id] === NONE || line === 0 ? -1 : functions.source[id], line];
		}
		default:
			return [-1, 0];
	}
}
function markOutermost(profile, { of, isOutermost, keys }) {
	const { parent } = profile.stacks;
	const size = parent.length;
	const [child, sibling] = [new Int32Array(size).fill(-1), new Int32Array(size).fill(-1)];
	let root = -1;
	for (let stack = size - 1; stack >= 0; stack--) {
		const above = parent[stack];
		sibling[stack] = above === NONE ? root : child[above];
		if (above === NONE) root = stack;
		else child[above] = stack;
	}
	const open = new Int32Array(keys.length);
	let at = root;
	while (at !== -1) {
		if (of[at] >= 0 && open[of[at]]++ === 0) isOutermost[at] = 1;
		if (child[at] !== -1) {
			at = child[at];
			continue;
		}
		while (at !== -1) {
			if (of[at] >= 0) open[of[at]]--;
			if (sibling[at] !== -1) {
				at = sibling[at];
				break;
			}
			at = parent[at] === NONE ? -1 : parent[at];
		}
	}
}
function topOf(profile, sums, by, hidden, kinds) {
	const { parent, frame, category } = profile.stacks;
	const [ended, endedSamples] = [sums.weight.slice(), sums.samples.slice()];
	const [whole, wholeSamples] = [sums.weight.slice(), sums.samples.slice()];
	for (let stack = parent.length - 1; stack >= 0; stack--) {
		const above = parent[stack];
		if (above === NONE) continue;
		whole[above] += whole[stack];
		wholeSamples[above] += wholeSamples[stack];
		if (hidden?.[stack]) {
			ended[above] += ended[stack];
			endedSamples[above] += endedSamples[stack];
		}
	}
	const rows = new Array(kinds.keys.length);
	for (let stack = 0; stack < parent.length; stack++) {
		const kind = kinds.of[stack];
		if (kind < 0 || wholeSamples[stack] === 0) continue;
		const own = by === "function" ? profile.frames.category[frame[stack]] : category[stack];
		const row = rows[kind] ??= newRow(kinds.keys[kind], kinds.lines[kind], own);
		row.self += ended[stack];
		row.selfSamples += endedSamples[stack];
		if (kinds.isOutermost[stack]) {
			row.total += whole[stack];
			row.totalSamples += wholeSamples[stack];
		}
	}
	const list = rows.filter((row) => row !== void 0);
	return sortRows(by === "line" && list.length === 0 ? linesByTicks(profile, sums) : list);
}
function ownKinds(profile, hidden, kinds) {
	const { parent } = profile.stacks;
	const of = new Int32Array(parent.length + 1).fill(-1);
	for (let stack = 0; stack < parent.length; stack++) {
		of[stack] = hidden?.[stack] && parent[stack] !== NONE ? of[parent[stack]] : kinds.of[stack];
	}
	return { of, count: kinds.keys.length, parent: null };
}
function topOfThreads(profile, selection, by) {
	const rows = new Map();
	forEachRow(profile, selection, (at, lane) => {
		const thread = lane.thread[at];
		const key = by === "process" ? profile.threads[thread].process : thread;
		let row = rows.get(key);
		if (!row) rows.set(key, row = newRow(key, 0, UNKNOWN));
		addWhole(row, lane.weight[at], samplesIn(lane, at));
	});
	return sortRows([...rows.values()]);
}
function linesByTicks(profile, sums) {
	const { stack, line, ticks } = profile.lineTicks;
	const all = new Map();
	stack.forEach((id, at) => all.set(id, (all.get(id) ?? 0) + ticks[at]));
	const rows = new Map();
	stack.forEach((id, at) => {
		const source = profile.functions.source[profile.stacks.function[id]];
		if (source === NONE || !(sums.weight[id] > 0)) return;
		const key = `${source}:${line[at]}`;
		let row = rows.get(key);
		if (!row) rows.set(key, row = newRow(source, line[at], profile.stacks.category[id]));
		const part = ticks[at] / Math.max(1, all.get(id) ?? 0);
		addWhole(row, Math.floor(sums.weight[id] * part), Math.floor(sums.samples[id] * part));
	});
	return [...rows.values()];
}
function causedBy(profile, sums, shown2, by) {
	const { parent, category, function: functions } = profile.stacks;
	const nearest = new Int32Array(parent.length);
	const isShown = Uint8Array.from({ length: 256 }, (_, byte) => Number(shown2.includes(byte)));
	const caused = new Map();
	for (let stack = 0; stack < parent.length; stack++) {
		const inherited = parent[stack] === NONE ? -1 : nearest[parent[stack]];
		nearest[stack] = isShown[category[stack]] === 1 ? stack : inherited;
		if (sums.weight[stack] === 0 || nearest[stack] < 0) continue;
		const id = functions[nearest[stack]];
		const key = by === "function" ? id : profile.functions.package[id];
		if (key !== NONE) caused.set(key, (caused.get(key) ?? 0) + sums.weight[stack]);
	}
	return caused;
}
function newRow(key, line, category) {
	return { key, line, category, self: 0, total: 0, selfSamples: 0, totalSamples: 0 };
}
function addWhole(row, weight, samples) {
	row.self += weight;
	row.total += weight;
	row.selfSamples += samples;
	row.totalSamples += samples;
}
function sortRows(rows) {
	return rows.sort((a, b) => b.self - a.self || b.total - a.total || a.key - b.key || a.line - b.line);
}
function hottest(weights) {
	let best = null;
	for (const row of weights) if (!best || row[1] > best[1]) best = row;
	return best;
}

var SHORTEST_STALL_NS = 5e7;
function loopsOf(profile, threads, lane) {
	const turns = profile.turns.filter((turn) => !threads || threads[turn.thread] === 1);
	const long = turns.filter((turn) => turn.isLong && turn.end - turn.start >= SHORTEST_STALL_NS);
	const longest = turns.length > 0 ? long : busy(profile, threads, lane);
	longest.sort((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start);
	return { isWatched: turns.length > 0, longest };
}
function busy(profile, threads, lane) {
	const interval = profile.meta.interval_ns;
	if (!interval || !profile.lanes[lane]?.timed) return [];
	const isLoop = Uint8Array.from(profile.threads, ({ role }, id) => Number(["main", "worker"].includes(role) && threads?.[id] !== 0));
	const open = new Map();
	const found = [];
	const keep = (stretch) => stretch.end - stretch.start >= SHORTEST_STALL_NS && found.push(stretch);
	const stacks = profile.stacks.category.map((byte) => Number(byte !== IDLE));
	forEachRow(profile, { lane, range: null, threads: isLoop, stacks }, (row, { time, thread }) => {
		const last = open.get(thread[row]);
		if (last && time[row] - last.end < interval) {
			last.end = time[row] + interval;
			return;
		}
		if (last) keep(last);
		open.set(thread[row], { thread: thread[row], start: time[row], end: time[row] + interval, spent: RAN });
	});
	for (const stretch of open.values()) keep(stretch);
	return found;
}
function culprit(profile, { thread, start: start2, end, spent }, lane) {
	const threads = new Uint8Array(profile.threads.length);
	threads[thread] = 1;
	const its = spent === RAN ? lane : spent === BLOCKED ? profile.lanes.findIndex(({ name }) => name === "waits") : -1;
	if (its < 0) return its;
	const sums = sumStacks(profile, { lane: its, range: [start2, end], threads, stacks: null });
	const most = (category) => hottest(causedBy(profile, sums, [category], "function"));
	return (most(APP) ?? most(DEPENDENCY))?.[0] ?? -1;
}

var VERSION = 1;
var FILE_HEADER = 16;
var CHUNK_HEADER = 24;
function fromBase64(text) {
	const own = Uint8Array.fromBase64;
	if (own) return own.call(Uint8Array, text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
	return bytes;
}
async function decode(file2) {
	const view = new DataView(file2.buffer, file2.byteOffset, file2.byteLength);
	const start2 = FILE_HEADER + CHUNK_HEADER;
	if (file2.length < start2 || ascii(file2, 0, 8) !== "nodescop") throw new Error("this is not a recording of nodescope");
	const version = view.getUint32(8, true);
	if (version > VERSION) throw new Error(`this recording has format version ${version}, and this page reads up to ${VERSION}`);
	if (ascii(file2, FILE_HEADER, 4) !== "PROF") throw new Error(`damaged at byte ${FILE_HEADER}: no chunk starts here`);
	const length = Number(view.getBigUint64(FILE_HEADER + 8, true));
	if (start2 + length > file2.length) throw new Error("the recording ends in the middle");
	if (start2 + length < file2.length) throw new Error("this recording has several parts: nodescope export joins them");
	const stored = file2.subarray(start2, start2 + length);
	const inflated = inflate(stored);
	inflated.catch(() => {
	});
	if (crc32(stored) !== view.getUint32(FILE_HEADER + 4, true)) throw new Error(`damaged at byte ${FILE_HEADER}: the checksum does not match`);
	return parse(await inflated);
}
function crc32(bytes) {
	const table2 = Uint32Array.from({ length: 256 }, (_, byte) => {
		for (let bit = 0; bit < 8; bit++) byte = byte >>> 1 ^ 3988292384 & -(byte & 1);
		return byte;
	});
	let crc = -1;
	for (const byte of bytes) crc = crc >>> 8 ^ table2[(crc ^ byte) & 255];
	return ~crc >>> 0;
}
async function inflate(stored) {
	const stream = new Blob([stored]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Response(stream).arrayBuffer();
}
function parse(payload) {
	const length = Number(new DataView(payload).getBigUint64(0, true));
	const header = JSON.parse(new TextDecoder().decode(new Uint8Array(payload, 8, length)));
	const start2 = Math.ceil((8 + length) / 8) * 8;
	const columns = new Map();
	const halves = new Map();
	for (const { name, type, offset, length: length2 } of header.columns) {
		if (type === "u64") halves.set(name, new Uint32Array(payload, start2 + offset, 2 * length2));
		columns.set(name, column(payload, type, start2 + offset, length2));
	}
	return { header, columns, halves };
}
function column(payload, type, offset, length) {
	if (type === "u8") return new Uint8Array(payload, offset, length);
	if (type === "u32") return new Uint32Array(payload, offset, length);
	return toDoubles(new Uint32Array(payload, offset, 2 * length));
}
function toDoubles(halves) {
	const doubles = new Float64Array(halves.length / 2);
	for (let row = 0; row < doubles.length; row++) doubles[row] = halves[2 * row] + halves[2 * row + 1] * 4294967296;
	return doubles;
}
function ascii(bytes, at, length) {
	return String.fromCharCode(...bytes.subarray(at, at + length));
}

function matching(profile, pattern) {
	if (pattern === "") return null;
	let expression;
	try {
		const ignoresCase = pattern.startsWith("(?i)");
		expression = new RegExp(ignoresCase ? pattern.slice(4) : pattern, ignoresCase ? "ui" : "u");
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
	const { name, source } = profile.functions;
	const matches = new Uint8Array(name.length);
	for (let id = 0; id < name.length; id++) {
		const file2 = source[id] === NONE ? "" : profile.sources[source[id]];
		const texts = [functionName(profile, id), file2, functionPackage(profile, id)];
		matches[id] = Number(texts.some((text) => text !== "" && expression.test(text)));
	}
	return matches;
}
function matchedWeight(tree, sums, matches, from) {
	const state = new Uint8Array(tree.parent.length);
	let weight = 0;
	for (let node = from; node < state.length; node++) {
		if (node !== from && state[tree.parent[node]] === 0) continue;
		const inherited = node === from ? 1 : state[tree.parent[node]];
		const own = node !== 0 && matches[tree.function[node]] === 1 ? 2 : 1;
		state[node] = Math.max(inherited, own);
		if (state[node] === 2) weight += sums.self[node];
	}
	return weight;
}

var WHOLE = 3e3;
var NEAR = 30;
var LONGEST_LINE = 500;
function linesOf(rows, text, wanted2) {
	const own = new Map(rows.map((row) => [row.line, row]));
	const texts = text?.split(/\r\n|[\n\r\u2028\u2029]/) ?? null;
	const marked = [...own.keys(), wanted2].sort((a, b) => a - b);
	const numbers2 = texts ? shownLines(texts.length, marked) : [...own.keys()].sort((a, b) => a - b);
	return numbers2.map((number, at) => ({
		number,
		text: texts && cut(texts[number - 1] ?? ""),
		row: own.get(number) ?? null,
		skipped: texts ? number - (numbers2[at - 1] ?? 0) - 1 : 0
	}));
}
function shownLines(count, marked) {
	const all = Math.max(count, marked[marked.length - 1]);
	const near = new Uint8Array(all + 1).fill(all <= WHOLE ? 1 : 0);
	for (const line of marked) near.fill(1, Math.max(0, line - NEAR), line + NEAR);
	return Array.from({ length: all }, (_, at) => at + 1).filter((line) => near[line]);
}
function cut(line) {
	return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)} …`;
}

var VIEWS = ["flame", "time", "inverted", "top", "sandwich", "source"];
var COLOR_BY = ["category", "package", "tier"];
var BANDS = ["all", "process", "thread"];
var SORTS = ["self", "total", "name", "change"];
var START = {
	view: "flame",
	lane: 0,
	range: null,
	base: null,
	against: null,
	isBefore: false,
	threads: null,
	categories: [],
	focus: [],
	hidden: [],
	zoom: [],
	function: null,
	source: null,
	search: "",
	colorBy: "category",
	isUpward: false,
	by: "function",
	sort: "self",
	filter: "",
	rows: 0,
	bands: "all",
	theme: "auto"
};
var LETTERS = { category: "c", function: "f", package: "p" };
function toHash(state) {
	const words = [];
	const put = (key, value, isSet) => isSet && words.push([key, value]);
	put("view", state.view, state.view !== START.view);
	put("lane", String(state.lane), state.lane !== 0);
	put("range", rangeText(state.range), state.range !== null);
	put("against", state.against ?? (state.base === "rest" ? "rest" : rangeText(state.base)), (state.against ?? state.base) !== null);
	put("widths", "before", state.isBefore);
	put("threads", state.threads?.join(".") || "all", state.threads !== null);
	put("category", state.categories.map((byte) => CATEGORIES[byte][0]).join("."), state.categories.length > 0);
	put("focus", items(state.focus), state.focus.length > 0);
	put("hide", items(state.hidden), state.hidden.length > 0);
	put("zoom", state.zoom.join("."), state.zoom.length > 0);
	put("function", String(state.function), state.function !== null);
	put("source", state.source?.join(".") ?? "", state.source !== null);
	put("search", state.search, state.search !== "");
	put("colour", state.colorBy, state.colorBy !== START.colorBy);
	put("up", "1", state.isUpward);
	put("by", state.by, state.by !== START.by);
	put("sort", state.sort, state.sort !== START.sort);
	put("filter", state.filter, state.filter !== "");
	put("rows", String(state.rows), state.rows !== START.rows);
	put("bands", state.bands, state.bands !== START.bands);
	put("theme", state.theme, state.theme !== START.theme);
	return words.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
}
function fromHash(hash) {
	const words = new Map();
	for (const part of hash.replace(/^#/, "").split("&")) {
		const at = part.indexOf("=");
		if (at > 0) words.set(part.slice(0, at), decoded(part.slice(at + 1)));
	}
	const word = (key) => words.get(key) ?? "";
	const one = (key, known, otherwise) => known.find((value) => value === word(key)) ?? otherwise;
	const number = (key) => /^\d{1,10}$/.test(word(key)) ? Number(word(key)) : null;
	const base = word("against") === "rest" ? "rest" : rangeOf(word("against"));
	const source = numbers(word("source"));
	return {
		view: one("view", VIEWS, START.view),
		lane: number("lane") ?? 0,
		range: rangeOf(word("range")),
		base,
		against: base ? null : word("against") || null,
		isBefore: word("widths") === "before",
		threads: words.has("threads") ? numbers(word("threads")) : null,
		categories: word("category").split(".").map((name) => CATEGORIES.findIndex(([known]) => known === name)).filter((byte) => byte >= 0),
		focus: itemsOf(word("focus")),
		hidden: itemsOf(word("hide")),
		zoom: numbers(word("zoom")),
		function: number("function"),
		source: source.length === 2 ? [source[0], source[1]] : null,
		search: word("search"),
		colorBy: one("colour", COLOR_BY, START.colorBy),
		isUpward: word("up") === "1",
		by: one("by", TOP_BY, START.by),
		sort: one("sort", SORTS, START.sort),
		filter: word("filter"),
		rows: Math.min(100, number("rows") ?? START.rows),
		bands: one("bands", BANDS, START.bands),
		theme: one("theme", ["auto", "light", "dark"], START.theme)
	};
}
function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return "";
	}
}
function numbers(text) {
	return text.split(".").filter((part) => /^\d{1,10}$/.test(part)).map(Number);
}
function rangeText(range) {
	return range?.map((ns) => String(ns / 1e9)).join("-") ?? "";
}
function rangeOf(text) {
	const [from, to] = text.split("-").map((part) => Math.round(Number(part) * 1e9));
	return from >= 0 && to > from && Number.isFinite(to) ? [from, to] : null;
}
function items(list) {
	return list.map(({ kind, id }) => `${LETTERS[kind]}${id}`).join(".");
}
function itemsOf(text) {
	const kinds = Object.keys(LETTERS);
	return text.split(".").flatMap((part) => {
		const kind = kinds.find((known) => LETTERS[known] === part[0]);
		return kind && /^\d{1,10}$/.test(part.slice(1)) ? [{ kind, id: Number(part.slice(1)) }] : [];
	});
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
function share(weight, total) {
	return total > 0 ? weight / total : 0;
}
function percent(part) {
	if (part > 0 && part < 5e-4) return "<0.1 %";
	return `${(100 * part).toFixed(1)} %`;
}
function points(change) {
	return `${change > 0 ? "+" : change < 0 ? "−" : ""}${Math.abs(100 * change).toFixed(1)}`;
}
function duration(ns) {
	const s = ns / 1e9;
	if (s >= 3570) return two(Math.round(s / 60), "h", "min");
	if (s >= 119.5) return two(Math.round(s), "min", "s");
	if (s >= 9.995) return `${s.toFixed(1)} s`;
	if (s >= 0.9995) return `${s.toFixed(2)} s`;
	if (ns >= 1e6) return `${Number((ns / 1e6).toPrecision(3))} ms`;
	if (ns >= 1e3) return `${Number((ns / 1e3).toPrecision(3))} µs`;
	return `${ns} ns`;
}
function two(count, large, small) {
	const rest = count % 60;
	return `${Math.floor(count / 60)} ${large}${rest > 0 ? ` ${rest} ${small}` : ""}`;
}
function axisTime(s, longest) {
	if (longest < 120) return `${Number(s.toFixed(3))} s`;
	const pad = (part) => String(Math.floor(part)).padStart(2, "0");
	return longest < 3600 ? `${Math.floor(s / 60)}:${pad(s % 60)}` : `${Math.floor(s / 3600)}:${pad(s % 3600 / 60)}:${pad(s % 60)}`;
}
function seconds(ns) {
	return (ns / 1e9).toFixed(ns % 1e7 === 0 ? 2 : 3);
}
var KIB = ["bytes", "KiB", "MiB", "GiB", "TiB"];
function amount(weight, unit) {
	if (unit === "ns") return duration(weight);
	if (unit === "bytes") {
		const power = weight < 1 ? 0 : Math.min(4, Math.floor(Math.log2(weight) / 10));
		return `${Number((weight / 1024 ** power).toPrecision(4))} ${KIB[power]}`;
	}
	return unit === "count" ? plural(weight, "sample") : thousands(weight);
}
function clock(startMs, ns, withDate = false) {
	const iso = new Date(startMs + ns / 1e6).toISOString();
	return withDate ? `${iso.slice(0, 10)} ${iso.slice(11, 19)}` : iso.slice(11, 19);
}
function shortPlace(place, most) {
	return place.length <= most ? place : `…${place.slice(place.length - most + 1)}`;
}

var LONGEST = 1.5;
function timeOrder(profile, selection, thread, range, width, hidden) {
	const lane = profile.lanes[selection.lane];
	const spans = [];
	if (!lane?.timed) return spans;
	const interval = profile.meta.interval_ns ?? medianGap(profile, selection, thread);
	const { parent, frame, category, function: functions } = profile.stacks;
	const [first, end] = rowsIn(lane.time, range);
	const pixel = (range[1] - range[0]) / Math.max(1, width);
	let open = [];
	let [lastPixel, lastTime2, length] = [-1, -1, interval];
	const path = [];
	const close = (from, at) => {
		for (const span of open.splice(from)) span.end = Math.max(span.start, Math.min(at, range[1]));
	};
	for (let row = first; row < end; row++) {
		const stack = lane.stack[row];
		if (lane.thread[row] !== thread || selection.stacks && (stack === NONE || !selection.stacks[stack])) continue;
		const time = lane.time[row];
		const isGap = lastTime2 >= 0 && time - lastTime2 > LONGEST * length;
		const column2 = Math.floor((time - range[0]) / pixel);
		const last = length;
		length = lane.unit === "ns" ? Math.max(interval, lane.weight[row]) : interval;
		if (column2 === lastPixel && !isGap) {
			for (const span of open) span.samples++;
			lastTime2 = time;
			continue;
		}
		if (isGap) close(0, lastTime2 + last);
		[lastPixel, lastTime2] = [column2, time];
		path.length = 0;
		for (let at = stack; at !== NONE; at = parent[at]) if (!hidden?.[at]) path.push(at);
		path.reverse();
		let same = 0;
		while (same < open.length && same < path.length && open[same].function === functions[path[same]]) open[same++].samples++;
		close(same, time);
		for (let depth = same; depth < path.length; depth++) {
			const at = path[depth];
			const tier = profile.frames.tier[frame[at]];
			const span = { function: functions[at], category: category[at], tier, depth, start: time, end: time, samples: 1 };
			open.push(span);
			spans.push(span);
		}
	}
	close(0, lastTime2 + length);
	return spans;
}
function medianGap(profile, selection, thread) {
	const lane = profile.lanes[selection.lane];
	const gaps = [];
	let last = -1;
	for (let row = 0; row < lane.time.length && gaps.length < 1e4; row++) {
		if (lane.thread[row] !== thread) continue;
		if (last >= 0) gaps.push(lane.time[row] - last);
		last = lane.time[row];
	}
	gaps.sort((a, b) => a - b);
	return gaps[gaps.length >> 1] || 1e7;
}

function buildTree(profile, hidden, whole) {
	const { parent: caller, frame, category, function: functions } = profile.stacks;
	const size = caller.length;
	const nodeOf2 = new Int32Array(size + 1);
	const parent = new Int32Array(size + 1);
	const functionOf = new Uint32Array(size + 1);
	const categoryOf = new Uint8Array(size + 1);
	functionOf[0] = NONE;
	categoryOf[0] = 14;
	const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * size + 2)));
	let count = 1;
	for (let stack = 0; stack < size; stack++) {
		const above = caller[stack] === NONE ? 0 : nodeOf2[caller[stack]];
		if (hidden?.[stack]) {
			nodeOf2[stack] = above;
			continue;
		}
		const id = functions[stack];
		let slot = (Math.imul(above, 2654435761) ^ Math.imul(id, 2246822507)) >>> 0;
		slot = (slot ^ slot >>> 15) & slots.length - 1;
		while (slots[slot] !== 0 && !(parent[slots[slot]] === above && functionOf[slots[slot]] === id)) {
			slot = slot + 1 & slots.length - 1;
		}
		if (slots[slot] === 0) {
			parent[count] = above;
			functionOf[count] = id;
			categoryOf[count] = category[stack];
			slots[slot] = count++;
		}
		nodeOf2[stack] = slots[slot];
	}
	const { tier, tiers } = tiersOf(profile, nodeOf2, frame, hidden, whole, count);
	const { firstChild, children } = childrenOf(parent, count);
	return {
		parent: parent.subarray(0, count),
		function: functionOf.subarray(0, count),
		category: categoryOf.subarray(0, count),
		tier,
		tiers,
		nodeOf: nodeOf2,
		firstChild,
		children
	};
}
function childrenOf(parent, count) {
	const firstChild = new Int32Array(count + 1);
	for (let node = 1; node < count; node++) firstChild[parent[node] + 1]++;
	for (let node = 0; node < count; node++) firstChild[node + 1] += firstChild[node];
	const next = firstChild.slice();
	const children = new Int32Array(count - 1);
	for (let node = 1; node < count; node++) children[next[parent[node]]++] = node;
	return { firstChild, children };
}
function tiersOf(profile, nodeOf2, frame, hidden, whole, count) {
	const totals = wholeOf(profile, whole.weight);
	const [tier, tiers, best] = [new Uint8Array(count), new Uint8Array(count), new Float64Array(count).fill(-1)];
	for (let stack = 0; stack < frame.length; stack++) {
		if (hidden?.[stack]) continue;
		const [node, of] = [nodeOf2[stack], profile.frames.tier[frame[stack]]];
		tiers[node] |= 1 << of;
		if (totals[stack] > best[node]) {
			best[node] = totals[stack];
			tier[node] = of;
		}
	}
	return { tier, tiers };
}
function wholeOf(profile, weight) {
	const whole = weight.slice();
	const { parent } = profile.stacks;
	for (let stack = parent.length - 1; stack >= 0; stack--) {
		if (parent[stack] !== NONE) whole[parent[stack]] += whole[stack];
	}
	return whole;
}
function sumNodes(tree, sums, reuse) {
	const { parent, nodeOf: nodeOf2 } = tree;
	const count = parent.length;
	const room = (old) => old?.length === count ? old.fill(0) : new Float64Array(count);
	const [self, selfSamples] = [room(reuse?.self), room(reuse?.selfSamples)];
	const { weight, samples } = sums;
	for (let stack = 0; stack < weight.length; stack++) {
		if (samples[stack] === 0 && weight[stack] === 0) continue;
		self[nodeOf2[stack]] += weight[stack];
		selfSamples[nodeOf2[stack]] += samples[stack];
	}
	const [total, totalSamples] = [room(reuse?.total), room(reuse?.totalSamples)];
	total.set(self);
	totalSamples.set(selfSamples);
	for (let node = count - 1; node > 0; node--) {
		if (totalSamples[node] === 0 && total[node] === 0) continue;
		const above = parent[node];
		total[above] += total[node];
		totalSamples[above] += totalSamples[node];
	}
	return { self, total, selfSamples, totalSamples };
}

var MOST_BANDS = 12;
var BAND_ROWS = 10;
var USUAL_INTERVAL_NS = 1e7;
var Derived = class {
	constructor(profile) {
		this.profile = profile;
		this.threadWeights = this.weightsOfThreads(0);
	}
	profile;
	kept = new Map();
	threadWeights;
	once(slot, key, make) {
		const known = this.kept.get(slot);
		if (known?.key === key) return known.value;
		const value = make(known?.value);
		this.kept.set(slot, { key, value });
		return value;
	}
	lane(state) {
		return state.lane < (this.profile.other?.lane ?? this.profile.lanes.length) ? state.lane : 0;
	}
	whole(state) {
		const lane = this.lane(state);
		return this.once("whole", String(lane), () => sumStacks(this.profile, { lane, range: null, threads: null, stacks: null }));
	}
	shownThreads(state) {
		if (state.threads === null) return this.once("main", "", () => this.busiestLoop(0));
		return state.threads.length > 0 ? state.threads : null;
	}
	selection(state) {
		const threads = this.shownThreads(state);
		const mask = this.once("threads", String(threads), () => threads && maskOf(threads, this.profile.threads.length));
		const stacks = this.once("stacks", keyOf2(state, "categories", "focus"), () => keptStacks(this.profile, state.categories, state.focus));
		return { lane: this.lane(state), range: state.range, threads: mask, stacks };
	}
	selectionKey(state) {
		return keyOf2(state, "lane", "range", "threads", "categories", "focus");
	}
	sums(state) {
		return this.once("sums", this.selectionKey(state), (old) => {
			const [selection, whole] = [this.selection(state), this.whole(state)];
			const isAll = !selection.range && !selection.threads && !selection.stacks;
			return isAll ? whole : sumStacks(this.profile, selection, old === whole ? void 0 : old);
		});
	}
	sumsOfAllCategories(state) {
		return state.categories.length === 0 ? this.sums(state) : this.once("sums-all", this.selectionKey(state), () => {
			const stacks = keptStacks(this.profile, [], state.focus);
			return sumStacks(this.profile, { ...this.selection(state), stacks });
		});
	}
	categoryShares(state) {
		const { weight } = this.sumsOfAllCategories(state);
		const { category } = this.profile.stacks;
		const shares = new Float64Array(256);
		for (let stack = 0; stack < category.length; stack++) shares[category[stack]] += weight[stack];
		return shares;
	}
	hidden(state) {
		return this.once("hidden", keyOf2(state, "hidden"), () => hiddenStacks(this.profile, state.hidden));
	}
	tree(state) {
		return this.once("tree", keyOf2(state, "lane", "hidden"), () => buildTree(this.profile, this.hidden(state), this.whole(state)));
	}
	nodeKey(state) {
		return this.selectionKey(state) + keyOf2(state, "hidden", "isBefore") + (state.isBefore ? keyOf2(state, "base", "against") : "");
	}
	nodeSums(state) {
		return this.once("nodes", this.nodeKey(state), (old) => sumNodes(this.tree(state), this.boxSums(state), old));
	}
	boxSums(state) {
		return state.isBefore && this.baseSums(state) || this.sums(state);
	}
	base(state) {
		const selection = this.selection(state);
		const { other, lanes, durationNs } = this.profile;
		if (state.against !== null) return other && { selection: { ...selection, lane: this.otherLane(selection.lane), threads: this.otherThreads(state), range: null }, pieces: [[0, other.durationNs]] };
		if (!state.base || state.base === "rest" && !state.range || !lanes[selection.lane]?.timed) return null;
		return { selection, pieces: basePieces(state.base, state.range, durationNs) };
	}
	otherLane(lane) {
		const { lanes, other } = this.profile;
		const same = lanes.findIndex(({ name }, at) => at >= other.lane && name === lanes[lane]?.name);
		return same < 0 ? other.lane : same;
	}
	otherThreads(state) {
		const { threads, other } = this.profile;
		const now = this.shownThreads(state);
		if (!now) return null;
		const roles = new Set(now.map((id) => threads[id]?.role));
		const chosen = state.threads === null && this.busiestLoop(other.lane);
		return Uint8Array.from(threads, ({ role }, id) => Number(chosen ? chosen.includes(id) : roles.has(role)));
	}
	side(state) {
		return { selection: this.selection(state), pieces: [state.range ?? [0, this.profile.durationNs]] };
	}
	baseSums(state) {
		const base = this.base(state);
		return base && this.once("base", this.selectionKey(state) + keyOf2(state, "base", "against"), () => sumPieces(this.profile, base));
	}
	changes(state, things2) {
		const base = this.base(state);
		return base && changesOf(this.profile, base, this.side(state), things2());
	}
	topChanges(state, by) {
		if (by === "thread" || by === "process" || !this.base(state)) return null;
		return this.once(`top-changes-${by}`, this.selectionKey(state) + keyOf2(state, "hidden", "base", "against"), () => {
			const kinds = this.kinds(state, by);
			const changes = this.changes(state, () => ownKinds(this.profile, this.hidden(state), kinds));
			return { changes, kinds, of: new Map(kinds.keys.map((row, at) => [`${row}:${kinds.lines[at]}`, at])) };
		});
	}
	graph(state) {
		const make = state.view === "inverted" ? fromLeaves : fromRoots;
		const sums = this.nodeSums(state);
		return this.once("graph", this.nodeKey(state) + state.view, () => make(this.tree(state), sums));
	}
	matches(state) {
		return this.once("matches", state.search, () => matching(this.profile, state.search));
	}
	kinds(state, by) {
		return this.once(`kinds-${by}`, keyOf2(state, "hidden"), () => kindsOf(this.profile, by, this.hidden(state)));
	}
	top(state, by) {
		return this.once(`top-${by}`, this.selectionKey(state) + keyOf2(state, "hidden"), () => {
			if (by === "thread" || by === "process") return topOfThreads(this.profile, this.selection(state), by);
			return topOf(this.profile, this.sums(state), by, this.hidden(state), this.kinds(state, by));
		});
	}
	lines(state, source) {
		const rows = this.top(state, "line").filter(({ key }) => key === source);
		if (rows.length > 0) return { rows, areFunctions: false };
		const { source: sources, line } = this.profile.functions;
		return { rows: this.top(state, "function").filter(({ key }) => sources[key] === source).map((row) => ({ ...row, line: line[row.key] })), areFunctions: true };
	}
	gone(state, by) {
		const base = this.baseSums(state);
		if (!base || by === "thread" || by === "process") return [];
		const here = new Set(this.top(state, by).map(({ key, line }) => `${key}:${line}`));
		const before = topOf(this.profile, base, by, this.hidden(state), this.kinds(state, by));
		const none = { self: 0, total: 0, selfSamples: 0, totalSamples: 0 };
		return before.filter(({ key, line, self }) => self > 0 && !here.has(`${key}:${line}`)).map((row) => ({ ...row, ...none }));
	}
	heat(state, width) {
		const { durationNs } = this.profile;
		const interval = this.profile.meta.interval_ns ?? USUAL_INTERVAL_NS;
		const columnNs = columnStep(durationNs, width, 3, interval);
		const bands = this.bands(state);
		return this.once("heat", columnNs + keyOf2(state, "lane", "threads", "categories", "focus", "rows", "bands"), () => {
			const auto = autoRows(columnNs, interval);
			const grid = gridOf(durationNs, columnNs, bands.length > 1 ? Math.min(BAND_ROWS, auto) : state.rows || auto);
			const bandOf = bands.length > 1 ? bandsOf(bands, this.profile.threads.length) : null;
			return heatOf(this.profile, { ...this.selection(state), stacks: this.notIdle(state) }, { ...grid, bands: bands.length || 1, bandOf });
		});
	}
	notIdle(state) {
		const { stacks } = this.selection(state);
		const { category } = this.profile.stacks;
		if (state.categories.length > 0 || !category.includes(IDLE)) return stacks;
		return Uint8Array.from(category, (byte, stack) => Number(byte !== IDLE && stacks?.[stack] !== 0));
	}
	bands(state) {
		if (state.bands === "all") return [];
		return this.once("bands", keyOf2(state, "bands", "threads"), () => {
			const groups = new Map();
			const shown2 = this.shownThreads(state);
			this.profile.threads.forEach((thread, id) => {
				if (this.threadWeights[id] === 0 || shown2 && !shown2.includes(id)) return;
				const { pid, name } = this.profile.processes[thread.process];
				const isProcess = state.bands === "process";
				const key = isProcess ? `p${thread.process}` : `t${thread.process}/${thread.tid ?? thread.name}`;
				const words = thread.role === "other" ? thread.name : ROLES[thread.role];
				const label = isProcess ? `${name || "process"} ${pid ?? ""}` : `${words} ${thread.tid ?? ""}`;
				const group = groups.get(key) ?? { label, threads: [], weight: 0 };
				group.threads.push(id);
				group.weight += this.threadWeights[id];
				groups.set(key, group);
			});
			return [...groups.values()].sort((a, b) => b.weight - a.weight).slice(0, MOST_BANDS);
		});
	}
	loops(state) {
		const { threads, lane } = this.selection(state);
		return this.once("loops", keyOf2(state, "lane", "threads"), () => loopsOf(this.profile, threads, lane));
	}
	weightsOfThreads(index) {
		const weights = new Float64Array(this.profile.threads.length);
		const lane = this.profile.lanes[index];
		lane?.thread.forEach((thread, row) => weights[thread] += lane.weight[row]);
		return weights;
	}
	busiestLoop(lane) {
		const { threads, other } = this.profile;
		const weights = lane === 0 ? this.threadWeights : this.weightsOfThreads(lane);
		let best = -1;
		threads.forEach(({ role }, id) => {
			if (role === "main" && weights[id] > (best < 0 ? 0 : weights[best])) best = id;
		});
		if (best < 0) return null;
		const { process, tid } = threads[best];
		const same = threads.flatMap((row, id) => row.process === process && row.tid === tid ? [id] : []);
		return lane > 0 || same.length < (other?.thread ?? threads.length) ? same : null;
	}
	namedShare() {
		const { frames, unnamed } = this.profile.losses;
		if (!frames) return null;
		const without = Object.values(unnamed ?? {}).reduce((sum, count) => sum + count, 0);
		return 1 - without / frames;
	}
	isKnownFunction(id) {
		return id !== NONE && id < this.profile.functions.name.length;
	}
};
function keyOf2(state, ...names) {
	return JSON.stringify(names.map((name) => state[name]));
}
function maskOf(ids, size) {
	const mask = new Uint8Array(size);
	for (const id of ids) if (id < size) mask[id] = 1;
	return mask;
}
function bandsOf(bands, size) {
	const of = new Int32Array(size).fill(-1);
	bands.forEach(({ threads }, band) => threads.forEach((id) => of[id] = band));
	return of;
}

var LEAST_WIDTH = 0.5;
function pictureOf(derived, state, width) {
	if (state.view === "time") return timePicture(derived, state, width);
	if (state.view === "sandwich") return sandwich(derived, state, width);
	const graph = derived.graph(state);
	const root = follow(graph, state.zoom);
	const laid = layout(graph, root, width, LEAST_WIDTH);
	const things2 = () => state.view === "flame" ? thingsDown(derived.tree(state), laid, root.members) : thingsUp(derived.tree(state), laid, pathOf(root));
	const changes = derived.changes(state, things2);
	const boxes = laid.map((box, at) => shownBox(box, box.depth, changes?.[at]));
	const note = root.totalSamples === 0 ? "No sample is selected." : "";
	return stacked(boxes, root, state.isUpward, note);
}
function sandwich(derived, state, width) {
	const id = state.function;
	if (id === null || !derived.isKnownFunction(id)) {
		return { rows: [], root: null, home: 0, note: "Choose a function: press Enter on a row of the top table, or take it from the menu of a box." };
	}
	const [tree, sums] = [derived.tree(state), derived.nodeSums(state)];
	const callees = calleesOf(tree, sums, id);
	if (callees.root.totalSamples === 0) return { rows: [], root: callees.root, home: 0, note: "This function is not in the selection." };
	const lay = (graph) => layout(graph, graph.root, width, LEAST_WIDTH);
	const [above, below] = [lay(callersOf(tree, sums, id)), lay(callees)];
	const deepest = above[above.length - 1].depth;
	const ofCallers = derived.changes(state, () => thingsOfCallers(tree, above, id));
	const ofCallees = derived.changes(state, () => thingsDown(tree, below, outermost(tree, null, id)));
	const boxes = [
		...above.map((box, at) => shownBox(box, deepest - box.depth, ofCallers?.[at])).slice(1),
		...below.map((box, at) => shownBox(box, deepest + box.depth, ofCallees?.[at]))
	];
	return { ...stacked(boxes, callees.root, false, ""), home: deepest };
}
function timePicture(derived, state, width) {
	const { profile } = derived;
	const empty = (note) => ({ rows: [], root: null, home: 0, note });
	const selection = derived.selection(state);
	if (!profile.lanes[selection.lane]?.timed) return empty("This recording has no times.");
	const thread = threadInTime(derived, state);
	const range = timeRange(derived, state);
	const spans = timeOrder(profile, selection, thread, range, width, derived.hidden(state));
	const scale = width / (range[1] - range[0]);
	const boxes = spans.map((span) => {
		const [x, wide] = [(span.start - range[0]) * scale, (span.end - span.start) * scale];
		const { function: id, category, tier, depth: row } = span;
		return { x, width: Math.max(1, wide), row, function: id, category, tier, tiers: 1 << tier, node: null, span, change: null };
	});
	return stacked(boxes, null, state.isUpward, boxes.length === 0 ? "No sample of this thread is selected." : "");
}
function timeRange({ profile }, state) {
	return state.range ?? [0, Math.max(1, profile.durationNs)];
}
function threadInTime(derived, state) {
	const shown2 = derived.shownThreads(state);
	let best = shown2?.[0] ?? 0;
	derived.threadWeights.forEach((weight, id) => {
		if ((!shown2 || shown2.includes(id)) && weight > derived.threadWeights[best]) best = id;
	});
	return best;
}
function shownBox({ node, x, width }, row, change = null) {
	const { function: id, category, tier, tiers } = node;
	return { x, width, row, function: id, category, tier, tiers, node, span: null, change };
}
function stacked(boxes, root, isUpward, note) {
	let last = 0;
	for (const { row } of boxes) if (row > last) last = row;
	const rows = boxes.length === 0 ? [] : Array.from({ length: last + 1 }, () => []);
	for (const box of boxes) {
		if (isUpward) box.row = last - box.row;
		rows[box.row].push(box);
	}
	for (const row of rows) row.sort((a, b) => a.x - b.x);
	return { rows, root, home: isUpward ? Math.max(0, rows.length - 1) : 0, note };
}
var STRONGEST = 0.1;
function colorOf(derived, state, box, matches) {
	if (box.function === NONE) return GROUP;
	if (matches?.[box.function]) return MATCH;
	const { change } = box;
	if (change && state.colorBy === "category") return colorOfChange(change.verdict, (change.now - change.before) / STRONGEST);
	if (state.colorBy === "tier") return TIER_COLORS[box.tier];
	if (state.colorBy === "package") {
		const name = functionPackage(derived.profile, box.function);
		return name ? colorOfName(name) : box.category === 0 ? CATEGORY_COLORS[0] : GROUP;
	}
	return CATEGORY_COLORS[box.category];
}
function matchedShare(derived, state) {
	const matches = derived.matches(state);
	if (!(matches instanceof Uint8Array)) return null;
	const [tree, sums] = [derived.tree(state), derived.nodeSums(state)];
	const zoomed = state.view === "flame" ? follow(derived.graph(state), state.zoom) : null;
	const from = zoomed?.members[0] ?? 0;
	return sums.total[from] > 0 ? matchedWeight(tree, sums, matches, from) / sums.total[from] : 0;
}

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
function toggle(text, key, isOn, click, title = "") {
	return button(text, key, click, { title, "aria-pressed": String(isOn) });
}
function choice(label, all, chosen, choose, words = {}) {
	const buttons = all.map((value) => toggle(words[value] ?? value, `${label}-${value}`, value === chosen, () => choose(value)));
	return h("span", { class: "segment", role: "group", "aria-label": label }, ...buttons);
}
function picker(label, all, chosen, choose, words = {}) {
	const options2 = all.map((value) => {
		const option = h("option", {}, words[value] ?? value);
		option.value = value;
		option.selected = value === chosen;
		return option;
	});
	const select = h("select", { key: label, "aria-label": label }, ...options2);
	select.addEventListener("change", () => choose(select.value));
	return select;
}
function plainTable(caption, heads, rows) {
	const row = (tag, cells) => h("tr", {}, ...cells.map((text) => h(tag, {}, text)));
	return h("table", {}, h("caption", {}, caption), h("thead", {}, row("th", heads)), h("tbody", {}, ...rows.map((cells) => row("td", cells))));
}
function quiet(text) {
	return h("span", { class: "quiet" }, text);
}
function swatch(color) {
	const element = h("span", { class: "swatch" });
	element.style.background = color;
	return element;
}
function sized(canvas, width, height) {
	const scale = window.devicePixelRatio || 1;
	const [columns, rows] = [Math.round(width * scale), Math.round(height * scale)];
	if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
	[canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
	const context = canvas.getContext("2d");
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.clearRect(0, 0, width, height);
	return context;
}

var AXIS = 17;
var STRIP = 16;
var STRIP_GAP = 3;
var WIDEST = 90;
var LONGEST_LIST = 10;
var BUSY_LIST = 3;
function heatPart(app) {
	const { profile, derived } = app;
	const canvas = h("canvas", { tabindex: "0", role: "application", id: "heat", "aria-label": "Heat map: drag or use the arrow keys to select a range of time", "aria-describedby": "heat-table" });
	const hover = h("span", { class: "quiet", id: "heat-hover" });
	const options2 = h("span", { class: "end row" });
	const legend = h("span", { class: "legend quiet" });
	const stalls = h("div", { class: "stalls", id: "stalls" });
	const table2 = h("div", { class: "unseen", id: "heat-table" });
	const heatBox = h("div", { class: "heat" }, h("div", { class: "row" }, hover, options2), canvas, stalls, table2);
	const side = h("div", { class: "side" });
	const element = h("section", { class: "times", "aria-label": "Time" }, heatBox, side);
	const image = document.createElement("canvas");
	let frame = null;
	let imageKey = "";
	let anchor = null;
	let isDragging = false;
	let tableTimer = 0;
	const lane = () => profile.lanes[derived.lane(app.state)];
	const render = () => {
		refill(options2, legend, app.state.bands === "all" && picker("rows", ROW_CHOICES.map(String), String(app.state.rows), (rows) => app.update({ rows: Number(rows) }), Object.fromEntries(ROW_CHOICES.map((count) => [String(count), count ? `${count} rows` : "rows: auto"]))));
		renderSide();
		if (!lane()?.timed) {
			canvas.classList.add("hidden");
			options2.classList.add("hidden");
			hover.textContent = "This recording has no times: there is no heat map.";
			return;
		}
		const width = Math.max(200, Math.floor(heatBox.clientWidth));
		frame = frameOf(app, width);
		const key = `${width}|${app.isDark}|${window.devicePixelRatio}|${keyOf2(app.state, "lane", "threads", "categories", "focus", "rows", "bands")}`;
		if (key !== imageKey) drawImage(app, image, frame);
		imageKey = key;
		drawHeat(app, canvas, image, frame, width);
		renderLegend(frame.heat);
		renderStalls();
		if (!isDragging && anchor === null) hover.textContent = selectionText2();
		clearTimeout(tableTimer);
		tableTimer = window.setTimeout(renderTable, 250);
	};
	const selectionText2 = () => {
		const { columnNs, rows } = frame.heat;
		return `${duration(columnNs / rows)} a cell, ${columnNs < 1e9 ? duration(columnNs) : `${columnNs / 1e9} s`} a column. Drag, or click twice, to select a range.`;
	};
	const renderLegend = (heat) => {
		const steps = Array.from({ length: 12 }, (_, step) => css(ramp((step + 0.5) / 12, app.isDark)));
		const bar = h("span", { class: "ramp" });
		bar.style.background = `linear-gradient(to right, ${steps.join(",")})`;
		refill(legend, h("span", {}, "0"), bar, h("span", {}, `${amount(heat.max, lane().unit)} a cell`));
	};
	const renderSide = () => {
		const weights = derived.categoryShares(app.state);
		const { total } = derived.sumsOfAllCategories(app.state);
		const rows = CATEGORIES.map(([, label], byte) => ({ label, byte, part: share(weights[byte], total) })).filter(({ part, byte }) => part > 0 || app.state.categories.includes(byte));
		rows.sort((a, b) => b.part - a.part);
		const most = Math.max(...rows.map(({ part }) => part), 1e-9);
		const buttons = rows.map(({ label, byte, part }) => {
			const bar = h("span", { class: "bar" });
			bar.style.width = `${Math.max(1, 58 * part / most)}px`;
			const isIn = app.state.categories.includes(byte);
			const click = () => app.update({ categories: isIn ? app.state.categories.filter((other) => other !== byte) : [...app.state.categories, byte], zoom: [] });
			const element2 = button("", `category-${byte}`, click, { title: `Only ${label}`, "aria-pressed": String(isIn) });
			element2.append(swatch(css(themed(CATEGORY_COLORS[byte], app.isDark))), h("span", {}, label), bar, h("span", { class: "part" }, percent(part)));
			return element2;
		});
		const clear = app.state.categories.length > 0 && button("show all", "category-all", () => app.update({ categories: [], zoom: [] }), { class: "end" });
		refill(side, h("h2", {}, "self time by category", clear), h("div", { class: "list", role: "group", "aria-label": "Categories" }, ...buttons));
	};
	const renderStalls = () => {
		const loops = derived.loops(app.state);
		const list = loops.longest.slice(0, loops.isWatched ? LONGEST_LIST : BUSY_LIST);
		const key = `${loops.isWatched}|${list.map(({ start: start3, thread }) => `${start3}/${thread}`)}`;
		if (stalls.dataset.shown === key) return;
		stalls.dataset.shown = key;
		const what = loops.isWatched ? list.length > 0 ? `the loop was blocked ${plural(loops.longest.length, "time")}` : "the loop was never blocked for 50 ms or more" : list.length > 0 ? "turns were not counted; busy without a pause for at most" : "turns of the event loop were not counted";
		const buttons = list.map((stretch, index) => {
			const id = culprit(profile, stretch, derived.lane(app.state));
			const words = `${duration(stretch.end - stretch.start)} at ${seconds(stretch.start)} s${["", ", waiting", ", waiting for a CPU"][stretch.spent]}${id < 0 ? "" : ` in ${shown(functionWords(profile, id))}`}`;
			const select2 = () => app.update({ range: [Math.floor(stretch.start), Math.ceil(stretch.end)], threads: [stretch.thread], zoom: [] });
			return button(words, `stall-${index}`, select2, { class: "link" });
		});
		refill(stalls, quiet(what), ...buttons);
	};
	const renderTable = () => {
		if (!frame) return;
		const { heat } = frame;
		const { unit } = lane();
		const step = Math.max(1, Math.ceil(heat.columns / 120));
		const rows = [];
		for (let column2 = 0; column2 < heat.columns; column2 += step) {
			let [sum, most] = [0, 0];
			for (let band = 0; band < heat.bands; band++) {
				const first = (band * heat.columns + column2) * heat.rows;
				for (const cell of heat.cells.subarray(first, first + heat.rows * Math.min(step, heat.columns - column2))) [sum, most] = [sum + cell, Math.max(most, cell)];
			}
			rows.push([`${seconds(column2 * heat.columnNs)} s`, amount(sum, unit), amount(most, unit)]);
		}
		table2.replaceChildren(plainTable("The heat map as a table", ["from", "sum", "hottest cell"], rows));
	};
	const cellUnder = (event) => {
		const { left, columnWidth, bandHeight, rowHeight, heat } = frame;
		const box = canvas.getBoundingClientRect();
		const [x, y] = [event.clientX - box.left - left, event.clientY - box.top];
		const column2 = Math.min(heat.columns - 1, Math.max(0, Math.floor(x / columnWidth)));
		const isBelow = y >= bandHeight * heat.bands;
		const inBand = bandHeight - 1 - Math.max(0, y) % bandHeight;
		const row = isBelow ? Math.floor((x / columnWidth - column2) * heat.rows) : Math.floor(inBand / rowHeight);
		return column2 * heat.rows + Math.min(heat.rows - 1, Math.max(0, row));
	};
	const select = (a, b, isStep) => app.update({ range: rangeOfCells(frame.heat, a, b), zoom: [] }, isStep);
	const tell = (cell) => {
		const [from, to] = rangeOfCells(frame.heat, cell, cell);
		const time = profile.startMs === null ? "" : ` · ${clock(profile.startMs, from)} UTC`;
		const { heat } = frame;
		let weight = 0;
		for (let band = 0; band < heat.bands; band++) weight += heat.cells[band * heat.columns * heat.rows + cell] ?? 0;
		hover.textContent = `${seconds(from)}–${seconds(to)} s${time} · ${amount(weight, lane().unit)}${anchor !== null && !isDragging ? " · click the other end, or Escape" : ""}`;
	};
	let pressed = -1;
	let start2 = null;
	canvas.addEventListener("pointerdown", (event) => {
		if (event.button !== 0 || !frame) return;
		canvas.setPointerCapture(event.pointerId);
		pressed = cellUnder(event);
		isDragging = false;
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!frame) return;
		const cell = cellUnder(event);
		if (pressed >= 0 && (isDragging || cell !== pressed)) {
			if (!isDragging) [isDragging, start2, anchor] = [true, app.state.range, null];
			select(pressed, cell, false);
		} else if (anchor !== null && pressed < 0) select(anchor, cell, false);
		tell(cell);
	});
	canvas.addEventListener("pointerup", (event) => {
		if (pressed < 0 || !frame) return;
		const cell = cellUnder(event);
		if (isDragging) settle();
		else if (anchor === null) {
			start2 = app.state.range;
			anchor = cell;
			select(cell, cell, false);
		} else {
			select(anchor, cell, false);
			settle();
		}
		[pressed, isDragging] = [-1, false];
		tell(cell);
	});
	canvas.addEventListener("pointercancel", () => [pressed, isDragging, anchor] = [-1, false, null]);
	canvas.addEventListener("pointerleave", () => pressed < 0 && anchor === null && frame && (hover.textContent = selectionText2()));
	const settle = () => {
		anchor = null;
		const { range } = app.state;
		app.update({ range: start2 }, false);
		app.update({ range });
	};
	canvas.addEventListener("keydown", (event) => {
		if (!frame || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === "Escape") {
			if (anchor === null && !app.state.range) return;
			anchor = null;
			event.preventDefault();
			return app.update({ range: null });
		}
		const { heat } = frame;
		const last = heat.columns * heat.rows - 1;
		const steps = { ArrowRight: heat.rows, ArrowLeft: -heat.rows, ArrowUp: 1, ArrowDown: -1, Home: -Infinity, End: Infinity };
		const step = steps[event.key];
		if (step === void 0) return;
		event.preventDefault();
		anchor = null;
		const { range } = app.state;
		if (!range) return select(0, heat.rows - 1, true);
		let [first, end] = [cellAt(heat, range[0]), cellAt(heat, range[1] - 1)];
		if (event.shiftKey) end = Math.max(first, Math.min(last, end + step));
		else {
			const move = Math.max(-first, Math.min(last - end, step));
			[first, end] = [first + move, end + move];
		}
		select(first, end, true);
	});
	return [{ element, render }];
}
function frameOf(app, width) {
	const bands = app.derived.bands(app.state);
	const left = bands.length > 1 ? 150 : 52;
	const heat = app.derived.heat(app.state, width - left - 2);
	const columnWidth = Math.min(WIDEST, (width - left - 2) / heat.columns);
	const rowHeight = heat.bands > 1 ? Math.round(30 / heat.rows) : Math.max(2, Math.round(150 / heat.rows));
	const bandHeight = heat.rows * rowHeight + (heat.bands > 1 ? 2 : 0);
	const height = bandHeight * heat.bands + AXIS + STRIP_GAP + STRIP;
	return { left, columnWidth: Math.max(1, Math.floor(columnWidth)), rowHeight, bandHeight, height, heat };
}
function drawImage(app, image, frame) {
	const { heat, columnWidth, rowHeight, bandHeight } = frame;
	const context = sized(image, Math.ceil(heat.columns * columnWidth), bandHeight * heat.bands);
	const colors = Array.from({ length: 65 }, (_, step) => css(ramp(step / 64, app.isDark)));
	const gap = columnWidth >= 6 ? 1 : 0;
	const styles = getComputedStyle(document.documentElement);
	context.fillStyle = styles.getPropertyValue("--panel");
	for (let band = 0; band < heat.bands; band++) {
		context.fillRect(0, band * bandHeight, heat.columns * columnWidth, heat.rows * rowHeight);
	}
	for (let at = 0; at < heat.cells.length; at++) {
		if (heat.cells[at] === 0) continue;
		const row = at % heat.rows;
		const column2 = Math.floor(at / heat.rows) % heat.columns;
		const band = Math.floor(at / (heat.rows * heat.columns));
		context.fillStyle = colors[Math.ceil(64 * heat.cells[at] / heat.max)];
		context.fillRect(column2 * columnWidth, band * bandHeight + (heat.rows - 1 - row) * rowHeight, columnWidth - gap, rowHeight - (rowHeight > 3 ? 1 : 0));
	}
}
function drawHeat(app, canvas, image, frame, width) {
	const { heat, left, columnWidth, bandHeight, height } = frame;
	const context = sized(canvas, width, height);
	const styles = getComputedStyle(document.documentElement);
	const color = (name) => styles.getPropertyValue(name);
	const [wide, high] = [heat.columns * columnWidth, bandHeight * heat.bands];
	const draw = () => context.drawImage(image, left, 0, Math.ceil(wide), high);
	const { range } = app.state;
	context.globalAlpha = range ? 0.32 : 1;
	draw();
	context.globalAlpha = 1;
	if (range) {
		for (const [x, y, w, hh] of selectedRects(frame, range)) {
			context.save();
			context.beginPath();
			context.rect(x, y, w, hh);
			context.clip();
			context.fillStyle = color("--page");
			context.fillRect(x, y, w, hh);
			draw();
			context.restore();
			context.strokeStyle = color("--accent");
			context.lineWidth = 1.5;
			context.strokeRect(x + 0.5, y + 0.5, w - 1, Math.max(1, hh - 1));
		}
	}
	drawAxis(app, context, frame, high, width, color);
	drawStrip(app, context, frame, high + AXIS + STRIP_GAP, color);
}
function selectedRects({ heat, left, columnWidth, rowHeight, bandHeight }, [from, to]) {
	const cellNs = heat.columnNs / heat.rows;
	const [first, end] = [Math.max(0, Math.round(from / cellNs)), Math.min(heat.columns * heat.rows, Math.max(Math.round(from / cellNs) + 1, Math.round(to / cellNs)))];
	const rects = [];
	for (let band = 0; band < heat.bands; band++) {
		let at = first;
		while (at < end) {
			const column2 = Math.floor(at / heat.rows);
			const [low, isWhole] = [at % heat.rows, at % heat.rows === 0 && end - at >= heat.rows];
			const columns = isWhole ? Math.floor((end - at) / heat.rows) : 1;
			const high = isWhole ? heat.rows : Math.min(heat.rows, low + end - at);
			rects.push([left + column2 * columnWidth, band * bandHeight + (heat.rows - high) * rowHeight, columns * columnWidth, (high - low) * rowHeight]);
			at += isWhole ? columns * heat.rows : high - low;
		}
	}
	return rects;
}
function drawAxis(app, context, { heat, left, columnWidth, bandHeight, rowHeight }, top, width, color) {
	const { startMs } = app.profile;
	context.font = getFont(11);
	context.fillStyle = color("--quiet");
	context.textBaseline = "top";
	const room = startMs === null ? 50 : 120;
	const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((count) => count * columnWidth >= room) ?? 1e3;
	context.textAlign = "left";
	for (let column2 = 0; column2 < heat.columns; column2 += every) {
		const x = left + column2 * columnWidth;
		const time = axisTime(column2 * heat.columnNs / 1e9, app.profile.durationNs / 1e9);
		context.fillRect(x, top, 1, 4);
		const both = startMs === null ? time : `${time} · ${clock(startMs, column2 * heat.columnNs)}`;
		const fits = [both, time].find((text) => x + 3 + context.measureText(text).width <= width);
		if (fits) context.fillText(fits, x + 3, top + 3);
	}
	if (heat.bands > 1) {
		context.textBaseline = "middle";
		app.derived.bands(app.state).forEach(({ label }, band) => context.fillText(fitted(context, shown(label), left - 8), 0, band * bandHeight + bandHeight / 2));
	} else {
		context.textAlign = "right";
		context.textBaseline = "top";
		const unit = heat.columnNs <= 1e9 ? (part) => `${Number((part * heat.columnNs / 1e6).toPrecision(3))} ms` : (part) => `${Number((part * heat.columnNs / 1e9).toPrecision(2))} s`;
		context.fillText(unit(1), left - 4, 0);
		context.textBaseline = "middle";
		context.fillText(unit(0.5), left - 4, heat.rows * rowHeight / 2);
		context.textBaseline = "bottom";
		context.fillText("0", left - 4, heat.rows * rowHeight);
	}
}
function drawStrip(app, context, { heat, left, columnWidth }, top, color) {
	const scale = columnWidth / heat.columnNs;
	const loops = app.derived.loops(app.state);
	if (!loops.isWatched && loops.longest.length === 0) return;
	context.font = getFont(11);
	context.textAlign = "right";
	context.textBaseline = "middle";
	context.fillStyle = color("--quiet");
	context.fillText("loop", left - 4, top + STRIP / 2);
	context.fillStyle = color("--line");
	context.fillRect(left, top + STRIP - 1, heat.columns * columnWidth, 1);
	const threads = app.derived.selection(app.state).threads;
	if (loops.isWatched) {
		context.fillStyle = color("--quiet");
		for (const { thread, start: start2, end, isLong } of app.profile.turns) {
			if (isLong || threads && !threads[thread]) continue;
			context.fillRect(left + start2 * scale, top + STRIP - 3, Math.max(1, (end - start2) * scale), 2);
		}
	}
	context.fillStyle = loops.isWatched ? css(themed(CATEGORY_COLORS[9], app.isDark)) : color("--bar");
	for (const { start: start2, end } of loops.longest) {
		const high = Math.min(STRIP - 1, 3 + 4 * Math.log10(Math.max(1, (end - start2) / 5e7)) * 2.5);
		context.fillRect(left + start2 * scale, top + STRIP - 1 - high, Math.max(2, (end - start2) * scale), high);
	}
}
function getFont(size) {
	return `${size}px ${getComputedStyle(document.body).fontFamily}`;
}
function fitted(context, text, width) {
	let cut2 = text;
	while (cut2.length > 1 && context.measureText(cut2).width > width) cut2 = `${[...cut2].slice(0, -2).join("")}…`;
	return cut2;
}

var ROW = 18;
function svgOf(app, picture, width, nameOf3) {
	const matches = app.derived.matches(app.state);
	const found = matches instanceof Uint8Array ? matches : null;
	const parts2 = picture.rows.flat().map((box) => {
		const name = nameOf3(box.function);
		const place = box.function === NONE ? "" : ` ${shown(functionPlace(app.profile, box.function))}`;
		const samples = box.node ? ` (${box.node.totalSamples} samples)` : "";
		const y = box.row * ROW;
		const room = Math.floor((box.width - 6) / 7);
		const letters = [...name];
		const text = room < 3 ? "" : letters.length <= room ? name : `${letters.slice(0, room - 1).join("")}…`;
		const rect = `<rect x="${box.x.toFixed(1)}" y="${y}" width="${Math.max(0.5, box.width - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${css(colorOf(app.derived, app.state, box, found))}"/>`;
		return `<g><title>${escape(name + place + samples)}</title>${rect}${text ? `<text x="${(box.x + 3).toFixed(1)}" y="${y + 13}">${escape(text)}</text>` : ""}</g>`;
	});
	const height = picture.rows.length * ROW;
	const namespace = ["http", "://www.w3.org/2000/svg"].join("");
	return `<svg xmlns="${namespace}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${parts2.join("\n")}
</svg>
`;
}
function escape(text) {
	const legal = text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g, "�");
	return legal.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
function foldedOf({ profile, derived, state }) {
	const [tree, sums] = [derived.tree(state), derived.nodeSums(state)];
	const names = Array.from(tree.function, (id) => id === NONE ? "" : shown(functionName(profile, id) || "(anonymous)").replaceAll(";", ":"));
	const lines = [];
	for (let node = 1; node < names.length; node++) {
		if (!(sums.self[node] > 0)) continue;
		const path = [];
		for (let at = node; at !== 0; at = tree.parent[at]) path.push(names[at]);
		lines.push(`${path.reverse().join(";")} ${sums.self[node]}
`);
	}
	return lines.join("");
}
function download(content, name, type) {
	const link = h("a", { download: name });
	link.href = URL.createObjectURL(new Blob([content], { type }));
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1e3);
}

var HOT = 0.25;
function sourceOf({ profile }, id) {
	const row = profile.functions.source[id];
	return row === void 0 || row === NONE ? null : [row, profile.functions.line[id]];
}
function sourceView(app) {
	const texts = new Map();
	const said = h("div", { class: "row", id: "source-said" });
	const body = h("div", { class: "scroll" });
	const element = h("div", { class: "contents" }, said, body);
	let last = "";
	const textOf = (row) => {
		const own = app.profile.texts[row];
		if (own != null || texts.has(row)) return own ?? texts.get(row) ?? null;
		texts.set(row, null);
		if (app.id === null) return null;
		const arrived = (text) => text !== null && (texts.set(row, text), last = "", app.schedule());
		app.library?.source(app.id, row).then(arrived, () => {
		});
		return null;
	};
	const render = () => {
		const [own] = hottest(causedBy(app.profile, app.derived.sums(app.state), [APP], "function")) ?? [NONE];
		const source = app.state.source ?? sourceOf(app, own);
		if (!source || source[0] >= app.profile.sources.length) {
			refill(said);
			return refill(body, h("div", { class: "note" }, "Choose a function: press s on a box or a row."));
		}
		const [row, line] = source;
		const text = textOf(row);
		const { total } = app.derived.sums(app.state);
		const { rows, areFunctions } = app.derived.lines(app.state, row);
		const lines = linesOf(rows, text, line);
		const words = areFunctions ? "This recording knows no lines: functions, where they start" : wordsOf(app, row, lines, total);
		refill(said, h("b", {}, shown(app.profile.sources[row])), quiet(words));
		const why = app.library ? "The text of this source cannot be had: the recording does not hold it, and it is not on this machine." : "This file carries no source text: export with --with-source.";
		const most = Math.max(...lines.map((one) => one.row?.self ?? 0), 1e-9);
		refill(body, text === null && h("div", { class: "note" }, why), lines.length > 0 && table(lines, total, most, line));
		const key = `${source}|${text === null}`;
		if (key !== last) body.querySelector(".wanted")?.scrollIntoView({ block: "center" });
		last = key;
	};
	return { element, render };
}
function wordsOf({ derived, state }, source, lines, total) {
	const file2 = derived.top(state, "file").find(({ key }) => key === 2 * source);
	if (!file2) return "nothing of it is in the selection";
	const inLines = lines.reduce((sum, { row }) => sum + (row?.self ?? 0), 0);
	const without = inLines < file2.self ? `, of it ${percent(share(file2.self - inLines, total))} at no known line` : "";
	return `self ${percent(share(file2.self, total))} (${thousands(file2.selfSamples)})${without} · total ${percent(share(file2.total, total))} (${thousands(file2.totalSamples)})`;
}
function table(lines, total, most, line) {
	const wanted2 = lines.find(({ number: number2 }) => number2 >= line)?.number;
	const number = (text) => h("td", { class: "number" }, text);
	const rows = lines.flatMap(({ number: at, text, row, skipped }) => {
		const code = h("td", { class: "code" }, text === null ? "" : shown(text.replaceAll("	", "    ")));
		const bar = h("span", { class: "bar" });
		bar.style.width = `${row ? Math.round(60 * row.self / most) : 0}px`;
		const kind = [row && row.self >= HOT * most ? "hot" : "", at === wanted2 ? "wanted" : ""].join(" ").trim();
		const cells = row ? [percent(share(row.self, total)), thousands(row.selfSamples), percent(share(row.total, total))] : ["", "", ""];
		const own = h("tr", { class: kind, "data-line": String(at) }, ...cells.map(number), h("td", { class: "line" }, bar), number(String(at)), code);
		return skipped > 0 ? [h("tr", {}, h("td", { class: "quiet", colspan: "6" }, `… ${thousands(skipped)} lines`)), own] : [own];
	});
	const head = ["self", "samples", "total", "", "line", ""].map((text, at) => h("th", { class: at === 5 ? "code" : at === 3 ? "line" : "number", scope: "col" }, h("span", {}, text)));
	return h("table", { id: "source" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
}

var FIRST_ROWS = 200;
var IN_SIGHT = 40;
var SETTLED_MS = 120;
var VERDICTS = { more: "more", less: "less", new: "new", gone: "gone", noise: "within noise", unknown: "noise unknown" };
function topTable(app) {
	const filter = h("input", {
		id: "filter",
		type: "search",
		placeholder: "filter",
		"aria-label": "Filter the table",
		spellcheck: "false",
		on: { input: () => app.update({ filter: filter.value }, false) }
	});
	const bar = h("span", { class: "row" });
	const body = h("div", { class: "scroll" });
	const element = h("div", { class: "picture-table contents" }, h("div", { class: "row" }, bar, filter), body);
	let [most, timer] = [FIRST_ROWS, 0];
	const render = () => {
		clearTimeout(timer);
		timer = window.setTimeout(() => app.state.view === "top" && fill(most), SETTLED_MS);
		fill(body.scrollTop > 0 ? most : IN_SIGHT);
	};
	const fill = (count) => {
		const { by, sort } = app.state;
		if (document.activeElement !== filter) filter.value = app.state.filter;
		refill(bar, choice("by", TOP_BY, by, (value) => app.update({ by: value })));
		const { total } = app.derived.sums(app.state);
		const rows = wanted(app, by).sort((a, b) => order(a, b, sort));
		const columns = columnsOf(app, by, total);
		const lines = rows.slice(0, count).map((entry) => h("tr", {}, ...columns.map(({ cell }) => cell(entry))));
		const rest = rows.length - most;
		const more = rest > 0 && button(`${thousands(rest)} more`, "more", () => fill(most = Infinity));
		const table2 = h("table", { id: "top", on: { keydown: (event) => event.key === "s" && event.target.closest("tr")?.querySelector(".to-source")?.click() } }, h("thead", {}, h("tr", {}, ...columns.map(({ head }) => head))), h("tbody", {}, ...lines));
		refill(body, rows.length > 0 ? table2 : h("div", { class: "note" }, by === "package" ? "No npm package is in the selection." : by === "line" ? "This recording has no lines." : "Nothing is selected."), more);
	};
	return { element, render };
}
function wanted(app, by) {
	const text = app.state.filter.toLowerCase();
	const changes = app.derived.topChanges(app.state, by);
	const all = [...app.derived.top(app.state, by), ...app.derived.gone(app.state, by)].map((row) => {
		const place = changes?.of.get(`${row.key}:${row.line}`);
		const change = changes && place !== void 0 ? changes.changes[place] : null;
		return { row, words: wordsOf2(app, row, by), change };
	});
	return text ? all.filter(({ words }) => `${words.name} ${words.place}`.toLowerCase().includes(text)) : all;
}
function order(a, b, sort) {
	if (sort === "name") return a.words.name < b.words.name ? -1 : a.words.name > b.words.name ? 1 : 0;
	const size = ({ change }) => change ? Math.abs(change.now - change.before) : 0;
	if (sort === "change" && size(a) !== size(b)) return size(b) - size(a);
	return sort === "total" ? b.row.total - a.row.total || b.row.self - a.row.self : b.row.self - a.row.self || b.row.total - a.row.total;
}
function wordsOf2({ profile }, { key, line }, by) {
	switch (by) {
		case "function":
			return { name: functionName(profile, key) || "(anonymous)", place: functionPlace(profile, key) };
		case "file":
			return { name: key % 2 === 0 ? profile.sources[key / 2] : profile.modules[(key - 1) / 2], place: "" };
		case "line":
			return { name: `${profile.sources[key]}:${line}`, place: "" };
		case "package":
			return { name: profile.strings[key], place: "" };
		case "category":
			return { name: CATEGORIES[key][1], place: "" };
		case "thread": {
			const { name, tid, role } = profile.threads[key];
			return { name: `${name} ${tid ?? ""}`, place: ROLES[role] ?? role };
		}
		case "process": {
			const { name, pid, container } = profile.processes[key];
			return { name: `${name} ${pid ?? ""}`.trim(), place: container };
		}
	}
}
function columnsOf(app, by, total) {
	const isThread = by === "thread" || by === "process";
	const isCompared = app.derived.base(app.state) !== null && !isThread;
	const column2 = (text, style, cell, sort) => {
		const isSorted = sort !== void 0 && app.state.sort === sort;
		const inner = sort ? button(`${text}${isSorted ? " ▾" : ""}`, `sort-${sort}`, () => app.update({ sort })) : h("span", {}, text);
		return { head: h("th", { class: style, scope: "col", ...sort && { "aria-sort": isSorted ? "descending" : "none" } }, inner), cell };
	};
	const number = (text, value, sort) => column2(text, "number", (entry) => h("td", { class: "number" }, value(entry)), sort);
	const all = [
		number("self", ({ row }) => percent(share(row.self, total)), "self"),
		number("samples", ({ row }) => thousands(row.selfSamples)),
		isCompared && number("before", ({ change }) => change ? percent(change.before) : ""),
		isCompared && number("points", ({ change }) => change ? points(change.now - change.before) : "", "change"),
		isCompared && column2("", "narrow", ({ change }) => h("td", { class: change?.verdict === "noise" ? "quiet" : "" }, change ? VERDICTS[change.verdict] : "")),
		!isThread && number("total", ({ row }) => percent(share(row.total, total)), "total"),
		!isThread && !isCompared && number("samples", ({ row }) => thousands(row.totalSamples)),
		column2(by, by === "function" ? "wide" : "", ({ row, words }) => h("td", { title: shown(words.name) }, nameOf(app, row, shown(words.name), by)), "name"),
		!isThread && by !== "category" && by !== "file" && column2("category", "narrow", ({ row }) => h("td", {}, swatch(css(themed(CATEGORY_COLORS[row.category], app.isDark))), CATEGORIES[row.category][1])),
		by === "function" && column2("where", "", ({ row, words }) => h("td", { class: "place", title: shown(words.place) }, h("bdi", {}, toSource(app, row, shown(words.place), sourceOf(app, row.key))))),
		isThread && column2(by === "thread" ? "role" : "container", "", ({ words }) => h("td", {}, shown(words.place)))
	];
	return all.filter((one) => one !== false);
}
function nameOf(app, row, name, by) {
	if (by === "function") return button(name, `row-${row.key}`, () => app.update({ view: "sandwich", function: row.key }), { class: "link", title: `${name}
Callers and callees` });
	if (by === "package") return button(name, `row-${row.key}`, () => app.focus({ kind: "package", id: row.key }), { class: "link", title: "Only stacks through this package" });
	return toSource(app, row, name, by === "line" ? [row.key, row.line] : by === "file" && row.key % 2 === 0 ? [row.key / 2, 0] : null);
}
function toSource(app, row, text, source) {
	if (!source) return text;
	return button(text, `source-${row.key}-${row.line}`, () => app.update({ view: "source", source }), { class: "link to-source", title: `${text}
Source, with the weight of each line (s)` });
}

var WORDS = { flame: "flame graph", time: "time order", inverted: "inverted", top: "top table", sandwich: "callers & callees", source: "source" };
var MOST_CRUMBS = 5;
var MOST_CHANGES = 3;
function toolPart(app) {
	const tabs = h("div", { class: "work row" });
	const trail = h("div", { class: "row" });
	const compared = h("div", { class: "said", id: "compared", role: "status" });
	return [
		{ element: tabs, render: () => refill(tabs, views(app), selectionText(app)) },
		{ element: compared, render: () => renderCompared(app, compared) },
		{ element: trail, render: () => renderTrail(app, trail) }
	];
}
function renderTrail(app, trail) {
	const some = chips(app);
	trail.classList.toggle("hidden", isTable(app) && some.length === 0);
	refill(trail, crumbs(app), ...some, h("span", { class: "end row" }, ...options(app)));
}
function isTable({ state }) {
	return state.view === "top" || state.view === "source";
}
function views(app) {
	return choice("view", Object.keys(WORDS), app.state.view, (view) => app.update({ view, zoom: [] }), WORDS);
}
function selectionText(app) {
	const { state, profile, derived } = app;
	const sums = derived.sums(state);
	const parts2 = [];
	if (state.range) {
		const [from, to] = state.range;
		parts2.push(`${seconds(from)}–${seconds(to)} s`);
		if (profile.startMs !== null) parts2.push(`${clock(profile.startMs, from)} UTC`);
		parts2.push(duration(Math.min(to, Math.max(profile.durationNs, from)) - from));
	}
	const count = plural(sums.count, "sample");
	const whole = derived.whole(state).count;
	parts2.push(sums.count === whole ? `all ${count}` : `${count} of ${thousands(whole)}`);
	const text = h("span", { id: "selection", role: "status", "data-samples": String(sums.count), "data-weight": String(sums.total) }, parts2.join(" · "));
	const clear = state.range && button("✕", "clear-range", () => app.update({ range: null }), { title: "Clear the selection (Escape)", "aria-label": "Clear the selection" });
	return h("span", { class: "end row" }, quiet("selection"), text, clear, ...comparing(app));
}
function comparing(app) {
	const { range, base, against } = app.state;
	if (base || against) {
		const words = against ? nameOf2(app, against) : base === "rest" ? "the rest" : rangeText2(base);
		const stop = button("✕", "compare-stop", () => app.update({ base: null, against: null, isBefore: false }), { "aria-label": "Stop comparing" });
		return [h("span", { class: "chip", id: "against" }, h("span", {}, `against ${words}`), stop)];
	}
	const buttons = range ? [
		button("against the rest", "compare-rest", () => app.update({ base: "rest", zoom: [] }), { title: "Colour by what is more or less than in the rest of the recording" }),
		button("set as base", "compare-base", () => app.update({ base: range, zoom: [] }), { title: "Then select another range: it is compared with this one" })
	] : [];
	if (app.others.length === 0) return buttons;
	const ids = ["", ...app.others.map(({ id }) => id)];
	const names = Object.fromEntries(ids.map((id) => [id, id ? nameOf2(app, id) : "compare with …"]));
	return [...buttons, picker("compare with", ids, "", (id) => app.update({ against: id, zoom: [] }), names)];
}
var rangeText2 = ([from, to]) => `${seconds(from)}–${seconds(to)} s`;
function nameOf2({ library }, id) {
	const found = library?.recordings.find((other) => other.id === id);
	return found ? shown(found.folder ? `${found.folder}/${found.name}` : found.name) : "a recording that is not here";
}
function renderCompared(app, line) {
	const { state, derived, profile } = app;
	const top = derived.topChanges(state, "function");
	line.classList.toggle("hidden", !top);
	if (!top) return refill(line);
	const { range, base } = state;
	const { other, durationNs } = profile;
	const length = ([from, to]) => to - from;
	const told = (what, ns) => `${what} (${duration(ns)})`;
	const now = range ? told(rangeText2(range), length(range)) : told("the whole recording", durationNs);
	const before = other ? told(nameOf2(app, other.id), other.durationNs) : base === "rest" ? told("the rest", durationNs - length(range)) : told(rangeText2(base), length(base));
	const size = ({ before: before2, now: now2 }) => Math.abs(now2 - before2);
	const sure = top.changes.map((change, at) => ({ change, id: top.kinds.keys[at] })).filter(({ change }) => change.verdict !== "noise" && size(change) > 0);
	sure.sort((a, b) => size(b.change) - size(a.change));
	const isUnknown = sure[0]?.change.verdict === "unknown";
	const words = sure.slice(0, MOST_CHANGES).map(({ change, id }, at) => {
		const { verdict, before: before2, now: now2 } = change;
		const size2 = verdict === "new" || verdict === "gone" ? `${verdict}, ${percent(verdict === "new" ? now2 : before2)}` : `${points(now2 - before2)} points, ${percent(before2)} → ${percent(now2)}`;
		const open = button(shown(functionWords(profile, id)), `changed-${at}`, () => app.update({ view: "sandwich", function: id, isBefore: verdict === "gone" }), { class: "link" });
		return h("span", {}, open, ` ${size2}`);
	});
	const most = words.length === 0 ? "no function changed by more than noise." : isUnknown ? "the largest changes, noise unknown:" : "the largest changes beyond noise:";
	refill(line, quiet(`Self time as shares: ${now} against ${before}; ${most}`), ...words);
}
function crumbs(app) {
	const { state, derived, profile } = app;
	const name = (id) => shown(functionName(profile, id)) || "(anonymous)";
	if (state.view === "sandwich") {
		return h("span", { class: "crumbs" }, state.function !== null && derived.isKnownFunction(state.function) ? h("b", {}, name(state.function)) : "");
	}
	if (state.view === "time") {
		const thread = profile.threads[threadInTime(derived, state)];
		return h("span", { class: "crumbs quiet" }, thread ? `one thread: ${shown(thread.name)} ${thread.tid ?? ""}` : "");
	}
	if (isTable(app)) return h("span", { class: "crumbs" });
	const path = pathOf(follow(derived.graph(state), state.zoom));
	const steps = path.map((id, index) => button(name(id), `crumb-${index}`, () => app.update({ zoom: path.slice(0, index + 1) }), { class: "link", title: name(id) }));
	const all = button("all", "crumb-all", () => app.update({ zoom: [] }), { class: "link" });
	const last = steps.slice(-MOST_CRUMBS);
	const list = [all, ...steps.length > last.length ? [quiet(`▸ ${steps.length - last.length} more`)] : []];
	for (const step of last) list.push(quiet("▸"), step);
	return h("nav", { class: "crumbs", "aria-label": "Zoom" }, ...list);
}
function itemName({ profile }, { kind, id }) {
	if (kind === "category") return CATEGORIES[id]?.[1] ?? "";
	return shown(kind === "function" ? functionName(profile, id) || "(anonymous)" : profile.strings[id] ?? "");
}
function chips(app) {
	const { hidden, focus, categories } = app.state;
	const chip = (word, text, key, remove) => h("span", { class: "chip", title: text }, h("span", {}, `${word} ${text}`), button("✕", key, remove, { "aria-label": `Remove: ${word} ${text}` }));
	const without = (list, at) => list.filter((_, index) => index !== at);
	return [
		...categories.map((byte, at) => chip("only", CATEGORIES[byte][1], `chip-c${at}`, () => app.update({ categories: without(categories, at) }))),
		...focus.map((item, at) => chip("through", itemName(app, item), `chip-f${at}`, () => app.update({ focus: without(focus, at) }))),
		...hidden.map((item, at) => chip("hidden:", itemName(app, item), `chip-h${at}`, () => app.update({ hidden: without(hidden, at) }))),
		...hidden.length + focus.length > 0 ? [button("undo", "undo", () => app.undo(), { title: "u" })] : []
	];
}
function options(app) {
	const { state } = app;
	if (isTable(app)) return [];
	const colors = picker("colour", COLOR_BY, state.colorBy, (colorBy) => app.update({ colorBy }), { category: app.derived.base(state) ? "colour by change" : "colour by category", package: "colour by package", tier: "colour by tier" });
	const widths = app.derived.base(state) && state.view !== "time" && toggle("widths before", "widths", state.isBefore, () => app.update({ isBefore: !state.isBefore }), "Boxes as wide as they were: shows what is gone (b)");
	if (state.view === "sandwich") return widths ? [widths, colors] : [colors];
	return [...widths ? [widths] : [], toggle("roots at the bottom", "upward", state.isUpward, () => app.update({ isUpward: !state.isUpward }), "d"), colors];
}

var ROW2 = 18;
var PADDING = 3;
var MOST_ROWS = 100;
function flamePart(app) {
	const { profile, derived } = app;
	const canvas = h("canvas", { tabindex: "0", role: "application", id: "flame", "aria-label": "Flame graph: arrow keys go from box to box, Enter zooms, m opens a menu", "aria-describedby": "current" });
	const space = h("div");
	const scroll = h("div", { class: "scroll" }, canvas, space);
	const note = h("div", { class: "note hidden" });
	const [top, source] = [topTable(app), sourceView(app)];
	const table2 = h("div", { class: "unseen", id: "flame-table" });
	const tip = h("div", { class: "tip hidden", "aria-hidden": "true" });
	const menu = h("div", { class: "menu hidden", role: "menu" });
	const picture = h("section", { class: "picture", "aria-label": "Picture" }, note, scroll, top.element, source.element, table2, tip, menu);
	const current = h("span", { class: "current", id: "current", role: "status" });
	const legend = h("span", { class: "legend end" });
	const foot = h("footer", { class: "foot" }, current, legend);
	let shownPicture = { rows: [], root: null, home: 0, note: "" };
	let cursor = null;
	let hovered = null;
	let [width, lastHome, tableTimer] = [0, "", 0];
	const widths = new Map();
	const render = () => {
		const table3 = { top, source }[app.state.view];
		for (const other of [top, source]) other.element.classList.toggle("hidden", other !== table3);
		hideMenu();
		if (table3) {
			for (const element of [scroll, note]) element.classList.add("hidden");
			current.textContent = "";
			table3.render();
			legend.replaceChildren();
			return;
		}
		scroll.classList.remove("hidden");
		width = Math.max(100, scroll.clientWidth);
		const last = cursor;
		shownPicture = pictureOf(derived, app.state, width);
		note.classList.toggle("hidden", shownPicture.note === "");
		scroll.classList.toggle("hidden", shownPicture.note !== "");
		note.textContent = shownPicture.note;
		const height = shownPicture.rows.length * ROW2;
		const view = Math.max(1, scroll.clientHeight);
		space.style.height = `${Math.max(0, height - view)}px`;
		const home = `${app.state.view}|${app.state.isUpward}|${app.state.zoom}|${app.state.function}`;
		if (home !== lastHome) scroll.scrollTop = Math.max(0, shownPicture.home * ROW2 - (app.state.view === "sandwich" ? view / 2 : 0));
		lastHome = home;
		hovered = null;
		cursor = last && (sameBox(last) ?? null);
		draw();
		tell(cursor);
		renderLegend();
		clearTimeout(tableTimer);
		tableTimer = window.setTimeout(renderTable, 250);
	};
	const sameBox = (last) => shownPicture.rows[last.row]?.find((box) => box.function === last.function && (last.node === null || box.node?.parent?.function === last.node.parent?.function));
	const nameOf3 = (id) => id === NONE ? "all" : shown(functionName(profile, id)) || "(anonymous)";
	const draw = () => {
		const view = Math.max(1, scroll.clientHeight);
		const context = sized(canvas, width, view);
		context.font = getFont(12);
		context.textBaseline = "middle";
		const matches = derived.matches(app.state);
		const found = matches instanceof Uint8Array ? matches : null;
		const fills = new Map();
		const fill = (color) => {
			let text = fills.get(color);
			if (!text) fills.set(color, text = css(themed(color, app.isDark)));
			return text;
		};
		const first = Math.floor(scroll.scrollTop / ROW2);
		const end = Math.min(shownPicture.rows.length, Math.ceil((scroll.scrollTop + view) / ROW2));
		for (let row = first; row < end; row++) {
			const y = row * ROW2 - scroll.scrollTop;
			for (const box of shownPicture.rows[row]) {
				context.fillStyle = fill(colorOf(derived, app.state, box, found));
				context.fillRect(box.x, y, Math.max(0.5, box.width - (box.width > 2 ? 1 : 0)), ROW2 - 1);
				if (box.width < 22) continue;
				const text = fit(context, box.function, box.width - 2 * PADDING);
				if (!text) continue;
				context.fillStyle = "#000";
				context.fillText(text, box.x + PADDING, y + ROW2 / 2);
			}
		}
		const styles = getComputedStyle(document.documentElement);
		const middle = app.state.view === "sandwich" ? shownPicture.rows[shownPicture.home]?.[0] : null;
		for (const [box, color] of [[middle ?? null, "--text"], [hovered, "--text"], [cursor, "--accent"]]) {
			if (!box) continue;
			context.strokeStyle = styles.getPropertyValue(color);
			context.lineWidth = 2;
			context.strokeRect(box.x + 1, box.row * ROW2 - scroll.scrollTop + 1, Math.max(2, box.width - 3), ROW2 - 3);
		}
	};
	const fit = (context, id, room) => {
		const name = nameOf3(id);
		let full = widths.get(id);
		if (full === void 0) widths.set(id, full = context.measureText(name.slice(0, 400)).width);
		if (full <= room) return name.slice(0, 400);
		const letters = [...name.slice(0, 400)];
		let count = Math.floor(letters.length * room / full);
		while (count > 1 && context.measureText(`${letters.slice(0, count).join("")}…`).width > room) count--;
		return count > 1 ? `${letters.slice(0, count).join("")}…` : "";
	};
	const linesOf2 = (box) => {
		const { total } = derived.boxSums(app.state);
		if (box.function === NONE) return ["all", box.node ? plural(box.node.totalSamples, "sample") : ""];
		const { tiers, tier } = box;
		const others = TIERS.filter((_, at) => at > 0 && at !== tier && tiers >> at & 1);
		const tierText = tier === 0 ? "" : `${TIERS[tier]}${others.length > 0 ? ` (also ${others.join(", ")})` : ""}`;
		const kind = [shown(functionPackage(profile, box.function)), CATEGORIES[box.category][1], tierText].filter(Boolean).join(" · ");
		return [nameOf3(box.function), shown(functionPlace(profile, box.function)), kind, weightText(box, total), changeText(box)];
	};
	const changeText = (box) => {
		const { change } = box;
		if (!change) return "";
		return `before ${percent(change.before)} · now ${percent(change.now)} · ${points(change.now - change.before)} points: ${VERDICTS[change.verdict]}`;
	};
	const weightText = ({ node, span }, total) => {
		if (span) return `${seconds(span.start)}–${seconds(span.end)} s · ${duration(span.end - span.start)} · ${plural(span.samples, "sample")}`;
		const figure = (word, weight, samples) => `${word} ${percent(share(weight, total))} (${thousands(samples)})`;
		return `${figure("self", node.self, node.selfSamples)} · ${figure("total", node.total, node.totalSamples)}`;
	};
	const tell = (box) => {
		current.textContent = box ? linesOf2(box).filter(Boolean).join("   ") : "";
		current.title = current.textContent;
	};
	const boxAt = (clientX, clientY) => {
		const area = canvas.getBoundingClientRect();
		const row = shownPicture.rows[Math.floor((clientY - area.top + scroll.scrollTop) / ROW2)] ?? [];
		const x = clientX - area.left;
		return row.find((box) => x >= box.x && x < box.x + Math.max(1, box.width)) ?? null;
	};
	const showTip = (event) => {
		const box = boxAt(event.clientX, event.clientY);
		if (box !== hovered) {
			hovered = box;
			draw();
			if (box) {
				const [name, ...rest] = linesOf2(box);
				tip.replaceChildren(h("b", {}, name), ...rest.filter(Boolean).map((line) => h("div", {}, line)));
				tell(box);
			} else tell(cursor);
		}
		tip.classList.toggle("hidden", !box || !menu.classList.contains("hidden"));
		const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
		const y = event.clientY + 18 + high > innerHeight ? event.clientY - high - 12 : event.clientY + 18;
		tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - wide - 8))}px`;
		tip.style.top = `${Math.max(4, y)}px`;
	};
	const hideTip = () => {
		tip.classList.add("hidden");
		if (hovered) {
			hovered = null;
			draw();
			tell(cursor);
		}
	};
	const zoomTo = (box) => {
		cursor = box;
		tip.classList.add("hidden");
		if (box.span) return app.update({ range: [Math.floor(box.span.start), Math.max(Math.floor(box.span.start) + 1, Math.ceil(box.span.end))] });
		if (app.state.view === "sandwich") return app.update({ function: box.function });
		const path = pathOf(box.node);
		const isRoot = path.length === app.state.zoom.length;
		return app.update({ zoom: isRoot ? path.slice(0, -1) : path });
	};
	const openMenu = (box, x, y) => {
		if (box.function === NONE) return;
		cursor = box;
		tip.classList.add("hidden");
		const id = box.function;
		const packageId = profile.functions.package[id];
		const name = nameOf3(id);
		const rows = [
			[`Callers and callees of ${name}`, () => app.update({ view: "sandwich", function: id, zoom: [] })],
			[`Only stacks through ${name}`, () => app.focus({ kind: "function", id })],
			[`Hide ${name}`, () => app.hide({ kind: "function", id })]
		];
		const place = sourceOf(app, id);
		if (place) rows.splice(1, 0, [`Source of ${name} (s)`, () => app.update({ view: "source", source: place })]);
		if (packageId !== NONE) {
			const packageName = itemName(app, { kind: "package", id: packageId });
			rows.push([`Only stacks through package ${packageName}`, () => app.focus({ kind: "package", id: packageId })]);
			rows.push([`Hide package ${packageName}`, () => app.hide({ kind: "package", id: packageId })]);
		}
		const label = CATEGORIES[box.category][1];
		rows.push([`Only ${label} (category)`, () => app.focus({ kind: "category", id: box.category })]);
		rows.push([`Hide ${label} (category)`, () => app.hide({ kind: "category", id: box.category })]);
		rows.push(["Search for this name", () => app.update({ search: `^${functionName(profile, id).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$` })]);
		rows.push(["Copy name and place", () => void navigator.clipboard?.writeText(`${functionName(profile, id)} ${functionPlace(profile, id)}`)]);
		const act = (action) => () => (hideMenu(), canvas.focus({ preventScroll: true }), action());
		menu.replaceChildren(...rows.map(([text, action], at) => button(text, `menu-${at}`, act(action), { title: text, role: "menuitem" })));
		menu.classList.remove("hidden");
		menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
		menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8))}px`;
		menu.firstElementChild.focus();
		draw();
	};
	const hideMenu = () => menu.classList.add("hidden");
	menu.addEventListener("keydown", (event) => {
		const steps = { ArrowDown: 1, ArrowUp: -1 };
		if (event.key === "Escape") {
			hideMenu();
			canvas.focus({ preventScroll: true });
		} else if (steps[event.key]) {
			const list = [...menu.children];
			const at = list.indexOf(document.activeElement) + steps[event.key];
			list[(at + list.length) % list.length].focus();
		} else return;
		event.preventDefault();
		event.stopPropagation();
	});
	menu.addEventListener("focusout", (event) => !menu.contains(event.relatedTarget) && hideMenu());
	canvas.addEventListener("pointermove", showTip);
	canvas.addEventListener("pointerleave", hideTip);
	canvas.addEventListener("click", (event) => {
		const box = boxAt(event.clientX, event.clientY);
		if (box) zoomTo(box);
	});
	canvas.addEventListener("contextmenu", (event) => {
		const box = boxAt(event.clientX, event.clientY);
		if (!box) return;
		event.preventDefault();
		openMenu(box, event.clientX, event.clientY);
	});
	scroll.addEventListener("scroll", () => (hideTip(), draw()));
	canvas.addEventListener("focus", () => {
		if (!cursor && canvas.matches(":focus-visible")) moveTo(shownPicture.rows[shownPicture.home]?.[0] ?? null);
	});
	const moveTo = (box) => {
		if (!box) return;
		cursor = box;
		const [y, view] = [box.row * ROW2, scroll.clientHeight];
		if (y < scroll.scrollTop) scroll.scrollTop = y;
		else if (y + ROW2 > scroll.scrollTop + view) scroll.scrollTop = y + ROW2 - view;
		draw();
		tell(box);
	};
	const neighbour = (box, key) => {
		const row = shownPicture.rows[box.row];
		const at = row.indexOf(box);
		if (key === "ArrowRight") return row[at + 1] ?? null;
		if (key === "ArrowLeft") return row[at - 1] ?? null;
		const other = shownPicture.rows[box.row + (key === "ArrowDown" ? 1 : -1)] ?? [];
		const overlap = (candidate) => Math.min(candidate.x + candidate.width, box.x + box.width) - Math.max(candidate.x, box.x);
		let best = null;
		for (const candidate of other) if (overlap(candidate) > 0 && (!best || overlap(candidate) > overlap(best) + 1e-6)) best = candidate;
		return best;
	};
	canvas.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const box = cursor ?? shownPicture.rows[shownPicture.home]?.[0];
		if (!box) return;
		const area = canvas.getBoundingClientRect();
		const place = () => openMenu(box, area.left + Math.max(0, box.x) + 10, area.top + (box.row + 1) * ROW2 - scroll.scrollTop);
		const actions = {
			Enter: () => zoomTo(box),
			" ": () => zoomTo(box),
			Backspace: () => app.update({ zoom: app.state.zoom.slice(0, -1) }),
			s: () => {
				const at = box.function === NONE ? null : sourceOf(app, box.function);
				if (at) app.update({ view: "source", source: at });
			},
			m: place,
			ContextMenu: place
		};
		const action = event.key.startsWith("Arrow") ? () => moveTo(cursor ? neighbour(box, event.key) : box) : actions[event.key];
		if (!action) return;
		event.preventDefault();
		action();
	});
	app.step = (direction) => {
		const matches = derived.matches(app.state);
		if (!(matches instanceof Uint8Array)) return;
		const all = shownPicture.rows.flat().filter((box) => box.function !== NONE && matches[box.function]);
		if (all.length === 0) return;
		const at = cursor ? all.indexOf(cursor) : -1;
		moveTo(all[at < 0 ? direction > 0 ? 0 : all.length - 1 : (at + direction + all.length) % all.length]);
	};
	app.svg = () => svgOf(app, shownPicture, width, nameOf3);
	const renderLegend = () => {
		const { colorBy, view } = app.state;
		const entry = (color, text) => h("span", {}, swatch(css(themed(color, app.isDark))), text);
		if (view !== "time" && colorBy === "category" && derived.base(app.state)) {
			return refill(legend, entry(colorOfChange("more", 1), "more"), entry(colorOfChange("less", -1), "less or gone"), entry(colorOfChange("new", 1), "new"), entry(colorOfChange("noise", 0), "within noise"));
		}
		if (colorBy === "category") return legend.replaceChildren();
		if (colorBy === "tier") return refill(legend, ...TIERS.map((name, tier) => ({ name: tier === 0 ? "not JavaScript" : name, tier })).filter(({ tier }) => tier < 6).map(({ name, tier }) => entry(TIER_COLORS[tier], name)));
		const seen = new Map();
		for (const box of shownPicture.rows.flat()) {
			const name = box.function === NONE ? "" : functionPackage(profile, box.function);
			if (name) seen.set(name, Math.max(seen.get(name) ?? 0, box.width));
		}
		const names = [...seen].sort((a, b) => b[1] - a[1]).slice(0, 10);
		return refill(legend, ...names.map(([name]) => entry(colorOfName(name), shown(name))));
	};
	const renderTable = () => {
		const boxes = shownPicture.rows.flat().sort((a, b) => b.width - a.width).slice(0, MOST_ROWS);
		const { total } = derived.boxSums(app.state);
		const row = (box) => [nameOf3(box.function), box.function === NONE ? "" : shown(functionPlace(profile, box.function)), weightText(box, total)];
		table2.replaceChildren(plainTable("The widest boxes of the picture as a table", ["function", "place", "weight"], boxes.map(row)));
	};
	return [{ element: picture, render }, { element: foot, render: () => {
	} }];
}

var LINKS = new Map(
	`threads lanes.thread markers.thread loops.thread long_turns.thread
stacks lanes.stack line_ticks.stack stacks.parent
frames stacks.frame
functions frames.function
sources functions.source sources.generated
modules functions.module
processes seconds.process threads.process
strings markers.text loops.problem frames.symbol functions.name functions.package sources.path modules.name modules.build_id threads.name processes.name processes.container processes.node_version processes.app processes.command processes.folder lanes.name`.split("\n").flatMap((line) => {
		const [table2, ...links] = line.split(" ");
		return links.map((link) => [link, table2]);
	})
);
var ORDER = "loops long_turns seconds lanes markers line_ticks stacks frames functions sources modules threads processes".split(" ");
var NEXT = 2 ** 32;
async function selectionFile(profile, selection) {
	const { header, columns, halves } = profile.origin;
	const [start2, end] = selection.range ?? [0, Infinity];
	const needed = new Map();
	const rowsOf = (table2) => needed.get(table2) ?? needed.set(table2, new Map()).get(table2);
	const place = (table2, id) => {
		const rows = rowsOf(table2);
		if (id === NONE || rows.has(id)) return rows.get(id) ?? NONE;
		const way = [id];
		while (table2 === "stacks" && !rows.has(way[0]) && way[0] !== NONE) way.unshift(profile.stacks.parent[way[0]]);
		for (const row of way) if (row !== NONE && !rows.has(row)) rows.set(row, rows.size);
		return rows.get(id);
	};
	const chosen = new Map();
	header.lanes.forEach((_, lane) => {
		const rows = [];
		forEachRow(profile, { ...selection, lane }, (row) => rows.push(row));
		chosen.set(`lanes.${lane}`, rows);
		place("lanes", lane);
	});
	for (const table2 of ["markers", "loops", "long_turns"]) {
		const [from, to, thread] = ["start_ns", "end_ns", "thread"].map((name) => columns.get(`${table2}.${name}`) ?? []);
		chosen.set(table2, [...from.keys()].filter((row) => from[row] < end && to[row] >= start2 && selection.threads?.[thread[row]] !== 0));
	}
	chosen.set("seconds", selection.range ? [] : [...(columns.get("seconds.process") ?? []).keys()]);
	const pick = (name, table2, key) => {
		const column2 = columns.get(name);
		if (table2 === "line_ticks" && !chosen.has(table2)) chosen.set(table2, [...profile.lineTicks.stack.keys()].filter((row) => rowsOf("stacks").has(profile.lineTicks.stack[row])));
		const rows = chosen.get(name.slice(0, name.lastIndexOf("."))) ?? [...rowsOf(table2).keys()];
		const link = LINKS.get(`${table2}.${key}`);
		if (column2 instanceof Uint8Array) return Uint8Array.from(rows, (row) => column2[row]);
		if (column2 instanceof Uint32Array) return Uint32Array.from(rows, (row) => link ? place(link, column2[row]) : column2[row]);
		const values = new Uint32Array(2 * rows.length);
		rows.forEach((row, at) => {
			const time = Math.max(0, Math.min(column2[row], end) - start2);
			const both = /^(time|start|end)_ns$/.test(key) ? [time % NEXT, time / NEXT] : key === "polled_ns" && selection.range ? [NONE, NONE] : halves.get(name).subarray(2 * row, 2 * row + 2);
			values.set(both, 2 * at);
		});
		return values;
	};
	const words = header.columns.map(({ name, type }) => ({ name, type, table: name.replace(/\..*/, ""), key: name.slice(name.lastIndexOf(".") + 1) }));
	words.sort((a, b) => ORDER.indexOf(a.table) - ORDER.indexOf(b.table));
	const written = words.map(({ name, type, table: table2, key }) => ({ name, type, values: pick(name, table2, key) }));
	const tables = ["sources", "modules", "threads", "processes", "lanes"].map((table2) => {
		const rows = [];
		for (const id of rowsOf(table2).keys()) {
			const row = header[table2][id];
			rows.push(Object.fromEntries(Object.entries(row).map(([key, value]) => [key, key === "text" ? NONE : LINKS.has(`${table2}.${key}`) ? place(LINKS.get(`${table2}.${key}`), value) : value])));
		}
		return [table2, rows];
	});
	const strings = [...rowsOf("strings").keys()].map((id) => header.strings[id]);
	return file({ meta: metaOf(header.meta, selection.range), strings, ...Object.fromEntries(tables) }, written);
}
function metaOf(meta, range) {
	const losses = { ...meta.losses, unclosed: null };
	if (!range) return { ...meta, losses };
	return {
		...meta,
		start_unix_ns: meta.start_unix_ns ? String(BigInt(meta.start_unix_ns) + BigInt(Math.round(range[0]))) : null,
		start_clock_s: meta.start_clock_s == null ? null : meta.start_clock_s + range[0] / 1e9,
		duration_ns: Math.max(0, Math.min(range[1], meta.duration_ns ?? range[1]) - range[0]),
		losses: { ...losses, cpu_ns: null, hidden_kernel_ns: 0 }
	};
}
async function file(header, columns) {
	let size = 0;
	const directory = columns.map(({ name, type, values }) => {
		const offset = size;
		size += Math.ceil(values.byteLength / 8) * 8;
		return { name, type, offset, length: type === "u64" ? values.length / 2 : values.length };
	});
	const json = new TextEncoder().encode(JSON.stringify({ ...header, columns: directory }));
	const start2 = Math.ceil((8 + json.length) / 8) * 8;
	const payload = new Uint8Array(start2 + size);
	new DataView(payload.buffer).setBigUint64(0, BigInt(json.length), true);
	payload.fill(32, 8, start2).set(json, 8);
	columns.forEach(({ values }, at) => payload.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start2 + directory[at].offset));
	const stream = new Blob([payload]).stream().pipeThrough(new CompressionStream("deflate"));
	const stored = new Uint8Array(await new Response(stream).arrayBuffer());
	const first = new Uint8Array(40);
	first.set(new TextEncoder().encode("nodescop\0\0\0\0\0\0\0PROF"));
	const head = new DataView(first.buffer);
	head.setUint32(20, crc32(stored), true);
	head.setBigUint64(24, BigInt(stored.length), true);
	head.setBigUint64(32, BigInt(payload.length), true);
	return new Blob([head.buffer, stored]);
}

var WORTH_A_WARNING = 0.01;
function headPart(app) {
	return [factsPart(app), saidPart(app), threadsPart(app)];
}
function factsPart(app) {
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
			}
		}
	});
	const matched = h("span", { class: "matched", role: "status" });
	const copied = () => {
		copy.textContent = "copied";
		setTimeout(() => copy.textContent = "link", 1200);
	};
	const copy = button("link", "copy-link", () => void navigator.clipboard?.writeText(location.href).then(copied), { title: "Copy a link to what you see" });
	const buttons = [
		button("‹", "previous", () => app.step(-1), { title: "Previous match (Shift-Enter)", "aria-label": "Previous match" }),
		button("›", "next", () => app.step(1), { title: "Next match (Enter)", "aria-label": "Next match" }),
		copy,
		button("SVG", "svg", () => download(app.svg(), "flame.svg", "image/svg+xml"), { title: "Save what is shown as a picture" }),
		button("folded", "folded", () => download(foldedOf(app), "selection.folded", "text/plain"), { title: "Save what is selected as folded stacks" }),
		button(".nodescope", "nodescope", () => void selectionFile(app.profile, app.derived.selection(app.state)).then((file2) => download(file2, "selection.nodescope", "application/octet-stream")), { title: "Save what is selected as a recording" }),
		button("◐", "theme", () => app.update({ theme: app.isDark ? "light" : "dark" }), { title: "Dark or light (t)", "aria-label": "Dark or light" }),
		button("?", "help", () => app.showHelp(), { title: "Keys (?)", "aria-label": "Keys" })
	];
	const facts = factsOf(app);
	const element = h("header", { class: "head row" }, h("h1", {}, "nodescope"), facts, h("span", { class: "end row" }, matched, search, ...buttons));
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
function factsOf({ profile, derived }) {
	const { meta, losses } = profile;
	const names = [...new Set(profile.processes.map(({ name, pid }) => [name, pid === null ? "" : `pid ${pid}`].filter(Boolean).join(" ")).filter(Boolean))];
	const containers = [...new Set(profile.processes.map(({ container }) => container).filter(Boolean))];
	const versions = [...new Set([meta.node_version ?? "", ...profile.processes.map(({ nodeVersion }) => nodeVersion)].filter(Boolean))];
	const lane = profile.lanes[0];
	const samples = lane ? lane.unit === "count" ? lane.weight.reduce((sum, weight) => sum + weight, 0) : lane.time.length : 0;
	const start2 = profile.startMs === null ? "" : ` from ${clock(profile.startMs, 0, true)} UTC`;
	const named = derived.namedShare();
	const facts = [
		["what", shown(meta.command || (names.length > 3 ? plural(names.length, "process").replace("processs", "processes") : names.join(", ")) || meta.format || "recording")],
		["node", versions.length > 0 ? `Node ${shown(versions.slice(0, 2).join(", "))}` : ""],
		["container", containers.length > 0 ? `container ${shown(containers.slice(0, 2).join(", "))}` : ""],
		["host", meta.host ? shown(meta.host) : ""],
		["duration", lane?.timed ? `${duration(profile.durationNs)}${start2}` : "no times"],
		["samples", lane ? `${plural(samples, "sample")}${lane.name && lane.name !== "samples" ? ` of ${shown(lane.name)}` : ""}` : "no samples"],
		["text", profile.texts.some(Boolean) ? "with source text" : ""]
	];
	const spans = facts.filter(([, text]) => text).map(([key, text]) => h("span", { class: `fact-${key}` }, text));
	const quality = [];
	if (named !== null) quality.push([`${percent(named)} named`, 1 - named > 0.05, Object.entries(losses.unnamed ?? {}).map(([why, count]) => `${thousands(count)} ${why}`).join("\n")]);
	quality.push([`${thousands(losses.lost ?? 0)} lost`, (losses.lost ?? 0) > WORTH_A_WARNING * samples, ""]);
	if (losses.throttled) quality.push([`throttled ${plural(losses.throttled, "time")}`, true, ""]);
	if (losses.hidden_kernel_ns) quality.push([`${duration(losses.hidden_kernel_ns)} in the kernel not visible`, true, "sudo would show it"]);
	if (losses.skipped) quality.push([`${plural(losses.skipped, "line")} not understood`, true, ""]);
	for (const sentence of [...losses.damage ?? [], ...losses.notes ?? []]) quality.push([sentence, true, ""]);
	const words = quality.map(([text, isBad, title]) => h("span", { class: isBad ? "warn" : "fact-quality", title: shown(title) }, shown(text)));
	return h("span", { class: "facts" }, ...spans, ...words);
}
function saidPart(app) {
	const { profile, derived } = app;
	const sums = derived.whole({ ...app.state, lane: 0 });
	const sentences = [];
	const lane = profile.lanes[0];
	const timeOf = (category) => profile.stacks.category.reduce((sum, byte, stack) => sum + (byte === category ? sums.weight[stack] : 0), 0);
	if (lane?.unit === "ns" && lane.timed && profile.durationNs > 0) sentences.push(`${((profile.losses.cpu_ns ?? sums.total - timeOf(IDLE)) / profile.durationNs).toFixed(2)} cores busy`);
	const ofGc = timeOf(GC);
	if (ofGc > 0) sentences.push(`garbage collection took ${percent(share(ofGc, sums.total))} of all CPU time`);
	const own = hottest(causedBy(profile, sums, [APP], "function"));
	if (own) {
		const place = shortPlace(functionPlace(profile, own[0]), 48);
		const name = functionName(profile, own[0]) || "(anonymous)";
		const open = button(shown(name), "own", () => app.update({ view: "sandwich", function: own[0], threads: [] }), { class: "link" });
		sentences.push(h("span", {}, "of your own code, ", open, ` ${shown(place)} caused most: ${percent(share(own[1], sums.total))}`));
	}
	const dependency = hottest(causedBy(profile, sums, [APP, DEPENDENCY, ADDON], "package"));
	if (dependency) sentences.push(`of the npm packages, ${shown(profile.strings[dependency[0]])} caused most: ${percent(share(dependency[1], sums.total))}`);
	const element = h("p", { class: "said quiet", id: "said" }, ...sentences.map((sentence) => h("span", {}, sentence)));
	return { element, render: () => {
	} };
}
function threadsPart(app) {
	const { profile, derived } = app;
	const weights = derived.threadWeights;
	const total = weights.reduce((sum, weight) => sum + weight, 0);
	const roles = Object.keys(ROLES).map((role) => {
		const ids = profile.threads.flatMap((thread, id) => thread.role === role && weights[id] > 0 ? [id] : []);
		return { role, ids, part: share(ids.reduce((sum, id) => sum + weights[id], 0), total) };
	}).filter(({ ids }) => ids.length > 0);
	const list = h("div", { class: "row hidden" });
	let isOpen = false;
	const element = h("div", { class: "threads row", role: "group", "aria-label": "Threads" });
	const same = (a, b) => a !== null && a.length === b.length && b.every((id) => a.includes(id));
	const flip = (ids) => {
		const now = derived.shownThreads(app.state);
		const without = (now ?? []).filter((id) => !ids.includes(id));
		const isIn = now !== null && ids.every((id) => now.includes(id));
		app.update({ threads: isIn ? without : [...without, ...ids], zoom: [] });
	};
	const threadButtons = (now) => {
		const busiest = profile.threads.map((_, id) => id).filter((id) => weights[id] > 0).sort((a, b) => weights[b] - weights[a]).slice(0, 60);
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
			return toggle(words, `role-${role}`, now !== null && ids.every((id) => now.includes(id)), () => same(now, ids) ? app.update({ threads: [], zoom: [] }) : app.update({ threads: ids, zoom: [] }));
		});
		list.classList.toggle("hidden", !isOpen);
		refill(list, ...isOpen ? threadButtons(now) : []);
		const lanes = profile.lanes.slice(0, profile.other?.lane).map((_, index) => String(index));
		const laneNames = Object.fromEntries(profile.lanes.map(({ name, time }, index) => [String(index), `${shown(name)} (${thousands(time.length)})`]));
		refill(
			element,
			quiet("threads"),
			toggle("all", "role-all", now === null, () => app.update({ threads: [], zoom: [] })),
			...roleButtons,
			profile.threads.length > 1 && button(isOpen ? "fewer" : "each …", "each", () => (isOpen = !isOpen, render()), { "aria-expanded": String(isOpen) }),
			lanes.length > 1 && picker("event", lanes, String(derived.lane(app.state)), (lane) => app.update({ lane: Number(lane), zoom: [] }), laneNames),
			h("span", { class: "end row" }, quiet("heat map for"), choice("heat map for", ["all", "process", "thread"], app.state.bands, (bands) => app.update({ bands }), { process: "each process", thread: "each thread" })),
			list
		);
	};
	return { element, render };
}

var App = class {
	constructor(own, root, library = null) {
		this.own = own;
		this.root = root;
		this.library = library;
		this.id = library?.open.at(-1) ?? null;
		this.state = this.fromAddress();
		this.profile = own;
		this.derived = new Derived(own);
		this.show();
		window.addEventListener("popstate", () => this.reset(this.fromAddress()));
		window.addEventListener("hashchange", () => this.reset(this.fromAddress()));
		window.addEventListener("resize", () => this.schedule());
		window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.schedule());
		document.addEventListener("keydown", (event) => this.key(event));
		this.render();
	}
	own;
	root;
	library;
	state;
	profile;
	derived;
	step = () => {
	};
	svg = () => "";
	id;
	parts = [];
	isScheduled = false;
	help = document.querySelector("#help");
	fromAddress() {
		const state = fromHash(location.hash);
		const { open } = this.library ?? { open: [] };
		if (location.hash.length <= 1 && open.length === 2) state.against = open[0];
		return state;
	}
	show() {
		this.parts = [headPart, heatPart, toolPart, flamePart].flatMap((make) => make(this));
		this.root.replaceChildren(...this.parts.map(({ element }) => element));
	}
	get others() {
		return this.library?.recordings.filter(({ id }) => id !== this.id) ?? [];
	}
	async compare(id) {
		if ((this.profile.other?.id ?? null) === id) return;
		const found = this.others.find((other) => other.id === id);
		try {
			if (id !== null && !found) throw new Error("it is not in the list");
			const other = id === null ? null : await this.library.load(id);
			if (this.state.against !== id) return;
			this.profile = other ? join(this.own, other, id, found.name) : this.own;
			this.derived = new Derived(this.profile);
			this.show();
			this.render();
		} catch (error) {
			this.root.prepend(h("p", { class: "warn" }, `The recording to compare with cannot be opened: ${error instanceof Error ? error.message : String(error)}`));
			this.update({ against: null }, false);
		}
	}
	get isDark() {
		if (this.state.theme !== "auto") return this.state.theme === "dark";
		return window.matchMedia("(prefers-color-scheme: dark)").matches;
	}
	update(change, isStep = true) {
		this.state = { ...this.state, ...change };
		const hash = `#${toHash(this.state)}`;
		if (hash !== (location.hash || "#")) history[isStep ? "pushState" : "replaceState"](null, "", hash);
		this.schedule();
	}
	hide(item) {
		this.update({ hidden: [...this.state.hidden, item], zoom: [] });
	}
	focus(item) {
		if (item.kind === "category") this.update({ categories: [item.id], zoom: [] });
		else this.update({ focus: [...this.state.focus, item], zoom: [] });
	}
	undo() {
		const { hidden, focus, categories } = this.state;
		if (hidden.length > 0) this.update({ hidden: hidden.slice(0, -1) });
		else if (focus.length > 0) this.update({ focus: focus.slice(0, -1) });
		else if (categories.length > 0) this.update({ categories: [] });
	}
	showHelp() {
		this.help?.showModal();
	}
	reset(state) {
		if (toHash(state) === toHash(this.state)) return;
		this.state = state;
		this.schedule();
	}
	schedule() {
		if (this.isScheduled) return;
		this.isScheduled = true;
		requestAnimationFrame(() => this.render());
	}
	render() {
		this.isScheduled = false;
		const { theme } = this.state;
		if (theme === "auto") delete document.documentElement.dataset.theme;
		else document.documentElement.dataset.theme = theme;
		void this.compare(this.state.against);
		for (const part of this.parts) part.render();
	}
	key(event) {
		const target = event.target;
		if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || this.help?.open) return;
		const views2 = { 1: "flame", 2: "time", 3: "inverted", 4: "top", 5: "sandwich", 6: "source" };
		const actions = {
			"/": () => document.querySelector("#search")?.focus(),
			"?": () => this.showHelp(),
			d: () => this.update({ isUpward: !this.state.isUpward }),
			t: () => this.update({ theme: this.isDark ? "light" : "dark" }),
			b: () => this.update({ isBefore: !this.state.isBefore }),
			u: () => this.undo(),
			n: () => this.step(1),
			N: () => this.step(-1),
			Escape: () => this.escape()
		};
		const view = views2[event.key];
		const action = view ? () => this.update({ view, zoom: [] }) : actions[event.key];
		if (!action || event.defaultPrevented) return;
		event.preventDefault();
		action();
	}
	escape() {
		if (this.state.zoom.length > 0) this.update({ zoom: [] });
		else if (this.state.range) this.update({ range: null });
		else if (this.state.search) this.update({ search: "" });
	}
};
function showError(root, error) {
	root.replaceChildren(h("p", { class: "note" }, `This recording cannot be shown: ${error instanceof Error ? error.message : String(error)}`));
}

async function start() {
	const root = document.getElementById("page");
	const pieces = [...document.querySelectorAll(".recording")];
	if (pieces.length === 0) return;
	try {
		const bytes = fromBase64(pieces.map((piece) => piece.textContent).join(""));
		for (const piece of pieces) piece.remove();
		new App(profileOf(await decode(bytes)), root);
		performance.mark("nodescope-shown");
	} catch (error) {
		showError(root, error);
		throw error;
	}
}
var parts = {
	App,
	decode,
	profileOf,
	join,
	selectionFile,
	CATEGORY_COLORS,
	TIER_COLORS,
	GROUP,
	MATCH,
	colorOfChange,
	colorOfName,
	ramp,
	themed,
	basePieces,
	changesOf,
	sumPieces,
	thingsDown,
	thingsOfCallers,
	thingsUp,
	calleesOf,
	callersOf,
	follow,
	fromLeaves,
	fromRoots,
	layout,
	outermost,
	pathOf,
	autoRows,
	columnStep,
	gridOf,
	heatOf,
	rangeOfCells,
	culprit,
	loopsOf,
	hiddenStacks,
	keptStacks,
	sumStacks,
	matchedWeight,
	matching,
	timeOrder,
	linesOf,
	START,
	fromHash,
	toHash,
	duration,
	percent,
	share,
	shown,
	causedBy,
	kindsOf,
	ownKinds,
	topOf,
	topOfThreads,
	buildTree,
	sumNodes
};
Object.assign(globalThis, { nodescope: parts });
if (typeof document !== "undefined") void start();
})();
