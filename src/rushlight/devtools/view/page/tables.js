const COLUMNS = [
  ["operator", (node) => short(node.name)],
  ["module", (node) => some(node.modules)],
  ["line", (node) => node.lines.map(file).join(", ")],
  ["code", (node) => node.code],
  ["result", (node) => node.results[0] || ""],
  ["weights", (node) => node.weight_bytes, (value) => (value ? bytes(value) : "")],
  ["time", (node) => node.time || 0, (value) => (value ? timeText(value) : "")],
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
  $("shown").textContent = found.length > MAX_ROWS ? `${MAX_ROWS} of ${found.length} operators` : counted(found.length, "operator");
  const head = element("thead"), body = element("tbody"), line = element("tr");
  for (const [place, [name, , format]] of columns.entries()) {
    const cell = element("th", name, format ? "number" : "");
    pressable(cell, () => { state.sort = name; showOperators(); $("list").querySelectorAll("th")[place].focus(); });
    line.append(cell);
  }
  head.append(line);
  for (const [node, index] of found.slice(0, MAX_ROWS)) {
    const row = element("tr");
    for (const [name, key, format] of columns) {
      const cell = element("td", undefined, format ? "number" : "");
      const value = format ? format(key(node), method) : key(node);
      cell.append(name === "code" ? element("code", value) : value);
      row.append(cell);
    }
    pressable(row, () => reveal(index));
    body.append(row);
  }
  $("list").replaceChildren(head, body);
}

function showMemory() {
  const method = data.methods[state.method];
  const arenas = method.arenas;
  $("arena").replaceChildren(...arenas.map((arena, place) => {
    const option = element("option", `${arena.name}: ${bytes(arena.size)}`);
    option.value = place;
    option.selected = place === state.arena;
    return option;
  }));
  $("arena").hidden = !arenas.length;
  const arena = arenas[state.arena];
  if (!arena) {
    $("peak").textContent = "this method has no planned memory";
    chart("plan", () => drawing($("plan")));
    return;
  }
  const at = method.nodes[arena.peak_at];
  $("peak").textContent = `${counted(arena.blocks.length, "tensor")}; the peak is ${bytes(arena.peak)}, at ${short(at.name)} ${some(at.modules)}`;
  chart("plan", memoryChart($("plan"), arena, method));
}

function showSize() {
  const size = data.size;
  const parts = Object.entries(size.parts).filter(([, count]) => count).map(([name, value]) => ({ name: `segment: ${name}`, value, fill: PALETTE[1] }));
  const operators = size.operators.slice(0, 14).map((row) => ({ name: row.operator, value: row.bytes, fill: PALETTE[0] }));
  const rows = [...parts.sort((a, b) => b.value - a.value), ...operators];
  chart("parts", () => barChart($("parts"), `${bytes(size.bytes)} by segment, and weights by operator`, rows));
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
    const children = group.children.map(plain);
    if (group.weight) children.push({ name: "own weights", value: group.weight });
    return { name: group.name, children, value: children.reduce((sum, child) => sum + child.value, 0) };
  };
  const whole = { name: "weights", children: tree.children.map(plain), value: 0 };
  chart("weights", treeMap($("weights"), "weights by module and layer", whole, size.bytes));
}

function showPartition() {
  const rows = data.partition.filter((row) => row.method === data.methods[state.method].name);
  const head = element("thead"), line = element("tr"), body = element("tbody");
  for (const name of ["runs on", "operator", "count", "module", "line", "reason"]) line.append(element("th", name, name === "count" ? "number" : ""));
  head.append(line);
  for (const row of rows.slice(0, MAX_ROWS)) {
    const cells = element("tr");
    for (const name of ["place", "operator", "count", "module", "line", "reason"]) {
      cells.append(element("td", String(row[name] === undefined ? "" : row[name]), name === "count" ? "number" : ""));
    }
    body.append(cells);
  }
  $("reasons").replaceChildren(head, body);
}
