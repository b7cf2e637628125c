"""`rushlight inspect`: the facts of a program, and the page in a real browser."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.cli.exit_codes import ERROR
from rushlight.cli.inspect import collect, write_page
from rushlight.cli.main import main
from rushlight.devtools.inspector import Inspector
from rushlight.devtools.view.page import embedded
from rushlight.devtools.view.program import MethodGraph
from rushlight.format.program import Tensor
from rushlight.format.pte import read_pte_file

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PARTITIONERS: dict[str, Any] = {"cpu": None, "kernels": (), "xnnpack": (XnnpackPartitioner(),)}
ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "src/rushlight/devtools/view/page/vendor"
HOSTILE = "</script><script>document.body.dataset.broken='yes'</script><!--"


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(16, 64)
        self.narrow = torch.nn.Linear(64, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.narrow(torch.relu(self.wide(x)))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(), Block())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.blocks(x), -1)


def compiled(folder: Path, backend: str) -> Path:
    program = rushlight.compile(
        Net(), (torch.randn(2, 16),), partitioner=PARTITIONERS[backend], generate_etrecord=True
    )
    program.save(folder / "net.pte")
    program.get_etrecord().save(folder / "net.etrecord")
    return folder / "net.pte"


class ToUint16(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([(x * 2).to(torch.uint16), (x + 3).to(torch.uint16)])


def test_sizes_of_integers_in_memory(tmp_path: Path) -> None:
    """Each element of a uint16 tensor has two bytes."""
    program = rushlight.compile(ToUint16(), (torch.rand(4, 16),), partitioner=())
    program.save(tmp_path / "net.pte")
    (arena,) = collect(tmp_path / "net.pte")["graphs"][0].arenas
    sizes = [block.size for block in arena.blocks if block.name == "uint16[4, 16]"]
    assert sizes == [2 * 4 * 16] * 2


class Flat(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear((x * 2).flatten(1))


def test_a_removed_view_has_the_writer_of_its_base(tmp_path: Path) -> None:
    """`addmm` reads the result of `mul` through a view for which the program has no instruction."""
    program = rushlight.compile(Flat(), (torch.rand(2, 3, 4),), partitioner=())
    program.save(tmp_path / "net.pte")
    nodes = collect(tmp_path / "net.pte")["graphs"][0].nodes
    names = [node.name for node in nodes]
    assert not any("view" in name for name in names)
    product, linear = (next(i for i, name in enumerate(names) if part in name) for part in ("mul.", "addmm"))
    assert product in nodes[linear].inputs


@pytest.mark.parametrize("backend", PARTITIONERS)
def test_the_graph_of_a_program(backend: str, tmp_path: Path) -> None:
    path = compiled(tmp_path, backend)
    assert main(["profile", str(path), "--etdump", str(tmp_path / "net.etdp"), "--runs", "2"]) == 0
    facts = collect(path, tmp_path / "net.etrecord", tmp_path / "net.etdp")
    graph: MethodGraph = facts["graphs"][0]
    first, last = graph.nodes[0], graph.nodes[-1]
    assert (first.kind, first.results) == ("input", ["float32[2, 16]"])
    assert (last.kind, last.results) == ("output", ["float32[2, 16]"])
    inside = [node for node in graph.nodes if node.instruction >= 0]
    assert {node.kind for node in inside} == {"kernel" if backend == "kernels" else "step"}
    assert all(node.results for node in inside)
    # XnnpackBackend fuses steps when it loads a program. Fused steps have no separate time.
    assert all(node.time is not None for node in inside) or backend == "xnnpack"
    assert graph.total_time == pytest.approx(sum(node.time or 0 for node in inside))
    modules = {module for node in inside for module in node.modules}
    assert {"blocks.0.wide", "blocks.1.narrow"} <= modules
    assert any(line.startswith(__file__) for node in inside for line in node.lines)
    weights = 2 * (16 * 64 + 64 + 64 * 16 + 16) * 4
    assert sum(node.weight_bytes for node in inside) >= weights
    assert sum(row["bytes"] for row in facts["size"]["operators"]) >= weights
    # Data flows from the input to the output, and only forward.
    reached = {0}
    for place, node in enumerate(graph.nodes):
        assert all(source < place for source in node.inputs)
        if reached & set(node.inputs):
            reached.add(place)
    assert len(graph.nodes) - 1 in reached


@pytest.mark.parametrize("backend", ["cpu", "kernels"])
def test_memory_over_time(backend: str, tmp_path: Path) -> None:
    graph: MethodGraph = collect(compiled(tmp_path, backend))["graphs"][0]
    for arena in graph.arenas:
        assert 0 < arena.peak <= arena.size
        assert arena.peak == max(count for _, count in arena.use)
        for block in arena.blocks:
            assert 0 <= block.offset and block.offset + block.size <= arena.size
            assert 0 <= block.start <= block.end < len(graph.nodes)


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum() > 0


class Loop(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.exp(x)

        def body(i: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return i + 1, torch.tanh(self.linear(z)) + y

        start = torch.tensor(0)
        _, z = torch._higher_order_ops.while_loop(lambda i, z: i < 5, body, (start, x))
        return torch.cos(z), torch.sin(x)


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    program = rushlight.compile(Loop(), (torch.randn(2, 4),), partitioner=(), generate_etrecord=True)
    program.save(tmp_path / "net.pte")
    program.get_etrecord().save(tmp_path / "net.etrecord")
    return tmp_path / "net.pte"


def test_times_of_operators_in_a_loop(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The time of an operator in a loop is the sum over the iterations."""
    dump = loop.with_suffix(".etdp")
    assert main(["profile", str(loop), "--etdump", str(dump), "--runs", "1", "--by", "step", "--json"]) == 0
    profiled = {row["name"]: row["time"] for row in json.loads(capsys.readouterr().out)["steps"]}
    (graph,) = collect(loop, loop.with_suffix(".etrecord"), dump)["graphs"]
    (run,) = [block for block in Inspector(etdump_path=dump).event_blocks if block.name == "Execute"]
    for name, iterations in (("tanh", 5), ("exp", 1), ("cos", 1)):
        events = [event for event in run.events if event.name == f"native_call_{name}.out"]
        assert len(events) == iterations
        (node,) = [node for node in graph.nodes if node.name == f"aten::{name}.out"]
        assert node.time == pytest.approx(sum(event.perf_data.avg for event in events if event.perf_data))
        assert profiled[node.name] == pytest.approx(node.time)
    assert graph.total_time == pytest.approx(sum(profiled.values()))
    assert main(["inspect", str(loop), "--etdump", str(dump)]) == 0
    assert re.search(r"  1  aten::tanh.out +kernel +[\d.]+ (ns|us|ms) +[\d.]+%\n", capsys.readouterr().out)


