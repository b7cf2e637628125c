"""Symbolic sizes become tensors if the schema requires a tensor."""

from __future__ import annotations

import pytest
import torch
from tests.passes.support import apply, calls
from torch.export import Dim, export

import rushlight
from rushlight.ir import meta
from rushlight.passes.sym_to_tensor import SymToTensorPass

aten = torch.ops.aten


class Total(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.add(x, x.shape[0])


def test_a_size_becomes_a_tensor_of_rank_0() -> None:
    program = export(Total(), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("rows", max=8)},))
    module = program.graph_module
    assert calls(module)[-2:] == ["sym_size.int", "add.Tensor"]
    result = apply(SymToTensorPass(), module)
    assert result.modified
    assert calls(result.graph_module)[-3:] == ["sym_size.int", "scalar_tensor.default", "add.Tensor"]
    tensor = next(
        node for node in result.graph_module.graph.nodes if node.target is aten.scalar_tensor.default
    )
    assert meta.get_val(tensor).dtype == torch.int32 and meta.get_val(tensor).dim() == 0
    value = torch.randn(5, 2)
    torch.testing.assert_close(result.graph_module(value)[0], value + 5)
    assert not apply(SymToTensorPass(), result.graph_module).modified


class Times(torch.nn.Module):
    def forward(self, x: torch.Tensor, number: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, number.item())


@pytest.mark.parametrize(
    ("x", "number", "dtype"),
    [
        (torch.arange(4), torch.tensor(2**40), torch.int64),
        (torch.arange(4, dtype=torch.int32), torch.tensor(7), torch.int64),
        (torch.tensor(3, dtype=torch.int8), torch.tensor(7), torch.int8),
        (torch.randn(4), torch.tensor(0.1), torch.float32),
        (torch.randn(4).double(), torch.tensor(0.1, dtype=torch.float64), torch.float64),
        (torch.tensor(0.5).half(), torch.tensor(0.25), torch.float16),
    ],
    ids="large integer32 rank0 single double half".split(),
)
def test_dtypes_of_numbers(x: torch.Tensor, number: torch.Tensor, dtype: torch.dtype) -> None:
    """A number of the data keeps its value, and does not change the dtype of the result."""
    net = Times()
    program = export(net, (x, number))
    module = apply(SymToTensorPass(), program.graph_module).graph_module
    (tensor,) = [node for node in module.graph.nodes if node.target is aten.scalar_tensor.default]
    assert meta.get_val(tensor).dtype == dtype
    for partitioner in (None, ()):
        loaded = rushlight.load(rushlight.compile(program, partitioner=partitioner).buffer)
        torch.testing.assert_close(loaded(x, number), net(x, number), rtol=0, atol=0)
