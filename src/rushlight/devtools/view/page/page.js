"use strict";
// The page shows one method at a time. The graph shows one group of operators at a time, so that the layout has only a
// few dozen nodes, even for large programs. All text is inserted as text and never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const MOST_SHOWN = 44; // the maximum number of nodes in the graph, with the nodes of opened groups
const MOST_CHILDREN = 60; // the maximum number of children of a group; larger groups are split into ranges of operators
const MOST_OUTSIDE = 5; // the maximum number of neighbours outside of a group, on each side
const MOST_ROWS = 300; // the maximum number of rows in a table

const $ = (id) => document.getElementById(id);
const state = { tab: "graph", method: 0, scope: null, arena: 0, sort: null };
let roots = [];
let cy = null;
const charts = {};

// ---- Text ----

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function bytes(count) {
  for (const [unit, scale] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (count >= scale) return `${(count / scale).toFixed(count >= 100 * scale ? 0 : 1)} ${unit}`;
  }
  return `${count} B`;
}

const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const milliseconds = (time) => (time >= 1 ? `${time.toFixed(2)} ms` : `${(time * 1000).toFixed(1)} µs`);
const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "");
const short = (name) => name.replace(/^aten::/, "").replace(/\.out$/, "");
const plainName = (name) => name.replace(/^[a-z_]+\./, "").replace(/\.[A-Za-z_]+$/, "").replace(/^_native_batch_norm_legit_no_training$/, "batch_norm");
const file = (place) => place.split("/").pop();
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const some = (names) => (names.length > 2 ? `${names[0]} … ${names[names.length - 1]}` : names.join(", "));
const ending = (path) => (path.length > 40 ? `…${path.slice(-39)}` : path);
const safe = (text) => echarts.format.encodeHTML(String(text));

// ---- Groups: delegates and modules ----

function makeGroup(name, parent, kind) {
  return { name, parent, kind, children: [], byKey: new Map(), leaves: [], time: 0, weight: 0 };
}

function buildTree(method) {
  const root = makeGroup(method.name, null, "method");
  const common = commonModules(method);
  method.nodes.forEach((node, index) => {
    let group = root;
    const path = modulesOf(node).map((part) => [part, part, "module"]);
    if (node.kind === "step") {
      const name = `${node.backend} #${node.instruction}`;
      path.splice(common.get(node.instruction).length, 0, [`\u0000${name}`, name, "delegate"]);
    }
    for (const [key, name, kind] of path) {
      if (!group.byKey.has(key)) {
        const made = makeGroup(name, group, kind);
        group.byKey.set(key, made);
        group.children.push(made);
      }
      group = group.byKey.get(key);
    }
    group.children.push({ leaf: index, parent: group });
  });
  finishGroup(root, method);
  return root;
}

const modulesOf = (node) => (node.modules.length ? node.modules[node.modules.length - 1].split(".") : []);

// Returns the modules that all steps of a delegate call have in common, by instruction. The graph shows the delegate in
// the last of them.
function commonModules(method) {
  const common = new Map();
  for (const node of method.nodes) {
    if (node.kind !== "step") continue;
    const path = modulesOf(node), known = common.get(node.instruction) || path;
    let same = 0;
    while (same < path.length && same < known.length && path[same] === known[same]) same++;
    common.set(node.instruction, known.slice(0, same));
  }
  return common;
}

function finishGroup(group, method) {
  for (const child of group.children) {
    if (child.leaf === undefined) {
      finishGroup(child, method);
      for (const leaf of child.leaves) group.leaves.push(leaf);
    } else {
      group.leaves.push(child.leaf);
    }
  }
  for (const leaf of group.leaves) {
    group.time += method.nodes[leaf].time || 0;
    group.weight += method.nodes[leaf].weight_bytes;
  }
  splitGroup(group, method);
  const only = group.children.length === 1 ? group.children[0] : null;
  if (only && only.leaf === undefined && group.kind === "module" && only.kind === "module") {
    group.name += `.${only.name}`;
    group.children = only.children;
    for (const child of group.children) child.parent = group;
  }
}

