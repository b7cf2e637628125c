"""Converts a symbolic scalar with `scalar_tensor` if the schema requires a tensor."""

from __future__ import annotations

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.ir.sym import bounds
from rushlight.passes.base import GraphPass, insert_call, map_arguments
from rushlight.passes.scalar_to_tensor import dtype_beside


class SymToTensorPass(GraphPass):
    """Before: aten.add.Tensor(x, sym_size)
    Expected: aten.add.Tensor(x, aten.scalar_tensor(sym_size, dtype=torch.int32))

    A number that may not fit in 32 bits becomes an int64 tensor. Beside tensors of rank 0 or of double
    precision, the dtype is that of `ScalarToTensorPass`.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function" or not isinstance(node.target, OpOverload):
                continue

            def lift(value: Argument, argument: torch._C.Argument, node: Node = node) -> Argument:
                if not isinstance(value, Node) or not isinstance(argument.type, torch.TensorType):
                    return value
                dtype = _dtype(node, meta.get_val(value))
                if dtype is None:
                    return value
                return insert_call(
                    evaluator, node, torch.ops.aten.scalar_tensor.default, (value,), dtype=dtype
                )

            changed |= map_arguments(node, node.target, lift)
        return changed


def _dtype(node: Node, number: object) -> torch.dtype | None:
    """Returns the dtype of the tensor for a symbolic number that a node reads; None for other values."""
    if isinstance(number, torch.SymInt):
        least, most = bounds(number)
        limits = torch.iinfo(torch.int32)
        is_small = limits.min <= least and most is not None and most <= limits.max
        return dtype_beside(node, 0) or (torch.int32 if is_small else torch.int64)
    if isinstance(number, torch.SymFloat):
        return dtype_beside(node, 0.0) or torch.float32
    return torch.bool if isinstance(number, torch.SymBool) else None
