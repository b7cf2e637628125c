"""Matrix products, norms, softmax, reductions."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lowering import ChainBuilder, Lowering, rule
from rushlight.backends.cpu.plan.node import Convolution
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import (
    BinaryFunction,
    Gather,
    GroupNormStatistics,
    MatMul,
    Normalize,
    Reduce,
    Reduction,
    Softmax,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant, stored
from rushlight.backends.cpu.rules_attention import four, written_out_attention
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten


def product_of(
    lowering: Lowering,
    node: Node,
    x: Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stored: torch.dtype | None = None,
) -> Tensor:
    """x [.., k] times the transpose of weight [n, k], plus bias [n]; a new tensor, in row-major order.

    stored: the type in which the weight is stored, by default what the weight's own says.
    """
    sizes = (*x.sizes[:-1], weight.shape[0])
    rows = product(x.sizes[:-1])
    inner = lowering.with_inner(x, x.rank - 1, node)
    flat = lowering.reshaped(inner, (1, 1, rows, x.sizes[-1]), node)
    out = lowering.new(sizes)
    view = out.reshape((1, 1, rows, sizes[-1]))
    assert view is not None
    step = Convolution(
        input=flat,
        output=view,
        weight=weight.detach().float()[:, :, None, None],
        bias=None if bias is None else bias.detach().float(),
        stored=lowering.stored_dtype(weight) if stored is None else stored,
        rounds_input=weight.dtype is torch.bfloat16,
        is_linear=True,
    )
    lowering.emit(step, node)
    return out


def _product(
    lowering: Lowering, node: Node, source: Any, weight: torch.Tensor, bias: torch.Tensor | None
) -> None:
    lowering.set(node, product_of(lowering, node, lowering.tensor(source), weight, bias))


@rule(aten.linear.default)
def linear(lowering: Lowering, node: Node) -> None:
    weight = lowering.constant_value(node.args[1])
    assert weight is not None
    _product(lowering, node, node.args[0], weight, lowering.constant_value(argument(node, 2)))


@rule(aten.addmm.default)
def addmm(lowering: Lowering, node: Node) -> None:
    bias = lowering.constant_value(node.args[0])
    weight = lowering.constant_value(node.args[2])
    assert weight is not None
    _product(lowering, node, node.args[1], weight.t(), bias)


@rule(aten.mm.default, aten.bmm.default, aten.matmul.default)
def matmul(lowering: Lowering, node: Node) -> None:
    weight = lowering.constant_value(node.args[1])
    if weight is not None and weight.dim() == 2:
        _product(lowering, node, node.args[0], weight.t(), None)
        return
    if written_out_attention(lowering, node):
        return
    a, b = lowering.tensor(node.args[0]), lowering.tensor(node.args[1])
    sizes = lowering.sizes(node)
    out = lowering.new(sizes)
    batch = sizes[:-2]
    a = lowering.with_inner(a, a.rank - 1, node).expand((*batch, *a.sizes[-2:]))
    b = b.expand((*batch, *b.sizes[-2:]))
    if not same(b.strides[-1], 1) and not same(b.strides[-2], 1):
        b = lowering.with_inner(b, b.rank - 1, node)
    lowering.emit(MatMul(a=four(a), b=four(b), output=four(out)), node)
    lowering.set(node, out)


def _rows(lowering: Lowering, node: Node, source: Any, length: int) -> tuple[Tensor, Tensor]:
    """The input and a new output of a step over rows of the last `length` dimensions."""
    x = lowering.with_inner(lowering.tensor(source), -1, node)
    out = lowering.new(x.sizes, dtype=x.dtype)
    rows = (*x.sizes[: x.rank - length], product(x.sizes[x.rank - length :]))
    flat = (product(rows[:-1]), rows[-1])
    view = x.reshape(flat)
    if view is None:
        view = lowering.contiguous(x, node).reshape(flat)
    target = out.reshape(flat)
    assert view is not None and target is not None
    return Tensor(view.storage, view.sizes, view.strides, view.offset), target


def _row(lowering: Lowering, item: Any) -> Tensor | None:
    """The float32 numbers of a constant, flat."""
    data = lowering.constant_value(item)
    return None if data is None else constant(data.float().flatten())


def _normalize(
    lowering: Lowering, node: Node, shape: Any, weight: Any, bias: Any, eps: float, centers: bool
) -> Tensor:
    source, target = _rows(lowering, node, node.args[0], len(shape))
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
    view = target.reshape(lowering.tensor(node.args[0]).sizes)
    assert view is not None
    return view


@rule(aten.layer_norm.default)
def layer_norm(lowering: Lowering, node: Node) -> None:
    eps = float(argument(node, 4, 1e-5))
    lowering.set(
        node, _normalize(lowering, node, node.args[1], argument(node, 2), argument(node, 3), eps, True)
    )


@rule(aten.native_layer_norm.default)
def native_layer_norm(lowering: Lowering, node: Node) -> None:
    _, shape, weight, bias, eps = node.args
    lowering.set_items(node, [_normalize(lowering, node, shape, weight, bias, float(eps), True)])  # type: ignore[arg-type]


@rule(aten.rms_norm.default)
def rms_norm(lowering: Lowering, node: Node) -> None:
    eps = argument(node, 3)
    value = float(torch.finfo(torch.float32).eps if eps is None else eps)
    lowering.set(node, _normalize(lowering, node, node.args[1], argument(node, 2), None, value, False))


@rule(aten.native_group_norm.default)
def native_group_norm(lowering: Lowering, node: Node) -> None:
    source, weight, bias, _, _, _, groups, eps = node.args
    if _is_in_rows(lowering.tensor(source)):
        _scale_groups(lowering, node)
        return
    x = lowering.contiguous(lowering.tensor(source), node)
    sizes = x.sizes
    assert isinstance(groups, int) and isinstance(sizes[1], int)
    row = product((sizes[1] // groups, *sizes[2:]))
    flat = lowering.reshaped(x, (product((sizes[0], groups)), row), node)
    out = lowering.new(sizes)
    target = out.reshape(flat.sizes)
    assert target is not None
    step = Normalize(input=flat, output=target, length=int(row), epsilon=float(eps))  # type: ignore[arg-type]
    lowering.emit(step, node)
    lowering.set_items(node, [out])
    shape = (-1, *(1,) * (x.rank - 2))
    for function, given in ((BinaryFunction.MUL, weight), (BinaryFunction.ADD, bias)):
        data = lowering.constant_value(given)
        if data is None:
            continue
        chain = ChainBuilder(lowering, node, sizes)
        (before,) = lowering.items(node)
        row = constant(data.float().view(shape))
        chain.add(function, chain.operand(before), chain.operand(row))
        chain.finish()
        lowering.set_items(node, [lowering.tensor(node)])


def _is_in_rows(x: Tensor) -> bool:
    """Whether pixels follow each other, with their channels innermost."""
    if x.rank not in (3, 4) or same(x.sizes[1], 1) or not same(x.strides[1], 1):
        return False
    return x.rank == 3 or same(x.strides[2], x.sizes[3] * x.strides[3])


def _scale_groups(lowering: Lowering, node: Node) -> None:
    source, weight, bias, _, _, _, groups, eps = node.args
    x = lowering.tensor(source)
    image = (x if x.rank == 4 else x.with_one(2)).permute((0, 2, 3, 1))
    scale, shift = (lowering.new((x.sizes[0], x.sizes[1])) for _ in range(2))
    step = GroupNormStatistics(
        input=image,
        weight=_row(lowering, weight),
        bias=_row(lowering, bias),
        scale=scale,
        shift=shift,
        groups=int(groups),  # type: ignore[arg-type]
        channels=int(x.sizes[1]),
        epsilon=float(eps),  # type: ignore[arg-type]
    )
    lowering.emit(step, node)
    chain = ChainBuilder(lowering, node, x.sizes)
    while scale.rank < x.rank:
        scale, shift = scale.with_one(scale.rank), shift.with_one(shift.rank)
    # Not take(): the statistics read the source too.
    scaled = chain.add(BinaryFunction.MUL, chain.operand(x), chain.operand(scale))
    chain.add(BinaryFunction.ADD, scaled, chain.operand(shift))
    chain.finish()
    lowering.set_items(node, [lowering.tensor(node)])


@rule(aten._softmax.default, aten._log_softmax.default, aten.softmax.int)
def softmax(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    axis = int(node.args[1]) % max(x.rank, 1)  # type: ignore[arg-type]
    order = [*(i for i in range(x.rank) if i != axis), axis]
    inner = lowering.with_inner(x, axis, node).permute(order)
    flat = (product(inner.sizes[:-1]), inner.sizes[-1])
    source = inner.reshape(flat)
    if source is None:
        source = lowering.contiguous(inner, node).reshape(flat)
    out = lowering.new(inner.sizes)
    target = out.reshape(flat)
    assert source is not None and target is not None
    is_logarithm = "log_softmax" in str(node.target)
    lowering.emit(Softmax(input=source, output=target, is_logarithm=is_logarithm), node)
    back = [order.index(i) for i in range(x.rank)]
    lowering.set(node, out.permute(back))


REDUCTIONS = {
    aten.sum.dim_IntList: Reduction.SUM,
    aten.mean.dim: Reduction.MEAN,
    aten.amax.default: Reduction.MAXIMUM,
    aten.amin.default: Reduction.MINIMUM,
}


@rule(*REDUCTIONS)
def reduce(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    given: Any = argument(node, 1)
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
    """The dimensions `axes` alone; the others have one element."""
    return Tensor(
        tensor.storage,
        tuple(tensor.sizes[a] for a in axes),
        tuple(tensor.strides[a] for a in axes),
        tensor.offset,
    )


@rule(aten.embedding.default)
def embedding(lowering: Lowering, node: Node) -> None:
    table = node.args[0]
    data = lowering.constant_value(table)
    if data is not None and table not in lowering.tables:
        lowering.tables[table] = stored(data, lowering.stored_dtype(data))
    tensor = lowering.tensor(table) if data is None else lowering.tables[table]
    _gather(lowering, node, tensor, node.args[1], wraps_negative=False)


@rule(aten.index.Tensor)
def index(lowering: Lowering, node: Node) -> None:
    table = lowering.tensor(node.args[0])
    indices: Any = node.args[1]
    flat = lowering.reshaped(table, (table.sizes[0], product(table.sizes[1:])), node)
    _gather(lowering, node, lowering.with_inner(flat, 1, node), indices[0], wraps_negative=True)


def _gather(lowering: Lowering, node: Node, table: Tensor, indices: Any, wraps_negative: bool) -> None:
    """Rows of a table [rows, n]; wraps_negative: whether negative indices count from its end."""
    ids = lowering.tensor(indices)
    count = product(ids.sizes)
    out = lowering.new(lowering.sizes(node))
    target = out.reshape((count, table.sizes[1]))
    assert target is not None
    flat = lowering.reshaped(ids, (count,), node)
    step = Gather(table_of_rows=table, indices=flat, output=target, wraps_negative=wraps_negative)
    lowering.emit(step, node)
    lowering.set(node, out)