function splitGroup(group, method) {
  if (group.children.length <= MOST_CHILDREN) return;
  let size = MOST_CHILDREN;
  while (size * MOST_CHILDREN < group.children.length) size *= MOST_CHILDREN;
  const all = group.children;
  group.children = [];
  for (let start = 0; start < all.length; start += size) {
    const some = all.slice(start, start + size);
    const made = makeGroup(`[${start + 1}–${start + some.length} of ${all.length}]`, group, "range");
    for (const child of some) {
      child.parent = made;
      made.children.push(child);
      for (const leaf of child.leaf === undefined ? child.leaves : [child.leaf]) {
        made.leaves.push(leaf);
        made.time += method.nodes[leaf].time || 0;
        made.weight += method.nodes[leaf].weight_bytes;
      }
    }
    splitGroup(made, method);
    group.children.push(made);
  }
}

// Returns the nodes that the graph shows for a group: its children. Small groups among them are replaced by their
// children while there is space.
function visibleOf(scope) {
  const shown = scope.children.slice();
  for (;;) {
    let best = -1;
    for (let i = 0; i < shown.length; i++) {
      const item = shown[i];
      if (item.leaf !== undefined || shown.length - 1 + item.children.length > MOST_SHOWN) continue;
      if (best < 0 || item.leaves.length < shown[best].leaves.length) best = i;
    }
    if (best < 0) return shown;
    shown.splice(best, 1, ...shown[best].children);
  }
}

function pathFrom(item, scope) {
  const names = [];
  for (let group = item.parent; group && group !== scope; group = group.parent) names.unshift(group.name);
  return names.join(".");
}

// ---- The graph ----

const measure = document.createElement("canvas").getContext("2d");
const FONT = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

function boxOf(id, label, kind, extra) {
  measure.font = `${kind === "group" ? "600 " : ""}12px ${FONT}`;
  const lines = label.split("\n");
  const width = Math.max(...lines.map((line) => measure.measureText(line).width)) + 24;
  return { data: { id, label, w: Math.ceil(width), h: lines.length * 16 + 12, kind, ...extra } };
}

function labelOf(item, method, scope) {
  const lines = [];
  const where = pathFrom(item, scope);
  if (item.leaf === undefined) {
    lines.push(ending(where ? `${where}${item.kind === "range" ? "  " : "."}${item.name}` : item.name));
    lines.push(`${counted(item.leaves.length, "operator")}${method.total_time ? ` · ${percent(item.time, method.total_time)}` : ""}`);
  } else {
    const node = method.nodes[item.leaf];
    const module = node.modules.length ? node.modules[node.modules.length - 1] : "";
    lines.push(short(node.name) + (module ? `  ·  ${ending(module)}` : ""));
    if (node.kind === "step" && node.operators.length) lines.push(node.operators.map(plainName).join(" + "));
    if (node.results.length) lines.push(node.results[0] + (node.results.length > 1 ? ` + ${node.results.length - 1}` : ""));
    if (node.time) lines.push(`${milliseconds(node.time)} · ${percent(node.time, method.total_time)}`);
  }
  return lines.map((line) => (line.length > 60 ? `${line.slice(0, 59)}…` : line)).join("\n");
}

