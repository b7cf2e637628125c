"""Python numbers become constants if the schema requires a tensor."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply

from rushlight.passes.scalar_to_tensor import ScalarToTensorPass

aten = torch.ops.aten


def test_scalar_to_tensor() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    y = build.call(aten.mul.Tensor, x, 2.5)
    z = build.call(aten.add.Tensor, y, 1, alpha=2)
    result = apply(ScalarToTensorPass(), build.finish(z))
    assert result.modified
    nodes = list(result.graph_module.graph.nodes)
    constants = [getattr(result.graph_module, node.target) for node in nodes if node.op == "get_attr"]
    assert [constant.dtype for constant in constants] == [torch.float32, torch.int64]
    operators = [node for node in nodes if node.op == "call_function"]
    assert [node.args[1].op for node in operators] == ["get_attr", "get_attr"]
    assert operators[1].kwargs == {"alpha": 2}  # a Scalar stays a number
    assert not apply(ScalarToTensorPass(), result.graph_module).modified


def test_beside_a_tensor_of_rank_0_the_constant_has_the_dtype_of_the_result() -> None:
    build = Build()
    n = build.input("n", dtype=torch.int32)
    module = apply(ScalarToTensorPass(), build.finish(build.call(aten.mul.Tensor, n, 2.5))).graph_module
    (constant,) = module.buffers()
    assert constant.dtype == torch.float32
    value = torch.tensor(3, dtype=torch.int32)
    torch.testing.assert_close(module(value)[0], value * 2.5)


def test_a_number_outside_the_range_of_an_integer_dtype_wraps() -> None:
    build = Build()
    n = build.input("n", dtype=torch.int8)
    module = apply(ScalarToTensorPass(), build.finish(build.call(aten.sub.Tensor, n, 200))).graph_module
    value = torch.tensor(7, dtype=torch.int8)
    torch.testing.assert_close(module(value)[0], value - 200)


def test_beside_a_tensor_of_double_precision_the_constant_has_double_precision() -> None:
    build = Build()
    x = build.input("x", 3, dtype=torch.float64)
    n = build.input("n", 3, dtype=torch.int64)
    results = [build.call(aten.mul.Tensor, x, 0.1), build.call(aten.mul.Tensor, n, 0.1)]
    module = apply(ScalarToTensorPass(), build.finish(*results)).graph_module
    assert [constant.dtype for constant in module.buffers()] == [torch.float64, torch.float32]
    real, whole = torch.randn(3, dtype=torch.float64), torch.arange(3)
    first, second = module(real, whole)
    torch.testing.assert_close(first, real * 0.1, rtol=0, atol=0)
    torch.testing.assert_close(second, whole * 0.1)


def test_a_number_outside_the_range_of_float16_multiplies_in_float32() -> None:
    """A mask is often subtracted from 1 and multiplied by -1e9; 0 times an infinite number would be NaN."""
    build = Build()
    x = build.input("x", 4, dtype=torch.float16)
    results = [
        build.call(aten.mul.Tensor, x, -1e9),
        build.call(aten.mul.Tensor, x, 1e-9),
        build.call(aten.div.Tensor, x, 1_000_000),
        build.call(aten.mul.Tensor, x, 0.5),
    ]
    module = apply(ScalarToTensorPass(), build.finish(*results)).graph_module
    conversions = [n for n in module.graph.nodes if n.target is aten._to_copy.default]
    assert len(conversions) == 6
    value = torch.tensor([0.0, 1.0, 60000.0, -3.0], dtype=torch.float16)
    wanted = [value * -1e9, value * 1e-9, value / 1_000_000, value * 0.5]
    torch.testing.assert_close(list(module(value)), wanted, rtol=0, atol=0)
