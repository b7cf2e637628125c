function boxOf(id, label, kind, extra) {
  const lines = label.split("\n");
  const width = Math.max(...lines.map((line) => widthOf(line, kind === "group" ? "600 12px" : "12px"))) + 24;
  return { id, lines, w: Math.ceil(width), h: lines.length * 16 + 12, kind, ...extra };
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
    if (node.time) lines.push(`${timeText(node.time)} · ${percent(node.time, method.total_time)}`);
  }
  return lines.map((line) => (line.length > 60 ? `${line.slice(0, 59)}…` : line)).join("\n");
}

// Returns the items that the graph of a group shows, their boxes and those of neighbours outside of the group, and the
// edges as pairs of indices into the boxes.
function boxesOf(scope, method) {
  const items = visibleOf(scope);
  const owner = new Map();
  const boxes = [];
  const hottest = Math.max(1e-9, ...items.map((item) => (item.leaf === undefined ? item.time : method.nodes[item.leaf].time || 0)));
  items.forEach((item, place) => {
    const id = `n${place}`;
    for (const leaf of item.leaf === undefined ? item.leaves : [item.leaf]) owner.set(leaf, id);
    const node = item.leaf === undefined ? null : method.nodes[item.leaf];
    const kind = node === null ? "group" : node.kind === "input" || node.kind === "output" ? "ends" : node.kind;
    const time = node === null ? item.time : node.time || 0;
    boxes.push(boxOf(id, labelOf(item, method, scope), kind, { place, heat: time / hottest }));
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
    boxes.push(boxOf(id, label, "outside", extra));
    for (const end of ends) edges.add(side === "in" ? `${id}>${end}` : `${end}>${id}`);
  }
  const index = new Map(boxes.map((box, place) => [box.id, place]));
  return { items, boxes, edges: [...edges].map((edge) => edge.split(">").map((id) => index.get(id))) };
}

function addTo(map, key, value) {
  if (!map.has(key)) map.set(key, new Set());
  map.get(key).add(value);
}

function showGraph() {
  const method = data.methods[state.method];
  const { items, boxes, edges } = boxesOf(state.scope, method);
  drawGraph(boxes, edges, (box) => {
    if (box.leaf !== undefined) return reveal(box.leaf);
    const item = items[box.place];
    if (item === undefined) return undefined;
    if (item.leaf === undefined) return open(item);
    choose(box.id);
    return showDetails(item.leaf);
  });
  showTrail();
  showTree();
  showDetails(null);
  writeHash();
}

// Computes the places x and y of the boxes. Returns for each edge the points of its route, from its source to its target.
function layered(boxes, edges) {
  const layout = new dagre.Graph().setGraph({ nodesep: 26, edgesep: 14, ranksep: 40 }).setDefaultEdgeLabel(() => ({}));
  boxes.forEach(({ w, h }, index) => layout.setNode(String(index), { width: w, height: h }));
  for (const [from, to] of edges) layout.setEdge(String(from), String(to));
  dagre.layout(layout);
  const heights = new Map(); // of the layers of boxes, by the y of their boxes
  boxes.forEach((box, index) => {
    const { x, y } = layout.node(String(index));
    Object.assign(box, { x, y });
    heights.set(y, Math.max(box.h, heights.get(y) || 0));
  });
  return edges.map(([from, to]) => {
    const source = boxes[from], target = boxes[to];
    const down = source.y < target.y ? 0.5 : -0.5;
    // dagre gives a point between all layers too. Without these, edges have fewer bends. An edge is vertical while it is
    // between boxes, so that it does not touch them.
    const inner = layout.edge(String(from), String(to)).points.slice(1, -1).filter(({ y }) => heights.has(y));
    const points = inner.flatMap(({ x, y }) => [[x, y - down * heights.get(y)], [x, y + down * heights.get(y)]]);
    return [[source.x, source.y + down * source.h], ...points, [target.x, target.y - down * target.h]];
  });
}

function drawGraph(boxes, edges, onClick) {
  const routes = layered(boxes, edges);
  const canvas = $("canvas");
  const svg = drawing(canvas).attr("width", "100%").attr("height", "100%");
  svg.append("defs").append("marker").attr("id", "arrow").attr("viewBox", "0 0 8 8").attr("refX", 8).attr("refY", 4)
    .attr("markerWidth", 8).attr("markerHeight", 8).attr("markerUnits", "userSpaceOnUse").attr("orient", "auto")
    .append("path").attr("d", "M0 0L8 4L0 8z").attr("class", "tip");
  const layer = svg.append("g");
  layer.selectAll("path").data(routes).join("path")
    .attr("class", "edge").attr("marker-end", "url(#arrow)").attr("d", d3.line().curve(d3.curveBumpY));
  const groups = layer.selectAll("g").data(boxes).join("g")
    .attr("class", ({ kind, heat }) => `box ${kind}${heat > 0.5 ? " hot" : ""}`)
    .attr("transform", ({ x, y }) => `translate(${x} ${y})`)
    .style("--heat", ({ heat }) => (heat > 0.5 ? `${6 * heat - 2}px` : null))
    .on("click", (event, box) => onClick(box));
  const frame = (selection, inset) => selection.append("rect").attr("class", inset ? "inner" : "frame").attr("rx", 6 - inset)
    .attr("x", ({ w }) => inset - w / 2).attr("width", ({ w }) => w - 2 * inset)
    .attr("y", ({ h }) => inset - h / 2).attr("height", ({ h }) => h - 2 * inset);
  frame(groups, 0);
  frame(groups.filter(".group"), 2.5);
  groups.append("text").selectAll("tspan").data(({ lines }) => lines).join("tspan")
    .attr("x", 0).attr("y", (line, place, all) => 16 * place - 8 * all.length + 12).text((line) => line);
  const zoom = d3.zoom().scaleExtent([0.08, 2.5]).clickDistance(4)
    .on("zoom", ({ transform }) => layer.attr("transform", transform));
  svg.call(zoom).on("dblclick.zoom", null);
  graph = { boxes, groups, width: canvas.clientWidth, height: canvas.clientHeight, scale: 1, show(x, y, scale) {
    graph.scale = scale;
    svg.call(zoom.transform, d3.zoomIdentity.translate(x, y).scale(scale));
  } };
  fitGraph(boxes, routes);
}

// Scales the graph to the size of the window, but not below a legible size. The user can then move the graph.
function fitGraph(boxes, routes) {
  const across = [...boxes.flatMap(({ x, w }) => [x - w / 2, x + w / 2]), ...routes.flat().map(([x]) => x)];
  const low = Math.min(...across), high = Math.max(...across);
  const bottom = Math.max(...boxes.map(({ y, h }) => y + h / 2));
  const wide = (graph.width - 48) / (high - low), tall = (graph.height - 48) / bottom;
  const scale = Math.min(1, Math.max(Math.min(wide, tall), 0.6, Math.min(wide, 0.75)));
  graph.show(graph.width / 2 - (scale * (low + high)) / 2, Math.max(24, (graph.height - scale * bottom) / 2), scale);
}

// Marks a box as the selected one, and returns it.
function choose(id) {
  graph.groups.classed("chosen", (box) => box.id === id);
  return graph.boxes.find((box) => box.id === id);
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
      const box = choose(`n${place}`);
      graph.show(graph.width / 2 - graph.scale * box.x, graph.height / 2 - graph.scale * box.y, graph.scale);
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
    if (!last) pressable(step, () => open(group));
    trail.append(step);
  });
  trail.append(element("span", `   ${counted(operatorsIn(state.scope), "operator")}`));
}

function showTree() {
  const tree = $("tree"), focused = tree.contains(document.activeElement);
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
    row.append(element("span", method.total_time ? percent(group.time, method.total_time) : group.weight ? bytes(group.weight) : counted(operatorsIn(group), "operator"), "note"));
    const share = element("span", undefined, "share");
    share.style.width = `${100 * (method.total_time ? group.time / method.total_time : 0)}%`;
    row.append(share);
    row.title = group.name;
    pressable(row, () => open(group));
    tree.append(row);
    if (focused && group === state.scope) row.focus();
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
    if (method.total_time) fact("time", `${timeText(scope.time)}, ${percent(scope.time, method.total_time)}`);
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
    if (node.time !== null) fact("time", `${timeText(node.time)}, ${percent(node.time, method.total_time)}`);
    fact("weights", node.weight_bytes ? bytes(node.weight_bytes) : "");
    fact("instruction", node.instruction >= 0 ? String(node.instruction) : "");
  }
  details.append(list);
}