function elementsOf(scope, method) {
  const items = visibleOf(scope);
  const owner = new Map();
  const elements = [];
  const hottest = Math.max(1e-9, ...items.map((item) => (item.leaf === undefined ? item.time : method.nodes[item.leaf].time || 0)));
  items.forEach((item, place) => {
    const id = `n${place}`;
    for (const leaf of item.leaf === undefined ? item.leaves : [item.leaf]) owner.set(leaf, id);
    const node = item.leaf === undefined ? null : method.nodes[item.leaf];
    const kind = node === null ? "group" : node.kind === "input" || node.kind === "output" ? "ends" : node.kind;
    const time = node === null ? item.time : node.time || 0;
    elements.push(boxOf(id, labelOf(item, method, scope), kind, { place, heat: time / hottest }));
  });
  const edges = new Set();
  const outside = { in: new Map(), out: new Map() };
  method.nodes.forEach((node, index) => {
    for (const source of node.inputs) {
      const from = owner.get(source), to = owner.get(index);
      if (from && to && from !== to) edges.add(`${from}>${to}`);
      if (!from && to) addTo(outside.in, source, to);
      if (from && !to) addTo(outside.out, index, from);
    }
  });
  for (const side of ["in", "out"]) {
    const all = [...outside[side].entries()];
    const kept = all.length > MOST_OUTSIDE ? all.slice(0, MOST_OUTSIDE - 1) : all;
    kept.forEach(([leaf, ends]) => addOutside(side, `${side}${leaf}`, short(method.nodes[leaf].name), ends, { leaf }));
    if (kept.length < all.length) {
      const ends = new Set(all.slice(kept.length).flatMap(([, found]) => [...found]));
      addOutside(side, `${side}-more`, `${all.length - kept.length} more outside`, ends, {});
    }
  }
  function addOutside(side, id, label, ends, extra) {
    elements.push(boxOf(id, label, "outside", extra));
    for (const end of ends) edges.add(side === "in" ? `${id}>${end}` : `${end}>${id}`);
  }
  for (const edge of edges) {
    const [source, target] = edge.split(">");
    elements.push({ data: { id: edge, source, target } });
  }
  return { items, elements };
}

function addTo(map, key, value) {
  if (!map.has(key)) map.set(key, new Set());
  map.get(key).add(value);
}

function graphStyle() {
  const fills = { group: "module", kernel: "kernel", step: "step", delegate: "step", ends: "ends", control: "module", outside: "back" };
  const style = [
    { selector: "node", style: {
      shape: "round-rectangle", width: "data(w)", height: "data(h)", label: "data(label)", "text-wrap": "wrap",
      "text-valign": "center", "font-size": 12, "font-family": FONT, color: color("text"), "line-height": 1.25,
      "border-width": 1, "border-color": color("line"), "text-max-width": 700 } },
    { selector: "edge", style: {
      width: 1.3, "line-color": color("soft"), opacity: 0.7, "curve-style": "bezier", "target-arrow-shape": "triangle",
      "target-arrow-color": color("soft"), "arrow-scale": 0.8 } },
    { selector: "node:selected", style: { "border-width": 2.5, "border-color": color("accent") } },
    { selector: 'node[kind = "group"]', style: { "border-width": 1.5, "border-style": "double", "border-color": color("soft"), "font-weight": 600 } },
    { selector: 'node[kind = "outside"]', style: { "border-style": "dashed", color: color("soft") } },
    { selector: "node[heat > 0.5]", style: { "border-color": color("hot"), "border-width": "mapData(heat, 0.5, 1, 1, 4)" } },
  ];
  for (const [kind, name] of Object.entries(fills)) {
    style.push({ selector: `node[kind = "${kind}"]`, style: { "background-color": color(name) } });
  }
  return style;
}

function showGraph() {
  const method = data.methods[state.method];
  const scope = state.scope;
  const { items, elements } = elementsOf(scope, method);
  if (cy) cy.destroy();
  cy = cytoscape({
    container: $("canvas"), elements, style: graphStyle(), minZoom: 0.08, maxZoom: 2.5, wheelSensitivity: 0.3,
    layout: { name: "dagre", rankDir: "TB", nodeSep: 26, rankSep: 34, edgeSep: 12, fit: false },
  });
  fitGraph();
  cy.on("tap", "node", (event) => {
    const chosen = event.target.data();
    if (chosen.leaf !== undefined) return reveal(chosen.leaf);
    const item = items[chosen.place];
    if (item === undefined) return undefined;
    return item.leaf === undefined ? open(item) : showDetails(item.leaf);
  });
  showTrail();
  showTree();
  showDetails(null);
  writeHash();
}

