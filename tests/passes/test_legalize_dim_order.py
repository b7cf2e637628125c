"""Operators whose kernels need row-major memory get row-major arguments."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

from rushlight.ir.edge_ops import ops
from rushlight.passes.legalize_dim_order import LegalizeDimOrderPass


def test_legalize_dim_order() -> None:
    build = Build()
    x = build.input("x", 1, 3, 4, 4, memory_format=torch.channels_last)
    y = build.input("y", 1, 3, 4, 4)
    means = [build.call(ops.edge.aten.mean.dim, value, [-1, -2], True) for value in (x, y)]
    module = apply(LegalizeDimOrderPass(), build.finish(*means)).graph_module
    assert calls(module) == ["dim_order_ops._to_dim_order_copy.default", "mean.dim", "mean.dim"]
    copy, first, second = (node for node in module.graph.nodes if node.op == "call_function")
    assert copy.kwargs == {"dim_order": [0, 1, 2, 3]}
    assert first.args[0] is copy and second.args[0].name == "y"
