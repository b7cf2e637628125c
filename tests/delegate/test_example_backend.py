"""examples/backend: a backend of its own, from partitioner to a program that links the installed package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.delegate.to_backend import to_backend
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.runtime import Runtime, RushlightError

EXAMPLE = Path(__file__).parents[2] / "examples" / "backend"
INSTALLED = os.environ.get("RUSHLIGHT_PREFIX")


@pytest.fixture(scope="module")
def stack() -> Any:
    sys.path.insert(0, str(EXAMPLE))
    import stack as module

    yield module
    sys.path.remove(str(EXAMPLE))


class _Mixed(nn.Module):
    """Two parts of the backend around an operator that it lacks."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        inner = (x + y) * x - y
        return torch.exp(inner) * inner + y


INPUTS = (torch.randn(3, 4), torch.randn(3, 4))


def test_parts_around_what_it_lacks(stack: Any) -> None:
    edge = to_edge_transform_and_lower(
        torch.export.export(_Mixed(), INPUTS), partitioner=[stack.StackPartitioner()]
    )
    graph_module = edge.exported_program().graph_module
    assert len(get_lowered_backend_modules(graph_module)) == 2
    assert [str(node.target._op) for node in get_non_lowered_nodes(graph_module.graph)] == [
        "aten.exp.default"
    ]
    # In Python a lowered module runs on the program that it was made from.
    torch.testing.assert_close(edge.exported_program().module()(*INPUTS), _Mixed()(*INPUTS))


def test_several_partitioners_in_order(stack: Any) -> None:
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

    edge = to_edge_transform_and_lower(
        torch.export.export(_Mixed(), INPUTS), partitioner=[stack.StackPartitioner(), XnnpackPartitioner()]
    )
    lowered = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert [module.backend_id for module in lowered] == ["StackBackend", "XnnpackBackend", "StackBackend"]
    assert get_non_lowered_nodes(edge.exported_program().graph) == []


class _Pure(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * x - y


def test_a_whole_program(stack: Any) -> None:
    program = to_edge(torch.export.export(_Pure(), INPUTS)).exported_program()
    lowered = to_backend("StackBackend", program, [])
    assert lowered.processed_bytes[:4] == b"STAK"
    assert [handles for handles in lowered.meta["debug_handle_map"].values()] == [(1,), (2,), (3,)]
    torch.testing.assert_close(lowered.original_module.module()(*INPUTS), _Pure()(*INPUTS))


def test_a_lowered_module_inside_another_module(stack: Any) -> None:
    lowered = to_backend("StackBackend", to_edge(torch.export.export(_Pure(), INPUTS)).exported_program(), [])

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = lowered

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.exp(self.inner(x, y)[0])

    edge = to_edge(torch.export.export(Outer(), INPUTS))
    found = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert [module.backend_id for module in found] == ["StackBackend"]
    assert [delegate.id for delegate in _plan(edge).delegates] == ["StackBackend"]


def _plan(edge: Any) -> Any:
    return edge.to_executorch().executorch_program.execution_plan[0]


def test_a_missing_backend_is_named_when_the_method_is_loaded(stack: Any) -> None:
    edge = to_edge_transform_and_lower(
        torch.export.export(_Mixed(), INPUTS), partitioner=[stack.StackPartitioner()]
    )
    program = Runtime.get().load_program(bytes(edge.to_executorch().buffer))
    with pytest.raises(RushlightError, match=r"StackBackend.*backend table"):
        program.load_method("forward")


@pytest.mark.skipif(INSTALLED is None, reason="RUSHLIGHT_PREFIX does not name an installed Rushlight")
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_it_runs(stack: Any, tmp_path: Path) -> None:
    build = tmp_path / "build"
    configure = [
        "cmake",
        "-S",
        str(EXAMPLE / "runtime"),
        "-B",
        str(build),
        f"-DCMAKE_PREFIX_PATH={INSTALLED}",
    ]
    for command in (configure, ["cmake", "--build", str(build)]):
        subprocess.run(command, check=True, capture_output=True)
    edge = to_edge_transform_and_lower(
        torch.export.export(_Mixed(), INPUTS), partitioner=[stack.StackPartitioner()]
    )
    path = tmp_path / "model.pte"
    path.write_bytes(bytes(edge.to_executorch().buffer))
    done = subprocess.run([str(build / "run"), str(path)], check=True, capture_output=True, text=True)
    ones = torch.ones(3, 4)
    assert float(done.stdout) == pytest.approx(float(_Mixed()(ones, ones)[0, 0]), rel=1e-5)
