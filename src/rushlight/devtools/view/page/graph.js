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
    lines.push(`${counted(operatorsIn(item), "operator")}${method.total_time ? ` · ${percent(item.time, method.total_time)}` : ""}`);
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
    const kept = all.length > MAX_OUTSIDE ? all.slice(0, MAX_OUTSIDE - 1) : all;
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
  trail.append(element("span", `   ${counted(operatorsIn(state.scope), "operator")}`));
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
    row.append(element("span", method.total_time ? percent(group.time, method.total_time) : group.weight ? bytes(group.weight) : String(operatorsIn(group)), "note"));
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
    fact("operators", String(operatorsIn(scope)));
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
