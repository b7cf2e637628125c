"""Consecutive permutes are merged, and permutes that move no data become views."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply

from rushlight.ir.edge_ops import ops
from rushlight.passes.simplify_permutes import SimplifyPermutesPass


def test_simplify_permutes() -> None:
    build = Build()
    permute = ops.edge.aten.permute_copy.default
    x, thin = build.input("x", 2, 3, 4), build.input("thin", 1, 1, 8)
    twice = build.call(permute, build.call(permute, x, [1, 2, 0]), [2, 1, 0])
    moved = build.call(permute, thin, [2, 0, -2])
    module = apply(SimplifyPermutesPass(), build.finish(twice, moved)).graph_module
    nodes = {node.name: node for node in module.graph.nodes}
    assert nodes[twice.name].args == (nodes["x"], [0, 2, 1])
    assert nodes[moved.name].target is ops.edge.aten.view_copy.default
    assert nodes[moved.name].args == (nodes["thin"], [8, 1, 1])
    x_value = torch.randn(2, 3, 4)
    thin_value = torch.randn(1, 1, 8)
    out = module(x_value, thin_value)
    torch.testing.assert_close(out[0], x_value.permute(1, 2, 0).permute(2, 1, 0))
    torch.testing.assert_close(out[1], thin_value.permute(2, 0, 1))
