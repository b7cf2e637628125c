"""Converts operands of different dtypes to the promoted dtype, so that a kernel gets one dtype."""

from __future__ import annotations

import operator

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
    torch.ops.aten.hypot.default: KIND.DEFAULT,
    torch.ops.aten.div.Tensor: KIND.INT_TO_FLOAT,
    torch.ops.aten.div.Tensor_mode: KIND.DEFAULT,
}


class PromoteDtypesPass(GraphPass):
    """Before: aten.add.Tensor(float x, int n)
    Expected: aten.add.Tensor(x, aten._to_copy(n, dtype=torch.float32))

    A layer norm of 16-bit activations with float32 weights computes in float32, as in eager PyTorch; its
    results are converted back.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if node.target is torch.ops.aten.native_layer_norm.default:
                changed |= _promote_layer_norm(evaluator, node)
                continue
            kind = _PROMOTED.get(node.target)
            if kind is None or len(node.args) < 2:
                continue
            if node.target is torch.ops.aten.div.Tensor_mode and node.kwargs.get("rounding_mode") is None:
                kind = KIND.INT_TO_FLOAT
            changed |= _convert_tensors(evaluator, node, _result_dtype(node, kind))
        return changed


def _convert_tensors(evaluator: Evaluator, node: Node, dtype: torch.dtype) -> bool:
    """Converts tensor arguments of a node to `dtype`. Returns whether an argument had another dtype."""

    def convert(value: Argument, argument: torch._C.Argument) -> Argument:
        val = meta.get_tensor(value) if isinstance(value, Node) else None
        tensor_type = (
            argument.type.getElementType() if argument.type.kind() == "OptionalType" else argument.type
        )
        if val is None or val.dtype == dtype or not isinstance(tensor_type, torch.TensorType):
            return value
        return insert_call(evaluator, node, torch.ops.aten._to_copy.default, (value,), dtype=dtype)

    assert isinstance(node.target, torch._ops.OpOverload)
    return map_arguments(node, node.target, convert)


def _promote_layer_norm(evaluator: Evaluator, node: Node) -> bool:
    """Computes a layer norm in the promoted dtype of its arguments. Returns whether the dtypes differed."""
    dtypes = {
        val.dtype for arg in node.args if isinstance(arg, Node) and (val := meta.get_tensor(arg)) is not None
    }
    if len(dtypes) < 2:
        return False
    assert isinstance(node.target, torch._ops.OpOverload)
    before = meta.get_val(node)
    _convert_tensors(evaluator, node, max(dtypes, key=lambda dtype: dtype.itemsize))
    meta.set_val(node, evaluator.value(node.target, node.args, node.kwargs))
    for user in list(node.users):
        assert user.target is operator.getitem
        index = user.args[1]
        meta.set_val(user, meta.get_val(node)[index])
        if meta.get_val(user).dtype == before[index].dtype:
            continue
        converted = insert_call(
            evaluator, user.next, torch.ops.aten._to_copy.default, (user,), dtype=before[index].dtype
        )
        meta.copy_origin(user, converted)
        for reader in [reader for reader in user.users if reader is not converted]:
            reader.replace_input_with(user, converted)
    return True


def _result_dtype(node: Node, kind: KIND) -> torch.dtype:
    vals = [meta.get_val(arg) for arg in node.args if isinstance(arg, Node)]
    dtypes = {val.dtype for val in vals if isinstance(val, torch.Tensor)}
    if len(dtypes) == 1 and len(vals) == len(node.args):
        dtype: torch.dtype = next(iter(dtypes))
        if kind is KIND.DEFAULT or dtype.is_floating_point:
            return dtype
    result: torch.dtype = elementwise_dtypes(*vals, type_promotion_kind=kind)[1]
    return result