// Scales the graph to the size of the window, but not below a legible size. The user can then move the graph.
function fitGraph() {
  cy.fit(undefined, 24);
  if (cy.zoom() > 1) cy.zoom(1);
  if (cy.zoom() < 0.75) {
    cy.zoom(0.75);
    const box = cy.elements().boundingBox();
    cy.pan({ x: cy.width() / 2 - 0.75 * (box.x1 + box.w / 2), y: 24 - 0.75 * box.y1 });
  } else {
    cy.center();
  }
}

function open(group) {
  state.scope = group;
  showGraph();
}

// Opens the group that contains an operator, and selects the operator.
function reveal(leaf) {
  let group = roots[state.method];
  for (;;) {
    const place = visibleOf(group).findIndex((item) => item.leaf === leaf);
    if (place >= 0) {
      show("graph", group);
      cy.$id(`n${place}`).select();
      cy.center(cy.$id(`n${place}`));
      showDetails(leaf);
      return;
    }
    const next = group.children.find((child) => child.leaf === undefined && child.leaves.includes(leaf));
    if (!next) return;
    group = next;
  }
}

function showTrail() {
  const trail = $("trail");
  trail.replaceChildren();
  const groups = [];
  for (let group = state.scope; group; group = group.parent) groups.unshift(group);
  groups.forEach((group, place) => {
    if (place) trail.append(" › ");
    const last = place === groups.length - 1;
    const step = element(last ? "b" : "a", group.name);
    if (!last) step.onclick = () => open(group);
    trail.append(step);
  });
  trail.append(element("span", `   ${counted(state.scope.leaves.length, "operator")}`));
}

function showTree() {
  const tree = $("tree");
  tree.replaceChildren();
  const opened = new Set();
  for (let group = state.scope; group; group = group.parent) opened.add(group);
  const method = data.methods[state.method];
  const add = (group, depth) => {
    const row = element("div", undefined, group === state.scope ? "row on" : "row");
    row.style.paddingLeft = `${12 + depth * 14}px`;
    const groups = group.children.filter((child) => child.leaf === undefined);
    row.append(element("span", groups.length ? (opened.has(group) ? "▾" : "▸") : "", "mark"));
    row.append(element("span", group.name, "name"));
    row.append(element("span", method.total_time ? percent(group.time, method.total_time) : group.weight ? bytes(group.weight) : String(group.leaves.length), "note"));
    const share = element("span", undefined, "share");
    share.style.width = `${100 * (method.total_time ? group.time / method.total_time : 0)}%`;
    row.append(share);
    row.title = group.name;
    row.onclick = () => open(group);
    tree.append(row);
    if (opened.has(group)) for (const child of groups) add(child, depth + 1);
  };
  add(roots[state.method], 0);
}

