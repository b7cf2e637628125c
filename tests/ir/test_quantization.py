"""Quantization parameters and the readers of quantized nodes."""

import math
import operator
from typing import Any

import pytest
import torch
from torch.fx import Graph, Node

from rushlight.ir import meta
from rushlight.ir.quantization import (
    DynamicParams,
    DynamicScheme,
    QuantizedWeight,
    QuantParams,
    clamp_bounds,
    dequantize_params,
    dynamic_quantization,
    linear_operands,
    qd,
    quantize_params,
    quantized_weight,
    transposed,
)

aten = torch.ops.aten


def graph_with(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> tuple[Graph, list[Node]]:
    """Returns a graph, and placeholders with these shapes."""
    graph = Graph()
    inputs = []
    for i, shape in enumerate(shapes):
        node = graph.placeholder(f"x{i}")
        meta.set_val(node, torch.empty(shape, dtype=dtype))
        inputs.append(node)
    return graph, inputs


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_arithmetic_is_that_of_the_operators(dtype: torch.dtype) -> None:
    limits = torch.iinfo(dtype)
    params = QuantParams(0.03, 7, limits.min + 5, limits.max - 5, dtype)
    arguments = params.scale, params.zero_point, params.quant_min, params.quant_max, dtype
    values = torch.cat([torch.randn(1000) * 3, torch.tensor([math.inf, -math.inf, 0.0, 0.015, 0.045])])
    quantized = params.quantize(values)
    assert torch.equal(quantized, qd.quantize_per_tensor.default(values, *arguments))
    assert torch.equal(params.dequantize(quantized), qd.dequantize_per_tensor.default(quantized, *arguments))
    assert [params.quantize_number(float(v)) for v in values] == quantized.tolist()


def test_clamping_before_quantization_narrows_the_range() -> None:
    params = QuantParams(0.5, 3)
    values = torch.linspace(-100, 100, 999)
    narrow = params.clamped(0.0, 6.0)
    assert torch.equal(narrow.quantize(values), params.quantize(values.clamp(0.0, 6.0)))
    assert params.clamped(-math.inf, math.inf) == params
    assert params.clamped(6.0, 0.0).quant_min == params.clamped(6.0, 0.0).quant_max


def test_uint8_as_int8() -> None:
    params = QuantParams(0.5, 130, 1, 255, torch.uint8)
    signed = params.as_int8()
    quantized = torch.arange(256, dtype=torch.uint8)
    shifted = (quantized.to(torch.int16) - 128).to(torch.int8)
    assert torch.equal(params.dequantize(quantized), signed.dequantize(shifted))
    assert (signed.quant_min, signed.quant_max, signed.dtype) == (-127, 127, torch.int8)
    assert signed.as_int8() is signed


def test_parameters_of_nodes() -> None:
    graph, (x,) = graph_with((2, 3))
    arguments = 0.1, 4, -128, 127, torch.int8
    q = graph.call_function(qd.quantize_per_tensor.default, (x, *arguments))
    d = graph.call_function(qd.dequantize_per_tensor.default, (q, *arguments))
    expected = QuantParams(*arguments)
    assert quantize_params(q) == expected and dequantize_params(d) == expected
    assert quantize_params(d) is None and dequantize_params(q) is None
    assert quantize_params(x) is None and quantize_params(None) is None
    assert quantize_params(q, torch.uint8) is None
    wide = graph.call_function(qd.quantize_per_tensor.default, (x, 0.1, 0, -32768, 32767, torch.int16))
    assert quantize_params(wide) is None
    assert quantize_params(wide, torch.int16) == QuantParams(0.1, 0, -32768, 32767, torch.int16)


def chosen(
    graph: Graph, source: Node, choose: Any, arguments: tuple[Any, ...], quantize: Any, dequantize: Any
) -> Node:
    """Quantizes `source` with computed parameters, and returns the node that dequantizes it."""
    parameters = graph.call_function(choose, (source, *arguments))
    items = [graph.call_function(operator.getitem, (parameters, i)) for i in range(2)]
    q = graph.call_function(quantize, (source, *items, -128, 127, torch.int8))
    tail = (torch.float32,) if quantize is qd.quantize_per_token.default else ()
    return graph.call_function(dequantize, (q, *items, -128, 127, torch.int8, *tail))


@pytest.mark.parametrize("symmetric", [False, True])
def test_dynamic_quantization_of_a_tensor(symmetric: bool) -> None:
    graph, (x, y) = graph_with((2, 3), (2, 3))
    choose = qd.choose_qparams_symmetric.tensor if symmetric else qd.choose_qparams.tensor
    d = chosen(
        graph,
        x,
        choose,
        (-128, 127, 1e-5, torch.int8),
        qd.quantize_per_tensor.tensor,
        qd.dequantize_per_tensor.tensor,
    )
    found = dynamic_quantization(d)
    assert found is not None and found.source is x and found.dtype is torch.int8
    scheme = DynamicScheme.SYMMETRIC if symmetric else DynamicScheme.AFFINE
    assert found.params == DynamicParams(scheme, -128, 127, 1e-5)
    assert found.nodes == tuple(node for node in graph.nodes if node.op == "call_function")
    found.quantize.args = (y, *found.quantize.args[1:])
    assert dynamic_quantization(d) is None, "the parameters are chosen from another tensor"


def test_dynamic_quantization_by_token() -> None:
    graph, (x,) = graph_with((2, 3))
    choose = qd.choose_qparams_per_token_asymmetric.default
    d = chosen(
        graph, x, choose, (torch.int8,), qd.quantize_per_token.default, qd.dequantize_per_token.default
    )
    found = dynamic_quantization(d)
    assert found is not None and found.params.scheme is DynamicScheme.PER_TOKEN
    assert dynamic_quantization(found.quantize) is None
    found.choose.target = qd.choose_qparams.tensor
    assert dynamic_quantization(d) is None, "parameters of the whole tensor do not fit tokens"


def test_symmetric_dynamic_quantization_by_token() -> None:
    graph, (x,) = graph_with((2, 3))
    choose = torch.ops.rushlight.choose_qparams_per_token_symmetric.default
    arguments = (-64, 63, 1e-5, torch.int8)
    d = chosen(graph, x, choose, arguments, qd.quantize_per_token.default, qd.dequantize_per_token.default)
    found = dynamic_quantization(d)
    assert found is not None and found.params.scheme is DynamicScheme.PER_TOKEN_SYMMETRIC
    assert found.params.eps == 1e-5 and found.params.scheme.is_symmetric


def weight_of(
    target: Any, tensors: list[torch.Tensor], arguments: tuple[Any, ...]
) -> tuple[QuantizedWeight | None, Node]:
    """Reads a quantized weight. `tensors` are the int8 tensor, the scales and the zero points."""
    graph = Graph()
    nodes = [graph.placeholder(f"x{i}") for i in range(len(tensors))]
    values: dict[object, torch.Tensor] = dict(zip(nodes, tensors, strict=True))
    for node, tensor in zip(nodes, tensors, strict=True):
        meta.set_val(node, tensor)
    d = graph.call_function(target, (*nodes, *arguments))
    return quantized_weight(d, values.get), d


STORED = torch.arange(-6, 6, dtype=torch.int8).reshape(3, 4)


def test_a_weight_with_one_scale() -> None:
    weight, d = weight_of(qd.dequantize_per_tensor.default, [STORED], (0.5, 0, -127, 127, torch.int8))
    assert weight is not None and weight.scale == 0.5 and weight.axis is None and weight.zero_points is None
    assert weight.dequantize is d and weight.scale_node is None and weight.zero_point_node is None
    assert weight.channel_scales(3).tolist() == [0.5, 0.5, 0.5]
    shifted, _ = weight_of(qd.dequantize_per_tensor.default, [STORED], (0.5, 1, -127, 127, torch.int8))
    assert shifted is not None and shifted.zero_points is not None


def test_a_weight_with_a_scale_for_each_channel() -> None:
    scales, zeros = torch.tensor([0.5, 1.0, 2.0]), torch.zeros(3, dtype=torch.int64)
    weight, d = weight_of(qd.dequantize_per_channel.default, [STORED, scales, zeros], (0, -8, 7, torch.int8))
    assert weight is not None and (weight.axis, weight.group_size) == (0, None)
    assert weight.zero_points is None and weight.scale_node is d.args[1] and weight.is_int4
    assert torch.equal(weight.channel_scales(3), scales)
    other, _ = weight_of(
        qd.dequantize_per_channel.default, [STORED, scales, zeros + 1], (0, -128, 127, torch.int8)
    )
    assert other is not None and other.zero_points is not None
    assert torch.equal(other.zero_points, zeros + 1) and not other.is_int4


def test_a_weight_with_scales_for_groups() -> None:
    scales, zeros = torch.rand(3, 2), torch.zeros(3, 2, dtype=torch.int64)
    arguments = -8, 7, torch.int8, 2, torch.float32
    weight, _ = weight_of(qd.dequantize_per_channel_group.default, [STORED, scales, zeros], arguments)
    assert weight is not None and (weight.axis, weight.group_size) == (0, 2)
    assert torch.equal(weight.channel_scales(3), scales)


def test_no_weight_where_the_integers_are_computed_or_wide() -> None:
    wide, _ = weight_of(qd.dequantize_per_tensor.default, [STORED.int()], (0.5, 0, -127, 127, torch.int32))
    assert wide is None
    _, d = weight_of(qd.dequantize_per_tensor.default, [STORED], (0.5, 0, -127, 127, torch.int8))
    assert quantized_weight(d, lambda node: None) is None
    assert quantized_weight(d.args[0], lambda node: STORED) is None


@pytest.mark.parametrize(
    "target, arguments, is_transpose",
    [
        (aten.permute_copy.default, ([1, 0],), True),
        (aten.permute_copy.default, ([-1, 0],), True),
        (aten.permute_copy.default, ([0, 1],), False),
        (aten.transpose_copy.int, (0, 1), True),
        (aten.transpose_copy.int, (-1, 1), False),
        (aten.t_copy.default, (), True),
        (aten.relu.default, (), False),
    ],
)
def test_transposes(target: Any, arguments: tuple[Any, ...], is_transpose: bool) -> None:
    graph, (x,) = graph_with((2, 3))
    node = graph.call_function(target, (x, *arguments))
    assert transposed(node) is (x if is_transpose else None)


def test_operands_of_linear_layers() -> None:
    graph, (x, w, b, matrix) = graph_with((2, 3), (4, 3), (4,), (2, 4))
    turned = graph.call_function(aten.t_copy.default, (w,))

    def operands(node: Node) -> tuple[Node, Node, Node | None] | None:
        found = linear_operands(node)
        return None if found is None else (found.input, found.weight, found.bias)

    assert operands(graph.call_function(aten.linear.default, (x, w))) == (x, w, None)
    assert operands(graph.call_function(aten.linear.default, (x, w), {"bias": b})) == (x, w, b)
    assert operands(graph.call_function(aten.addmm.default, (b, x, turned))) == (x, w, b)
    assert operands(graph.call_function(aten.mm.default, (x, turned))) == (x, w, None)
    assert operands(graph.call_function(aten.addmm.default, (b, x, turned), {"alpha": 2})) is None
    assert operands(graph.call_function(aten.addmm.default, (matrix, x, turned))) is None
    assert operands(graph.call_function(aten.mm.default, (x, w))) is None


@pytest.mark.parametrize(
    "target, arguments, expected",
    [
        (aten.relu.default, (), (0.0, math.inf)),
        (aten.hardtanh.default, (), (-1.0, 1.0)),
        (aten.hardtanh.default, (0, 6), (0.0, 6.0)),
        (aten.clamp.default, (None, 2), (-math.inf, 2.0)),
        (aten.clamp.default, (1,), (1.0, math.inf)),
        (aten.neg.default, (), None),
    ],
)
def test_clamps(target: Any, arguments: tuple[Any, ...], expected: tuple[float, float] | None) -> None:
    graph, (x,) = graph_with((2, 3))
    assert clamp_bounds(graph.call_function(target, (x, *arguments))) == expected
