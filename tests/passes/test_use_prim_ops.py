"""Arithmetic on sizes becomes operators of the runtime."""

from __future__ import annotations

import torch
from tests.passes.support import apply, calls, edge_of
from torch.export import Dim

from rushlight.passes.use_prim_ops import UsePrimOpsPass


class Flat(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(x.shape[0] * 5 + 1)


def test_arithmetic_on_sizes() -> None:
    program = edge_of(Flat(), torch.ones(3, 2), dynamic_shapes=({0: Dim("rows", max=8)},))
    assert {"mul", "add"} <= set(calls(program.graph_module))
    result = apply(UsePrimOpsPass(), program.graph_module)
    assert result.modified
    names = [str(node.target) for node in result.graph_module.graph.nodes if node.op == "call_function"]
    assert "executorch_prim.mul.Scalar" in " ".join(names) and "executorch_prim.add.Scalar" in " ".join(names)
    assert not {"mul", "add"} & set(calls(result.graph_module))
    assert not apply(UsePrimOpsPass(), result.graph_module).modified