function showDetails(leaf) {
  const details = $("details");
  details.replaceChildren();
  const method = data.methods[state.method];
  const list = element("dl");
  const fact = (name, ...values) => {
    const kept = values.filter((value) => value !== "" && value !== undefined);
    if (!kept.length) return;
    list.append(element("dt", name));
    for (const value of kept) list.append(value instanceof Node ? value : element("dd", value));
  };
  if (leaf === null) {
    const scope = state.scope;
    details.append(element("h2", scope.name));
    fact("operators", String(scope.leaves.length));
    fact("weights", scope.weight ? bytes(scope.weight) : "");
    if (method.total_time) fact("time", `${milliseconds(scope.time)}, ${percent(scope.time, method.total_time)}`);
    const counts = new Map();
    for (const index of scope.leaves) {
      const node = method.nodes[index];
      if (node.kind !== "input" && node.kind !== "output") counts.set(short(node.name), (counts.get(short(node.name)) || 0) + 1);
    }
    const most = [...counts].sort((a, b) => b[1] - a[1]);
    fact("kinds", ...most.slice(0, 14).map(([name, count]) => `${count} × ${name}`));
    if (most.length > 14) fact("", `and ${counted(most.length - 14, "other operator")}`);
  } else {
    const node = method.nodes[leaf];
    details.append(element("h2", short(node.name)));
    fact("runs on", node.backend || (node.kind === "kernel" ? `kernel ${node.name}` : node.kind));
    fact("results", ...node.results);
    fact("inputs", ...node.inputs.map((index) => `${short(method.nodes[index].name)} ${method.nodes[index].results[0] || ""}`));
    fact("operators of the model", ...node.operators);
    fact("module", ...node.modules);
    const code = element("dd");
    code.append(element("code", node.code));
    fact("line", ...node.lines, node.code ? code : "");
    if (node.time !== null) fact("time", `${milliseconds(node.time)}, ${percent(node.time, method.total_time)}`);
    fact("weights", node.weight_bytes ? bytes(node.weight_bytes) : "");
    fact("instruction", node.instruction >= 0 ? String(node.instruction) : "");
  }
  details.append(list);
}

// ---- The list of operators ----

const COLUMNS = [
  ["operator", (node) => short(node.name)],
  ["module", (node) => some(node.modules)],
  ["line", (node) => node.lines.map(file).join(", ")],
  ["code", (node) => node.code],
  ["result", (node) => node.results[0] || ""],
  ["weights", (node) => node.weight_bytes, (value) => (value ? bytes(value) : "")],
  ["time", (node) => node.time || 0, (value) => (value ? milliseconds(value) : "")],
  ["share", (node) => node.time || 0, (value, method) => percent(value, method.total_time)],
];

function showOperators() {
  const method = data.methods[state.method];
  const columns = COLUMNS.filter(([name]) => method.total_time || (name !== "time" && name !== "share"));
  const words = $("filter").value.toLowerCase();
  const text = (node) => [node.name, ...node.operators, ...node.modules, ...node.lines, node.code].join(" ").toLowerCase();
  let found = method.nodes.map((node, index) => [node, index]).filter(([node]) => node.instruction >= 0 && text(node).includes(words));
  const sort = columns.find(([name]) => name === (state.sort || (method.total_time ? "time" : "")));
  if (sort) {
    const key = sort[1];
    found = found.sort(([a], [b]) => (sort[2] ? key(b) - key(a) : String(key(a)).localeCompare(String(key(b)))));
  }
  $("shown").textContent = found.length > MOST_ROWS ? `${MOST_ROWS} of ${found.length} operators` : counted(found.length, "operator");
  const head = element("thead"), body = element("tbody"), line = element("tr");
  for (const [name, , format] of columns) {
    const cell = element("th", name, format ? "number" : "");
    cell.onclick = () => { state.sort = name; showOperators(); };
    line.append(cell);
  }
  head.append(line);
  for (const [node, index] of found.slice(0, MOST_ROWS)) {
    const row = element("tr");
    for (const [name, key, format] of columns) {
      const cell = element("td", undefined, format ? "number" : "");
      const value = format ? format(key(node), method) : key(node);
      cell.append(name === "code" ? element("code", value) : value);
      row.append(cell);
    }
    row.onclick = () => reveal(index);
    body.append(row);
  }
  $("list").replaceChildren(head, body);
}

// ---- Charts ----

function chart(id, option) {
  if (charts[id]) charts[id].dispose();
  charts[id] = echarts.init($(id), null, { renderer: "canvas" });
  const text = { color: color("text"), fontFamily: FONT };
  const tip = { backgroundColor: color("panel"), borderColor: color("line"), textStyle: { color: color("text"), fontSize: 12 } };
  charts[id].setOption({ animation: false, textStyle: text, ...option, tooltip: { ...tip, ...option.tooltip } });
}

