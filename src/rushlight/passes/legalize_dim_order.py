"""Converts inputs to row-major layout for operators whose kernels support only this layout."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import dim_order_ops as _dim_order_ops  # registers the operators
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops
from rushlight.ir.fake import Evaluator
from rushlight.ir.spec import dim_order_from_strides
from rushlight.passes.base import GraphPass, insert_call

assert _dim_order_ops.DIM_ORDER_OF_MEMORY_FORMAT

_ROW_MAJOR = (
    ops.edge.aten._adaptive_avg_pool2d.default,
    ops.edge.aten.avg_pool2d.default,
    ops.edge.aten.expand_copy.default,
    ops.edge.aten.mean.dim,
    ops.edge.aten.sum.dim_IntList,
)


class LegalizeDimOrderPass(GraphPass):
    """Before: aten.mean.dim(x), x channels last
    Expected: aten.mean.dim(_to_dim_order_copy(x, dim_order=[0, 1, 2, 3]))
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator: Evaluator | None = None
        copy = ops.edge.dim_order_ops._to_dim_order_copy.default
        changed = False
        for node in module.graph.nodes:
            if node.target not in _ROW_MAJOR or not isinstance(node.args[0], Node):
                continue
            source = node.args[0]
            val = meta.get_tensor(source)
            if val is None or _is_row_major(val):
                continue
            evaluator = evaluator or Evaluator.of(module)
            legal = insert_call(evaluator, node, copy, (source,), dim_order=list(range(val.dim())))
            meta.copy_origin(source, legal)
            node.args = (legal, *node.args[1:])
            changed = True
        return changed


def _is_row_major(val: torch.Tensor) -> bool:
    return dim_order_from_strides(val.stride()) == tuple(range(val.dim()))
