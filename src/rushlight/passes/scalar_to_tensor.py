"""Replaces a Python number by a constant tensor of rank 0 if the schema requires a tensor."""

from __future__ import annotations

import functools

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, add_constant, map_arguments


class ScalarToTensorPass(GraphPass):
    """Before: aten.mul.Tensor(x, 2.5). Expected: aten.mul.Tensor(x, _tensor_constant0), float32 of rank 0.

    If all other tensors have rank 0, the constant has the dtype of the result. With its own dtype, it would
    change the dtype promotion.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function" or not isinstance(node.target, OpOverload):
                continue

            def lift(value: Argument, argument: torch._C.Argument, node: Node = node) -> Argument:
                if isinstance(value, (bool, int, float, complex)) and isinstance(
                    argument.type, torch.TensorType
                ):
                    constant = torch.tensor(value, dtype=_dtype_beside(node, value))
                    return add_constant(module, constant, node, evaluator.like(constant))
                return value

            changed |= map_arguments(node, node.target, lift)
        return changed


def _dtype_beside(node: Node, value: bool | int | float | complex) -> torch.dtype | None:
    """Returns the dtype for a number if all tensors have rank 0. None means the own dtype of the number."""
    tensors = [val for val in map(meta.get_tensor, node.all_input_nodes) if val is not None]
    if not tensors or any(val.dim() > 0 for val in tensors):
        return None
    dtypes = [torch.result_type(val, value) for val in tensors]
    return functools.reduce(torch.promote_types, dtypes)
