"""Replaces functions of one 8-bit tensor by lookups in a table of 256 results."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import Argument, map_aggregate

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op, ops
from rushlight.ir.quantization import QuantParams, dequantize_params, qd, quantize_params
from rushlight.passes.quantized_rewriter import Rewriter, aten

_ELEMENTWISE = tuple(
    getattr(getattr(aten, name), overload)
    for name, overload in (
        word.split(".")
        for word in """
        relu.default hardtanh.default clamp.default sigmoid.default tanh.default gelu.default silu.default
        hardswish.default hardsigmoid.default leaky_relu.default elu.default erf.default exp.default
        log.default abs.default neg.default sqrt.default rsqrt.default reciprocal.default
        pow.Tensor_Scalar pow.Tensor_Tensor add.Tensor sub.Tensor mul.Tensor div.Tensor minimum.default
        maximum.default add.Scalar mul.Scalar sub.Scalar div.Scalar
        """.split()
    )
)


_LIMIT = 64


def fuse_lookups(rewriter: Rewriter) -> None:
    """Before: y = quantize(aten.mul(x_, aten.sigmoid(x_))), x_ = dequantize(x)
    Expected: y = rushlight.quantized_lookup(x, table)

    A change of only the scale and the zero point is also fused to a lookup.
    """
    for node in list(rewriter.program.graph.nodes):
        params = quantize_params(node)
        if params is None or not rewriter.available(
            ops.backend.rushlight.quantized_lookup.default, params.dtype
        ):
            continue
        cluster = _cluster(rewriter, node)
        if cluster is not None:
            _fuse(rewriter, node, params, *cluster)


def _cluster(rewriter: Rewriter, quantize: Node) -> tuple[list[Node], Node] | None:
    """Returns the elementwise nodes from a quantized tensor to `quantize`, in order.

    Also returns a node that dequantizes this tensor for them. The result is None if the nodes do not depend
    on exactly one quantized tensor and on scalar constants.
    """
    members: dict[Node, None] = {}
    sources: dict[tuple[Any, QuantParams], Node] = {}
    shape = meta.get_shape(quantize)

    def visit(node: object) -> bool:
        """Returns whether `node` depends only on dequantized tensors and on scalar constants."""
        if not isinstance(node, Node) or node in members:
            return True
        params = dequantize_params(node)
        if params is not None and rewriter.value(node.args[0]) is None:
            sources[node.args[0], params] = node
            return True
        constant = rewriter.value(node)
        if constant is not None:
            return constant.numel() == 1
        if not is_op(node, *_ELEMENTWISE) or meta.get_shape(node) != shape or len(members) > _LIMIT:
            return False
        if not all(visit(used) for used in node.all_input_nodes):
            return False
        members[node] = None
        return True

    if not visit(quantize.args[0]) or len(sources) != 1:
        return None
    if any(user not in members and user is not quantize for node in members for user in node.users):
        return None
    (reader,) = sources.values()
    return (list(members), reader) if meta.get_shape(reader) == shape else None


def _fuse(rewriter: Rewriter, quantize: Node, params: QuantParams, members: list[Node], reader: Node) -> None:
    given = dequantize_params(reader)
    assert given is not None
    limits = torch.iinfo(given.dtype)
    entries = torch.arange(limits.min, limits.max + 1, dtype=given.dtype)
    inputs = qd.dequantize_per_tensor.default(entries, *reader.args[1:])
    values: dict[Node, object] = {}

    def value(item: Argument) -> Any:
        if not isinstance(item, Node):
            return item
        if item not in values:
            constant = rewriter.value(item)
            values[item] = inputs if constant is None else constant.reshape(())
        return values[item]

    for node in members:
        args = map_aggregate(node.args, value)
        kwargs = map_aggregate(node.kwargs, value)
        values[node] = node.target(*args, **kwargs)  # type: ignore[operator]
    table = qd.quantize_per_tensor.default(value(quantize.args[0]), *quantize.args[1:])
    stored = rewriter.constant("_lookup_table", table.contiguous(), quantize)
    target = ops.backend.rushlight.quantized_lookup.default
    rewriter.replace(quantize, rewriter.call(quantize, target, (reader.args[0], stored)))
