"""Symbolic sizes become tensors if the schema requires a tensor."""

from __future__ import annotations

import torch
from tests.passes.support import apply, calls
from torch.export import Dim, export

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
