"""The size of `masked_select` is bounded by what it selects from, broadcast with the mask."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import GraphModule
from torch.utils._sympy.value_ranges import ValueRanges

from rushlight.ir import meta
from rushlight.ir.sym import upper_bound
from rushlight.passes.base import GraphPass


class WidenSelections(GraphPass):
    """Sets the range of the symbol that counts the selected elements; the graph stays as it is.

    torch.export bounds it by the elements of `self`, which a larger mask repeats.
    """

    def rewrite(self, module: GraphModule) -> bool:
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.masked_select.default:
                _widen(meta.get_val(node).shape[0], [meta.get_val(arg).shape for arg in node.args])
        return False


def _widen(size: Any, shapes: list[Any]) -> None:
    if not isinstance(size, torch.SymInt) or not size.node.expr.is_Symbol:
        return
    most = upper_bound(math.prod(torch.broadcast_shapes(*shapes)))
    known = size.node.shape_env.var_to_range
    old = known[size.node.expr]
    if most is not None and upper_bound(size) is not None and most > old.upper:
        known[size.node.expr] = ValueRanges(old.lower, most)
