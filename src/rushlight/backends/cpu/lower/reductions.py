"""Lowers sums, means, variances, minima, maxima and cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Collection

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import (
    check_first_result_alone,
    operation,
    rank_of,
    shape_of,
    tensors_of,
)
from rushlight.backends.cpu.lower.products import sum_of_products
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.plan.sizes import same
from rushlight.backends.cpu.plan.tables import (
    BinaryFunction,
    CumulativeSum,
    Reduce,
    Reduction,
    UnaryFunction,
)
from rushlight.backends.cpu.plan.tensor import FLOAT16_TYPES, Tensor
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op, is_op

aten = torch.ops.aten


REDUCTIONS = {
    aten.sum.dim_IntList: Reduction.SUM,
    aten.mean.dim: Reduction.MEAN,
    aten.mean.default: Reduction.MEAN,
    aten.amax.default: Reduction.MAXIMUM,
    aten.amin.default: Reduction.MINIMUM,
    aten.max.dim: Reduction.MAXIMUM,
    aten.min.dim: Reduction.MINIMUM,
}


def reduce(lowering: Lowering, node: Node) -> None:
    """Lowers a sum, mean, maximum or minimum over some dimensions, or all."""
    x = lowering.tensor(node.args[0])
    reduction, axes, out = REDUCTIONS[aten_op(node.target)], _axes(node, x.rank), None  # type: ignore[index]
    if reduction is Reduction.SUM and len(axes) == 1:
        out = sum_of_products(lowering, node, *axes)
    if out is None:
        out = reduced(lowering, node, x, reduction)
    value = tensors_of(node)[0]
    result = out.view(tuple(lowering.symbols.register(size) for size in value.shape))
    assert result is not None
    if operation(node) in (aten.max.dim, aten.min.dim):
        lowering.set_tensors(node, [result])
    else:
        lowering.set_tensor(node, result)


def _axes(node: Node, rank: int) -> set[int]:
    given = None if is_op(node, aten.mean.default) else argument(node, 1)
    return {axis % rank for axis in ([given] if isinstance(given, int) else given or range(rank))}


def reduced(
    lowering: Lowering, node: Node, x: Tensor, reduction: Reduction, axes: Collection[int] | None = None
) -> Tensor:
    """Emits a reduction over the dimensions of the node or `axes`, which have size 1 in the returned result.

    The step reads the dimensions in the order [kept dimensions.., reduced dimensions.., one inner dimension],
    and writes them without the reduced dimensions. The inner dimension is a kept dimension with stride 1. If
    there is none, it has size 1. For example, a mean over h and w of channels-last images [n, c, h, w] reads
    [n, h, w, c] and writes [n, c], with c as the inner dimension.

    Args:
        lowering: the steps emitted so far.
        node: the reduction, which names the dimensions.
        x: the input.
        reduction: the function.
        axes: the dimensions; None for those of the node.
    """
    axes = _axes(node, x.rank) if axes is None else axes
    kept = [axis for axis in range(x.rank) if axis not in axes]
    inner = next((a for a in kept if same(x.strides[a], 1) and not same(x.sizes[a], 1)), None)
    outer = [axis for axis in kept if axis != inner]
    sizes = [1 if axis in axes else x.sizes[axis] for axis in range(x.rank)]
    order = [*outer, *sorted(axes), *([] if inner is None else [inner])]
    out = lowering.new_tensor(sizes, order)
    source = x.permute(order)
    target = _at_index_0(out, [*outer, *([] if inner is None else [inner])])
    if inner is None:
        source, target = source.unsqueeze(source.rank), target.unsqueeze(target.rank)
    step = Reduce(
        input=source,
        output=target,
        reduction=reduction,
        kept=len(outer),
        reduced=len(axes),
    )
    lowering.emit(step, node)
    return out


def variance(lowering: Lowering, node: Node) -> None:
    """Lowers a variance, or a variance and a mean, over some dimensions, or all.

    The first element is subtracted before the mean is computed, and the mean before the numbers are squared.
    So a large mean causes no cancellation, and the variance of equal numbers is exactly 0.
    """
    x = lowering.tensor(node.args[0])
    first = _first_element(x, _axes(node, x.rank))
    chain = ChainBuilder(lowering, node, x.sizes)
    chain.add(BinaryFunction.SUB, chain.operand(x), chain.operand(first))
    chain.finish()
    shifted = lowering.tensor(node)
    shifted_mean = reduced(lowering, node, shifted, Reduction.MEAN)
    chain = ChainBuilder(lowering, node, x.sizes)
    difference = chain.add(BinaryFunction.SUB, chain.operand(shifted), chain.operand(shifted_mean))
    chain.add(BinaryFunction.MUL, difference, difference)
    chain.finish()
    squares = reduced(lowering, node, lowering.tensor(node), Reduction.SUM)
    chain = ChainBuilder(lowering, node, squares.sizes)
    chain.add(UnaryFunction.AFFINE, chain.operand(squares), p=1 / _divisor(node))
    chain.finish()
    tensors = [lowering.tensor(node)]
    if is_op(node, aten.var_mean.correction):
        tensors.append(reduced(lowering, node, x, Reduction.MEAN))
    results = []
    for value, tensor in zip(tensors_of(node), tensors, strict=True):
        result = tensor.view(tuple(lowering.symbols.register(size) for size in value.shape))
        assert result is not None
        results.append(result)
    if is_op(node, aten.var_mean.correction):
        lowering.set_tensors(node, results)
    else:
        lowering.set_tensor(node, results[0])


def _first_element(tensor: Tensor, axes: Collection[int]) -> Tensor:
    """Returns a view of the elements at index 0 of the dimensions `axes`, which have size 1 in it."""
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(tensor.sizes))
    return Tensor(tensor.storage, sizes, tensor.strides, tensor.offset)


def _divisor(node: Node) -> float:
    """Returns the divisor of the sum of squares; 0 or less if it is unknown or the variance is undefined."""
    sizes = shape_of(node.args[0])  # type: ignore[arg-type]
    count = math.prod(sizes[axis] for axis in _axes(node, len(sizes)))
    correction = argument(node, 2)
    return count - (1 if correction is None else correction) if isinstance(count, int) else 0


def _at_index_0(tensor: Tensor, axes: list[int]) -> Tensor:
    """Returns a view with the dimensions `axes`, in this order, at index 0 of all other dimensions."""
    return Tensor(
        tensor.storage,
        tuple(tensor.sizes[a] for a in axes),
        tuple(tensor.strides[a] for a in axes),
        tensor.offset,
    )


def cumulative_sum(lowering: Lowering, node: Node) -> None:
    """Lowers a cumulative sum."""
    x = lowering.tensor(node.args[0])
    out = lowering.new_tensor(x.sizes)
    axis = int(node.args[1]) % x.rank  # type: ignore[arg-type]
    lowering.emit(CumulativeSum(input=x, output=out, axis=axis), node)
    lowering.set_tensor(node, out)


# Checks: each returns the reason why a node is refused, or None.


def check_reduce(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the result has a dtype other than float, or the input is a scalar."""
    if node.kwargs.get("dtype") not in (None, torch.float32, *FLOAT16_TYPES):
        return "the dtype of its result is not float32, float16 or bfloat16"
    return None if rank_of(node.args[0]) >= 1 else "its input is a scalar"


def check_extreme(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is a scalar."""
    return None if rank_of(node.args[0]) >= 1 else "its input is a scalar"


def check_extreme_with_indices(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is a scalar, or the indices are used."""
    return check_extreme(node, constants) or check_first_result_alone(node)


def check_variance(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is a scalar, or the number of elements is dynamic or too small."""
    if rank_of(node.args[0]) < 1:
        return "its input is a scalar"
    return None if _divisor(node) > 0 else "its number of elements is dynamic, or at most the correction"


ROWS: dict[object, Row] = {
    aten.sum.dim_IntList: Row(check_reduce, reduce),
    aten.mean.dim: Row(check_reduce, reduce),
    aten.mean.default: Row(check_reduce, reduce),
    aten.amax.default: Row(check_extreme, reduce),
    aten.amin.default: Row(check_extreme, reduce),
    aten.max.dim: Row(check_extreme_with_indices, reduce),
    aten.min.dim: Row(check_extreme_with_indices, reduce),
    aten.var.correction: Row(check_variance, variance),
    aten.var_mean.correction: Row(check_variance, variance),
    aten.cumsum.default: Row(check_reduce, cumulative_sum),
}
