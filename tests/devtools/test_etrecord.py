"""ETRecords: their contents, round trips, and errors of damaged files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim, ExportedProgram, export
from torch.fx import GraphModule

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compiler.edge import to_edge, to_edge_transform_and_lower
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord import ETRecord, generate_etrecord, parse_etrecord
from rushlight.devtools.etrecord.serde import read_program, write_program
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops
from rushlight.passes.export_pass import ExportPass


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.lin(x))


class Net(torch.nn.Module):
    """Dynamic sizes, several results of one operator, dtypes, control flow and state."""

    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Block(), Block()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.a(x)
        self.count += 1
        z = self.b(y).to(torch.float64)
        largest, _ = torch.max(z, 1)
        w = torch.cond(x.sum() > 0, lambda x: x.cos() + 1, lambda x: x.sin(), (x,))
        return torch.cat([z, y.double()], 1).permute(1, 0), largest, w + self.count


class Texts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None, int, str]:
        return x * 2, None, 3, "label"


INPUT = torch.arange(12.0).reshape(3, 4) / 12


def exported() -> ExportedProgram:
    torch.manual_seed(0)
    return export(Net(), (INPUT,), dynamic_shapes=({0: Dim("n", min=2, max=30)},))


def graph_text(program: ExportedProgram) -> str:
    return str(program.graph).replace("(%x,)", "[%x]")  # a tuple of nodes is read as a list


@pytest.mark.parametrize("partitioner", [None, [CpuPartitioner()], [XnnpackPartitioner()]])
def test_programs_come_back_as_they_were(partitioner: Any) -> None:
    program = exported()
    edge = to_edge_transform_and_lower(program, partitioner=partitioner).exported_program()
    for given in (program, edge):
        back = read_program(write_program(given), "forward")
        assert graph_text(back) == graph_text(given)
        assert back.range_constraints.keys() == given.range_constraints.keys()
        assert back.graph_signature.input_specs == given.graph_signature.input_specs
        for old, new in zip(given.graph.nodes, back.graph.nodes, strict=True):
            if old.op == "call_function" and "getitem" not in old.name:
                assert meta.source_of(old) == meta.source_of(new)
                assert meta.get_debug_handle(old) == meta.get_debug_handle(new)
                assert meta.module_path_of(old) == meta.module_path_of(new)
    back = read_program(write_program(program), "forward")
    for expected, result in zip(program.module()(INPUT), back.module()(INPUT), strict=True):
        torch.testing.assert_close(result, expected)


@pytest.mark.parametrize("partitioner", [None, [CpuPartitioner()], [XnnpackPartitioner()]])
def test_saved_record(partitioner: Any, tmp_path: Path) -> None:
    manager = to_edge_transform_and_lower(exported(), partitioner=partitioner, generate_etrecord=True)
    program = manager.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([INPUT])
    record.update_reference_outputs([[INPUT]])
    record.save(tmp_path / "net.etrecord")
    back = parse_etrecord(tmp_path / "net.etrecord")
    assert back.export_graph_id == id(record.exported_program.graph)  # type: ignore[union-attr]
    assert back._debug_handle_map == json.loads(json.dumps(program.debug_handle_map))
    assert back._delegate_map == json.loads(json.dumps(program.delegate_map))
    assert back.handles_of("forward") == record.handles_of("forward")
    assert back.delegates_of("forward") == record.delegates_of("forward")
    assert (back.lowered_of("forward") is None) == (partitioner is None)
    torch.testing.assert_close(back._representative_inputs, [INPUT])
    torch.testing.assert_close(back._reference_outputs, {"forward": [[INPUT]]})
    edge = back.edge_programs["forward"]
    bodies = [body.graph.nodes for body in edge.graph_module.children() if isinstance(body, GraphModule)]
    nodes = [node for nodes in (edge.graph.nodes, *bodies) for node in nodes]
    known = {h for node in nodes if (h := meta.get_debug_handle(node)) is not None}
    inside = {
        h for _, map in back.delegates_of("forward").values() for handles in map.values() for h in handles
    }
    assert known and inside <= known
    assert not any("delegate" in node.name for node in edge.graph.nodes)


def test_fused_steps_stand_for_all_their_operators() -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).eval()
    for partitioner, most in ((CpuPartitioner(), 3), (XnnpackPartitioner(), 2)):
        edge = to_edge_transform_and_lower(
            export(net, (torch.randn(1, 3, 8, 8),)), partitioner=[partitioner], generate_etrecord=True
        )
        record = edge.to_executorch().get_etrecord()
        ((_, delegates),) = record.delegates_of("forward").values()
        nodes = record.edge_programs["forward"].graph.nodes
        operators = [n for n in nodes if n.op == "call_function" and "getitem" not in n.name]
        wanted = {meta.get_debug_handle(node) for node in operators}
        assert wanted <= {handle for handles in delegates.values() for handle in handles}
        assert max(len(handles) for handles in delegates.values()) == most, delegates


def test_several_methods(tmp_path: Path) -> None:
    net = Block()
    programs = {"encode": export(net, (INPUT,)), "decode": export(Block(), (INPUT,))}
    record = to_edge(programs, generate_etrecord=True).to_executorch().get_etrecord()
    record.save(tmp_path / "two.etrecord")
    back = parse_etrecord(tmp_path / "two.etrecord")
    assert set(back.edge_programs) == {"encode", "decode"}
    assert back.exported_program is None
    for name in programs:
        assert graph_text(back.exported_of(name)) == graph_text(programs[name])  # type: ignore[arg-type]


def test_record_of_the_one_call() -> None:
    program = rushlight.compile(Block(), (INPUT,), generate_etrecord=True)
    assert program.get_etrecord().lowered_of("forward") is not None
    with pytest.raises(RuntimeError, match="ETRecord was not generated"):
        rushlight.compile(Block(), (INPUT,)).get_etrecord()


class ReluToSigmoid(ExportPass):
    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        if op == ops.edge.aten.relu.default:
            op = ops.edge.aten.sigmoid.default
        return super().call_operator(op, args, kwargs, meta)


def test_the_graph_behind_transform_passes_is_recorded() -> None:
    program = export(Block(), (INPUT,))
    manager = to_edge_transform_and_lower(program, transform_passes=[ReluToSigmoid()], generate_etrecord=True)
    assert manager._etrecord is not None and manager._etrecord.graph_map is not None
    recorded = manager._etrecord.graph_map["edge_after_transform/forward"]
    assert recorded.graph.find_nodes(op="call_function", target=ops.edge.aten.sigmoid.default)
    plain = to_edge_transform_and_lower(program, generate_etrecord=True)._etrecord
    assert plain is not None and plain.graph_map is None


def test_generate_etrecord_with_further_programs(tmp_path: Path) -> None:
    program = export(Block(), (INPUT,))
    edge = to_edge(program)
    path = tmp_path / "further.etrecord"
    generate_etrecord(path, edge, edge.to_executorch(), program, {"aten": program, "edge": edge})
    assert set(parse_etrecord(path).graph_map or {}) == {"aten/forward", "edge/forward"}
    with pytest.raises(RuntimeError, match="reserved name"):
        generate_etrecord(path, edge, edge.to_executorch(), program, {"delegate_map": program})
    with pytest.raises(RuntimeError, match="Unsupported graph module type"):
        generate_etrecord(path, edge, edge.to_executorch(), program, {"mine": 3})


def test_parts_are_added_once() -> None:
    program = export(Block(), (INPUT,))
    edge = to_edge(program)
    record = ETRecord()
    with pytest.raises(RuntimeError, match="must contain edge dialect program and executorch program"):
        record.save(io.BytesIO())
    adders: list[tuple[Callable[[Any], None], Any]] = [
        (record.add_exported_program, program),
        (record.add_edge_dialect_program, edge),
        (record.add_executorch_program, edge.to_executorch()),
    ]
    for add, value in adders:
        add(value)
        with pytest.raises(RuntimeError, match="already exists"):
            add(value)
    assert record.copy()._debug_handle_map is None


def damaged(data: bytes, how: str) -> bytes:
    if how == "no zip":
        return b"PK" + data[:100]
    if how == "cut":
        return data[: len(data) // 2]
    if how == "flipped":
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if how == "no mark" and name == "ETRECORD_V0" or how == "no state" and "_state_dict" in name:
                continue
            if how == "bad json" and name == "debug_handle_map":
                content = b"{"
            if how == "bad graph" and name == "exported_program":
                content = content.replace(b"aten.relu", b"aten.no_such")
            if how == "version" and name == "exported_program":
                content = content.replace(b'"major": 5', b'"major": 6')
            if how == "code" and name == "exported_program_constants":
                saved = io.BytesIO()
                torch.save({"x": Block()}, saved)
                content = saved.getvalue()
            new.writestr(name, content)
    return result.getvalue()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no zip", "not a readable zip archive"),
        ("cut", "damaged"),
        ("flipped", "damaged"),
        ("no mark", "ETRECORD_V0"),
        ("no state", "lacks exported_program_state_dict"),
        ("bad json", "'debug_handle_map' .* is not valid JSON"),
        ("bad graph", "cannot be read"),
        ("version", "schema version 6.4"),
        ("code", "only tensors and plain values"),
    ],
)
def test_bad_files_are_refused(how: str, message: str, tmp_path: Path) -> None:
    record = to_edge(export(Block(), (INPUT,)), generate_etrecord=True).to_executorch().get_etrecord()
    path = tmp_path / "bad.etrecord"
    record.save(path)
    path.write_bytes(damaged(path.read_bytes(), how))
    with pytest.raises(DevtoolsError, match=message):
        parse_etrecord(path)


def test_a_program_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    class Constant(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.sin, (x,))

    program = export(Constant(), (INPUT,))
    edge = to_edge(program, generate_etrecord=True)
    record = edge.to_executorch().get_etrecord()
    path = tmp_path / "none.etrecord"
    try:
        record.save(path)
    except DevtoolsError as error:
        assert "register it as a buffer" in str(error)
        assert not list(tmp_path.iterdir())
    else:
        parse_etrecord(path)


def test_a_program_that_returns_a_text(tmp_path: Path) -> None:
    program = rushlight.compile(Texts(), (torch.ones(3),), generate_etrecord=True)
    program.get_etrecord().save(tmp_path / "texts.etrecord")
    read = parse_etrecord(tmp_path / "texts.etrecord").exported_program
    assert read is not None
    (found, *others) = read.module()(torch.ones(3))
    assert torch.equal(found, torch.full((3,), 2.0)) and others == [None, 3, "label"]
