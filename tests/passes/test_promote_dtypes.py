"""Arguments of arithmetic operators with different dtypes are converted."""

from __future__ import annotations

import operator

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


def test_hypot_has_kernels_of_one_dtype() -> None:
    build = Build()
    x, n = build.input("x", 2, 3), build.input("n", 2, 3, dtype=torch.int16)
    module = apply(PromoteDtypesPass(), build.finish(build.call(aten.hypot.default, n, x))).graph_module
    assert calls(module) == ["_to_copy.default", "hypot.default"]
    real, whole = torch.randn(2, 3), torch.ones(2, 3, dtype=torch.int16)
    torch.testing.assert_close(module(real, whole)[0], torch.hypot(whole, real))


def test_layer_norm_of_two_dtypes() -> None:
    """With activations in bfloat16 and weights in float32, it computes in float32."""
    build = Build()
    x = build.input("x", 2, 3, dtype=torch.bfloat16)
    weight, bias = build.input("weight", 3), build.input("bias", 3)
    norm = build.call(aten.native_layer_norm.default, x, [3], weight, bias, 1e-5)
    result = build.call(operator.getitem, norm, 0)
    module = apply(PromoteDtypesPass(), build.finish(result)).graph_module
    assert calls(module) == ["_to_copy.default", "native_layer_norm.default", "getitem", "_to_copy.default"]
    value, w, b = torch.randn(2, 3).bfloat16(), torch.randn(3), torch.randn(3)
    expected = torch.native_layer_norm(value, [3], w, b, 1e-5)[0]
    assert expected.dtype == torch.bfloat16
    torch.testing.assert_close(module(value, w, b)[0], expected, rtol=0, atol=0)


def test_layer_norm_of_one_dtype_is_left_alone() -> None:
    build = Build()
    norm = build.call(
        aten.native_layer_norm.default, build.input("x", 2, 3), [3], build.input("w", 3), None, 1e-5
    )
    module = apply(PromoteDtypesPass(), build.finish(build.call(operator.getitem, norm, 0))).graph_module
    assert calls(module) == ["native_layer_norm.default", "getitem"]
