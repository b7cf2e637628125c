"""Predicates for quantize and dequantize nodes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.fx import Graph, Node

from rushlight.compat import quantized_nodes as questions
from rushlight.ir import quantization  # noqa: F401  (defines quantized_decomposed)
from rushlight.ir.edge_ops import ops
from rushlight.ir.meta import set_val

qd = ops.edge.quantized_decomposed
affine = torch.library.Library("rushlight_affine_test", "DEF")
affine.define(
    "quantize_affine(Tensor x, SymInt[] block, Tensor s, Tensor? z, ScalarType t, int low=0, int high=0) "
    "-> Tensor"
)


def call(op: Any, *args: Any, shape: tuple[int, ...] = (2, 8)) -> Node:
    graph = Graph()
    source = graph.placeholder("x")
    set_val(source, torch.empty(shape))
    return graph.call_function(op, (source, *args))


PER_TENSOR = (0.5, 0, -128, 127, torch.int8)


def test_schemes() -> None:
    quantize = call(qd.quantize_per_tensor.default, *PER_TENSOR)
    assert questions.is_quant(quantize) and not questions.is_dequant(quantize)
    assert questions.is_per_tensor(quantize) and not questions.is_per_channel(quantize)
    dequantize = call(qd.dequantize_per_channel.default, None, None, 0, -128, 127, torch.int8)
    assert questions.is_dequant(dequantize) and questions.is_per_channel(dequantize)
    assert not questions.is_per_tensor(dequantize) and not questions.is_per_channel_group(dequantize)
    token = call(qd.quantize_per_token.default, None, None, -128, 127, torch.int8)
    assert questions.is_per_token(token) and not questions.is_dynamic_qdq(token)
    other = call(ops.edge.aten.relu.default)
    assert not any(
        ask(other)
        for ask in (questions.is_quant, questions.is_dequant, questions.is_qparam, questions.is_per_token)
    )


def test_tags() -> None:
    node = call(qd.quantize_per_tensor.default, *PER_TENSOR)
    assert not questions.is_tagged_as_implicit_q_dq(node)
    questions.tag_as_implicit_q_dq(node)
    assert questions.is_tagged_as_implicit_q_dq(node) and node.meta[questions.IS_IMPLICIT_Q_DQ_TAG]


def test_dynamic_parameters() -> None:
    import operator

    graph = Graph()
    x = graph.placeholder("x")
    chosen = graph.call_function(qd.choose_qparams.tensor, (x, -128, 127, 1e-5, torch.int8))
    scale, zero = (graph.call_function(operator.getitem, (chosen, index)) for index in range(2))
    node = graph.call_function(qd.quantize_per_tensor.tensor, (x, scale, zero, -128, 127, torch.int8))
    assert questions.is_qparam(chosen) and questions.is_dynamic_qdq(node)
    fixed = graph.call_function(qd.quantize_per_tensor.default, (x, *PER_TENSOR))
    assert not questions.is_dynamic_qdq(fixed)


@pytest.mark.parametrize(
    ("block", "scales", "is_group", "is_token"),
    [((1, 4), (2, 2), True, False), ((1, 8), (2, 1), True, True), ((2, 8), (1,), False, False)],
)
def test_blocks(block: tuple[int, int], scales: tuple[int, ...], is_group: bool, is_token: bool) -> None:
    op = torch.ops.rushlight_affine_test.quantize_affine.default
    node = call(op, list(block))
    scale = node.graph.placeholder("s")
    set_val(scale, torch.empty(scales))
    node.args = (*node.args, scale, None, torch.int8)
    assert questions.is_affine_qdq(node)
    assert questions.is_per_channel_group(node) == questions.is_per_channel(node) == is_group
    assert questions.is_per_token(node) == is_token
    arguments = questions.extract_qdq_affine_op_args_for_decomposed_ops(node)
    assert list(arguments[1:6]) == [scale, None, -128, 127, torch.int8]
    assert list(arguments[6:]) == [*([block[1]] if is_group else []), torch.int8]
    node.args = (*node.args[:4], torch.uint8)
    assert questions.extract_qdq_affine_op_args_for_decomposed_ops(node) == (None, None)


@pytest.mark.parametrize("scale", [0.0, 1e-40, math.inf, math.nan])
def test_scales_that_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"Scales must be finite and normal.*index: \(1,\)"):
        questions.validate_quant_scales(torch.tensor([0.5, scale]))
    with pytest.raises(ValueError, match=r"index: \(0,\)"):
        questions.validate_quant_scales(scale)
    questions.validate_quant_scales(0.5)


@pytest.mark.parametrize(
    ("dtype", "is_4bit", "good", "bad"),
    [
        (torch.int8, False, -128, 128),
        (torch.int8, True, 15, -1),
        (torch.uint8, False, 255, 256),
        (torch.int32, False, 0, 1),
    ],
)
def test_zero_points(dtype: torch.dtype, is_4bit: bool, good: int, bad: int) -> None:
    questions.validate_quant_zeropoints(torch.tensor([good, 0]), dtype, is_4bit)
    with pytest.raises(ValueError, match=rf"invalid zeropoint {bad} .*\(1,\)"):
        questions.validate_quant_zeropoints(torch.tensor([good, bad]), dtype, is_4bit)
    with pytest.raises(ValueError, match=r"Unsupported dtype for quantization: torch\.int64"):
        questions.validate_quant_zeropoints(0, torch.int64, is_4bit)
