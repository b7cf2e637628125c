"use strict";
// The page shows one method at a time. The graph shows one group of operators at a time, so that the layout has only a
// few dozen nodes, even for large programs. All text is inserted as text and never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const MAX_SHOWN = 44; // the maximum number of nodes in the graph, with the nodes of opened groups
const MAX_CHILDREN = 60; // the maximum number of children of a group; larger groups are split into ranges of operators
const MAX_OUTSIDE = 5; // the maximum number of neighbours outside of a group, on each side
const MAX_ROWS = 300; // the maximum number of rows in a table

const $ = (id) => document.getElementById(id);
const state = { tab: "graph", method: 0, scope: null, arena: 0, sort: null };
let roots = [];
let graph = null; // the drawing of the graph: its boxes and its part in the window
const charts = {}; // the functions that draw the charts again

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

// Formats a time in ms.
function timeText(time) {
  if (time >= 1) return `${time.toFixed(2)} ms`;
  return time >= 1e-3 ? `${(time * 1e3).toFixed(1)} µs` : `${(time * 1e6).toFixed(0)} ns`;
}

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "");
const short = (name) => name.replace(/^aten::/, "").replace(/\.out$/, "");
const plainName = (name) => name.replace(/^[a-z_]+\./, "").replace(/\.[A-Za-z_]+$/, "").replace(/^_native_batch_norm_legit_no_training$/, "batch_norm");
const file = (place) => place.split("/").pop();
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const some = (names) => (names.length > 2 ? `${names[0]} … ${names[names.length - 1]}` : names.join(", "));
const ending = (path) => (path.length > 40 ? `…${path.slice(-39)}` : path);

// Groups: delegates and modules.

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
  if (group.children.length <= MAX_CHILDREN) return;
  let size = MAX_CHILDREN;
  while (size * MAX_CHILDREN < group.children.length) size *= MAX_CHILDREN;
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

// Returns the number of operators of a group. Inputs and outputs of a method are leaves too, but not operators.
const operatorsIn = (group) => group.leaves.filter((leaf) => data.methods[state.method].nodes[leaf].instruction >= 0).length;

// Returns the nodes that the graph shows for a group: its children. Small groups among them are replaced by their
// children while there is space.
function visibleOf(scope) {
  const shown = scope.children.slice();
  for (;;) {
    let best = -1;
    for (let i = 0; i < shown.length; i++) {
      const item = shown[i];
      if (item.leaf !== undefined || shown.length - 1 + item.children.length > MAX_SHOWN) continue;
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
