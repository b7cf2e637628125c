"""Fuses linear layers and embeddings with quantized weights. Inputs are float or dynamically quantized."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.fx import Node
from torch.fx.node import Argument

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.quantization import (
    FLOATS,
    DynamicScheme,
    LinearOperands,
    QuantizedWeight,
    dynamic_quantization,
    linear_operands,
)
from rushlight.ir.quantized_reference import pack
from rushlight.passes.quantized_rewriter import Rewriter, aten

rl = ops.backend.rushlight
backend_qd = ops.backend.quantized_decomposed

_VIEWS = (aten.view_copy.default, aten.unsqueeze_copy.default, aten.squeeze_copy.dims)


def fuse_quantized_weights(rewriter: Rewriter) -> None:
    """Before: q = quantize(x, *choose_qparams(x)); y = aten.addmm(bias, dequantize(q), dequantize(w).T)
    Expected: y = rushlight.dynamic_linear(x, w, scales, bias, ...)

    Before: y = aten.addmm(bias, x, dequantize_per_channel_group(w).T)
    Expected: y = rushlight.linear_4bit(x, packed, scales, None, bias), or with 8 bits mixed_linear and an add

    Before: y = aten.embedding(dequantize(w), indices). Expected: y = quantized_decomposed.embedding_4bit(...)
    """
    for node in list(rewriter.program.graph.nodes):
        operands = linear_operands(node)
        if operands is not None:
            weight = rewriter.weight(operands.weight)
            if weight is not None and weight.axis in (0, None):
                _linear(rewriter, node, operands, weight)
        elif is_op(node, aten.embedding.default):
            weight = rewriter.weight(node.args[0])
            if weight is not None and weight.axis == 0:
                _embedding(rewriter, node, weight)


def _linear(rewriter: Rewriter, node: Node, operands: LinearOperands, weight: QuantizedWeight) -> None:
    dynamic = _dynamic(operands.input)
    result: Node | None
    is_grouped = (
        isinstance(weight.scale, torch.Tensor) and weight.scale.dim() == 2 and weight.scale.shape[1] > 1
    )
    if dynamic is None or (is_grouped and not weight.is_int4):
        # Sums of groups of 8-bit numbers are slower than products of floats.
        result = _weight_only(rewriter, node, operands.input, operands.bias, weight)
    else:
        result = _dynamic_linear(rewriter, node, *dynamic, operands.bias, weight)
    if result is not None:
        rewriter.replace(node, result)


def _dynamic(node: object) -> tuple[Node, list[Node], tuple[Argument, ...]] | None:
    """Matches a dynamically quantized input.

    Returns:
        The float tensor, the views of the dequantized tensor, and the arguments per_token to eps of
        `rushlight.dynamic_linear`. None for any other node.
    """
    views: list[Node] = []
    while is_op(node, *_VIEWS):
        views.insert(0, node)
        node = node.args[0]
    found = dynamic_quantization(node)
    if found is None or found.dtype != torch.int8 or meta.get_dtype(found.source) != torch.float32:
        return None
    params = found.params
    per_token = params.scheme.is_per_token
    if per_token:
        last = meta.get_shape(found.source)[-1:]
        if any(meta.get_shape(view)[-1:] != last for view in views):
            return None
    if params.scheme is DynamicScheme.PER_TOKEN and (params.quant_min, params.quant_max) != (-128, 127):
        return None
    symmetric = params.scheme.is_symmetric
    return found.source, views, (per_token, symmetric, params.quant_min, params.quant_max, params.eps)


def _dynamic_linear(
    rewriter: Rewriter,
    node: Node,
    source: Node,
    views: list[Node],
    options: tuple[Argument, ...],
    bias: Argument,
    weight: QuantizedWeight,
) -> Node | None:
    """Inserts a linear layer that quantizes its input at run time.

    Args:
        rewriter: inserts nodes, and knows the kernels of the target.
        node: the linear layer in float.
        source: the float tensor that is quantized at run time.
        views: the views between `source` and `node`.
        options: the arguments per_token to eps of `rushlight.dynamic_linear`.
        bias: the bias, or None.
        weight: the quantized weight.

    Returns:
        The new node; None if the target has no such operator.
    """
    if weight.zero_points is not None or (bias is not None and meta.get_dtype(bias) != torch.float32):
        return None
    packed = _packed(rewriter, node, weight)
    is_4bit = packed is not None and rewriter.available(rl.dynamic_linear_4bit.default, torch.float32)
    target = rl.dynamic_linear_4bit.default if is_4bit else rl.dynamic_linear.default
    if not rewriter.available(target, torch.float32):
        return None
    stored = packed() if is_4bit and packed is not None else weight.source
    for view in views:
        source = rewriter.call(node, view.target, (source, *view.args[1:]), **view.kwargs)
    scales = rewriter.scales(weight, node)
    return rewriter.call(node, target, (source, stored, scales, bias, *options))


def _weight_only(
    rewriter: Rewriter, node: Node, x: Argument, bias: Argument, weight: QuantizedWeight
) -> Node | None:
    """Inserts a linear layer with a float input and a quantized weight.

    The arguments are those of `_dynamic_linear`, with the float input `x`.

    Returns:
        The new node; None if the target has no such operator.
    """
    dtype = meta.get_dtype(x)
    if dtype not in FLOATS or meta.get_dtype(node) != dtype:
        return None
    scales = rewriter.scales(weight, node)
    packed = _packed(rewriter, node, weight)
    if packed is not None and rewriter.available(rl.linear_4bit.default, dtype):
        if weight.group_size:
            args = (x, packed(), scales, weight.zero_point_node, bias)
            return rewriter.call(node, rl.linear_4bit.default, args)
    if dtype != torch.float32 or weight.zero_points is not None or weight.axis is None:
        return None
    if not rewriter.available(backend_qd.mixed_linear.default, dtype):
        return None
    product = rewriter.call(node, backend_qd.mixed_linear.default, (x, weight.source, scales, None))
    return product if bias is None else rewriter.call(node, ops.edge.aten.add.Tensor, (product, bias))


def _packed(rewriter: Rewriter, node: Node, weight: QuantizedWeight) -> Callable[[], Node] | None:
    """Returns a function that packs the weight, two 4-bit numbers a byte; None if packing is impossible."""
    stored = rewriter.value(weight.source)
    if stored is None or stored.dim() != 2 or stored.shape[1] % 2 or not weight.is_int4:
        return None
    return lambda: rewriter.once(
        ("packed", 4, weight.source), lambda: rewriter.constant("_packed_weight", pack(stored, 4), node)
    )


def _embedding(rewriter: Rewriter, node: Node, weight: QuantizedWeight) -> None:
    dtype, stored = meta.get_dtype(node), rewriter.value(weight.source)
    if dtype not in FLOATS or stored is None or stored.dim() != 2:
        return
    for bits, (operator, least, most) in _EMBEDDINGS.items():
        target = operator.default if dtype == torch.float32 else operator.dtype
        fits = weight.quant_min >= least and weight.quant_max <= most and stored.shape[1] * bits % 8 == 0
        if fits and rewriter.available(target, torch.int8 if bits == 8 else torch.uint8):
            break
    else:
        return
    source = weight.source
    if bits < 8:
        packed = pack(stored, bits)
        source = rewriter.once(
            ("packed", bits, weight.source), lambda: rewriter.constant("_packed_weight", packed, node)
        )
    zeros = None
    if weight.zero_points is not None:
        values = weight.zero_points.to(torch.float32)
        if isinstance(weight.scale, torch.Tensor):
            values = values.reshape(weight.scale.shape)
        zeros = rewriter.once(
            ("zero points", weight.dequantize), lambda: rewriter.constant("_zero_points", values, node)
        )
    limits = (least, most) if bits < 8 else (weight.quant_min, weight.quant_max)
    args = (source, rewriter.scales(weight, node), zeros, *limits, node.args[1])
    options = {} if dtype == torch.float32 else {"dtype": dtype}
    rewriter.replace(node, rewriter.call(node, target, args, **options))


# For each number of bits: the operator, the least and the greatest integer.
_EMBEDDINGS = {
    2: (backend_qd.embedding_2bit, -2, 1),
    4: (backend_qd.embedding_4bit, -8, 7),
    8: (backend_qd.embedding_byte, -128, 127),
}
