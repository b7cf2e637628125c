"""The demonstration backends of rushlight.testing, with payloads in ExecuTorch's format."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.examples.support import EXAMPLES, python, run

from rushlight.compiler.to_backend import to_backend
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.runtime import Runtime
from rushlight.runtime.libraries import cmake_dir
from rushlight.testing.demo_backend import (
    AddAttributePartitionerDemo,
    AddMulPartitionerDemo,
    AllNodesPartitionerDemo,
    AnyDelegateSupport,
    ExecutorBackendPartitioner,
    NonDecompTestPartitioner,
)


class _Sines(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(torch.sin(x))


class _Product(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.offset = torch.nn.Parameter(torch.ones(2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x, x) + self.offset
        return torch.exp(y) + x


SQUARE = (torch.ones(2, 2),)


def lowered(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], partitioner: Any) -> list[Any]:
    edge = to_edge(torch.export.export(model, inputs)).to_backend(partitioner)
    return get_lowered_backend_modules(edge.exported_program().graph_module)


def test_the_payload_lists_operators() -> None:
    program = to_edge(torch.export.export(_Sines(), (torch.ones(1, 3),))).exported_program()
    module = to_backend("BackendWithCompilerDemo", program, [])
    line = "op:demo::aten.sin.default, numel:3, dtype:torch.float32<debug_handle>"
    assert module.processed_bytes == f"2version:0#{line}1#{line}2#".encode()
    assert module.meta == {"debug_handle_map": {1: (1,), 2: (2,)}, "_delegate_info_meta": "test"}


def test_other_operators_are_refused() -> None:
    program = to_edge(torch.export.export(_Product(), SQUARE)).exported_program()
    with pytest.raises(RuntimeError, match="aten.exp.default is not supported in backend BackendWithComp"):
        to_backend("BackendWithCompilerDemo", program, [])


def test_parts_of_additions_and_products() -> None:
    modules = lowered(_Product(), SQUARE, AddMulPartitionerDemo())
    assert len(modules) == 2 and all(m.compile_specs[0].value == bytes([4]) for m in modules)
    listed = sorted(m.processed_bytes.decode().count("op:demo::") for m in modules)
    assert listed == [1, 2]
    # The parameter belongs to the program, or to the part with the addition.
    assert not any(m.original_module.state_dict for m in modules)
    owners = [
        m for m in lowered(_Product(), SQUARE, AddAttributePartitionerDemo()) if m.original_module.state_dict
    ]
    assert [list(m.original_module.state_dict) for m in owners] == [["offset"]]


def test_parts_inside_of_control_flow() -> None:
    class Choice(torch.nn.Module):
        def forward(self, p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(p, lambda x: torch.mm(x, x) + x, lambda x: torch.sin(x), [x])

    edge = to_edge(torch.export.export(Choice(), (torch.tensor(True), *SQUARE)))
    program = edge.to_backend(AddMulPartitionerDemo()).exported_program()
    branches = [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    assert sum(len(get_lowered_backend_modules(branch)) for branch in branches) >= 1


def test_support_of_delegates() -> None:
    edge = to_edge(torch.export.export(_Product(), SQUARE)).to_backend(AddMulPartitionerDemo())
    graph_module = edge.exported_program().graph_module
    support, submodules = AnyDelegateSupport(), dict(graph_module.named_modules())
    found = [node for node in graph_module.graph.nodes if support.is_node_supported(submodules, node)]
    assert len(found) == 2 and all("call_delegate" in node.name for node in found)


@pytest.mark.parametrize("partitioner", [AllNodesPartitionerDemo, ExecutorBackendPartitioner])
def test_programs_inside_of_programs(partitioner: Any) -> None:
    model = _Product()
    (module,) = lowered(model, SQUARE, partitioner())
    assert module.backend_id == "ExecutorBackend"
    inner = Runtime.get().load_program(module.processed_bytes).load_method("forward")
    inputs = list(SQUARE) if partitioner is AllNodesPartitionerDemo else [model.offset.detach(), *SQUARE]
    torch.testing.assert_close(inner.execute(inputs)[0], model(*SQUARE).detach())


def test_operators_that_stay_whole() -> None:
    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(2, 2)
            self.second = torch.nn.Linear(2, 2, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.second(torch.relu(self.first(x)))
            return result

    exported = torch.export.export(Layers(), SQUARE)
    edge = to_edge_transform_and_lower(exported, partitioner=[NonDecompTestPartitioner()])
    graph_module = edge.exported_program().graph_module
    (module,) = get_lowered_backend_modules(graph_module)
    assert b"1version:0#op:demo::aten.linear.default, numel:4" in module.processed_bytes
    names = [str(node.target) for node in graph_module.graph.nodes if node.op == "call_function"]
    assert any("aten.mm" in name for name in names) and not any("linear" in name for name in names)


RUN = """
import sys, torch, rushlight
from rushlight.runtime import Runtime
library, sines, product = sys.argv[1:]
rushlight.load_library(library)
x = torch.tensor([[0.1, -2.0, 3.0]])
result = Runtime.get().load_program(sines).load_method("forward").execute([x])[0]
torch.testing.assert_close(result, torch.sin(torch.sin(x)))
try:
    Runtime.get().load_program(product).load_method("forward")
except rushlight.RushlightError as error:
    print(error)
"""


def test_programs_run_with_the_example_library(tmp_path: Path) -> None:
    build = tmp_path / "build"
    source = ["-S", str(EXAMPLES / "demo_backend"), "-B", str(build), f"-Drushlight_DIR={cmake_dir()}"]
    run(["cmake", *source])
    run(["cmake", "--build", str(build)])
    paths = []
    for name, model, inputs in (("sines", _Sines(), (torch.ones(1, 3),)), ("product", _Product(), SQUARE)):
        edge = to_edge(torch.export.export(model, inputs))
        if name == "sines":
            outer = to_backend("BackendWithCompilerDemo", edge.exported_program(), [])
            program = to_edge(torch.export.export(outer, inputs)).to_executorch()
        else:
            program = edge.to_backend(AddMulPartitionerDemo()).to_executorch()
        path = tmp_path / f"{name}.pte"
        path.write_bytes(program.buffer)
        paths.append(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = python(RUN, str(build / "libdemo_backend.so"), *paths, path=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "instruction 0 is aten.mm.default with dtype torch.float32" in done.stdout
    assert "this backend supports only aten.sin.default" in done.stdout
