"""Moves dequantize nodes behind data movements, so that the program moves quantized data."""

from __future__ import annotations

import operator
from typing import Any

from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.quantization import QuantParams, dequantize_params, quantize_params
from rushlight.passes.quantized_rewriter import MOVEMENT, Rewriter, aten

_POOL = aten.max_pool2d_with_indices.default


def move_dequantize(rewriter: Rewriter) -> None:
    """Before: y = aten.view_copy(dequantize(q, s, z), sizes)
    Expected: y = dequantize(aten.view_copy(q, sizes), s, z)

    Permutes, slices, max pooling and concatenations of inputs with equal parameters are handled in the same
    way. If the result is quantized again with the same parameters, both nodes are removed.
    """
    for node in list(rewriter.program.graph.nodes):
        if is_op(node, *MOVEMENT):
            _move(rewriter, node, [node.args[0]], lambda q, node=node: (q[0], *node.args[1:]))
        elif is_op(node, aten.cat.default):
            sources: Any = node.args[0]
            _move(rewriter, node, list(sources), lambda q, node=node: (q, *node.args[1:]))
        elif node.target is operator.getitem and node.args[1] == 0 and is_op(node.args[0], _POOL):
            _move_pool(rewriter, node)
        elif quantize_params(node) is not None and quantize_params(node) == dequantize_params(node.args[0]):
            rewriter.replace(node, node.args[0].args[0])


def _shared(rewriter: Rewriter, sources: list[Any]) -> QuantParams | None:
    """Returns the quantization parameters of all sources; None if they differ or a source is constant."""
    found = [dequantize_params(source) for source in sources]
    if not found or found[0] is None or any(params != found[0] for params in found):
        return None
    if any(rewriter.value(source.args[0]) is not None for source in sources):
        return None
    return found[0]


def _move(rewriter: Rewriter, node: Node, sources: list[Any], arguments: Any) -> None:
    params = _shared(rewriter, sources)
    if params is None or not rewriter.available(node.target, params.dtype):
        return
    quantized = [source.args[0] for source in sources]
    moved = rewriter.call(node, node.target, arguments(quantized), **node.kwargs)
    _dequantize(rewriter, node, moved, sources[0])


def _move_pool(rewriter: Rewriter, item: Node) -> None:
    pool = item.args[0]
    assert isinstance(pool, Node)
    params = _shared(rewriter, [pool.args[0]])
    if params is None or len(pool.users) != 1 or not rewriter.available(pool.target, params.dtype):
        return
    source: Any = pool.args[0]
    moved = rewriter.call(item, pool.target, (source.args[0], *pool.args[1:]))
    first = rewriter.call(item, operator.getitem, (moved, 0))
    meta.set_val(first, meta.get_val(moved)[0])
    _dequantize(rewriter, item, first, source)


def _dequantize(rewriter: Rewriter, old: Node, moved: Node, like: Any) -> None:
    rewriter.replace(old, rewriter.call(old, like.target, (moved, *like.args[1:])))
