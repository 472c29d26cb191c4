// Zoom, search and the keyboard of a picture. Boxes stand in the order of their tree, each before those that it calls,
// so a box with all that it calls is one stretch of the list. Roots are in the row of the first box; a root may have boxes
// on both sides, those of what it called and of its callers. Without this script the picture is a readable still.
"use strict";
(() => {
  const LEVEL = 18;
  const MARGIN = 10;
  const LINE = 17;
  const FOOT = 28;
  const CONTROLS = 330;
  const WHOLE = { x: 0, width: 100 };
  /** In two parts: the program's page has this script inside, and no address. */
  const XHTML = ["http", "://www.w3.org/1999/xhtml"].join("");
  const FEWEST_CHARACTERS = 3;
  const HELP = "click: zoom · /: search · arrows, Enter, Escape: keyboard";

  const root = document.documentElement;
  const frame = document.getElementById("boxes");
  const details = document.getElementById("details");
  const title = document.getElementById("title");
  const fullTitle = root.querySelector("title").textContent;
  const isFluid = root.hasAttribute("data-fluid");
  const boxes = readBoxes();
  const character = characterWidth();
  const controls = makeControls();
  const foot = makeFoot();
  /** The box that fills the picture, -1 for all; and the one that the keyboard is at. */
  let [zoomed, at, query] = [-1, -1, ""];
  let bottom = 0;

  function readBoxes() {
    const last = [];
    const home = Number(frame.firstElementChild.getAttribute("y"));
    return [...frame.children].map((element, index) => {
      const y = Number(element.getAttribute("y"));
      const level = Math.abs(y - home) / LEVEL;
      const words = element.querySelector("title").textContent;
      const whole = words.slice(0, words.lastIndexOf(" ("));
      const name = element.dataset.name ? whole.slice(0, Number(element.dataset.name)) : whole;
      last[level] = index;
      const text = element.querySelector("text");
      const [x, width] = ["x", "width"].map((key) => parseFloat(element.getAttribute(key)));
      return { element, text, x, y, width, level, words, whole, name, outer: level > 0 ? last[level - 1] : -1 };
    });
  }

  /** What a character of the boxes takes here; Chinese, Japanese and emoji take two. */
  function characterWidth() {
    const probe = boxes[0].text;
    const before = probe.textContent;
    probe.textContent = "m".repeat(50);
    const width = probe.getComputedTextLength() / 50;
    probe.textContent = before;
    return width > 0 ? width : 7.25;
  }

  const isWide = (letter) =>
    letter >= "\u1100" &&
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f000}-\u{3fffd}]/u.test(letter);
  const columns = (letter) => (isWide(letter) ? 2 : /\p{M}/u.test(letter) ? 0 : 1);

  // The first letter that has no room, or -1.
  function overflow(letters, most) {
    let room = most;
    return letters.findIndex((letter) => {
      room -= columns(letter);
      return room < 0;
    });
  }

  function cut(text, most) {
    const letters = [...text];
    if (overflow(letters, most) < 0) return text;
    return `${letters.slice(0, overflow(letters, most - 1)).join("")}…`;
  }

  function textIn({ whole, name }, pixels) {
    const most = Math.floor((pixels - 6) / character);
    if (most < FEWEST_CHARACTERS) return "";
    for (const text of [whole, name]) if (overflow([...text], most) < 0) return text;
    return cut(least(name), most);
  }

  /** The function alone of `HTTP request ▸ list` and `after await: list`: all roots begin in the same way. */
  function least(name) {
    const words = name.match(/^(?:after await: |.*▸ (?:await )?(?:\(inferred\) )?)(.*)$/);
    return words && !words[1].endsWith(" frames") ? `▸ ${words[1]}` : name;
  }

  /** The first box behind those that a box calls. */
  function endOf(index) {
    if (index < 0) return boxes.length;
    const { level } = boxes[index];
    let end = index + 1;
    while (end < boxes.length && boxes[end].level > level) end++;
    return end;
  }

  function isOuter(index) {
    for (let box = boxes[zoomed]?.outer ?? -1; box >= 0; box = boxes[box].outer) if (box === index) return true;
    return false;
  }

  function draw() {
    const { x, width } = boxes[zoomed] ?? WHOLE;
    const end = endOf(zoomed);
    const pixels = Number(frame.getAttribute("width"));
    boxes.forEach((box, index) => {
      const inside = index >= zoomed && index < end;
      const outer = !inside && isOuter(index);
      const { element, text } = box;
      element.style.display = inside || outer ? "" : "none";
      element.classList.toggle("outer", outer);
      if (!inside && !outer) return;
      const part = outer ? 1 : box.width / width;
      element.setAttribute("x", `${outer ? 0 : ((box.x - x) / width) * 100}%`);
      element.setAttribute("width", `${part * 100}%`);
      text.textContent = textIn(box, part * pixels);
    });
    const isChanged = zoomed >= 0 || query !== "";
    controls.reset.style.display = isChanged ? "" : "none";
  }

  /** The root of a picture that has one. */
  const isAll = (index) => boxes[index]?.level === 0 && boxes[index].width === WHOLE.width;

  function zoom(index) {
    zoomed = isAll(index) ? -1 : index;
    draw();
    remember();
  }

  function expression(text) {
    const flags = /\p{Lu}/u.test(text) ? "u" : "iu";
    try {
      return new RegExp(text, flags);
    } catch {
      return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), flags);
    }
  }

  /** Marks what matches, and says how much of the picture it is: a match inside of another counts once. */
  function search(text) {
    query = text;
    const pattern = text === "" ? undefined : expression(text);
    let [sum, end] = [0, 0];
    boxes.forEach(({ element, whole, width }, index) => {
      const isHit = pattern?.test(whole) ?? false;
      element.classList.toggle("hit", isHit);
      if (isHit && index >= end) {
        sum += width;
        end = endOf(index);
      }
    });
    controls.matched.textContent = pattern ? `Matched: ${sum.toFixed(1)}%` : "";
    if (controls.input.value !== text) controls.input.value = text;
    draw();
    remember();
  }

  function remember() {
    const state = new URLSearchParams();
    if (zoomed >= 0) state.set("box", zoomed);
    if (query !== "") state.set("search", query);
    const hash = state.toString();
    try {
      history.replaceState(null, "", hash === "" ? location.href.split("#")[0] : `#${hash}`);
    } catch {
      // Some places forbid it; then the address says less.
    }
  }

  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    const box = Number(state.get("box") ?? -1);
    zoomed = Number.isInteger(box) && box in boxes && !isAll(box) ? box : -1;
    search(state.get("search") ?? "");
  }

  function show(index) {
    details.textContent = index < 0 ? HELP : boxes[index].words;
  }

  function move(index) {
    if (index === undefined || index < 0) return;
    boxes[at]?.element.classList.remove("at");
    at = index;
    boxes[at].element.classList.add("at");
    boxes[at].element.scrollIntoView({ block: "nearest" });
    show(at);
  }

  /** The box that a key leads to: the one that this is in, the widest one in it, or the next one of its row. */
  function neighbour(key) {
    if (at < 0) return Math.max(zoomed, 0);
    const { outer, y, x } = boxes[at];
    const shown = [...boxes.keys()].filter((index) => boxes[index].element.style.display !== "none");
    if (key === "ArrowUp" || key === "ArrowDown") {
      const next = y + (key === "ArrowUp" ? -LEVEL : LEVEL);
      if (boxes[outer]?.y === next) return outer;
      const inside = shown.filter((index) => boxes[index].outer === at && boxes[index].y === next);
      return inside.sort((a, b) => boxes[b].width - boxes[a].width || a - b)[0];
    }
    const beside = shown.filter(
      (index) => boxes[index].y === y && (key === "ArrowRight" ? boxes[index].x > x : boxes[index].x < x),
    );
    return beside.sort((a, b) => Math.abs(boxes[a].x - x) - Math.abs(boxes[b].x - x))[0];
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (document.activeElement === controls.input) {
      if (key === "Escape") search("");
      if (key === "Escape" || key === "Enter") controls.input.blur();
      return;
    }
    if (key === "/") controls.input.focus();
    else if (key.startsWith("Arrow")) move(neighbour(key));
    else if (key === "Enter" && at >= 0) zoom(at);
    else if (key === "Escape" && query !== "") search("");
    else if (key === "Escape") zoom(-1);
    else return;
    event.preventDefault();
  }

  function add(name, parent, attributes) {
    const element = document.createElementNS(root.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  function makeControls() {
    const group = add("g", root, { id: "controls" });
    const reset = add("text", group, { id: "reset", class: "button", "text-anchor": "end" });
    reset.textContent = "Reset";
    reset.style.display = "none";
    const matched = add("text", group, { id: "matched", "text-anchor": "end" });
    const place = add("foreignObject", group, { width: 150, height: 26 });
    const input = document.createElementNS(XHTML, "input");
    input.setAttribute("id", "search");
    input.setAttribute("placeholder", "search ( / )");
    input.setAttribute("aria-label", "search by regular expression");
    place.append(input);
    return { reset, matched, place, input };
  }

  /** The details stay at the lower end of the window. */
  function makeFoot() {
    const paper = add("rect", root, { id: "foot", width: "100%", height: FOOT });
    root.append(details);
    return paper;
  }

  function placeFoot() {
    const top = Math.min(bottom, scrollY + innerHeight) - FOOT;
    foot.setAttribute("y", top);
    details.setAttribute("y", top + 19);
  }

  /** Lets a list flow like words; where it ends. */
  function flow(id, y, width) {
    const items = [...(document.getElementById(id)?.children ?? [])];
    let [x, line] = [0, 0];
    for (const item of items) {
      const room = item.getBBox().width;
      if (x > 0 && x + room > width) [x, line] = [0, line + 1];
      item.setAttribute("transform", `translate(${MARGIN + x},${y + line * LINE})`);
      x += room + 14;
    }
    return items.length === 0 ? y : y + (line + 1) * LINE;
  }

  function fitTitle(width) {
    let letters = [...fullTitle];
    title.textContent = fullTitle;
    while (letters.length > 1 && title.getComputedTextLength() > width) {
      letters = letters.slice(0, -Math.ceil(letters.length / 20));
      title.textContent = `${letters.join("")}…`;
    }
  }

  function place() {
    const width = isFluid
      ? Math.max(root.parentNode === document ? innerWidth : 0, 200)
      : Number(root.getAttribute("width"));
    const isNarrow = width < 2 * CONTROLS;
    const room = width - 2 * MARGIN;
    fitTitle(isNarrow ? room : room - CONTROLS);
    const row = isNarrow ? 32 : 8;
    controls.place.setAttribute("x", width - MARGIN - 150);
    controls.place.setAttribute("y", row);
    controls.matched.setAttribute("x", width - MARGIN - 158);
    controls.matched.setAttribute("y", row + 17);
    controls.reset.setAttribute("x", width - MARGIN - 272);
    controls.reset.setAttribute("y", row + 17);
    const facts = flow("facts", isNarrow ? 76 : 46, room);
    const top = flow("legend", facts + 2, room) - LINE + 8;
    frame.setAttribute("y", top);
    frame.setAttribute("width", room);
    bottom = top + Number(frame.getAttribute("height")) + FOOT;
    root.setAttribute("height", bottom);
    if (isFluid) {
      root.setAttribute("width", "100%");
      root.removeAttribute("viewBox");
    } else {
      root.setAttribute("viewBox", `0 0 ${width} ${bottom}`);
    }
    placeFoot();
    draw();
  }

  frame.classList.add("live");
  const indexOf = (event) => boxes.findIndex(({ element }) => element.contains(event.target));
  frame.addEventListener("click", (event) => indexOf(event) >= 0 && zoom(indexOf(event)));
  frame.addEventListener("mouseover", (event) => show(indexOf(event)));
  frame.addEventListener("mouseleave", () => show(at));
  controls.input.addEventListener("input", () => search(controls.input.value));
  controls.reset.addEventListener("click", () => {
    zoomed = -1;
    search("");
  });
  addEventListener("keydown", onKey);
  addEventListener("resize", place);
  addEventListener("scroll", placeFoot);
  addEventListener("hashchange", recall);
  show(-1);
  place();
  recall();
})();
