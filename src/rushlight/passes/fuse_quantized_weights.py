"""Linear layers and embeddings over stored whole numbers: inputs quantized at run time, or not at all."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from rushlight.ir.edge_ops import ops
from rushlight.ir.quantized_reference import pack
from rushlight.passes.quantized_nodes import (
    Rewriter,
    Weight,
    aten,
    is_op,
    linear_parts,
    qd,
    shape_of,
    tensor_dtype,
)

rl = ops.backend.rushlight
backend_qd = ops.backend.quantized_decomposed

_VIEWS = (aten.view_copy.default, aten.unsqueeze_copy.default, aten.squeeze_copy.dims)
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def fuse_quantized_weights(rewriter: Rewriter) -> None:
    """Before: q = quantize(x, *choose_qparams(x)); y = aten.addmm(bias, dequantize(q), dequantize(w).T)
    Expected: y = rushlight.dynamic_linear(x, w, scales, bias, ...)

    Before: y = aten.addmm(bias, x, dequantize_per_channel_group(w).T)
    Expected: y = rushlight.linear_4bit(x, packed, scales, None, bias), or with 8 bits mixed_linear and an add

    Before: y = aten.embedding(dequantize(w), indices). Expected: y = quantized_decomposed.embedding_4bit(...)
    """
    for node in list(rewriter.program.graph.nodes):
        parts = linear_parts(node)
        if parts is not None:
            weight = rewriter.weight(parts[1])
            if weight is not None and weight.axis in (0, None):
                _linear(rewriter, node, parts[0], parts[2], weight)
        elif is_op(node, aten.embedding.default):
            weight = rewriter.weight(node.args[0])
            if weight is not None and weight.axis in (0, None) and weight.scales is not None:
                _embedding(rewriter, node, weight)


def _linear(rewriter: Rewriter, node: Node, x: Any, bias: Any, weight: Weight) -> None:
    dynamic = _dynamic(x)
    result: Node | None
    if dynamic is None:
        result = _weight_only(rewriter, node, x, bias, weight)
    else:
        result = _dynamic_linear(rewriter, node, *dynamic, bias, weight)
    if result is not None:
        rewriter.replace(node, result)


def _dynamic(node: Any) -> tuple[Node, list[Node], tuple[Any, ...]] | None:
    """(float tensor, views behind its dequantization, per_token ... eps) if ranges are found at run time."""
    views: list[Node] = []
    while is_op(node, *_VIEWS):
        views.insert(0, node)
        node = node.args[0]
    if is_op(node, qd.dequantize_per_tensor.tensor):
        names, per_token = (qd.quantize_per_tensor.tensor,), False
        choices: tuple[Any, ...] = (qd.choose_qparams.tensor, qd.choose_qparams_symmetric.tensor)
    elif is_op(node, qd.dequantize_per_token.default):
        names, per_token = (qd.quantize_per_token.default,), True
        choices = (qd.choose_qparams_per_token_asymmetric.default,)
    else:
        return None
    quantize, scale, zero_point = node.args[:3]
    if not is_op(quantize, *names) or (scale, zero_point) != tuple(quantize.args[1:3]):
        return None
    arguments: list[Any] = list(quantize.args)
    source, _, _, low, high, dtype = arguments
    chosen = _item(scale, 0)
    if chosen is None or chosen is not _item(zero_point, 1) or not is_op(chosen, *choices):
        return None
    if (
        not isinstance(source, Node)
        or chosen.args[0] is not source
        or dtype != torch.int8
        or tensor_dtype(source) != torch.float32
    ):
        return None
    last = shape_of(source)[-1:]
    if per_token:
        if any(shape_of(view)[-1:] != last for view in views) or (low, high) != (-128, 127):
            return None
        return source, views, (True, False, low, high, torch.finfo(torch.float32).eps)
    symmetric = is_op(chosen, qd.choose_qparams_symmetric.tensor)
    return source, views, (False, symmetric, low, high, chosen.args[3])


def _item(node: Any, index: int) -> Node | None:
    """What `node` reads result `index` of."""
    if isinstance(node, Node) and node.target is operator.getitem and node.args[1] == index:
        source = node.args[0]
        return source if isinstance(source, Node) else None
    return None


def _dynamic_linear(
    rewriter: Rewriter,
    node: Node,
    source: Node,
    views: list[Node],
    options: tuple[Any, ...],
    bias: Any,
    weight: Weight,
) -> Node | None:
    if weight.zero_points is not None or (bias is not None and tensor_dtype(bias) != torch.float32):
        return None
    packed = _packed(rewriter, node, weight)
    four = packed is not None and rewriter.available(rl.dynamic_linear_4bit.default, torch.float32)
    target: Any = rl.dynamic_linear_4bit.default if four else rl.dynamic_linear.default
    if not rewriter.available(target, torch.float32):
        return None
    stored = packed() if four and packed is not None else weight.node
    for view in views:
        source = rewriter.call(node, view.target, (source, *view.args[1:]), **view.kwargs)
    scales = rewriter.scales(weight, node)
    return rewriter.call(node, target, (source, stored, scales, bias, *options))


def _weight_only(rewriter: Rewriter, node: Node, x: Any, bias: Any, weight: Weight) -> Node | None:
    dtype = tensor_dtype(x)
    if dtype not in _FLOATS or tensor_dtype(node) != dtype:
        return None
    scales = rewriter.scales(weight, node)
    packed = _packed(rewriter, node, weight)
    if packed is not None and rewriter.available(rl.linear_4bit.default, dtype):
        if weight.axis is None and len(shape_of(scales)) == 2:
            return rewriter.call(
                node, rl.linear_4bit.default, (x, packed(), scales, weight.zero_points, bias)
            )
    if dtype != torch.float32 or weight.zero_points is not None or weight.scales is None:
        return None
    if not rewriter.available(backend_qd.mixed_linear.default, dtype):
        return None
    product = rewriter.call(node, backend_qd.mixed_linear.default, (x, weight.node, scales, None))
    return product if bias is None else rewriter.call(node, ops.edge.aten.add.Tensor, (product, bias))


def _packed(rewriter: Rewriter, node: Node, weight: Weight) -> Any:
    """A function that gives the weight as two numbers a byte; None if it has more than 4 bits or odd rows."""
    stored = rewriter.value(weight.node)
    if stored is None or stored.dim() != 2 or stored.shape[1] % 2 or weight.low < -8 or weight.high > 7:
        return None
    return lambda: rewriter.once(
        ("packed", weight.node), lambda: rewriter.constant("_packed_weight", pack(stored, 4), node)
    )


def _embedding(rewriter: Rewriter, node: Node, weight: Weight) -> None:
    indices: Any = node.args[1]
    packed = _packed(rewriter, node, weight)
    four = packed is not None and rewriter.available(backend_qd.embedding_4bit.default, torch.uint8)
    target: Any = backend_qd.embedding_4bit.default if four else backend_qd.embedding_byte.default
    if not rewriter.available(target, torch.uint8 if four else torch.int8):
        return
    stored = packed() if four and packed is not None else weight.node
    if weight.zero_points is not None or tensor_dtype(node) != torch.float32:
        return
    scales = rewriter.scales(weight, node)
    limits = (-8, 7) if four else (weight.low, weight.high)
    args = (stored, scales, None, *limits, indices)
    rewriter.replace(node, rewriter.call(node, target, args))
