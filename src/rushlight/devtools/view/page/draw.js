const measure = document.createElement("canvas").getContext("2d");
const FONT = 'system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

function widthOf(text, font = "11px") {
  measure.font = `${font} ${FONT}`;
  return measure.measureText(text).width;
}

// Returns the text, or as much of its start as fits into a width.
function fitted(text, width, font) {
  if (widthOf(text, font) <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(`${text.slice(0, middle)}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}

// Makes an element act on a click and, when it has the focus, on Enter and the space bar.
function pressable(box, press) {
  box.tabIndex = 0;
  box.onclick = press;
  box.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press();
  };
}

// Replaces the content of a box by a drawing of its size, and returns the drawing.
function drawing(box) {
  const svg = d3.create("svg").attr("width", box.clientWidth).attr("height", box.clientHeight);
  box.replaceChildren(svg.node());
  return svg;
}

// Shows lines of text beside the pointer while it is over the elements of a selection. `lines` gets the event and the
// datum of the element, and returns nothing where there is no text.
function explain(selection, lines) {
  selection.on("pointermove.tip", (event, datum) => {
    const found = lines(event, datum);
    $("tip").replaceChildren(...(found || []).map((line) => element("div", line)));
    $("tip").hidden = !found;
    const box = $("tip").getBoundingClientRect();
    $("tip").style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 4))}px`;
    $("tip").style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4))}px`;
  });
  selection.on("pointerleave.tip", () => { $("tip").hidden = true; });
}
