"""`locate` maps an error of the runtime to lines of the model."""

from __future__ import annotations

import pytest
import torch
from tests.delegate.support import needs_xnnpack
from torch import nn
from torch.export import Dim

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.format.pte import read_pte, write_pte
from rushlight.runtime import Runtime
from rushlight.runtime.errors import RushlightError


class Select(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        y = torch.index_select(y, 0, index)  # this line
        return y + 1


LINE = next(i for i, line in enumerate(open(__file__), 1) if line.rstrip().endswith("# this line"))
EXAMPLE = (torch.randn(4, 2), torch.tensor([0, 1]))
WRONG = [torch.randn(4, 2), torch.tensor([0, 9])]


@pytest.mark.parametrize("has_traces", [False, True])
def test_of_a_kernel(has_traces: bool) -> None:
    manager = to_edge(torch.export.export(Select(), EXAMPLE)).to_executorch(
        ExecutorchBackendConfig(emit_stacktrace=has_traces)
    )
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    with pytest.raises(RushlightError) as caught:
        method.execute(WRONG)
    error = caught.value
    assert error.method == "forward" and error.delegate_operator is None
    assert (f"test_locate.py:{LINE}" in str(error)) == has_traces
    (found,) = manager.locate(error)
    assert found.operator == "aten.index_select.out" and found.backend is None
    assert found.source is not None and found.source.line == LINE
    assert str(found).startswith("aten.index_select.out, ") and f":{LINE}" in str(found)


class Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 8)
        self.out = nn.Linear(8, 8)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        rows = self.table(index)  # that line
        return self.out(rows)


def test_of_a_step_inside_a_delegate() -> None:
    line = next(i for i, text in enumerate(open(__file__), 1) if text.rstrip().endswith("# that line"))
    program = rushlight.compile(Lookup().eval(), (torch.tensor([0, 3, 1]),))
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    with pytest.raises(RushlightError) as caught:
        method.execute([torch.tensor([0, 9, 1])])
    found = program.manager.locate(caught.value)
    assert [place.source.line for place in found if place.source is not None] == [line]
    assert all(place.backend == "CpuBackend" for place in found)


class Sum(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = torch.relu(x)
        z = z + y  # the other line
        return torch.sigmoid(z)


@needs_xnnpack
def test_of_shapes_that_do_not_fit_inside_a_delegate() -> None:
    line = next(i for i, text in enumerate(open(__file__), 1) if text.rstrip().endswith("# the other line"))
    columns = Dim("columns", min=2, max=8)
    edge = to_edge_transform_and_lower(
        torch.export.export(
            Sum(), (torch.ones(2, 4), torch.ones(2, 4)), dynamic_shapes=({1: columns}, {1: columns})
        ),
        partitioner=[XnnpackPartitioner()],
    )
    manager = edge.to_executorch()
    file = read_pte(manager.buffer)
    del file.named_data["rushlight.shape_guards.forward"]  # as in a file that has none
    method = Runtime.get().load_program(write_pte(file)).load_method("forward")
    with pytest.raises(RushlightError) as caught:
        method.execute([torch.ones(2, 4), torch.ones(2, 3)])
    (found,) = manager.locate(caught.value)
    assert found.backend == "XnnpackBackend"
    assert found.source is not None and found.source.line == line


def test_an_error_before_the_first_instruction_has_no_place() -> None:
    manager = to_edge(torch.export.export(Select(), EXAMPLE)).to_executorch()
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    with pytest.raises(RushlightError) as caught:
        method.execute(EXAMPLE[:1])
    assert manager.locate(caught.value) == []
