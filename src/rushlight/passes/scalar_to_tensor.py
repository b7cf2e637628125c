"""Replaces a Python number by a constant tensor of rank 0 if the schema requires a tensor."""

from __future__ import annotations

import functools
import math

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, add_constant, insert_call, map_arguments

aten = torch.ops.aten


class ScalarToTensorPass(GraphPass):
    """Before: aten.mul.Tensor(x, 2.5). Expected: aten.mul.Tensor(x, _tensor_constant0), float32 of rank 0.

    If all other tensors have rank 0, the constant has the dtype of the result. With its own dtype, it would
    change the dtype promotion. Beside tensors of double precision, the constant has double precision too.

    A float16 tensor is multiplied in float32 by a number that float16 cannot hold, such as -1e9.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function" or not isinstance(node.target, OpOverload):
                continue
            if node.target in (aten.mul.Tensor, aten.div.Tensor) and _exceeds_float16(node):
                _compute_in_float32(evaluator, node)

            def lift(value: Argument, argument: torch._C.Argument, node: Node = node) -> Argument:
                if isinstance(value, (bool, int, float, complex)) and isinstance(
                    argument.type, torch.TensorType
                ):
                    dtype = dtype_beside(node, value)
                    if isinstance(value, int) and dtype is not None:  # 200 wraps to -56 in int8.
                        constant = torch.tensor(value, dtype=torch.int64).to(dtype)
                    else:
                        constant = torch.tensor(value, dtype=dtype)
                    return add_constant(module, constant, node, evaluator.like(constant))
                return value

            changed |= map_arguments(node, node.target, lift)
        return changed


def _exceeds_float16(node: Node) -> bool:
    """Whether a float16 result depends on a number that float16 would make infinite, subnormal or zero."""
    val = meta.get_tensor(node)
    return (
        val is not None
        and val.dtype == torch.float16
        and any(
            isinstance(arg, (int, float)) and not 2.0**-14 <= abs(arg) < 65520 and 0 < abs(arg) < math.inf
            for arg in node.args
        )
    )


def _compute_in_float32(evaluator: Evaluator, node: Node) -> None:
    """Converts the tensors of a node to float32 and its result to float16."""

    def converted(arg: Argument) -> Argument:
        if not isinstance(arg, Node):
            return arg
        return insert_call(evaluator, node, aten._to_copy.default, (arg,), dtype=torch.float32)

    node.args = tuple(converted(arg) for arg in node.args)
    assert isinstance(node.target, OpOverload)
    meta.set_val(node, evaluator.value(node.target, node.args, node.kwargs))
    users = list(node.users)
    back = insert_call(evaluator, node.next, aten._to_copy.default, (node,), dtype=torch.float16)
    meta.copy_origin(node, back)
    for user in users:
        user.replace_input_with(node, back)


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
