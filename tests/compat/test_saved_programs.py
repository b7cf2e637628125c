"""Programs, also with lowered modules, that are saved and loaded again."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._export.serde import serialize as torch_serde
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.saved_programs import (
    CURRENT_DESERIALIZERS,
    deserialize,
    deserialize_torch_artifact,
    load,
    save,
    serialize,
)
from rushlight.compiler.edge import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etrecord.alloc_nodes import make_stand_in
from rushlight.emit.pytree import argument_names
from rushlight.ir import memory_ops
from rushlight.runtime.portable_lib import _load_for_executorch_from_buffer


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).sin() * self.scale  # type: ignore[operator]


INPUT = torch.arange(6.0).view(2, 3)
KINDS = ["exported", "edge", "dynamic", "lowered"]


def program_of(kind: str) -> tuple[torch.nn.Module, Any]:
    torch.manual_seed(0)
    net = Net()
    shapes: Any = ({0: torch.export.Dim("batch", min=2, max=9)},) if kind == "dynamic" else None
    exported = torch.export.export(net, (INPUT,), dynamic_shapes=shapes)
    if kind == "exported":
        return net, exported
    partitioner = [XnnpackPartitioner()] if kind == "lowered" else None
    return net, to_edge_transform_and_lower(exported, partitioner=partitioner).exported_program()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_program_is_the_same_again(kind: str, tmp_path: Path) -> None:
    net, program = program_of(kind)
    texts: dict[str, str] = {}
    save(program, tmp_path / "program.pt2", extra_files={"note": "of the user"})
    loaded = load(tmp_path / "program.pt2", extra_files=texts)
    assert texts == {"note": "of the user"}
    assert [str(node.target) for node in loaded.graph.nodes] == [str(n.target) for n in program.graph.nodes]
    assert loaded.graph_module.code == program.graph_module.code
    torch.testing.assert_close(loaded.module()(INPUT), net(INPUT))
    if kind != "exported":
        buffer = EdgeProgramManager(loaded).to_executorch().buffer
        (result,) = _load_for_executorch_from_buffer(buffer).forward([INPUT])
        torch.testing.assert_close(result, net(INPUT), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_arguments_keep_their_names(kind: str) -> None:
    program = program_of(kind)[1]
    loaded = deserialize(serialize(program))
    assert argument_names(loaded) == argument_names(program) == ["x"]
    if kind != "exported":
        before, after = (EdgeProgramManager(each).to_executorch() for each in (program, loaded))
        assert before.executorch_program == after.executorch_program


def test_open_files_and_bytes() -> None:
    net, program = program_of("edge")
    file = io.BytesIO()
    save(program, file)
    torch.testing.assert_close(load(file).module()(INPUT), net(INPUT))
    torch.testing.assert_close(deserialize(serialize(program)).module()(INPUT), net(INPUT))


def test_what_cannot_be_saved_or_loaded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not GraphModule"):
        save(program_of("edge")[1].graph_module, tmp_path / "module.pt2")
    with pytest.raises(ValueError, match="opset_version has no effect"):
        save(program_of("edge")[1], tmp_path / "opset.pt2", opset_version={"aten": 1})
    (tmp_path / "text.pt2").write_text("no archive")
    with pytest.raises(DevtoolsError, match="not a file of a program"):
        load(tmp_path / "text.pt2")
    with zipfile.ZipFile(tmp_path / "empty.pt2", "w"):
        pass
    with pytest.raises(DevtoolsError, match="it does not contain serialized_exported_program.json"):
        load(tmp_path / "empty.pt2")
    save(to_edge(program_of("exported")[1]).exported_program(), tmp_path / "old.pt2")
    with zipfile.ZipFile(tmp_path / "old.pt2") as old, zipfile.ZipFile(tmp_path / "new.pt2", "w") as new:
        for name in old.namelist():
            new.writestr(name, b"4.0" if name == "version" else old.read(name))
    with pytest.raises(RuntimeError, match=r"version 4.0"):
        load(tmp_path / "new.pt2")


def test_tensors_without_values_are_read_by_the_current_reader() -> None:
    fake = FakeTensorMode().from_tensor(torch.ones(2, 3))
    data = torch_serde.serialize_torch_artifact({"w": fake, "x": torch.ones(1)})
    reader = torch_serde.GraphModuleDeserializer()
    reader.fake_tensor_mode = FakeTensorMode()
    CURRENT_DESERIALIZERS.append(reader)
    try:
        found = deserialize_torch_artifact(data)
    finally:
        CURRENT_DESERIALIZERS.pop()
    assert found["w"].shape == (2, 3) and found["x"].tolist() == [1.0]
    assert deserialize_torch_artifact(b"") == {} and deserialize_torch_artifact(found) is found
    buffer = io.BytesIO()
    torch.save({"code": print}, buffer)
    with pytest.raises(pickle.UnpicklingError):
        deserialize_torch_artifact(buffer.getvalue())


def test_a_program_without_its_values_is_saved() -> None:
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),))
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    codes = torch.nn.Parameter(torch.ones(2, dtype=torch.uint8), requires_grad=False)
    for name, value in list(program.state_dict.items()):
        program.state_dict[name] = fake.from_tensor(value)
    program.state_dict["codes"] = fake.from_tensor(codes)
    before = set(torch.serialization.get_safe_globals())
    restored = deserialize(serialize(program)).state_dict
    assert set(torch.serialization.get_safe_globals()) == before
    assert restored.keys() == program.state_dict.keys()
    for name, value in restored.items():
        assert isinstance(value, FakeTensor) and isinstance(value, torch.nn.Parameter)
        assert value.shape == program.state_dict[name].shape
        assert value.dtype == program.state_dict[name].dtype
        assert value.requires_grad == (name != "codes")


def test_planned_programs_keep_allocations_and_views() -> None:
    class Planned(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sin(x).view(2, 8).neg()

    x = torch.randn(4, 4)
    program = to_edge(torch.export.export(Planned(), (x,))).to_executorch().exported_program()
    found = deserialize(serialize(program))
    calls = [(node.target, node.args) for node in program.graph.nodes if node.op == "call_function"]
    kept = [(node.target, node.args) for node in found.graph.nodes if node.op == "call_function"]
    assert [target for target, _ in kept] == [target for target, _ in calls]
    assert {memory_ops.alloc, memory_ops.view} <= {target for target, _ in kept}
    allocs = [[args for target, args in listed if target is memory_ops.alloc] for listed in (calls, kept)]
    assert allocs[0] == allocs[1]
    torch.testing.assert_close(found.module()(x), Planned()(x))


class Parts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, _, third = torch.split(torch.sin(x), 2)
        (whole,) = torch.split(x, 6)
        values, places = torch.topk(x, 2)
        return first + third, third, whole * 2, values, places


def test_planned_programs_keep_allocations_of_several_tensors() -> None:
    x = torch.randn(6)
    program = to_edge(torch.export.export(Parts(), (x,))).to_executorch().exported_program()
    before = [(node.name, node.args) for node in program.graph.nodes]
    found = deserialize(serialize(program))
    assert [(node.name, node.args) for node in program.graph.nodes] == before
    specs = [
        [node.args for node in graph.nodes if node.target is memory_ops.alloc]
        for graph in (program.graph, found.graph)
    ]
    assert specs[0] == specs[1]
    assert sorted(len(args[0]) for args in specs[0] if isinstance(args[0], list)) == [1, 3]
    outs = [node.kwargs["out"] for node in found.graph.nodes if "split" in str(node.target)]
    assert len(outs) == 2
    assert all(isinstance(out, torch.fx.Node) and out.target is memory_ops.alloc for out in outs)
    torch.testing.assert_close(found.module()(x), Parts()(x))
    again = deserialize(serialize(found))
    torch.testing.assert_close(again.module()(x), Parts()(x))


def test_damaged_allocations_are_refused() -> None:
    with pytest.raises(DevtoolsError, match="has the damaged entry"):
        make_stand_in({"inputs": [{"arg": {"as_string": "(2, x);7"}}]}, {})
