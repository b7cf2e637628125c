"""Lowers sums, means, minima, maxima and cumulative sums."""

from __future__ import annotations

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import rank_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.plan.sizes import same
from rushlight.backends.cpu.plan.tables import (
    CumulativeSum,
    Reduce,
    Reduction,
)
from rushlight.backends.cpu.plan.tensor import FLOAT16_TYPES, Tensor
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten


REDUCTIONS = {
    aten.sum.dim_IntList: Reduction.SUM,
    aten.mean.dim: Reduction.MEAN,
    aten.amax.default: Reduction.MAXIMUM,
    aten.amin.default: Reduction.MINIMUM,
}


def reduce(lowering: Lowering, node: Node) -> None:
    """Lowers a sum, mean, maximum or minimum over some dimensions, or all."""
    x = lowering.tensor(node.args[0])
    given = argument(node, 1)
    axes = {axis % x.rank for axis in ([given] if isinstance(given, int) else given or range(x.rank))}
    kept = [axis for axis in range(x.rank) if axis not in axes]
    inner = next((a for a in kept if same(x.strides[a], 1) and not same(x.sizes[a], 1)), None)
    outer = [axis for axis in kept if axis != inner]
    sizes = [1 if axis in axes else x.sizes[axis] for axis in range(x.rank)]
    order = [*outer, *sorted(axes), *([] if inner is None else [inner])]
    out = lowering.new(sizes, order)
    source = x.permute(order)
    target = _drop(out, [*outer, *([] if inner is None else [inner])])
    if inner is None:
        source, target = source.with_one(source.rank), target.with_one(target.rank)
    step = Reduce(
        input=source,
        output=target,
        reduction=REDUCTIONS[aten_op(node.target)],  # type: ignore[index]
        kept=len(outer),
        reduced=len(axes),
    )
    lowering.emit(step, node)
    result = out.reshape(lowering.sizes(node))
    assert result is not None
    lowering.set(node, result)


def _drop(tensor: Tensor, axes: list[int]) -> Tensor:
    """A view of the first element of every dimension that is not in `axes`."""
    return Tensor(
        tensor.storage,
        tuple(tensor.sizes[a] for a in axes),
        tuple(tensor.strides[a] for a in axes),
        tensor.offset,
    )


def cumulative_sum(lowering: Lowering, node: Node) -> None:
    """Lowers a cumulative sum."""
    x = lowering.tensor(node.args[0])
    out = lowering.new(x.sizes)
    axis = int(node.args[1]) % x.rank  # type: ignore[arg-type]
    lowering.emit(CumulativeSum(input=x, output=out, axis=axis), node)
    lowering.set(node, out)


# ---- Checks: each returns the reason why a node is refused, or None ----


def check_reduce(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the result has a dtype other than float, or the input is a scalar."""
    if node.kwargs.get("dtype") not in (None, torch.float32, *FLOAT16_TYPES):
        return "its result has another type"
    return None if rank_of(node.args[0]) >= 1 else "its input is a scalar"


def check_extreme(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is a scalar."""
    return None if rank_of(node.args[0]) >= 1 else "its input is a scalar"


ROWS: dict[object, Row] = {
    aten.sum.dim_IntList: Row(check_reduce, reduce),
    aten.mean.dim: Row(check_reduce, reduce),
    aten.amax.default: Row(check_extreme, reduce),
    aten.amin.default: Row(check_extreme, reduce),
    aten.cumsum.default: Row(check_reduce, cumulative_sum),
}
