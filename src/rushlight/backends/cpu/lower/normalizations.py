"""Lowers layer, RMS, group and instance norms, and softmax."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import check_first_result_alone, rank_of
from rushlight.backends.cpu.lower.reductions import reduced
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import (
    BinaryFunction,
    GroupNormStatistics,
    Normalize,
    Reduction,
    Softmax,
    UnaryFunction,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten


def rows_of(lowering: Lowering, node: Node, x: Tensor, length: int = 1) -> tuple[Tensor, Tensor]:
    """Returns an input and a new output of a step as [..., n]; a row is the last `length` dimensions of `x`.

    If the rows are evenly spaced, the shape is [rows, n].

    Args:
        lowering: receives a step that copies `x` if the dimensions of a row cannot be merged.
        node: the node that the step computes.
        x: the input. Its last dimension is innermost in memory.
        length: the number of dimensions of a row.
    """
    out = lowering.new_tensor(x.sizes, dtype=x.dtype)
    rows = (*x.sizes[: x.rank - length], product(x.sizes[x.rank - length :]))
    flat = (product(rows[:-1]), rows[-1])
    view = x.view(flat) or x.view(rows)
    if view is None:
        view = lowering.contiguous(x, node).view(flat)
    assert view is not None
    target = out.view(view.sizes)
    assert target is not None
    return Tensor(view.storage, view.sizes, view.strides, view.offset), target


def _row(lowering: Lowering, item: object) -> Tensor | None:
    """Returns the values of a constant as a flat float32 tensor."""
    data = lowering.constant_value(item)
    return None if data is None else constant(data.float().flatten())


def _normalize(
    lowering: Lowering, node: Node, shape: Any, weight: object, bias: object, eps: float, centers: bool
) -> Tensor:
    """Emits a norm over the last dimensions of the first argument of a node.

    Args:
        lowering: the steps emitted so far.
        node: the norm.
        shape: the sizes of the normalized dimensions.
        weight: a constant factor for each element of a row; None for 1.
        bias: a constant summand for each element of a row; None for 0.
        eps: the number that is added to the variance, or to the mean of the squares.
        centers: whether the mean is subtracted (layer norm), or not (RMS norm).

    Returns:
        The result, with the sizes of the argument.
    """
    source, target = rows_of(
        lowering, node, lowering.with_innermost(lowering.tensor(node.args[0]), -1, node), len(shape)
    )
    step = Normalize(
        input=source,
        weight=_row(lowering, weight),
        bias=_row(lowering, bias),
        output=target,
        length=int(source.sizes[-1]),
        subtracts_mean=centers,
        epsilon=eps,
    )
    lowering.emit(step, node)
    view = target.view(lowering.tensor(node.args[0]).sizes)
    assert view is not None
    return view


def layer_norm(lowering: Lowering, node: Node) -> None:
    """Lowers layer norm over the last dimensions."""
    eps = float(argument(node, 4, 1e-5))
    lowering.set_tensor(
        node, _normalize(lowering, node, node.args[1], argument(node, 2), argument(node, 3), eps, True)
    )


def native_layer_norm(lowering: Lowering, node: Node) -> None:
    """Lowers native_layer_norm; only its first result is used."""
    _, shape, weight, bias, eps = node.args
    lowering.set_tensors(node, [_normalize(lowering, node, shape, weight, bias, float(eps), True)])  # type: ignore[arg-type]


def rms_norm(lowering: Lowering, node: Node) -> None:
    """Lowers RMS norm; the default epsilon is the machine epsilon of float32."""
    eps = argument(node, 3)
    value = float(torch.finfo(torch.float32).eps if eps is None else eps)
    lowering.set_tensor(node, _normalize(lowering, node, node.args[1], argument(node, 2), None, value, False))


def native_group_norm(lowering: Lowering, node: Node) -> None:
    """Lowers group norm.

    If channels are innermost in memory, one step computes the scale and shift of each channel, and a chain
    applies both. Otherwise each group is normalized as a row, and a chain applies weight and bias.
    """
    source, weight, bias, _, _, _, groups, eps = node.args
    out = _group_norm(lowering, node, source, weight, bias, int(groups), float(eps))  # type: ignore[arg-type]
    lowering.set_tensors(node, [out])


def instance_norm(lowering: Lowering, node: Node) -> None:
    """Lowers instance norm with statistics of its input to a group norm with one channel in each group."""
    source, weight, bias = node.args[:3]
    channels = lowering.tensor(source).sizes[1]
    assert isinstance(channels, int)
    eps = float(argument(node, 7, 1e-5))
    lowering.set_tensor(node, _group_norm(lowering, node, source, weight, bias, channels, eps))


def _group_norm(
    lowering: Lowering, node: Node, source: object, weight: object, bias: object, groups: int, eps: float
) -> Tensor:
    """Emits a group norm, as `native_group_norm` describes it.

    Args:
        lowering: the steps emitted so far.
        node: the norm.
        source: the input [n, c, ...].
        weight: a constant factor for each channel; None for 1.
        bias: a constant summand for each channel; None for 0.
        groups: the number of groups of channels.
        eps: the number that is added to the variance.

    Returns:
        The result, with the sizes of the input.
    """
    image = _as_image(lowering.tensor(source))
    if image is not None:
        return _scale_groups(lowering, node, source, image, weight, bias, groups, eps)
    x = lowering.contiguous(lowering.tensor(source), node)
    sizes = x.sizes
    assert isinstance(sizes[1], int)
    row = product((sizes[1] // groups, *sizes[2:]))
    flat = lowering.reshape(x, (product((sizes[0], groups)), row), node)
    out = lowering.new_tensor(sizes)
    target = out.view(flat.sizes)
    assert target is not None
    lowering.emit(Normalize(input=flat, output=target, length=int(row), epsilon=eps), node)
    shape = (-1, *(1,) * (x.rank - 2))
    for function, operand in ((BinaryFunction.MUL, weight), (BinaryFunction.ADD, bias)):
        data = lowering.constant_value(operand)
        if data is None:
            continue
        chain = ChainBuilder(lowering, node, sizes)
        chain.add(function, chain.operand(out), chain.operand(constant(data.float().view(shape))))
        chain.finish()
        out = lowering.tensor(node)
    return out


def _as_image(x: Tensor) -> Tensor | None:
    """Returns the tensor as a view [n, h, w, c] if its memory is channels last; otherwise None."""
    if x.rank not in (3, 4, 5) or same(x.sizes[1], 1) or not same(x.strides[1], 1):
        return None
    for inner in range(3, x.rank):
        if not same(x.strides[inner - 1], x.sizes[inner] * x.strides[inner]):
            return None
    if x.rank == 5:
        return x.permute((0, 2, 3, 4, 1)).view((x.sizes[0], x.sizes[2], product(x.sizes[3:]), x.sizes[1]))
    return x.as_image()


def _scale_groups(
    lowering: Lowering,
    node: Node,
    source: object,
    image: Tensor,
    weight: object,
    bias: object,
    groups: int,
    eps: float,
) -> Tensor:
    """Emits a group norm of channels-last memory: a scale and a shift for each channel, and a chain.

    The arguments are those of `_group_norm`. `image` is the input as a view [n, h, w, c].
    """
    x = lowering.tensor(source)
    scale, shift = (lowering.new_tensor((x.sizes[0], x.sizes[1])) for _ in range(2))
    step = GroupNormStatistics(
        input=image,
        weight=_row(lowering, weight),
        bias=_row(lowering, bias),
        scale=scale,
        shift=shift,
        groups=groups,
        channels=int(x.sizes[1]),
        epsilon=eps,
    )
    lowering.emit(step, node)
    chain = ChainBuilder(lowering, node, x.sizes)
    while scale.rank < x.rank:
        scale, shift = scale.unsqueeze(scale.rank), shift.unsqueeze(shift.rank)
    # take() could merge the chain that computes the source, but the statistics also read the source.
    scaled = chain.add(BinaryFunction.MUL, chain.operand(x), chain.operand(scale))
    chain.add(BinaryFunction.ADD, scaled, chain.operand(shift))
    chain.finish()
    return lowering.tensor(node)


_MIN_PLANE = 16  # elements


def _has_wide_planes(x: Tensor, axis: int) -> bool:
    """Returns whether another dimension than `axis` is innermost in memory, and fills vectors."""
    sizes = [x.sizes[i] for i in range(x.rank) if i != axis and same(x.strides[i], 1)]
    return not same(x.strides[axis], 1) and any(isinstance(n, int) and n >= _MIN_PLANE for n in sizes)


def _softmax_across(lowering: Lowering, node: Node, x: Tensor) -> None:
    """Emits softmax or log_softmax along a dimension that is not innermost as reductions and chains.

    Each step computes whole vectors of adjacent elements, so that no copy makes the dimension innermost.
    """
    largest = reduced(lowering, node, x, Reduction.MAXIMUM)
    chain = ChainBuilder(lowering, node, x.sizes)
    shifted = chain.add(BinaryFunction.SUB, chain.operand(x), chain.operand(largest))
    chain.add(UnaryFunction.EXP, shifted)
    chain.finish()
    powers = lowering.tensor(node)
    total = reduced(lowering, node, powers, Reduction.SUM)
    if "log_softmax" not in str(node.target):
        chain = ChainBuilder(lowering, node, x.sizes)
        chain.add(BinaryFunction.DIV, chain.operand(powers), chain.operand(total))
        chain.finish()
        return
    chain = ChainBuilder(lowering, node, total.sizes)
    chain.add(UnaryFunction.LOG, chain.operand(total))
    chain.finish()
    logarithm = lowering.tensor(node)
    chain = ChainBuilder(lowering, node, x.sizes)
    shifted = chain.add(BinaryFunction.SUB, chain.operand(x), chain.operand(largest))
    chain.add(BinaryFunction.SUB, shifted, chain.operand(logarithm))
    chain.finish()


def softmax(lowering: Lowering, node: Node) -> None:
    """Lowers softmax and log_softmax to a step on rows; a row is the given dimension.

    If other dimensions are innermost in memory, several steps compute the softmax across rows.
    """
    x = lowering.tensor(node.args[0])
    axis = int(node.args[1]) % max(x.rank, 1)  # type: ignore[arg-type]
    if _has_wide_planes(x, axis):
        _softmax_across(lowering, node, x)
        return
    order = [*(i for i in range(x.rank) if i != axis), axis]
    inner = lowering.with_innermost(x, axis, node).permute(order)
    flat = (product(inner.sizes[:-1]), inner.sizes[-1])
    source = inner.view(flat)
    if source is None:
        source = lowering.contiguous(inner, node).view(flat)
    out = lowering.new_tensor(inner.sizes)
    target = out.view(flat)
    assert source is not None and target is not None
    is_logarithm = "log_softmax" in str(node.target)
    lowering.emit(Softmax(input=source, output=target, is_logarithm=is_logarithm), node)
    back = [order.index(i) for i in range(x.rank)]
    lowering.set_tensor(node, out.permute(back))


# Checks: each returns the reason why a node is refused, or None.


def check_native_layer_norm(node: Node, constants: Constants) -> str | None:
    """Refuses the node if `check_norm` refuses it, or if a result other than the first one is used."""
    return check_norm(node, constants) or check_first_result_alone(node)


def check_group_norm(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the image has a dynamic or empty size, or weights are not constant."""
    return _check_images(node, constants) or check_first_result_alone(node)


