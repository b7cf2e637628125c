"""Converts the operands of arithmetic on different dtypes, so that kernels get one dtype."""

from __future__ import annotations

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call, map_arguments

_PROMOTED = {
    torch.ops.aten.add.Tensor: KIND.DEFAULT,
    torch.ops.aten.sub.Tensor: KIND.DEFAULT,
    torch.ops.aten.mul.Tensor: KIND.DEFAULT,
    torch.ops.aten.minimum.default: KIND.DEFAULT,
    torch.ops.aten.div.Tensor: KIND.INT_TO_FLOAT,
    torch.ops.aten.div.Tensor_mode: KIND.DEFAULT,
}


class PromoteDtypesPass(GraphPass):
    """Before: aten.add.Tensor(float x, int n)
    Expected: aten.add.Tensor(x, aten._to_copy(n, dtype=torch.float32))
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.nodes:
            kind = _PROMOTED.get(node.target)
            if kind is None or len(node.args) < 2:
                continue
            if node.target is torch.ops.aten.div.Tensor_mode and node.kwargs.get("rounding_mode") is None:
                kind = KIND.INT_TO_FLOAT
            dtype = _result_dtype(node, kind)

            def convert(
                value: Argument, argument: torch._C.Argument, node: Node = node, dtype: torch.dtype = dtype
            ) -> Argument:
                val = meta.get_tensor(value) if isinstance(value, Node) else None
                if val is None or val.dtype == dtype or not isinstance(argument.type, torch.TensorType):
                    return value
                return insert_call(evaluator, node, torch.ops.aten._to_copy.default, (value,), dtype=dtype)

            changed |= map_arguments(node, node.target, convert)
        return changed


def _result_dtype(node: Node, kind: KIND) -> torch.dtype:
    vals = [meta.get_val(arg) for arg in node.args if isinstance(arg, Node)]
    dtypes = {val.dtype for val in vals if isinstance(val, torch.Tensor)}
    if len(dtypes) == 1 and len(vals) == len(node.args):
        dtype: torch.dtype = next(iter(dtypes))
        if kind is KIND.DEFAULT or dtype.is_floating_point:
            return dtype
    result: torch.dtype = elementwise_dtypes(*vals, type_promotion_kind=kind)[1]
    return result
