"""Fuses dequantize, operator and quantize into one operator on quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import Argument, Target

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.quantization import (
    QuantParams,
    clamp_bounds,
    dequantize_params,
    linear_operands,
    quantize_params,
)
from rushlight.ir.quantized_reference import exponentials
from rushlight.passes.quantized_rewriter import MOVEMENT, Rewriter, aten

rl = ops.backend.rushlight

Fused = tuple[Target, tuple[Argument, ...]]


def fuse_static(rewriter: Rewriter) -> None:
    """Before: y = quantize(aten.relu(aten.convolution(dequantize(x), dequantize(w), bias, ...)), s, z, ...)
    Expected: y = rushlight.quantized_convolution(x, ..., w, scales, bias, ..., s, z, z, 127)

    Linear, addition, multiplication, means, average pooling and softmax are fused in the same way. A clamp
    may follow. Views and permutes may be in front of `quantize`; they then move quantized tensors.
    """
    for node in list(rewriter.program.graph.nodes):
        params = quantize_params(node)
        if params is not None:
            _fuse(rewriter, node, params)


def _fuse(rewriter: Rewriter, quantize: Node, params: QuantParams) -> None:
    core, moves, low, high = _walk_back(quantize.args[0], params)
    if core is None:
        return
    for match in _MATCHES:
        fused = match(rewriter, core, params, low, high)
        if fused is not None:
            break
    else:
        return
    target, args = fused
    if not rewriter.available(target, params.dtype):
        return
    if not all(rewriter.available(move.target, params.dtype) for move in moves):
        return
    result = rewriter.call(quantize, target, args)
    for move in reversed(moves):
        result = rewriter.call(quantize, move.target, (result, *move.args[1:]), **move.kwargs)
    rewriter.replace(quantize, result)


def _walk_back(node: object, params: QuantParams) -> tuple[Node | None, list[Node], int, int]:
    """Walks back over clamps and movements (views, permutes) with a single user.

    Returns:
        The operator in front of them, the movements, and the least and greatest quantized number.
    """
    low, high = params.quant_min, params.quant_max
    moves: list[Node] = []
    while isinstance(node, Node) and len(node.users) == 1:
        bounds = clamp_bounds(node)
        if bounds is not None:  # the later clamps, to [low, high], also clamp the bounds of this one
            least, most = (min(max(params.quantize_number(bound), low), high) for bound in bounds)
            low, high = min(least, most), most
        elif is_op(node, *MOVEMENT):
            moves.append(node)
        else:
            return node, moves, low, high
        node = node.args[0]
    return None, moves, low, high


def _input(node: Any, dtype: torch.dtype) -> tuple[Node, float, int] | None:
    """Returns the quantized tensor, scale and zero point of an operand; None if it is not quantized."""
    params = dequantize_params(node)
    if params is None or params.dtype != dtype or meta.get_dtype(node) != torch.float32:
        return None
    return node.args[0], params.scale, params.zero_point


def _bias(node: object) -> bool:
    return node is None or meta.get_dtype(node) == torch.float32


def _convolution(rewriter: Rewriter, node: Node, params: QuantParams, low: int, high: int) -> Fused | None:
    if not is_op(node, aten.convolution.default):
        return None
    arguments: list[Any] = list(node.args)
    x, weight_node, bias, *numbers = arguments
    source, weight = _input(x, params.dtype), rewriter.weight(weight_node)
    if source is None or weight is None or weight.zero_points is not None or not _bias(bias):
        return None
    transposed, groups = bool(numbers[3]), int(numbers[5])
    if weight.axis not in (None, int(transposed)) or weight.group_size:
        return None
    scales = rewriter.scales(weight, node, groups if transposed else 1)
    args = (*source, weight.source, scales, bias, *numbers, params.scale, params.zero_point, low, high)
    return rl.quantized_convolution.default, args


def _linear(rewriter: Rewriter, node: Node, params: QuantParams, low: int, high: int) -> Fused | None:
    parts = linear_operands(node)
    if parts is None:
        return None
    source, weight = _input(parts.input, params.dtype), rewriter.weight(parts.weight)
    if source is None or weight is None or weight.zero_points is not None or not _bias(parts.bias):
        return None
    if weight.axis not in (None, 0) or weight.group_size:
        return None
    scales = rewriter.scales(weight, node)
    args = (*source, weight.source, scales, parts.bias, params.scale, params.zero_point, low, high)
    return rl.quantized_linear.default, args


def _binary(rewriter: Rewriter, node: Node, params: QuantParams, low: int, high: int) -> Fused | None:
    if is_op(node, aten.add.Tensor) and node.kwargs.get("alpha", 1) == 1:
        target = ops.backend.quantized_decomposed.add.default
    elif is_op(node, aten.mul.Tensor):
        target = rl.quantized_mul.default
    else:
        return None
    args: list[Argument] = []
    for operand in node.args[:2]:
        found, source = dequantize_params(operand), _input(operand, params.dtype)
        if found is None or source is None:
            return None
        args += [*source, found.quant_min, found.quant_max]
    return target, (*args, params.scale, params.zero_point, low, high)


def _mean(rewriter: Rewriter, node: Node, params: QuantParams, low: int, high: int) -> Fused | None:
    if not is_op(node, aten.mean.dim) or node.kwargs.get("dtype") is not None:
        return None
    source = _input(node.args[0], params.dtype)
    if source is None:
        return None
    rank = len(meta.get_shape(node.args[0]))
    dims = node.args[1] if node.args[1] else list(range(rank))
    keep = bool(node.args[2]) if len(node.args) > 2 else False
    args = (*source, dims, keep, params.scale, params.zero_point, low, high)
    return rl.quantized_mean.default, args


def _avg_pool(rewriter: Rewriter, node: Node, params: QuantParams, low: int, high: int) -> Fused | None:
    if not is_op(node, aten.avg_pool2d.default):
        return None
    source = _input(node.args[0], params.dtype)
    arguments = [*node.args[1:], *[None, [], [0, 0], False, True, None][len(node.args) - 1 :]]
    kernel, stride, padding, ceil_mode, include, divisor = arguments
    if source is None or divisor is not None:
        return None
    window = [kernel, stride or kernel, padding, ceil_mode, include]
    return rl.quantized_avg_pool2d.default, (*source, *window, params.scale, params.zero_point, low, high)


def _softmax(rewriter: Rewriter, node: Node, params: QuantParams, low: int, high: int) -> Fused | None:
    if not is_op(node, aten._softmax.default) or node.args[2]:
        return None
    source = _input(node.args[0], params.dtype)
    target = rl.quantized_softmax.default
    if source is None or not rewriter.available(target, params.dtype):
        return None
    tensor, scale, _zero_point = source
    table = rewriter.constant("_exponentials", exponentials(scale), node)
    return target, (tensor, table, node.args[1], params.scale, params.zero_point, low, high)


_MATCHES: tuple[Callable[[Rewriter, Node, QuantParams, int, int], Fused | None], ...] = (
    _convolution,
    _linear,
    _binary,
    _mean,
    _avg_pool,
    _softmax,
)
