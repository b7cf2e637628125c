"""Replaces permutes that do not move data by views, and merges consecutive permutes."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op, ops
from rushlight.passes.base import GraphPass


class SimplifyPermutesPass(GraphPass):
    """Before: q = aten.permute_copy(aten.permute_copy(x, [0, 2, 1, 3]), [0, 2, 3, 1])
    Expected: q = aten.permute_copy(x, [0, 1, 3, 2])

    Before: v = aten.permute_copy(x, [0, 2, 1, 3]), x of sizes [1, 1, 8, 4]
    Expected: v = aten.view_copy(x, [1, 8, 1, 4])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if not _is_permute(node):
                continue
            source = node.args[0]
            if _is_permute(source):
                outer, inner = _order(node), _order(source)
                node.args = (source.args[0], [inner[dim] for dim in outer])
                changed = True
            changed |= _as_view(node)
        return changed


def _is_permute(node: object) -> bool:
    return (
        isinstance(node, Node)
        and node.op == "call_function"
        and (aten_op(node.target) is torch.ops.aten.permute_copy.default)
    )


def _order(node: Node) -> list[int]:
    order: Any = node.args[1]
    return [dim % len(order) for dim in order]


def _as_view(node: Node) -> bool:
    """Returns whether a permute only moves dims of size 1 of a row-major tensor, so that it equals a view."""
    source = node.args[0]
    val = meta.get_tensor(source) if isinstance(source, Node) else None
    if val is None or not all(isinstance(size, int) for size in val.shape) or not val.is_contiguous():
        return False
    order = _order(node)
    moved = [dim for dim in order if val.shape[dim] != 1]
    if moved != sorted(moved):
        return False
    node.target = ops.edge.aten.view_copy.default
    node.args = (source, [int(val.shape[dim]) for dim in order])
    return True
