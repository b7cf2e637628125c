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
  $("shown").textContent = found.length > MAX_ROWS ? `${MAX_ROWS} of ${found.length} operators` : counted(found.length, "operator");
  const head = element("thead"), body = element("tbody"), line = element("tr");
  for (const [name, , format] of columns) {
    const cell = element("th", name, format ? "number" : "");
    cell.onclick = () => { state.sort = name; showOperators(); };
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
  for (const row of rows.slice(0, MAX_ROWS)) {
    const cells = element("tr");
    for (const name of ["place", "operator", "count", "module", "line", "reason"]) {
      cells.append(element("td", String(row[name] === undefined ? "" : row[name]), name === "count" ? "number" : ""));
    }
    body.append(cells);
  }
  $("reasons").replaceChildren(head, body);
}
