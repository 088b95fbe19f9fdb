"use strict";
// Shows the data of the page. Every text is set as text, never as markup, and no figure of the
// report is computed here: this script adds up only what a search found.
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const isComparison = data.kind === "comparison";
  const measureOf = new Map(data.measures.map((measure) => [measure.key, measure]));

  // ---- Spelling figures, as the report does ----

  const count = (n) => n.toLocaleString("en-US", { maximumFractionDigits: 2 });

  function bytes(n) {
    if (n < 0) return bytes(-n).replace(/^(?=.*[1-9])/, "-");
    if (n < 1024) return n + " B";
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = -1;
    do {
      n /= 1024;
      unit++;
    } while (n >= 1023.95 && unit < units.length - 1);
    return n.toFixed(1) + " " + units[unit];
  }

  // Beyond 2^53 a JavaScript number cannot hold each unit.
  function exactly(n, unit) {
    if (unit !== "bytes") return count(n);
    if (Math.abs(n) < 1024) return count(n) + " bytes";
    return Number.isSafeInteger(n) ? `${count(n)} bytes = ${bytes(n)}` : bytes(n);
  }

  function nanos(n) {
    // Divides whole numbers: a product of fractions may fall below the figure that the report has.
    const cut = (unit, digits) => (Math.floor(n / (unit / 10 ** digits)) / 10 ** digits).toFixed(digits);
    if (n < 1e3) return n + " ns";
    if (n < 1e6) return cut(1e3, 1) + " us";
    if (n < 1e9) return cut(1e6, 1) + " ms";
    if (n < 60e9) return cut(1e9, 2) + " s";
    const s = Math.floor(n / 1e9);
    const two = (n) => String(n).padStart(2, "0");
    if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
    return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
  }

  function share(part, whole) {
    if (!(whole > 0)) return "-";
    const permille = Math.round((part / whole) * 1000);
    if (permille === 0 && part > 0) return "<0.1 %";
    if (permille === 1000 && part < whole) return ">99.9 %";
    return (permille / 10).toFixed(1) + " %";
  }

  const spell = (n, unit) =>
    unit === "bytes" ? bytes(n) : unit === "ns" ? nanos(n) : unit === "number" ? n.toFixed(2) : count(n);
  const signed = (n, unit) => (n > 0 ? "+" : "") + spell(n, unit);

  // ---- Elements ----

  function element(name, text, properties) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, properties);
  }

  function svg(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function fillSelect(select, options, chosen) {
    select.replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
    select.value = chosen;
  }

  // ---- What is shown: kept in the address, so that it can be sent ----

  const start = {
    view: "flame", measure: data.measure, by: data.by, frames: data.frames, inverted: "", upwards: "", zoom: "0",
    search: "", table: data.table, sort: "", asc: "", filter: "", all: "", zeros: "",
    snapshot: "", theme: "",
  };
  const state = { ...start };
  const inputs = ["search", "filter"];
  let selected = 0;
  let openRow = -1;
  let shownRows = 200;

  function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const key in start) state[key] = given.get(key) ?? start[key];
    if (!views.some(([view]) => view === state.view)) state.view = views[0][0];
    if (!measureOf.has(state.measure)) state.measure = start.measure;
    selected = 0;
    openRow = -1;
    shownRows = 200;
  }

  function writeAddress() {
    const said = new URLSearchParams();
    for (const key in start) if (state[key] !== start[key]) said.set(key, state[key]);
    // A page in a frame without an address of its own cannot keep it.
    try {
      history.replaceState(null, "", "#" + said);
    } catch {}
  }

  function set(changes) {
    if ("by" in changes || "frames" in changes || "inverted" in changes) {
      // Another tree: its frames have other numbers.
      changes = { zoom: "0", ...changes };
      selected = 0;
    }
    if ("table" in changes) changes = { sort: "", asc: "", ...changes };
    if (["table", "filter", "sort", "measure", "zeros"].some((key) => key in changes)) {
      openRow = -1;
      shownRows = 200;
    }
    Object.assign(state, changes);
    writeAddress();
    show();
  }

  const views = [["flame", "Flamegraph"], ["tables", "Tables"]];
  if (data.recording?.timeline?.length) views.push(["time", "Timeline"]);
  if (data.snapshot) views.push(["snapshot", "Snapshot"]);
  if (data.advice.length) views.push(["advice", "Advice"]);
  views.push(["help", "Help"]);

  // ---- Trees ----

  const foldings = { folded: "folded", own: "your crates", trimmed: "all" };

  // The parent, the frames right below and the end of each frame of a tree: frames stand in the
  // order in which they are drawn, with their depth.
  function structure(tree) {
    if (tree.parent) return tree;
    const n = tree.depth.length;
    tree.parent = new Int32Array(n).fill(-1);
    tree.end = new Int32Array(n);
    tree.kids = Array.from({ length: n }, () => []);
    tree.ownOf = new Map(tree.own);
    tree.isOpen = new Set(tree.open);
    tree.layouts = {};
    const path = [];
    for (let i = 0; i < n; i++) {
      while (path.length > tree.depth[i]) tree.end[path.pop()] = i;
      if (path.length) {
        tree.parent[i] = path[path.length - 1];
        tree.kids[tree.parent[i]].push(i);
      }
      path.push(i);
    }
    for (const i of path) tree.end[i] = n;
    return tree;
  }

  // The place of each frame for a measure, largest first.
  function layout(tree, key) {
    structure(tree);
    if (tree.layouts[key]) return tree.layouts[key];
    const value = tree.figures[key];
    const x = new Float64Array(value.length);
    const kids = tree.kids.map((list) => [...list].sort((a, b) => value[b] - value[a] || a - b));
    for (let i = 0; i < value.length; i++) {
      let at = x[i];
      for (const kid of kids[i]) {
        x[kid] = at;
        at += value[kid];
      }
    }
    return (tree.layouts[key] = { value, x, kids });
  }

  // The tree that the choices lead to; choices that lead nowhere are changed.
  function chosenTree() {
    const trees = data.trees;
    if (!trees.length) return null;
    const pick = (from, test) => (from.some(test) ? from.filter(test) : from);
    let from = pick(trees, (tree) => tree.by === state.by);
    state.by = from[0].by;
    from = pick(from, (tree) => (tree.frames ?? state.frames) === state.frames);
    from = pick(from, (tree) => tree.inverted === (state.inverted === "1"));
    const tree = from[0];
    if (tree.frames) state.frames = tree.frames;
    state.inverted = tree.inverted ? "1" : "";
    if (!tree.measures.includes(state.measure)) state.measure = tree.measures[0];
    const zoom = Number(state.zoom);
    if (!(Number.isInteger(zoom) && zoom > 0 && zoom < tree.depth.length)) state.zoom = "0";
    return tree;
  }

  const label = (tree, i) => data.labels[tree.label[i]];
  const short = (tree, i) => data.texts[label(tree, i)[0]];

  function ownFigure(tree, i, key) {
    if (tree.ownOf.has(i)) return tree.ownOf.get(i)[key] ?? 0;
    return tree.kids[i].length || tree.isOpen.has(i) ? 0 : tree.figures[key][i];
  }

  const side = (tree, i, which, key) => tree.figures[which + "_" + key]?.[i] ?? 0;
  const difference = (tree, i, key) => side(tree, i, "new", key) - side(tree, i, "base", key);

  // What a frame says, in lines; the first is its name.
  function lines(tree, i) {
    const measure = measureOf.get(state.measure);
    const key = measure.key;
    const { value } = layout(tree, key);
    const [, full, place, , frames, recursion] = label(tree, i);
    const said = [short(tree, i)];
    if (data.texts[full] !== short(tree, i)) said.push(data.texts[full]);
    if (isComparison) {
      const [base, now] = [side(tree, i, "base", key), side(tree, i, "new", key)];
      said.push(`${signed(now - base, measure.unit)}: ${exactly(base, measure.unit)} -> ${exactly(now, measure.unit)}`);
      return said;
    }
    const figures = [exactly(value[i], measure.unit), share(value[i], value[0]) + " of all"];
    const zoom = Number(state.zoom);
    if (zoom && i !== zoom && value[i] < value[zoom]) figures.push(share(value[i], value[zoom]) + " of what is zoomed");
    const blocks = tree.figures[measure.blocks]?.[i];
    if (blocks !== undefined) figures.push(count(blocks) + (blocks === 1 ? " block" : " blocks"));
    const own = ownFigure(tree, i, key);
    if (own > 0 && own !== value[i]) figures.push("itself " + spell(own, measure.unit));
    said.push(figures.join(", "));
    const more = [];
    if (place !== null) more.push(data.texts[place]);
    if (frames > 1) more.push(`stands for ${frames} frames`);
    if (recursion > 1) more.push(`recursion up to ${recursion} deep`);
    if (tree.isOpen.has(i)) more.push("frames below it are left out");
    if (more.length) said.push(more.join("; "));
    return said;
  }

  // ---- The flamegraph ----

  const canvas = $("canvas");
  const paint = canvas.getContext("2d");
  // By row: the frames that were drawn, with their place.
  let drawn = [];
  let rowHeight = 20;
  let found = new Set();
  let foundList = [];
  let isPrinting = false;

  const FOUND = "#e66be6";

  function mix(from, to, strength) {
    const channel = (color, at) => parseInt(color.slice(1 + 2 * at, 3 + 2 * at), 16);
    const mixed = [0, 1, 2].map((at) => Math.round(channel(from, at) + (channel(to, at) - channel(from, at)) * strength));
    return `rgb(${mixed})`;
  }

  // As in the SVG: paler for smaller differences, but never as pale as none.
  function colorOf(tree, i, most) {
    if (found.has(i)) return FOUND;
    if (!isComparison) return data.colors[label(tree, i)[3]];
    const [less, equal, more] = data.difference_colors;
    const n = difference(tree, i, state.measure);
    if (n === 0) return equal;
    return mix(equal, n > 0 ? more : less, 0.18 + 0.82 * Math.sqrt(Math.min(1, Math.abs(n) / most)));
  }

  // As much of a name as fits; its size is kept as long as both fit.
  function fit(name, size, most) {
    if (most < 3) return "";
    const all = name + " " + size;
    if (all.length <= most) return all;
    if (most > size.length + 8) return name.slice(0, most - size.length - 3) + ".. " + size;
    return name.length <= most ? name : name.slice(0, most - 2) + "..";
  }

  function draw() {
    const tree = chosenTree();
    const width = Math.max(200, $("frame-area").clientWidth);
    if (!tree) {
      canvas.height = 0;
      return;
    }
    const { value, x } = layout(tree, state.measure);
    let zoom = Number(state.zoom);
    if (!(value[zoom] > 0)) zoom = 0;
    const scale = width / (value[zoom] || 1);
    const frames = [];
    for (let i = tree.parent[zoom]; i >= 0; i = tree.parent[i]) frames.push([i, 0, width, true]);
    frames.reverse();
    let depth = tree.depth[zoom];
    let most = 1;
    for (let i = zoom; i < tree.end[zoom]; ) {
      const w = value[i] * scale;
      if (w < 0.4) {
        i = tree.end[i];
        continue;
      }
      frames.push([i, (x[i] - x[zoom]) * scale, w, false]);
      depth = Math.max(depth, tree.depth[i]);
      i++;
    }
    if (isComparison) {
      for (let i = 1; i < value.length; i++) most = Math.max(most, Math.abs(difference(tree, i, state.measure)));
    }
    const rows = depth + 1;
    rowHeight = rows * 24 <= 560 ? 24 : rows * 20 <= 720 ? 20 : 16;
    const ratio = isPrinting ? 2 : window.devicePixelRatio || 1;
    canvas.width = Math.floor(width * ratio);
    canvas.height = Math.floor(rows * rowHeight * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = rows * rowHeight + "px";
    paint.scale(ratio, ratio);
    const css = getComputedStyle(document.documentElement);
    const isDark = !isPrinting && css.colorScheme === "dark";
    paint.fillStyle = isPrinting ? "#ffffff" : css.getPropertyValue("--ground");
    paint.fillRect(0, 0, width, rows * rowHeight);
    paint.font = "12px ui-monospace, monospace";
    paint.textBaseline = "middle";
    const char = paint.measureText("MMMMMMMMMM").width / 10;
    const unit = measureOf.get(state.measure).unit;
    drawn = Array.from({ length: rows }, () => []);
    for (const [i, left, w, isAround] of frames) {
      const row = state.upwards ? depth - tree.depth[i] : tree.depth[i];
      const top = row * rowHeight;
      drawn[row].push([i, left, w]);
      paint.globalAlpha = isAround ? 0.5 : isDark ? 0.86 : 1;
      paint.fillStyle = colorOf(tree, i, most);
      paint.fillRect(left, top, Math.max(0.4, w - (w > 3 ? 1 : 0)), rowHeight - 1);
      paint.globalAlpha = 1;
      const size = isComparison ? signed(difference(tree, i, state.measure), unit) : spell(value[i], unit);
      const text = fit(short(tree, i), size, Math.floor((w - 6) / char));
      if (text) {
        paint.fillStyle = isAround && isDark ? "#dfe1e5" : "#111111";
        paint.fillText(text, left + 3, top + rowHeight / 2);
      }
      if (i === selected && i > 0) {
        paint.strokeStyle = isDark ? "#ffffff" : "#000000";
        paint.lineWidth = 2;
        paint.strokeRect(left + 1, top + 1, Math.max(1, w - 3), rowHeight - 3);
      }
    }
    showDetails(tree);
    $("unzoom").hidden = zoom === 0;
    const path = [];
    for (let i = zoom; i > 0; i = tree.parent[i]) path.unshift(short(tree, i));
    $("path").textContent = path.join(" > ");
  }

  function showDetails(tree) {
    $("details").textContent = lines(tree, selected || Number(state.zoom)).join("\n");
    canvas.setAttribute("aria-label", "Flamegraph: " + lines(tree, 0).slice(1).join("; "));
    const { frames, share: largest, deep } = tree.left_out;
    const said = [];
    const [outer, inner] = state.upwards ? ["below", "above"] : ["above", "below"];
    if (tree.inverted) said.push(`What asked for the blocks is ${outer}, its callers are ${inner}.`);
    else if (tree.by === "stack") said.push(`Callers are ${outer}, what they call is ${inner}.`);
    if (frames) said.push(`${count(frames)} frames of at most ${share(largest, 1)} are left out.`);
    if (deep) said.push(`${count(deep)} frames are too deep to be drawn.`);
    $("legend").replaceChildren(...legend(tree), element("span", said.join(" ")));
  }

  function legend(tree) {
    const entries = isComparison
      ? [["more", data.difference_colors[2]], ["less", data.difference_colors[0]]]
      : tree.by === "stack"
        ? []
        : data.kinds;
    const squares = entries.flatMap(([text, color]) => {
      const square = element("span", undefined, { className: "square" });
      square.style.background = color;
      return [square, text];
    });
    const text = isComparison
      ? ". A frame is as wide as the larger side. "
      : tree.by === "stack"
        ? "Your code is warm, std grey-blue, native code grey, each dependency has a colour of its own. "
        : ". ";
    return [...squares, text];
  }

  function at(event) {
    const area = canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - area.left, event.clientY - area.top];
    const row = drawn[Math.floor(top / rowHeight)] ?? [];
    const hit = row.find(([, x, w]) => left >= x && left < x + Math.max(w, 1));
    return hit ? hit[0] : -1;
  }

  function search() {
    const tree = chosenTree();
    const wanted = state.search.trim().toLowerCase();
    found = new Set();
    foundList = [];
    $("found").textContent = "";
    if (!tree || !wanted) return;
    const { value } = layout(tree, state.measure);
    // Many frames share a label.
    const hits = new Map();
    const isHit = (number) => {
      if (!hits.has(number)) {
        const [name, full, place] = data.labels[number];
        const texts = [name, full, place].filter((n) => n !== null);
        hits.set(number, texts.some((n) => data.texts[n].toLowerCase().includes(wanted)));
      }
      return hits.get(number);
    };
    let sum = 0;
    let end = 0;
    for (let i = 1; i < value.length; i++) {
      if (value[i] > 0 && isHit(tree.label[i])) {
        found.add(i);
        foundList.push(i);
        // What lies inside a frame that was found is counted with it.
        if (i >= end) {
          sum += value[i];
          end = tree.end[i];
        }
      }
    }
    const unit = measureOf.get(state.measure).unit;
    const frames = foundList.length === 1 ? "1 frame" : count(foundList.length) + " frames";
    $("found").textContent = foundList.length
      ? `${frames}, ${share(sum, value[0])}, ${spell(sum, unit)}`
      : "not found";
  }

  function moveTo(i) {
    selected = i;
    const tree = chosenTree();
    const zoom = Number(state.zoom);
    // A frame outside of what is shown is zoomed out to.
    if (i > 0 && (i < zoom || i >= tree.end[zoom])) set({ zoom: "0" });
    else draw();
  }

  function nextFound(step) {
    if (!foundList.length) return;
    const at = foundList.indexOf(selected);
    moveTo(foundList[(at + step + foundList.length) % foundList.length]);
  }

  function move(key) {
    const tree = chosenTree();
    if (!tree) return;
    const { kids, value } = layout(tree, state.measure);
    const from = selected || Number(state.zoom);
    const visible = (list) => list.filter((i) => value[i] > 0);
    if (key === (state.upwards ? "ArrowUp" : "ArrowDown")) {
      const [first] = visible(kids[from]);
      if (first !== undefined) moveTo(first);
    } else if (key === "ArrowUp" || key === "ArrowDown") {
      if (tree.parent[from] >= 0) moveTo(tree.parent[from]);
    } else if (from > 0) {
      const list = visible(kids[tree.parent[from]]);
      const next = list[list.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
      if (next !== undefined) moveTo(next);
    }
  }

  function zoomTo(i) {
    selected = i;
    set({ zoom: String(i) });
  }

  function zoomOut() {
    const tree = chosenTree();
    const zoom = Number(state.zoom);
    if (tree && zoom > 0) zoomTo(Math.max(0, structure(tree).parent[zoom]));
  }

  // ---- Tables ----

  const tablesBy = new Map();
  for (const table of isComparison ? data.changes : data.tables) tablesBy.set(table.by, table);

  // The rows of a table and its columns; cells are read by the column's key.
  function chosenTable() {
    const table = tablesBy.get(state.table) ?? [...tablesBy.values()][0];
    if (!table) return null;
    state.table = table.by;
    const index = indexOf(table.columns);
    if (!isComparison) {
      const measure = data.measures.find(({ key }) => index.has(key));
      if (!index.has(state.measure) && measure) state.measure = measure.key;
      return { table, index, rows: table.rows, leftOut: table.left_out, notes: table.notes };
    }
    const by = new Map(table.measures);
    if (!by.has(state.measure)) state.measure = table.measures[0][0];
    const changed = by.get(state.measure);
    const notes = [`${count(changed.equal)} rows are equal by this measure and not listed.`, ...(table.notes ?? [])];
    return { table, index, rows: changed.rows, leftOut: changed.left_out, notes };
  }

  const indexOf = (columns) => new Map(columns.map((column, at) => [column.key, at]));
  const unitOf = (column) => (column.unit === "measure" ? measureOf.get(state.measure).unit : column.unit);
  const sortKey = () => state.sort || (isComparison ? "difference" : state.measure);

  function cellText(column, row, index) {
    const cell = row[index.get(column.key)];
    if (cell === null || cell === undefined) return "";
    if (column.unit === "text") return data.texts[cell];
    const unit = unitOf(column);
    const text = column.key === "difference" ? signed(cell, unit) : spell(cell, unit);
    const [low, high] = ["_low", "_high"].map((end) => row[index.get(column.key + end)]);
    if (low === undefined || low === null) return text;
    // Blocks and other events of samples have no upper end.
    return high === undefined || high === null ? `at least ${spell(low, unit)}` : `${text} (${spell(low, unit)} to ${spell(high, unit)})`;
  }

  function shownColumns({ table, index }) {
    const measure = measureOf.get(state.measure);
    const figures = [measure.key, measure.blocks].filter((key) => index.has(key));
    const isEnd = (key) => key.endsWith("_low") || key.endsWith("_high");
    const first = figures.map((key) => table.columns[index.get(key)]);
    const rest = table.columns.filter((column) => !figures.includes(column.key) && !isEnd(column.key));
    return [...first, ...rest.filter((column) => state.all === "1" || column.main)];
  }

  function sorted(rows, { table, index }) {
    const key = sortKey();
    const isLowerBound = index.has(key + "_low") && !index.has(key + "_high");
    const at = index.get(isLowerBound ? key + "_low" : key);
    if (at === undefined) return rows;
    const isText = table.columns[at].unit === "text";
    const direction = state.asc === "1" ? 1 : -1;
    const size = (cell) => (!state.sort && isComparison ? Math.abs(cell) : cell);
    const order = (a, b) => {
      const [one, other] = [a[at], b[at]];
      // What is not known stands last, in either direction.
      if (one === null || other === null) return (one === null) - (other === null);
      if (isText) return direction * (data.texts[one] < data.texts[other] ? -1 : data.texts[one] > data.texts[other] ? 1 : 0);
      return direction * (size(one) - size(other));
    };
    return [...rows].sort(order);
  }

  function showTable() {
    const chosen = chosenTable();
    const [head, body] = [$("rows").tHead, $("rows").tBodies[0]];
    if (!chosen) {
      $("row-count").textContent = "There are no rows.";
      return;
    }
    const { table, index, rows, leftOut, notes } = chosen;
    const columns = shownColumns(chosen);
    const texts = table.columns.flatMap((column, at) => (column.unit === "text" ? [at] : []));
    const wanted = state.filter.trim().toLowerCase();
    // Texts are few, rows are many.
    const matches = wanted ? data.texts.map((text) => text.toLowerCase().includes(wanted)) : null;
    // Rows that hold none of the measure say nothing, unless someone looks for them.
    const isZero = (row) => row[index.get(state.measure)] === 0 && !(row[index.get(state.measure + "_high")] > 0);
    const zeros = isComparison || wanted || !index.has(state.measure) ? [] : rows.filter(isZero);
    const hidesZeros = zeros.length > 0 && state.zeros !== "1";
    $("zeros-label").hidden = !zeros.length;
    const candidates = hidesZeros ? rows.filter((row) => !isZero(row)) : rows;
    let some = matches ? candidates.filter((row) => texts.some((at) => row[at] !== null && matches[row[at]])) : candidates;
    some = sorted(some, chosen);
    const key = sortKey();
    const shareOf = index.has(state.measure) ? table.whole?.[state.measure] || null : null;
    const titles = columns.map((column) => {
      const cell = element("th", undefined, { className: column.unit === "text" ? "" : "figure", scope: "col" });
      const arrow = column.key === key ? (state.asc === "1" ? " ^" : " v") : "";
      const button = element("button", column.title + arrow, { type: "button" });
      button.dataset.sort = column.key;
      cell.append(button);
      if (column.key === key) cell.setAttribute("aria-sort", state.asc === "1" ? "ascending" : "descending");
      return cell;
    });
    if (shareOf) titles.unshift(element("th", "share", { className: "figure", scope: "col" }));
    const line = element("tr");
    line.append(...titles);
    head.replaceChildren(line);
    const numbers = new Map(rows.map((row, at) => [row, at]));
    const lines = some.slice(0, shownRows).map((row) => {
      const line = element("tr", undefined, { tabIndex: 0 });
      line.dataset.row = numbers.get(row);
      if (numbers.get(row) === openRow) line.setAttribute("aria-selected", "true");
      if (shareOf) {
        const part = row[index.get(state.measure)];
        line.append(element("td", part === null ? "-" : share(part, shareOf), { className: "figure" }));
      }
      for (const column of columns) {
        const names = [column.unit === "text" ? "text" : "figure"];
        if (column.key === state.measure) names.push("strong");
        if (column.key === "difference") names.push(row[index.get("difference")] > 0 ? "more" : "less");
        line.append(element("td", cellText(column, row, index), { className: names.join(" ") }));
      }
      return line;
    });
    body.replaceChildren(...lines);
    $("more").hidden = some.length <= shownRows;
    const said = [`${count(some.length)} of ${count(rows.length + leftOut.rows)} rows`];
    if (hidesZeros) said.push(`${count(zeros.length)} hold none of the measure and are hidden`);
    if (leftOut.rows) {
      const measure = measureOf.get(state.measure);
      const rest = leftOut.figures?.[measure.key];
      const size = rest === undefined || rest === null ? "" : `, ${spell(rest, measure.unit)} of ${measure.title}`;
      said.push(`${count(leftOut.rows)} small rows are left out${size}`);
    }
    $("row-count").textContent = said.join("; ");
    $("table-notes").replaceChildren(...notes.map((note) => element("p", note)));
    showRow(chosen);
  }

  function showRow({ table, index, rows }) {
    const panel = $("row");
    panel.hidden = openRow < 0;
    if (openRow < 0) return;
    const row = rows[openRow];
    const list = element("dl");
    for (const column of table.columns) {
      const cell = row[index.get(column.key)];
      if (cell === null || cell === undefined) continue;
      const unit = unitOf(column);
      const text = unit === "bytes" ? exactly(cell, unit) : cellText(column, row, index);
      list.append(element("dt", column.title), element("dd", text));
    }
    const parts = [list];
    const name = ["owner", "function", "key"].map((key) => row[index.get(key)]).find((n) => n !== undefined && n !== null);
    if (name !== undefined) {
      const button = element("button", "find in the flamegraph", { type: "button" });
      button.onclick = () => set({ view: "flame", search: data.texts[name], by: table.by === "holder" ? "holder" : state.by });
      parts.push(button);
    }
    const place = row[index.get("source")];
    const excerpt = place === undefined || place === null ? null : data.sources?.[data.texts[place]];
    if (excerpt) {
      const here = Number(data.texts[place].split(":").pop());
      const width = String(excerpt.first + excerpt.lines.length).length;
      const code = element("pre");
      excerpt.lines.forEach((text, at) => {
        const number = excerpt.first + at;
        const line = `${String(number).padStart(width)}  ${text}\n`;
        code.append(number === here ? element("span", line, { className: "here" }) : line);
      });
      parts.push(element("p", data.texts[place] + (excerpt.changed ? " (the file changed since the recording began)" : ""), { className: "faint" }), code);
    }
    panel.replaceChildren(...parts);
  }

  // ---- Timeline ----

  function showTime() {
    const { timeline, marks, pauses, snapshots, checkpoints, peak_time_ns, duration_ns } = data.recording;
    const [width, height, left, bottom, top] = [1000, 300, 70, 26, 46];
    const last = Math.max(duration_ns, ...timeline.map((point) => point.time_ns), 1);
    const most = Math.max(1, ...timeline.map((point) => Math.max(point.live_bytes, point.rss_bytes ?? 0)));
    const x = (ns) => left + (Math.min(ns, last) / last) * (width - left - 10);
    const y = (n) => height - bottom - (n / most) * (height - bottom - top);
    const chart = svg("svg", { class: "time", viewBox: `0 0 ${width} ${height}`, role: "img" });
    chart.append(svg("title", {}, "Live bytes over time"));
    for (let part = 0; part <= 4; part++) {
      const n = (most * part) / 4;
      chart.append(
        svg("line", { class: "axis", x1: left, x2: width - 10, y1: y(n), y2: y(n) }),
        svg("text", { x: left - 6, y: y(n) + 4, "text-anchor": "end" }, bytes(Math.round(n))),
        svg("text", { x: x((last * part) / 4), y: height - 8, "text-anchor": part === 4 ? "end" : "middle" }, nanos(Math.round((last * part) / 4))),
      );
    }
    for (const pause of pauses ?? []) {
      const [from, to] = [x(pause.begin_ns), x(pause.end_ns ?? last)];
      const shade = svg("rect", { class: "pause", x: from, y: top, width: Math.max(1, to - from), height: height - bottom - top });
      shade.append(svg("title", {}, `paused from ${nanos(pause.begin_ns)}`));
      chart.append(shade);
    }
    // Nothing was read between two points, so the line has steps: a slope would be made up.
    const line = (key) => {
      const read = timeline.filter((point) => point[key] !== null);
      const place = (ns, n) => `${x(ns).toFixed(1)},${y(n).toFixed(1)}`;
      return read.flatMap((point, at) => {
        const here = place(point.time_ns, point[key]);
        return at ? [place(point.time_ns, read[at - 1][key]), here] : [here];
      });
    };
    const live = line("live_bytes");
    if (live.length) {
      chart.append(
        svg("polygon", { class: "area", points: `${x(timeline[0].time_ns)},${y(0)} ${live.join(" ")} ${x(timeline[timeline.length - 1].time_ns)},${y(0)}` }),
        svg("polyline", { class: "live", points: live.join(" ") }),
      );
    }
    const rss = line("rss_bytes");
    if (rss.length > 1) chart.append(svg("polyline", { class: "rss", points: rss.join(" ") }));
    let row = 0;
    const upright = (ns, text, name) => {
      const at = x(ns);
      const level = top - 6 - 13 * (row++ % 3);
      chart.append(svg("line", { class: name, x1: at, x2: at, y1: level + 2, y2: height - bottom }));
      const anchor = at > width * 0.75 ? "end" : "start";
      chart.append(svg("text", { x: at + (anchor === "end" ? -3 : 3), y: level, "text-anchor": anchor }, text.length > 28 ? text.slice(0, 26) + ".." : text));
    };
    if (peak_time_ns) upright(peak_time_ns, "peak " + nanos(peak_time_ns), "peak");
    for (const mark of (marks ?? []).slice(0, 24)) upright(mark.time_ns, mark.name, "mark");
    const ends = (checkpoints ?? []).filter((one) => one.kind === "phase");
    for (const end of ends.slice(0, 24)) upright(end.time_ns, end.name + " ends", "mark");
    for (const one of snapshots ?? []) {
      const [at, up] = [x(one.time_ns), y(one.live_bytes)];
      const moment = svg("path", { class: "moment", d: `M${at} ${up - 6}l6 6l-6 6l-6 -6z` });
      moment.append(svg("title", {}, `snapshot ${one.number} ${one.label}: ${nanos(one.time_ns)}, ${bytes(one.live_bytes)} live`));
      chart.append(moment);
    }
    const parts = [
      element("h2", "Live bytes over time"),
      chart,
      element("p", "Solid: live bytes. Dashed: resident set size. Both are shown as last read: a step is a reading. Diamonds: snapshots. Grey: paused.", { className: "faint" }),
    ];
    const phases = tablesBy.get("phase");
    if (phases) {
      parts.push(element("h2", "Phases"), phaseBars(phases), element("p", "A recording has the time that each phase took, and the moments at which the first outermost phases ended. It does not have when a phase began: bars do not start where the phase did.", { className: "faint" }));
    }
    const listed = (marks ?? []).map((mark) => [mark.name, nanos(mark.time_ns), bytes(mark.live_bytes), bytes(mark.peak_bytes)]);
    if (listed.length) parts.push(element("h2", "Marks"), plainTable(["mark", "at", "live", "peak since the mark before"], listed));
    const reasons = { mark: (name) => `mark ${name}`, phase: (name) => `${name} ended`, time: () => "" };
    const moments = (checkpoints ?? []).map((one) => [nanos(one.time_ns), bytes(one.live_bytes), reasons[one.kind](one.name)]);
    if (moments.length) parts.push(element("h2", "Checkpoints"), plainTable(["at", "live", "because"], moments));
    $("time").replaceChildren(...parts);
  }

  function phaseBars({ columns, rows }) {
    const index = indexOf(columns);
    const cell = (row, key) => row[index.get(key)] ?? null;
    const most = Math.max(1, ...rows.map((row) => cell(row, "elapsed_ns") ?? 0));
    const shown = rows.slice(0, 60);
    const more = rows.length - shown.length;
    const height = (shown.length + (more > 0)) * 20 + 4;
    const chart = svg("svg", { class: "time", viewBox: `0 0 1000 ${height}`, role: "img" });
    if (more > 0) {
      const y = shown.length * 20 + 15;
      chart.append(svg("text", { x: 296, y, "text-anchor": "end" }, `${count(more)} more: see the table by phase`));
    }
    shown.forEach((row, at) => {
      const elapsed = cell(row, "elapsed_ns");
      const peak = cell(row, "with_inner/peak_bytes") ?? cell(row, "peak_bytes");
      const name = data.texts[cell(row, "key")];
      chart.append(
        svg("text", { x: 296, y: at * 20 + 15, "text-anchor": "end" }, name.length > 40 ? name.slice(0, 38) + ".." : name),
        svg("rect", { class: "bars", x: 304, y: at * 20 + 4, width: ((elapsed ?? 0) / most) * 420, height: 13 }),
        svg("text", { x: 310 + ((elapsed ?? 0) / most) * 420, y: at * 20 + 15 }, `${elapsed === null ? "time not known" : nanos(elapsed)}, ${bytes(peak ?? 0)} at the peak`),
      );
    });
    return chart;
  }

  function plainTable(titles, rows) {
    const table = element("table");
    const line = (name, cells) => {
      const made = element("tr");
      made.append(...cells.map((text, at) => element(name, text, { className: at ? "figure" : "text" })));
      return made;
    };
    table.append(line("th", titles), ...rows.map((cells) => line("td", cells)));
    return table;
  }

  // ---- Snapshot, advice, help ----

  function showSnapshot() {
    const snapshots = data.held;
    const shown = snapshots.find((one) => String(one.number) === state.snapshot) ?? snapshots.find((one) => one.name === data.snapshot.name) ?? snapshots[0];
    const select = element("select");
    fillSelect(select, snapshots.map((one) => [String(one.number), `${one.name}: ${one.moment}`]), String(shown.number));
    select.onchange = () => set({ snapshot: select.value });
    const choice = element("label", "snapshot ");
    choice.append(select);
    const said = [`Basis: ${shown.basis}.`, ...shown.notes];
    if (shown.retained_is_lower_bound) said.push("Small holders were summed up, so retained bytes of rows are lower bounds.");
    said.push("Figures are of that moment, never those of the peak. A holder retains what is below it.");
    const go = (text, changes) => {
      const button = element("button", text, { type: "button" });
      button.onclick = () => set(changes);
      return button;
    };
    const titles = ["share", "retained", "own", "unused", "holder"];
    const table = element("table");
    const head = element("tr");
    head.append(...titles.map((title, at) => element("th", title, { className: at < 4 ? "figure" : "", scope: "col" })));
    table.append(head);
    for (const [depth, name, part, retained, own, unused] of shown.rows) {
      const line = element("tr");
      const holder = element("td", name, { className: "text" });
      holder.style.paddingLeft = 8 + 14 * Math.min(depth, 24) + "px";
      line.append(...[part, retained, own, unused].map((text) => element("td", text, { className: "figure" })), holder);
      table.append(line);
    }
    const parts = [element("h2", "Who holds the heap"), choice, ...said.map((text) => element("p", text, { className: "faint" })), table];
    if (shown.left_out) parts.push(element("p", `${count(shown.left_out)} more holders: heapglass report --by holder lists them`, { className: "faint" }));
    const name = data.snapshot.name;
    parts.push(element("p", `Of snapshot ${name}, the page also has: `));
    parts.push(
      go("holders as a picture", { view: "flame", by: "holder", measure: "retained_bytes" }),
      " ",
      go("holders as a table", { view: "tables", table: "holder", measure: "retained_bytes" }),
      " ",
      go("unused capacity by type", { view: "tables", table: "type", sort: "unused_bytes", all: "1" }),
    );
    const all = (data.recording.snapshots ?? []).map((one) => [`${one.number} ${one.label}`, nanos(one.time_ns), bytes(one.live_bytes), share(one.share_of_peak, 1)]);
    parts.push(element("h2", "All snapshots"), plainTable(["snapshot", "at", "live", "of the peak"], all));
    $("snapshot").replaceChildren(...parts);
  }

  function showAdvice() {
    // Each list is of other bytes, so savings are compared within one only.
    let list = null;
    const findings = data.advice.flatMap((finding) => {
      const isNew = finding.list && finding.list !== list;
      list = finding.list;
      const article = element("article");
      article.append(element("h3", finding.heading));
      const place = [finding.place, finding.owner].filter(Boolean).join("  ");
      if (place) article.append(element("p", place));
      if (finding.holder) article.append(element("p", finding.holder));
      article.append(element("p", finding.remedy, { className: "faint" }));
      return isNew ? [element("h2", list), article] : [article];
    });
    const notes = (data.advice_notes ?? []).map((note) => element("p", note, { className: "faint" }));
    $("advice").replaceChildren(element("h2", "What would save memory"), ...findings, ...notes);
  }

  function showHead() {
    const tiles = [];
    const tile = (name, figure, more) => {
      const made = element("div", undefined, { className: "tile" });
      made.append(element("span", name), element("b", figure), element("span", more));
      tiles.push(made);
    };
    if (isComparison) {
      const [base, now] = data.sides;
      for (const { key, name, unit } of data.measures) {
        const [one, other] = [base[0]?.totals[key], now[0]?.totals[key]];
        if (base.length === 1 && now.length === 1 && (one || other)) tile(name, signed(other - one, unit), `${spell(one, unit)} -> ${spell(other, unit)}`);
      }
    } else {
      const { totals, exact, peak_error_bytes, peak_time_ns, state: ended, peak_rss_bytes, mode } = data.recording;
      const interval = (key) => (totals[key + "_low"] === undefined ? "" : ` (95 %: ${bytes(totals[key + "_low"])} to ${bytes(totals[key + "_high"])})`);
      const blocks = (key) => {
        const low = totals[key + "_low"];
        const n = low === undefined ? totals[key] : low;
        return `in ${low === undefined ? "" : "at least "}${count(n)} ${n === 1 ? "block" : "blocks"}`;
      };
      const bound = peak_error_bytes ? `within ${bytes(peak_error_bytes)}` : exact ? "exact" : mode;
      const when = peak_time_ns ? `, at ${nanos(peak_time_ns)}` : "";
      tile(ended === "running" ? "peak so far" : "peak", bytes(totals.peak_bytes), `${blocks("peak_blocks")}${when} (${bound})${interval("peak_bytes")}`);
      tile("total", bytes(totals.total_bytes), blocks("total_blocks") + interval("total_bytes"));
      tile("temporary", bytes(totals.temporary_bytes), `${share(totals.temporary_bytes, totals.total_bytes)} of all bytes`);
      tile(ended === "running" ? "live now" : "at exit", bytes(totals.live_bytes), blocks("live_blocks") + interval("live_bytes"));
      if (peak_rss_bytes) tile("resident at most", bytes(peak_rss_bytes), "with the profiler's own");
    }
    $("tiles").replaceChildren(...tiles);
    $("notes").hidden = !data.notes.length;
    $("note-list").replaceChildren(...data.notes.map((note) => element("li", note)));
    $("cut").replaceChildren(...data.cut.map((sentence) => element("p", sentence)));
    const command = data.recording ? ` from a recording of ${data.recording.command}` : "";
    $("made").textContent = `Made by heapglass ${data.heapglass}${command}.`;
  }

  // ---- The page ----

  function show() {
    if (state.theme) document.documentElement.dataset.theme = state.theme;
    else delete document.documentElement.dataset.theme;
    const isFlame = state.view === "flame";
    const tree = isFlame ? chosenTree() : null;
    const isTable = state.view === "tables";
    for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== state.view;
    for (const button of $("views").children) {
      if (button.dataset.view === state.view) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
    $("flame-bar").hidden = !isFlame;
    $("table-bar").hidden = !isTable;
    $("measure-label").hidden = !isFlame && !isTable;
    for (const id of inputs) if ($(id).value !== state[id]) $(id).value = state[id];
    $("inverted").checked = state.inverted === "1";
    $("all").checked = state.all === "1";
    $("upwards").checked = state.upwards === "1";
    $("zeros").checked = state.zeros === "1";
    if (tree) {
      const of = (test, read) => [...new Set(data.trees.filter(test).map(read))];
      fillSelect($("by"), of(() => true, (tree) => tree.by).map((by) => [by, by]), state.by);
      const frames = of((one) => one.by === tree.by, (one) => one.frames).filter(Boolean);
      $("frames-label").hidden = frames.length < 2;
      fillSelect($("frames"), frames.map((one) => [one, foldings[one]]), state.frames);
      $("inverted-label").hidden = of((one) => one.by === tree.by, (one) => one.inverted).length < 2;
      fillSelect($("measure"), tree.measures.map((key) => [key, measureOf.get(key).name]), state.measure);
      search();
      draw();
    } else if (isTable) {
      showTable();
      const chosen = chosenTable();
      fillSelect($("table"), [...tablesBy.keys()].map((by) => [by, by]), state.table);
      const has = (key) => (isComparison ? chosen.table.measures.some(([of]) => of === key) : chosen.index.has(key));
      const keys = data.measures.map((measure) => measure.key).filter((key) => !chosen || has(key));
      fillSelect($("measure"), keys.map((key) => [key, measureOf.get(key).name]), state.measure);
    } else if (state.view === "time") showTime();
    else if (state.view === "snapshot") showSnapshot();
    else if (state.view === "advice") showAdvice();
    // For tests and assistive tools: the page is complete.
    document.documentElement.dataset.shown = state.view;
  }

  const next = (list, now, step) => list[(list.indexOf(now) + step + list.length) % list.length];

  function key(event) {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const isFlame = state.view === "flame";
    const trees = data.trees;
    const actions = {
      m: () => nextMeasure(1),
      M: () => nextMeasure(-1),
      "/": () => $(state.view === "tables" ? "filter" : "search").focus(),
      n: () => nextFound(1),
      N: () => nextFound(-1),
      i: () => set({ inverted: state.inverted ? "" : "1" }),
      u: () => set({ upwards: state.upwards ? "" : "1" }),
      f: () => set({ frames: next([...new Set(trees.filter((one) => one.by === state.by).map((one) => one.frames))], state.frames, 1) ?? state.frames }),
      b: () => set({ by: next([...new Set(trees.map((one) => one.by))], state.by, 1) }),
      t: toggleTheme,
      "?": () => set({ view: "help" }),
      Escape: zoomOut,
      Backspace: zoomOut,
    };
    const number = Number(event.key);
    if (number >= 1 && number <= views.length) set({ view: views[number - 1][0] });
    else if (isFlame && event.key.startsWith("Arrow")) move(event.key);
    else if (isFlame && event.key === "Enter" && event.target.tagName !== "BUTTON" && selected) zoomTo(selected);
    else if (event.key === "Enter" && event.target.dataset.row !== undefined) openRowOf(event.target);
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
  }

  function nextMeasure(step) {
    const keys = [...$("measure").options].map((option) => option.value);
    if (keys.length) set({ measure: next(keys, state.measure, step) });
  }

  function toggleTheme() {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
    set({ theme: isDark ? "light" : "dark" });
  }

  function openRowOf(line) {
    const row = Number(line.dataset.row);
    openRow = openRow === row ? -1 : row;
    showTable();
    if (openRow >= 0) $("row").scrollIntoView({ block: "nearest" });
  }

  function begin() {
    $("views").replaceChildren(
      ...views.map(([view, title]) => {
        const button = element("button", title, { type: "button" });
        button.dataset.view = view;
        button.onclick = () => set({ view });
        return button;
      }),
    );
    for (const id of ["measure", "by", "frames", "table"]) $(id).onchange = (event) => set({ [id]: event.target.value });
    for (const id of ["inverted", "upwards", "all", "zeros"]) $(id).onchange = (event) => set({ [id]: event.target.checked ? "1" : "" });
    for (const id of inputs) $(id).oninput = (event) => set({ [id]: event.target.value });
    $("unzoom").onclick = () => zoomTo(0);
    $("theme").onclick = toggleTheme;
    $("more").onclick = () => {
      shownRows += 500;
      showTable();
    };
    $("rows").onclick = (event) => {
      const sort = event.target.closest("button")?.dataset.sort;
      if (sort) {
        const isSame = sort === sortKey();
        set({ sort, asc: isSame && state.asc !== "1" ? "1" : "" });
        return;
      }
      const line = event.target.closest("tbody tr");
      if (line) openRowOf(line);
    };
    canvas.onclick = (event) => {
      const i = at(event);
      if (i >= 0) zoomTo(i);
    };
    canvas.onmousemove = (event) => {
      const tip = $("tip");
      const i = at(event);
      tip.hidden = i < 0;
      if (i < 0) return;
      const [name, ...more] = lines(chosenTree(), i);
      tip.replaceChildren(element("b", name), ...more.map((line) => element("div", line)));
      const { width, height } = tip.getBoundingClientRect();
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 8)) + "px";
      tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18) + "px";
    };
    canvas.onmouseleave = () => ($("tip").hidden = true);
    document.onkeydown = key;
    window.onhashchange = () => {
      readAddress();
      show();
    };
    window.onresize = () => {
      if (state.view === "flame") draw();
    };
    matchMedia("(prefers-color-scheme: dark)").onchange = show;
    window.onbeforeprint = () => {
      isPrinting = true;
      show();
    };
    window.onafterprint = () => {
      isPrinting = false;
      show();
    };
    $("page").hidden = false;
    readAddress();
    showHead();
    show();
  }

  begin();
})();
