"""Passes for arithmetic operators and scalars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule
from typing_extensions import override

from rushlight.ir import meta as keys
from rushlight.ir.edge_ops import EdgeOpOverload, Overload, ops, to_edge_op
from rushlight.passes.base import GraphPass
from rushlight.passes.export_pass import Argument, ExportPass, NodeMetadata, ProxyValue

aten = torch.ops.aten


class MeanToSumDivPass(ExportPass):
    """Replaces a mean over dimensions by a sum and a division.

    Before: y = mean.dim(x, [0]) of a [4, 3] x. Expected: y = div(sum.dim_IntList(x, [0]), full([1], 4.0))
    """

    @override
    def call_operator(
        self, op: Any, args: tuple[Argument, ...], kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        if op not in (aten.mean.dim, ops.edge.aten.mean.dim):
            return super().call_operator(op, args, kwargs, meta)
        is_edge = isinstance(op, EdgeOpOverload)
        tensor = args[0].to_tensor()
        dims = args[1] or range(tensor.dim())
        count = float(math.prod(int(tensor.shape[dim]) for dim in dims))
        total = super().call_operator(_dialect(aten.sum.dim_IntList, is_edge), args, kwargs, meta)
        dtype = kwargs.get("dtype") or tensor.dtype
        full = _dialect(aten.full.default, is_edge)
        divisor = super().call_operator(full, ([1], count), {"dtype": dtype}, meta)
        return super().call_operator(_dialect(aten.div.Tensor, is_edge), (total, divisor), {}, meta)


class ReplaceScalarWithTensorArgPass(ExportPass):
    """Replaces number operands of binary operators by tensors with one element.

    Before: y = add.Scalar(x, 2). Expected: y = add.Tensor(x, full([1], 2.0))

    Args:
        scalar_to_tensor_ops: maps operators with a number to operators with a tensor; None means
            `default_ops`.
    """

    default_ops: ClassVar[dict[Overload, Overload]] = {
        dialect(getattr(aten, name).Scalar): dialect(getattr(aten, name).Tensor)
        for name in ("add", "sub", "mul", "div")
        for dialect in (to_edge_op, lambda op: op)
    }

    def __init__(self, scalar_to_tensor_ops: Mapping[Overload, Overload] | None = None) -> None:
        super().__init__()
        given = self.default_ops if scalar_to_tensor_ops is None else scalar_to_tensor_ops
        self.scalar_to_tensor_ops = dict(given)

    @override
    def call_operator(
        self, op: Any, args: tuple[Argument, ...], kwargs: dict[str, Argument], meta: NodeMetadata
    ) -> ProxyValue:
        target = self.scalar_to_tensor_ops.get(op)
        if target is None or "alpha" in kwargs:
            return super().call_operator(op, args, kwargs, meta)
        tensor = args[0].to_tensor()
        full = _dialect(aten.full.default, isinstance(op, EdgeOpOverload))
        options = {"dtype": tensor.dtype, "device": tensor.device}
        number = super().call_operator(full, ((1,), float(args[1])), options, meta)
        if len(args) == 3:
            kwargs = {**kwargs, "alpha": args[2]}
        return super().call_operator(target, (args[0], number), kwargs, meta)


class Rank0ToRank1Pass(GraphPass):
    """Changes the shape of inputs without dimensions to [1, 1], in their metadata."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            tensor = keys.get_tensor(node) if node.op == "placeholder" else None
            if tensor is not None and tensor.dim() == 0:
                keys.set_val(node, tensor.reshape(1, 1))
                changed = True
        return changed


def _dialect(op: torch._ops.OpOverload, is_edge: bool) -> Overload:
    return to_edge_op(op) if is_edge else op