def check_instance_norm(node: Node, constants: Constants) -> str | None:
    """Refuses the node for stored statistics, a dynamic or empty image, or weights that are not constant."""
    if not argument(node, 5, True):
        return "its statistics are not those of its input"
    return _check_images(node, constants)


def _check_images(node: Node, constants: Constants) -> str | None:
    source = meta.get_tensor(node.args[0])  # type: ignore[arg-type]
    assert source is not None
    if not all(isinstance(size, int) for size in source.shape[1:]) or 0 in source.shape[1:]:
        return "its images are empty or have a dynamic size"
    if not all(a is None or constants.is_constant(a) for a in node.args[1:3]):
        return "its weights are not constant"
    return None


def check_norm(node: Node, constants: Constants) -> str | None:
    """Refuses the node if rows have a dynamic length, or weights are not constant."""
    shape: Any = node.args[1]
    if not all(isinstance(size, int) for size in shape):
        return "its rows have a dynamic length"
    weights = [argument(node, 2)] + ([argument(node, 3)] if "layer_norm" in str(node.target) else [])
    return (
        None
        if all(w is None or constants.is_constant(w) for w in weights)
        else "its weights are not constant"
    )


def check_softmax(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is a scalar."""
    return None if rank_of(node.args[0]) >= 1 else "its input is a scalar"


ROWS: dict[object, Row] = {
    aten.layer_norm.default: Row(check_norm, layer_norm),
    aten.rms_norm.default: Row(check_norm, rms_norm),
    aten.native_layer_norm.default: Row(check_native_layer_norm, native_layer_norm),
    aten.instance_norm.default: Row(check_instance_norm, instance_norm),
    aten.native_group_norm.default: Row(check_group_norm, native_group_norm),
    aten._softmax.default: Row(check_softmax, softmax),
    aten._log_softmax.default: Row(check_softmax, softmax),
    aten.softmax.int: Row(None, softmax),
}
