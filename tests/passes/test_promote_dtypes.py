"""Arithmetic on different dtypes converts its arguments first."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

from rushlight.ir import meta
from rushlight.passes.promote_dtypes import PromoteDtypesPass

aten = torch.ops.aten


def test_promote_dtypes() -> None:
    build = Build()
    x, n = build.input("x", 2, 3), build.input("n", 2, 3, dtype=torch.int32)
    total = build.call(aten.add.Tensor, x, n)
    same = build.call(aten.mul.Tensor, x, x)
    quotient = build.call(aten.div.Tensor, n, n)
    module = apply(PromoteDtypesPass(), build.finish(total, same, quotient)).graph_module
    assert calls(module) == [
        "_to_copy.default",
        "add.Tensor",
        "mul.Tensor",
        "_to_copy.default",
        "_to_copy.default",
        "div.Tensor",
    ]
    assert {meta.get_val(node).dtype for node in module.graph.nodes if "copy" in node.name} == {torch.float32}
    real, whole = torch.randn(2, 3), torch.arange(1, 7, dtype=torch.int32).reshape(2, 3)
    for got, expected in zip(module(real, whole), (real + whole, real * real, whole / whole), strict=True):
        torch.testing.assert_close(got, expected)
