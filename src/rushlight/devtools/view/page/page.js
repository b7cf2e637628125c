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
  window.addEventListener("resize", () => {
    for (const [id, draw] of Object.entries(charts)) if ($(id).clientWidth) draw();
  });
  readHash();
  $("method").value = state.method;
  document.body.dataset.ready = "yes";
}

start();
