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
    change the dtype promotion. Beside tensors of double precision, the constant has double precision too.
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
                    constant = torch.tensor(value, dtype=dtype_beside(node, value))
                    return add_constant(module, constant, node, evaluator.like(constant))
                return value

            changed |= map_arguments(node, node.target, lift)
        return changed


def dtype_beside(node: Node, value: bool | int | float | complex) -> torch.dtype | None:
    """Returns the dtype of the tensor of rank 0 that replaces a number among the arguments of a node.

    Args:
        node: the node.
        value: the number, or another number of the same Python type.

    Returns:
        The dtype; None means the default dtype for numbers of this type.
    """
    tensors = [val for val in map(meta.get_tensor, node.all_input_nodes) if val is not None]
    if not tensors:
        return None
    dtype = functools.reduce(torch.promote_types, [torch.result_type(val, value) for val in tensors])
    if all(val.dim() == 0 for val in tensors):
        return dtype
    is_double = dtype in (torch.float64, torch.complex128)
    if is_double and isinstance(value, float):
        return torch.float64
    return torch.complex128 if is_double and isinstance(value, complex) else None