const axis = () => ({
  axisLine: { lineStyle: { color: color("line") } }, axisLabel: { color: color("soft") }, nameTextStyle: { color: color("soft") },
  splitLine: { lineStyle: { color: color("line"), opacity: 0.6 } },
});
const title = (text) => ({ text, left: 16, top: 12, textStyle: { color: color("text"), fontSize: 13, fontWeight: 600 } });
const PALETTE = ["#5b8ff9", "#5ad8a6", "#f6bd16", "#e8684a", "#6dc8ec", "#9270ca", "#ff9d4d", "#269a99", "#ff99c3", "#8d98b3"];

function showMemory() {
  const method = data.methods[state.method];
  const arenas = method.arenas;
  $("arena").replaceChildren(...arenas.map((arena, place) => {
    const option = element("option", `${arena.name}: ${bytes(arena.size)}`);
    option.value = place;
    option.selected = place === state.arena;
    return option;
  }));
  const arena = arenas[state.arena];
  if (!arena) {
    $("peak").textContent = "this method has no planned memory";
    if (charts.plan) charts.plan.clear();
    return;
  }
  const at = method.nodes[arena.peak_at];
  $("peak").textContent = `${counted(arena.blocks.length, "tensor")}; the peak is ${bytes(arena.peak)}, at ${short(at.name)} ${some(at.modules)}`;
  const first = Math.min(...arena.blocks.map((block) => block.start));
  const last = Math.max(...arena.blocks.map((block) => block.end)) + 1;
  const blocks = arena.blocks.map((block, place) => ({
    value: [block.start, block.end + 1, block.offset, block.offset + block.size, place],
    itemStyle: { color: PALETTE[place % PALETTE.length] },
  }));
  const value = { ...axis(), type: "value", min: first, max: last };
  chart("plan", {
    grid: [{ left: 90, right: 30, top: 24, bottom: "34%" }, { left: 90, right: 30, top: "73%", bottom: 70 }],
    xAxis: [{ ...value, gridIndex: 0, axisLabel: { show: false } }, { ...value, gridIndex: 1, name: "operators in the order of execution", nameLocation: "middle", nameGap: 26, minInterval: 1 }],
    yAxis: [
      { ...axis(), gridIndex: 0, type: "value", name: "offset", min: 0, max: arena.size, axisLabel: { color: color("soft"), formatter: bytes } },
      { ...axis(), gridIndex: 1, type: "value", name: "in use", min: 0, axisLabel: { color: color("soft"), formatter: bytes }, splitNumber: 2 },
    ],
    dataZoom: [{ type: "inside", xAxisIndex: [0, 1] }, { type: "slider", xAxisIndex: [0, 1], height: 16, bottom: 10 }],
    tooltip: { formatter: (found) => tipOf(found, arena, method) },
    series: [
      {
        type: "custom", xAxisIndex: 0, yAxisIndex: 0, data: blocks, encode: { x: [0, 1], y: [2, 3] }, clip: true,
        renderItem: (params, api) => {
          const [x0, y0] = api.coord([api.value(0), api.value(3)]);
          const [x1, y1] = api.coord([api.value(1), api.value(2)]);
          const area = params.coordSys;
          const shape = echarts.graphic.clipRectByRect(
            { x: x0, y: y0, width: Math.max(x1 - x0 - 1, 1), height: Math.max(y1 - y0 - 1, 1) },
            { x: area.x, y: area.y, width: area.width, height: area.height });
          return shape && { type: "rect", shape, style: { fill: api.visual("color"), stroke: color("back"), lineWidth: blocks.length > 2000 ? 0 : 1 } };
        },
      },
      {
        type: "line", step: "end", xAxisIndex: 1, yAxisIndex: 1, data: arena.use, symbol: "none", color: color("accent"),
        areaStyle: { opacity: 0.18 },
        markPoint: { symbolSize: 9, symbol: "circle", itemStyle: { color: color("hot") }, label: { show: true, position: "right", offset: [0, -11], formatter: `peak ${bytes(arena.peak)}`, color: color("text") }, data: [{ coord: [arena.peak_at, arena.peak] }] },
      },
    ],
  });
}

