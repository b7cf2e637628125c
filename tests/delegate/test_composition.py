"""Several backends in one program, in the order of the partitioners. Kernels run the other nodes."""

from __future__ import annotations

import pytest
import torch
from tests.delegate.support import assert_close, backends, load, needs_xnnpack, outputs_of
from torch import nn
from torch.export import ExportedProgram, export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.partitioner import Partitioner
from rushlight.delegate.report import delegationtable, get_non_lowered_nodes
from rushlight.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower

pytestmark = needs_xnnpack
XNN, CPU = "XnnpackBackend", "CpuBackend"


class Model(nn.Module):
    """Layers that both backends support, and an operator that neither supports."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.linear = nn.Linear(8, 6)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(self.conv(x)).mean((2, 3))
        values, _ = torch.sort(self.linear(y), -1)
        return torch.softmax(values * 2 + 1, -1), y


X = torch.randn(2, 3, 9, 9)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model().eval()


@pytest.fixture(scope="module")
def program(model: Model) -> ExportedProgram:
    return export(model, (X,))


@pytest.mark.parametrize(
    ("partitioners", "expected"),
    [
        ([XnnpackPartitioner(), CpuPartitioner()], [XNN, CPU, XNN, XNN]),  # no mean without keepdim
        ([CpuPartitioner(), XnnpackPartitioner()], [CPU, CPU]),
        ([XnnpackPartitioner(configs=["linear.default"]), CpuPartitioner()], [CPU, XNN, CPU]),
        ([XnnpackPartitioner(configs=["convolution.default"]), CpuPartitioner()], [XNN, CPU, CPU]),
    ],
)
def test_by_order(
    partitioners: list[Partitioner], expected: list[str], model: Model, program: ExportedProgram
) -> None:
    _check(to_edge_transform_and_lower(program, partitioner=partitioners), expected, model)


def test_in_steps(model: Model, program: ExportedProgram) -> None:
    edge = to_edge(program).to_backend(XnnpackPartitioner(configs=["convolution.default"]))
    _check(edge.to_backend(CpuPartitioner()), [XNN, CPU, CPU], model)


def _check(edge: EdgeProgramManager, expected: list[str], model: Model) -> None:
    module = edge.exported_program().graph_module
    assert backends(module) == expected
    left = get_non_lowered_nodes(module.graph)
    assert {str(node.target._op) for node in left if hasattr(node.target, "_op")} == {"aten.sort.default"}
    table = delegationtable(module)
    assert "aten.sort.default" in table and "test_composition.py" in table
    assert_close(outputs_of(load(edge.to_executorch().buffer), (X,)), model(X))
