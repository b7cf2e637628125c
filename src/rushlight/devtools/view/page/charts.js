const PALETTE = ["#5b8ff9", "#5ad8a6", "#f6bd16", "#e8684a", "#6dc8ec", "#9270ca", "#ff9d4d", "#269a99", "#ff99c3", "#8d98b3"];

// Draws a chart, and again when the size of the window changes.
function chart(id, draw) {
  charts[id] = draw;
  draw();
}

function addText(parent, text, x, y, anchor = "start", name = "") {
  return parent.append("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).attr("class", name).text(text);
}

// Returns a function that draws the tensors of a memory over time: their offsets, and the bytes in use. Both parts show the
// same operators; the wheel, movements and the slider below choose them.
function memoryChart(box, arena, method) {
  const first = Math.min(...arena.blocks.map((block) => block.start));
  const last = Math.max(...arena.blocks.map((block) => block.end)) + 1;
  const use = [[first, 0], ...arena.use, [last, arena.use.length ? arena.use[arena.use.length - 1][1] : 0]];
  let shown = [first, last]; // the operators that are shown
  return () => {
    const svg = drawing(box);
    const width = box.clientWidth, height = box.clientHeight;
    const left = 90, right = Math.max(left + 1, width - 30), middle = (left + right) / 2;
    const whole = d3.scaleLinear([first, last], [left, right]);
    const offset = d3.scaleLinear([0, arena.size], [Math.max(25, height * 0.66), 24]);
    const low = Math.max(offset(0) + 30, height - 70);
    const used = d3.scaleLinear([0, Math.max(arena.peak, 1)], [low, Math.min(low - 1, height * 0.73)]);
    // Adds the axis of a part. Returns a group with coordinates in operators and bytes, which does not draw outside of the
    // part. Its matrix changes when the user chooses operators.
    const part = (name, scale, count) => {
      const [bottom, top] = scale.range();
      svg.append("g").attr("class", "axis").attr("transform", `translate(${left} 0)`)
        .call(d3.axisLeft(scale).tickValues(scale.ticks(count).filter(Number.isInteger)).tickFormat(bytes).tickSize(left - right).tickPadding(8));
      addText(svg, name, left, top - 9, "end", "soft");
      svg.append("clipPath").attr("id", `clip-${count}`).append("rect")
        .attr("x", left).attr("y", top - 1).attr("width", right - left).attr("height", bottom - top + 2);
      return svg.append("g").attr("clip-path", `url(#clip-${count})`).append("g");
    };
    const blocks = part("offset", offset, 5).attr("class", arena.blocks.length > 2000 ? "" : "blocks");
    blocks.selectAll("rect").data(arena.blocks).join("rect").attr("fill", (block, place) => PALETTE[place % PALETTE.length])
      .attr("x", ({ start }) => start).attr("width", ({ start, end }) => end + 1 - start)
      .attr("y", (block) => block.offset).attr("height", ({ size }) => size);
    const usage = part("in use", used, 2);
    const steps = d3.area().curve(d3.curveStepAfter).y0(0);
    usage.append("path").attr("class", "area").attr("d", steps(use));
    usage.append("path").attr("class", "steps").attr("d", steps.lineY1()(use));
    const operators = svg.append("g").attr("class", "axis operators").attr("transform", `translate(0 ${low})`);
    addText(svg, "operators in the order of execution", middle, low + 32, "middle", "soft");
    const peak = svg.append("g");
    const dot = peak.append("circle").attr("class", "peak").attr("r", 4.5).attr("cy", used(arena.peak));
    const note = addText(peak, `peak ${bytes(arena.peak)}`, 0, used(arena.peak) - 7);

    const corners = [[left, 0], [right, height]];
    const zoom = d3.zoom().scaleExtent([1, last - first]).extent(corners).translateExtent(corners);
    const brush = d3.brushX().extent([[left, height - 24], [right, height - 10]]).handleSize(8);
    const slider = svg.append("g").attr("class", "slider");
    let scale = whole;
    const show = (transform) => {
      scale = transform.rescaleX(whole);
      shown = scale.domain();
      const wide = scale(1) - scale(0);
      blocks.attr("transform", `matrix(${wide} 0 0 ${offset(1) - offset(0)} ${scale(0)} ${offset(0)})`);
      usage.attr("transform", `matrix(${wide} 0 0 ${used(1) - used(0)} ${scale(0)} ${used(0)})`);
      const ticks = scale.ticks(Math.max(1, (right - left) / 110)).filter(Number.isInteger);
      operators.call(d3.axisBottom(scale).tickValues(ticks).tickFormat(String).tickSizeOuter(0));
      const x = scale(arena.peak_at), side = x > middle ? -1 : 1;
      peak.attr("display", x < left || x > right ? "none" : null);
      dot.attr("cx", x);
      note.attr("x", x + 8 * side).attr("text-anchor", side < 0 ? "end" : "start");
    };
    const transformOf = ([from, to]) => {
      const factor = (last - first) / Math.max(1, to - from);
      return d3.zoomIdentity.translate(left, 0).scale(factor).translate(-whole(from), 0);
    };
    // An event without a source comes from the other of the two.
    zoom.on("zoom", ({ transform, sourceEvent }) => {
      show(transform);
      if (sourceEvent) slider.call(brush.move, shown.map(whole));
    });
    brush.on("brush", ({ selection, sourceEvent }) => {
      if (sourceEvent) svg.call(zoom.transform, transformOf(selection.map(whole.invert)));
    });
    brush.on("end", ({ selection, sourceEvent }) => {
      if (sourceEvent) slider.call(brush.move, (selection ? shown : whole.domain()).map(whole));
      if (sourceEvent && !selection) svg.call(zoom.transform, d3.zoomIdentity);
    });
    svg.call(zoom).on("dblclick.zoom", null);
    slider.call(brush);
    svg.call(zoom.transform, transformOf(shown));
    slider.call(brush.move, shown.map(whole));

    explain(svg, (event) => {
      const block = event.target.parentNode === blocks.node() ? d3.select(event.target).datum() : null;
      if (block) {
        const node = method.nodes[block.start];
        return [block.name, `${bytes(block.size)} at offset ${block.offset}`, `first use: ${short(node.name)} ${node.modules.join(", ")}`, `last use: ${short(method.nodes[block.end].name)}`];
      }
      const area = svg.node().getBoundingClientRect();
      const x = event.clientX - area.left, y = event.clientY - area.top;
      if (x < left || x > right || y < used.range()[1] || y > low) return null;
      const known = arena.use.filter(([node]) => node <= scale.invert(x));
      return known.length ? [bytes(known[known.length - 1][1])] : null;
    });
  };
}

// Draws a row with a horizontal bar for each of `rows`: {name, value, fill}.
function barChart(box, title, rows) {
  const svg = drawing(box);
  const left = 170, right = Math.max(left + 1, box.clientWidth - 80), top = 50;
  const bottom = top + rows.length * Math.max(4, Math.min(32, (box.clientHeight - top - 20) / Math.max(1, rows.length)));
  const x = d3.scaleLinear([0, Math.max(1, ...rows.map(({ value }) => value))], [left, right]);
  const y = d3.scaleBand(rows.map((row, place) => place), [top, bottom]).padding(0.3);
  addText(svg, fitted(title, box.clientWidth - 24, "600 13px"), 16, 26, "start", "title");
  svg.append("g").attr("class", "axis names").attr("transform", `translate(${left} 0)`)
    .call(d3.axisLeft(y).tickFormat((place) => fitted(rows[place].name, 150)).tickSize(0).tickPadding(8))
    .selectAll(".tick").append("title").text((place) => rows[place].name);
  const bars = svg.append("g").selectAll("g").data(rows).join("g");
  bars.append("rect").attr("fill", ({ fill }) => fill).attr("x", left).attr("y", (row, place) => y(place))
    .attr("width", ({ value }) => Math.max(1, x(value) - left)).attr("height", y.bandwidth());
  bars.append("text").attr("x", ({ value }) => x(value) + 6).attr("y", (row, place) => y(place) + y.bandwidth() / 2)
    .attr("dy", "0.32em").text(({ value }) => bytes(value));
  bars.append("title").text(({ name }) => name);
}

const TITLE = 20; // the height of the title of an opened group in a tree map
const FONT_OF_GROUP = "600 11px";

// Returns a function that draws groups with areas by their values: `tree` is {name, value, children}. A click on a group opens it.
function treeMap(box, title, tree, whole) {
  const color = d3.scaleOrdinal(PALETTE); // by name: the parts of repeated modules have the same colors
  let path = [tree];
  const draw = () => {
    const svg = drawing(box);
    const width = box.clientWidth, height = box.clientHeight;
    addText(svg, fitted(title, box.clientWidth - 24, "600 13px"), 16, 26, "start", "title");
    const root = d3.hierarchy(path[path.length - 1])
      .sum(({ children, value }) => (children ? 0 : value)).sort((a, b) => b.value - a.value);
    const isOpened = ({ children, depth, x0, x1, y0, y1 }) => children && depth < 3 && x1 - x0 > 40 && y1 - y0 > TITLE + 20;
    d3.treemap().size([Math.max(0, width - 32), Math.max(0, height - 86)])
      .padding((node) => (node.depth && isOpened(node) ? 3 : 0)).paddingInner(0)
      .paddingTop((node) => (node.depth && isOpened(node) ? TITLE : 0))(root);
    const map = svg.append("g").attr("transform", "translate(16 46)");
    const add = (node, inherited) => {
      const opened = isOpened(node);
      const fill = node.depth > 2 ? inherited : opened && node.depth < 2 ? null : color(node.data.name);
      const part = map.append("g").datum(node).attr("class", opened ? "group" : "leaf");
      const w = node.x1 - node.x0, h = node.y1 - node.y0, room = w - 10;
      part.attr("transform", `translate(${node.x0} ${node.y0})`);
      part.append("rect").attr("width", w).attr("height", h).attr("fill", opened ? null : fill);
      const { name } = node.data, size = bytes(node.value);
      if (opened) {
        const text = `${name}  ${size}`;
        addText(part, widthOf(text, FONT_OF_GROUP) <= room ? text : fitted(name, room, FONT_OF_GROUP), 5, 14);
        for (const child of node.children) add(child, fill);
      } else if (h > 14 && room > 20) {
        const both = h > 34 && widthOf(size) <= room;
        addText(part, fitted(name, room), w / 2, h / 2 + (both ? -3 : 4), "middle");
        if (both) addText(part, size, w / 2, h / 2 + 12, "middle");
      }
    };
    for (const child of root.children || []) add(child, null);
    const above = (node) => [...path, ...node.ancestors().reverse().slice(1).map(({ data }) => data)];
    const parts = map.selectAll("g").on("click", (event, node) => go(above(node.children ? node : node.parent)));
    explain(parts, (event, node) => [above(node).slice(1).map(({ name }) => name).join("."), `${bytes(node.value)}, ${percent(node.value, whole)} of the file`]);
    let x = 16;
    path.forEach((group, place) => {
      const text = fitted(group.name, 200);
      const crumb = svg.append("g").attr("class", "crumb").attr("transform", `translate(${x} ${height - 32})`);
      crumb.on("click", () => go(path.slice(0, place + 1)));
      crumb.append("rect").attr("width", widthOf(text) + 20).attr("height", 22).attr("rx", 4);
      addText(crumb, text, 10, 15);
      x += widthOf(text) + 26;
    });
  };
  const go = (next) => {
    path = next;
    $("tip").hidden = true;
    draw();
  };
  return draw;
}