function tipOf(found, arena, method) {
  if (found.seriesIndex !== 0) return bytes(found.value ? found.value[1] : arena.peak);
  const block = arena.blocks[found.value[4]];
  const node = method.nodes[block.start];
  return [block.name, `${bytes(block.size)} at offset ${block.offset}`, `first use: ${short(node.name)} ${node.modules.join(", ")}`, `last use: ${short(method.nodes[block.end].name)}`].map(safe).join("<br>");
}

function showSize() {
  const size = data.size;
  const parts = Object.entries(size.parts).filter(([, count]) => count).map(([name, value]) => ({ name: `segment: ${name}`, value }));
  const operators = size.operators.slice(0, 14).map((row) => ({ name: row.operator, value: row.bytes }));
  const rows = [...operators].reverse().concat([...parts].sort((a, b) => a.value - b.value));
  const label = { show: true, position: "right", color: color("text"), formatter: (found) => bytes(found.value) };
  chart("parts", {
    title: title(`${bytes(size.bytes)} by segment, and weights by operator`),
    grid: { left: 170, right: 80, top: 50, bottom: 20 },
    xAxis: { ...axis(), type: "value", axisLabel: { show: false }, splitLine: { show: false } },
    yAxis: { ...axis(), type: "category", data: rows.map((row) => row.name), axisTick: { show: false }, axisLabel: { color: color("text"), width: 150, overflow: "truncate" } },
    series: [{ type: "bar", data: rows.map((row, place) => ({ value: row.value, itemStyle: { color: place < operators.length ? "#5b8ff9" : "#5ad8a6" } })), label, barMaxWidth: 22 }],
  });
  const tree = makeGroup("weights", null, "method");
  for (const layer of size.layers) {
    let group = tree;
    for (const part of layer.layer.split(".")) {
      if (!group.byKey.has(part)) {
        const made = makeGroup(part, group, "module");
        group.byKey.set(part, made);
        group.children.push(made);
      }
      group = group.byKey.get(part);
    }
    group.weight += layer.bytes;
  }
  const plain = (group) => {
    if (!group.children.length) return { name: group.name, value: group.weight };
    if (group.children.length === 1 && !group.weight) {
      const only = plain(group.children[0]);
      return { ...only, name: `${group.name}.${only.name}` };
    }
    const itself = group.weight ? [{ name: "own weights", value: group.weight }] : [];
    return { name: group.name, children: [...group.children.map(plain), ...itself] };
  };
  chart("weights", {
    title: title("weights by module and layer"),
    tooltip: { formatter: (found) => `${safe(found.treePathInfo.slice(1).map((part) => part.name).join("."))}<br>${bytes(found.value)}, ${percent(found.value, size.bytes)} of the file` },
    series: [{
      type: "treemap", data: tree.children.map(plain), top: 46, left: 16, right: 16, bottom: 40, nodeClick: "zoomToNode", leafDepth: 3,
      color: PALETTE, label: { formatter: (found) => `${found.name}\n${bytes(found.value)}`, fontSize: 11, lineHeight: 15, color: "#10141a" },
      upperLabel: { show: true, height: 20, color: color("text"), fontSize: 11, formatter: (found) => `${found.name}  ${bytes(found.value)}` },
      itemStyle: { borderColor: color("back"), borderWidth: 1, gapWidth: 1 }, roam: false, visibleMin: 40, colorMappingBy: "index",
      levels: [
        { upperLabel: { show: false }, itemStyle: { gapWidth: 3, borderWidth: 0 }, color: PALETTE },
        { itemStyle: { borderColor: color("module"), borderWidth: 3, gapWidth: 1 }, color: PALETTE },
        { itemStyle: { borderColor: color("module"), borderWidth: 2, gapWidth: 1 } },
      ],
      breadcrumb: { bottom: 8, itemStyle: { color: color("module"), textStyle: { color: color("text") } } },
    }],
  });
}