def test_memory_over_time_in_a_loop(loop: Path) -> None:
    """A tensor from before a loop that the loop reads is in memory until the end of the loop."""
    (graph,) = collect(loop, loop.with_suffix(".etrecord"))["graphs"]
    place = {node.name: index for index, node in enumerate(graph.nodes)}
    (arena,) = graph.arenas
    jumps = [index for index, node in enumerate(graph.nodes) if node.name == "JumpFalse"]
    (read,) = [block for block in arena.blocks if block.start == place["aten::exp.out"]]
    assert read.end == jumps[-1] > place["aten::tanh.out"]
    # The loop does not read the input, but an operator after the loop does.
    (first,) = [block for block in arena.blocks if block.start == 0]
    assert first.end == place["aten::sin.out"]
    for a in arena.blocks:  # tensors share bytes only if one of them ends where the other starts
        for b in arena.blocks:
            if a.start < b.start < a.end:
                assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
    assert arena.peak == max(size for _, size in arena.use) <= arena.size


def test_summary_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path, "kernels")
    assert main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    for text in ("method forward", "input 0: float32[2, 16]", "aten::addmm.out", "memory of", "constants"):
        assert text in printed
    assert main(["inspect", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["graphs"][0]["nodes"][0]["kind"] == "input"
    assert {row["place"] for row in facts["partition"]} == {"kernel"}


def test_the_reason_why_a_kernel_runs_an_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Counts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nonzero(torch.softmax(x, 0))

    program = rushlight.compile(Counts(), (torch.ones(4),), generate_etrecord=True)
    program.save(tmp_path / "net.pte")
    program.get_etrecord().save(tmp_path / "net.etrecord")
    assert main(["inspect", str(tmp_path / "net.pte")]) == 0
    assert re.search(r"aten::nonzero.out +\S*test_inspect.py:\d+ +CpuBackend: ", capsys.readouterr().out)


def test_the_plan_of_each_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There are a small fast memory and a large slow one.

    Each tensor is shown in its memory at its offset.
    """
    memories = [rushlight.Memory("fast", 1, 512), rushlight.Memory("slow", 2, cost=4.0)]
    path = tmp_path / "net.pte"
    rushlight.compile(Net(), (torch.randn(2, 16),), partitioner=(), memories=memories).save(path)
    plan = read_pte_file(path).program.execution_plan[0]
    assert all(size > 0 for size in plan.non_const_buffer_sizes[1:3])
    assert main(["inspect", str(path)]) == 0
    parts = re.split(r"^memory of method forward, memory (\d+): ", capsys.readouterr().out, flags=re.M)
    assert parts[1::2] == ["1", "2"]
    for number, text in zip((1, 2), parts[2::2], strict=True):
        table = text.partition("bytes:")[0].splitlines()[3:]
        shown = {tuple(map(int, line.split()[:2])) for line in table}
        planned = {
            (value.val.allocation_info.memory_offset, 4 * math.prod(value.val.sizes))
            for value in plan.values
            if isinstance(value.val, Tensor)
            and value.val.allocation_info is not None
            and value.val.allocation_info.memory_id == number
        }
        assert shown == planned and shown
    assert main(["inspect", str(path), "--json"]) == 0
    arenas = json.loads(capsys.readouterr().out)["graphs"][0]["arenas"]
    assert [arena["memory"] for arena in arenas] == [1, 2]


def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path, "kernels")
    assert main(["inspect", str(path), "--html", str(tmp_path / "none" / "net.html")]) == ERROR
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "net.etdp").write_bytes(b"x")
    assert main(["inspect", str(path), "--etdump", str(tmp_path / "net.etdp")]) == ERROR
    assert "net.etdp" in capsys.readouterr().err
    path.write_bytes(b"x")
    assert main(["inspect", str(path)]) == ERROR


class Elements(HTMLParser):
    """The script elements of a page, and the addresses that it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def write(path: Path, facts: dict[str, Any]) -> Path:
    target = path.with_suffix(".html")
    write_page(target, path, facts)
    return target


def test_the_page_needs_no_network_and_names_cannot_leave_their_script(tmp_path: Path) -> None:
    path = compiled(tmp_path, "kernels")
    facts = collect(path)
    facts["graphs"][0].name = HOSTILE
    facts["graphs"][0].nodes[1].code = HOSTILE
    text = write(path, facts).read_text("utf-8")
    found = Elements()
    found.feed(text)
    assert found.scripts == 3 and not found.addresses
    assert HOSTILE not in text and "<" not in embedded([HOSTILE])
    data = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert data is not None and json.loads(data.group(1))["methods"][0]["name"] == HOSTILE


def browse(page: Path, view: str, width: int = 1400) -> str:
    """Returns the elements of the page after its scripts have run in Chromium."""
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    folder = page.parent / "profile"
    command += [f"--user-data-dir={folder}", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run([*command, f"file://{page}#{view}"], capture_output=True, text=True, timeout=300)
    assert 'data-ready="yes"' in done.stdout, done.stderr[-2000:]
    return done.stdout


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


def shapes(page: str, box: str) -> ElementTree.Element:
    """Returns the drawing in the element of a page with the id `box`."""
    found = re.search(rf'id="{box}"[^>]*>(<svg.*?</svg>)', page, re.S)
    assert found is not None, f"there is no drawing in {box}"
    return ElementTree.fromstring(found[1])


def texts(drawing: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in drawing.iter("text")]


@needs_browser
def test_each_view_in_a_browser(tmp_path: Path) -> None:
    path = compiled(tmp_path, "cpu")
    assert main(["profile", str(path), "--etdump", str(tmp_path / "net.etdp"), "--runs", "1"]) == 0
    page = write(path, collect(path, tmp_path / "net.etrecord", tmp_path / "net.etdp"))
    shown = browse(page, "tab=graph&theme=dark")
    assert "CpuBackend #0" in shown and 'data-theme="dark"' in shown
    assert any("GEMM" in text for text in texts(shapes(shown, "canvas")))
    shown = browse(page, "tab=graph&node=1")
    assert "test_inspect.py:" in shown and "runs on" in shown
    assert re.search(r'class="box step[a-z ]* chosen"', shown)
    assert "GEMM" in browse(page, "tab=operators")
    assert "CpuBackend" in browse(page, "tab=partition")


@needs_browser
def test_the_graph_in_a_browser(tmp_path: Path) -> None:
    """Edges point down, from box to box, and boxes do not overlap."""
    path = compiled(tmp_path, "kernels")
    facts = collect(path)
    drawing = shapes(browse(write(path, facts), "tab=graph"), "canvas")
    boxes = []
    for group in drawing.iter("g"):
        if not group.get("class", "").startswith("box "):
            continue
        x, y = map(float, re.findall(r"[-\d.]+", group.get("transform", "")))
        frame = group.find("rect")
        assert frame is not None
        boxes.append((x, y, float(frame.get("width", 0)) / 2, float(frame.get("height", 0)) / 2))
    assert len(boxes) == len(facts["graphs"][0].nodes)
    for place, (x, y, w, h) in enumerate(boxes):
        assert all(abs(x - a) >= w + b or abs(y - c) >= h + d for a, c, b, d in boxes[:place])
    edges = [edge.get("d", "") for edge in drawing.iter("path") if edge.get("class") == "edge"]
    assert len(edges) == sum(len(set(node.inputs)) for node in facts["graphs"][0].nodes)
    tops = {(x, y - h) for x, y, _, h in boxes}
    bottoms = {(x, y + h) for x, y, _, h in boxes}
    for edge in edges:
        first, rest = re.fullmatch(r"M([-\d.,]+)(.*)", edge).groups()  # type: ignore[union-attr]
        x, y = map(float, first.split(","))
        assert min(abs(x - a) + abs(y - b) for a, b in bottoms) < 0.01
        for step, values in re.findall(r"([VC])([-\d.,]+)", rest):
            numbers = [float(number) for number in values.split(",")]
            assert numbers[-1] > y
            x, y = (x if step == "V" else numbers[-2]), numbers[-1]
        assert min(abs(x - a) + abs(y - b) for a, b in tops) < 0.01


@needs_browser
def test_the_charts_in_a_browser(tmp_path: Path) -> None:
    path = compiled(tmp_path, "kernels")
    facts = collect(path, tmp_path / "net.etrecord")
    page = write(path, facts)
    shown = browse(page, "tab=memory")
    assert "the peak is" in shown
    plan = shapes(shown, "plan")
    arena = facts["graphs"][0].arenas[0]
    blocks = next(group for group in plan.iter("g") if group.get("class") == "blocks")
    assert [
        tuple(int(block.get(name, "")) for name in ("x", "y", "width", "height")) for block in blocks
    ] == [(block.start, block.offset, block.end + 1 - block.start, block.size) for block in arena.blocks]
    assert any(text.startswith("peak ") for text in texts(plan))
    shown = browse(page, "tab=size")
    assert "segment: constants" in texts(shapes(shown, "parts"))
    weights = shapes(shown, "weights")
    leaves = [group.find("rect") for group in weights.iter("g") if group.get("class") == "leaf"]
    areas = [
        float(leaf.get("width", 0)) * float(leaf.get("height", 0)) for leaf in leaves if leaf is not None
    ]
    assert len(areas) == len(facts["size"]["layers"]) and min(areas) > 0
    assert any(text.startswith("blocks") for text in texts(weights))


@needs_browser
def test_a_narrow_window(tmp_path: Path) -> None:
    """The parts of a view are below each other, and no title is cut."""
    path = compiled(tmp_path, "cpu")
    page = write(path, collect(path, tmp_path / "net.etrecord"))
    shown = after(page, "tab=graph", 'document.body.dataset.width = $("canvas").clientWidth;', 600)
    found = re.search(r'data-width="(\d+)"', shown)
    assert found is not None and int(found[1]) > 400
    parts = shapes(browse(page, "tab=size", 600), "parts")
    assert float(parts.get("width", 0)) > 400
    assert any(text.endswith("weights by operator") for text in texts(parts))
    # All buttons are in one line of a telephone.
    tops = 'const tops = [...document.querySelectorAll("header button")].map((box) => box.offsetTop);'
    frame = "document.body.style.width = '390px'; document.body.dataset.apart = "
    apart = f"(() => {{ {tops} return Math.max(...tops) - Math.min(...tops); }})();"
    shown = after(page, "tab=graph", frame + apart, 600)
    found = re.search(r'data-apart="(\d+)"', shown)
    assert found is not None and int(found[1]) < 10


@needs_browser
def test_the_keyboard_opens_modules_and_operators(tmp_path: Path) -> None:
    path = compiled(tmp_path, "cpu")
    page = write(path, collect(path, tmp_path / "net.etrecord"))
    press = """
      const press = (box, key) => {
        box.focus();
        box.dispatchEvent(new KeyboardEvent("keydown", { key }));
      };
    """
    tree = (
        'document.body.dataset.at = document.activeElement.className + ", " + document.activeElement.title;'
    )
    rows = 'document.querySelectorAll("#tree .row")'
    shown = after(page, "tab=graph", f'{press} press({rows}[1], "Enter"); {tree}')
    assert 'data-at="row on, CpuBackend #0"' in shown
    shown = after(page, "tab=graph", f'{press} press({rows}[1], "Enter"); press({rows}[0], " "); {tree}')
    assert 'data-at="row on, forward"' in shown
    sort = f'{press} press(document.querySelectorAll("#list th")[1], "Enter");'
    named = "document.body.dataset.at = document.activeElement.textContent;"
    assert 'data-at="module"' in after(page, "tab=operators", sort + named)
    reveal = f'{press} press(document.querySelector("#list tbody tr"), "Enter");'
    shown = after(page, "tab=operators", reveal)
    assert 'id="graph" class="on"' in shown and "runs on" in shown


@needs_browser
def test_labels_of_a_memory_without_free_space(tmp_path: Path) -> None:
    """The label of a peak at the left edge is beside the label of the axis, and not on it."""
    program = rushlight.compile(Sum(), (torch.ones(2, 8),))
    program.save(tmp_path / "net.pte")
    drawing = shapes(browse(write(tmp_path / "net.pte", collect(tmp_path / "net.pte")), "tab=memory"), "plan")
    labels = {"".join(text.itertext()): text for text in drawing.iter("text")}
    axis = labels["in use"]
    (peak,) = [text for name, text in labels.items() if name.startswith("peak ")]
    assert axis.get("text-anchor") == "end" and peak.get("text-anchor") == "start"
    assert float(axis.get("x", 0)) < float(peak.get("x", 0))


EVENTS = """
const send = (target, type, x, more) => target.dispatchEvent(new (type === "wheel" ? WheelEvent : MouseEvent)(
  type, { clientX: x, clientY: 300, bubbles: true, cancelable: true, view: window, ...more }));
const drag = (target, from, to) => {
  send(target, "mousedown", from);
  send(window, "mousemove", to);
  send(window, "mouseup", to);
};
"""


def after(page: Path, view: str, actions: str, width: int = 1400) -> str:
    """Returns the content of a page after the user's actions: statements in JavaScript."""
    changed = page.with_name("after.html")
    text = page.read_text("utf-8")
    changed.write_text(text.replace("</body>", f"<script>{EVENTS}{actions}</script></body>"), "utf-8")
    return browse(changed, view, width)


@needs_browser
def test_gestures_in_a_browser(tmp_path: Path) -> None:
    """The memory chart and its slider show the same operators. A drag of the graph is not a click."""
    path = compiled(tmp_path, "kernels")
    page = write(path, collect(path, tmp_path / "net.etrecord"))

    def shown(actions: str) -> tuple[float, float, float]:
        """Returns the scale of the chart, and the start and width of the slider as parts of the whole."""
        plan = shapes(
            after(page, "tab=memory", f'const svg = document.querySelector("#plan svg"); {actions}'), "plan"
        )
        groups = {group.get("class"): group for group in plan.iter("g")}
        matrix = [float(number) for number in re.findall(r"[-\d.]+", groups["blocks"].get("transform", ""))]
        bars = {bar.get("class"): bar for bar in groups["slider"].iter("rect")}
        left, width = (float(bars["overlay"].get(name, "")) for name in ("x", "width"))
        chosen, chosen_width = (float(bars["selection"].get(name, "")) for name in ("x", "width"))
        return matrix[0], (chosen - left) / width, chosen_width / width

    whole, start, width = shown("")
    assert (start, width) == (0, 1)
    scale, start, width = shown('send(svg, "wheel", 700, { deltaY: -400 });')
    assert 0 < start < 1 - width and scale * width == pytest.approx(whole)
    scale, start, width = shown('drag(document.querySelector(".handle--w"), 90, 700);')
    assert start + width == pytest.approx(1) and 0.3 < width < 0.7 and scale * width == pytest.approx(whole)
    click = 'document.querySelector(".kernel .frame")'
    assert 'class="box kernel chosen"' in after(page, "tab=graph", f'send({click}, "click", 700);')
    moved = after(page, "tab=graph", f'drag({click}, 700, 760); send({click}, "click", 760);')
    assert 'class="box kernel chosen"' not in moved


def test_the_licences_of_the_libraries_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the licence of each package that the bill of materials lists, in the same release."""
    monkeypatch.syspath_prepend(ROOT / "scripts/release")
    import sbom

    listed: set[str] = set()
    path = compiled(tmp_path, "kernels")
    page = write(path, collect(path)).read_text("utf-8")
    for file in sorted(VENDOR.glob("*.LICENSE")):
        text = file.read_text("utf-8")
        assert text in page and "*/" not in text
        listed.update(re.findall(r"(\S+ \d[\d.]*)[,:]", text))
    assert listed == {f"{package.name} {package.version}" for package in sbom.PAGE}
    bill = json.loads(sbom.bill(list(sbom.PAGE)))
    assert "pkg:npm/%40dagrejs/dagre@" in " ".join(part["purl"] for part in bill["components"])


@needs_browser
def test_hostile_names_in_a_browser(tmp_path: Path) -> None:
    path = compiled(tmp_path, "kernels")
    facts = collect(path)
    for node in facts["graphs"][0].nodes:
        node.name = node.code = HOSTILE
        node.modules = [HOSTILE]
    page = write(path, facts)
    for tab in ("graph", "operators", "memory", "size", "partition"):
        assert "data-broken" not in browse(page, f"tab={tab}").partition("<script")[0]


@needs_browser
def test_ten_thousand_operators_in_a_browser(tmp_path: Path) -> None:
    """A group shows some dozen nodes, independent of the size of the program."""
    path = compiled(tmp_path, "kernels")
    facts = collect(path)
    graph: MethodGraph = facts["graphs"][0]
    middle = graph.nodes[1]
    nodes = [vars(middle) | {"inputs": [place], "modules": []} for place in range(10_000)]
    graph.nodes[1:-1] = [type(middle)(**node) for node in nodes]
    graph.nodes[-1].inputs = [10_000]
    page = write(path, facts)
    assert "10000 operators" in browse(page, "tab=graph")
    assert "300 of 10000 operators" in browse(page, "tab=operators")
    assert "runs on" in browse(page, "tab=graph&node=7777")