// ---- The partition report ----

function showPartition() {
  const rows = data.partition.filter((row) => row.method === data.methods[state.method].name);
  const head = element("thead"), line = element("tr"), body = element("tbody");
  for (const name of ["runs on", "operator", "count", "module", "line", "reason"]) line.append(element("th", name, name === "count" ? "number" : ""));
  head.append(line);
  for (const row of rows.slice(0, MOST_ROWS)) {
    const cells = element("tr");
    for (const name of ["place", "operator", "count", "module", "line", "reason"]) {
      cells.append(element("td", String(row[name] === undefined ? "" : row[name]), name === "count" ? "number" : ""));
    }
    body.append(cells);
  }
  $("reasons").replaceChildren(head, body);
}

// ---- The page ----

const TABS = { graph: showGraph, operators: showOperators, memory: showMemory, size: showSize, partition: showPartition };

function show(tab, scope) {
  state.tab = tab;
  if (scope) state.scope = scope;
  for (const button of $("tabs").children) button.className = button.dataset.tab === tab ? "on" : "";
  for (const name of Object.keys(TABS)) $(name).className = name === tab ? "on" : "";
  TABS[tab]();
  writeHash();
}

function chooseMethod(place) {
  state.method = place;
  state.arena = 0;
  roots[place] = roots[place] || buildTree(data.methods[place]);
  state.scope = roots[place];
}

// The URL stores the view, so that users can share it: #tab=memory&method=forward&theme=dark&open=0.2
function writeHash() {
  const steps = [];
  for (let group = state.scope; group.parent; group = group.parent) steps.unshift(group.parent.children.indexOf(group));
  const parts = [`tab=${state.tab}`, `theme=${document.documentElement.dataset.theme}`];
  if (state.method) parts.push(`method=${encodeURIComponent(data.methods[state.method].name)}`);
  if (steps.length) parts.push(`open=${steps.join(".")}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = given.get("theme") || (dark ? "dark" : "light");
  chooseMethod(Math.max(0, data.methods.findIndex((method) => method.name === given.get("method"))));
  for (const step of (given.get("open") || "").split(".").filter(Boolean)) {
    const next = state.scope.children[Number(step)];
    if (next && next.leaf === undefined) state.scope = next;
  }
  const chosen = given.get("tab");
  show(chosen && Object.hasOwn(TABS, chosen) ? chosen : "graph");
  if (given.get("node")) reveal(Number(given.get("node")));
}

function start() {
  document.title = `${data.file} · Rushlight`;
  $("title").textContent = data.file;
  const count = data.methods.reduce((sum, method) => sum + method.nodes.filter((node) => node.instruction >= 0).length, 0);
  $("facts").textContent = `${bytes(data.size.bytes)}, ${counted(count, "operator")}`;
  const names = { graph: "Graph", operators: "Operators", memory: "Memory", size: "Size", partition: "Partition" };
  for (const tab of Object.keys(TABS)) {
    const button = element("button", names[tab]);
    button.dataset.tab = tab;
    button.onclick = () => show(tab);
    $("tabs").append(button);
  }
  $("method").replaceChildren(...data.methods.map((method, place) => Object.assign(element("option", method.name), { value: place })));
  $("method").hidden = data.methods.length < 2;
  $("method").onchange = () => { chooseMethod(Number($("method").value)); show(state.tab); };
  $("arena").onchange = () => { state.arena = Number($("arena").value); showMemory(); };
  $("filter").oninput = showOperators;
  $("theme").onclick = () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    show(state.tab);
  };
  window.addEventListener("resize", () => Object.values(charts).forEach((made) => made.resize()));
  readHash();
  $("method").value = state.method;
  document.body.dataset.ready = "yes";
}

start();
