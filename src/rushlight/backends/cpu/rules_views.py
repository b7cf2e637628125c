"""Operators that move nothing, and those that only move."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lowering import Lowering, rule
from rushlight.backends.cpu.plan.sizes import Size, same
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.backends.cpu.rules_masks import choose, dtype_of
from rushlight.ir import dim_order_ops, meta
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten
assert dim_order_ops  # defines the operators of that name


@rule(aten.view_copy.default, aten._unsafe_view.default, aten.reshape.default)
def view(lowering: Lowering, node: Node) -> None:
    lowering.set(node, lowering.reshaped(lowering.tensor(node.args[0]), lowering.sizes(node), node))


@rule(aten.permute_copy.default)
def permute(lowering: Lowering, node: Node) -> None:
    order: Any = node.args[1]
    lowering.set(node, lowering.tensor(node.args[0]).permute(order))


@rule(aten.transpose_copy.int)
def transpose(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    order = list(range(x.rank))
    a, b = int(node.args[1]) % x.rank, int(node.args[2]) % x.rank  # type: ignore[arg-type]
    order[a], order[b] = order[b], order[a]
    lowering.set(node, x.permute(order))


@rule(aten.t_copy.default)
def t(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    lowering.set(node, x.permute(range(x.rank - 1, -1, -1)))


@rule(
    aten.unsqueeze_copy.default,
    aten.squeeze_copy.default,
    aten.squeeze_copy.dim,
    aten.squeeze_copy.dims,
)
def squeeze(lowering: Lowering, node: Node) -> None:
    view = lowering.tensor(node.args[0]).reshape(lowering.sizes(node))
    assert view is not None
    lowering.set(node, view)


@rule(aten.full.default)
def full(lowering: Lowering, node: Node) -> None:
    fake = meta.get_tensor(node)
    assert fake is not None
    value: Any = node.args[1]
    lowering.set(node, constant(torch.tensor(value, dtype=fake.dtype)).expand(lowering.sizes(node)))


@rule(aten.expand_copy.default)
def expand(lowering: Lowering, node: Node) -> None:
    lowering.set(node, lowering.tensor(node.args[0]).expand(lowering.sizes(node)))


def start_of(lowering: Lowering, start: Any, size: Size) -> Size:
    """Where a slice begins; a place known only when the plan runs is never negative."""
    if start is None:
        return 0
    if isinstance(start, Node):
        return lowering.symbols.note(start.meta[meta.VAL])
    if isinstance(size, int):
        return min(max(start + size if start < 0 else start, 0), size)
    return start if start >= 0 else size + start


@rule(aten.slice_copy.Tensor)
def slice_(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    axis = int(argument(node, 1, 0)) % x.rank
    start = start_of(lowering, argument(node, 2), x.sizes[axis])
    step = argument(node, 4) or 1
    lowering.set(node, x.narrow(axis, start, lowering.sizes(node)[axis], int(step)))


@rule(aten.select_copy.int)
def select(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    axis, index = int(node.args[1]) % x.rank, int(node.args[2])  # type: ignore[arg-type]
    lowering.set(node, x.select(axis, index if index >= 0 else x.sizes[axis] + index))


@rule(aten.split_with_sizes_copy.default, aten.split_copy.Tensor, aten.unbind_copy.int)
def split(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    is_unbind = "unbind" in str(node.target)
    axis = int(argument(node, 1 if is_unbind else 2, 0)) % x.rank
    if is_unbind:
        lowering.set_items(node, [x.select(axis, i) for i in range(x.sizes[axis])])
        return
    lengths: Any = node.args[1]
    if isinstance(lengths, int):
        lengths = [min(lengths, x.sizes[axis] - at) for at in range(0, x.sizes[axis], lengths)]
    items: list[Tensor] = []
    at = 0
    for length in lengths:
        items.append(x.narrow(axis, at, length))
        at += length
    lowering.set_items(node, items)


@rule(operator.getitem)
def getitem(lowering: Lowering, node: Node) -> None:
    source, index = node.args
    assert isinstance(source, Node) and isinstance(index, int)
    lowering.set(node, lowering.items(source)[index])


@rule(
    aten.clone.default,
    aten.alias_copy.default,
    aten.dropout.default,
    torch.ops.dim_order_ops._clone_dim_order.default,
)
def same_elements(lowering: Lowering, node: Node) -> None:
    lowering.set(node, lowering.tensor(node.args[0]))


@rule(torch.ops.dim_order_ops._to_dim_order_copy.default)
def convert(lowering: Lowering, node: Node) -> None:
    if dtype_of(node.args[0]) is dtype_of(node):
        same_elements(lowering, node)
    else:
        choose(lowering, node, node.args[0], 1, 0)


@rule(aten.cat.default)
def cat(lowering: Lowering, node: Node) -> None:
    sources: Any = node.args[0]
    sizes = lowering.sizes(node)
    axis = int(argument(node, 1, 0)) % len(sizes)
    tensors = [lowering.tensor(source) for source in sources]
    # Of images and rows.
    channels_last = len(sizes) in (3, 4) and all(
        same(x.strides[1], 1) and not same(x.sizes[1], 1) for x in tensors if x.rank == len(sizes)
    )
    order = (0, *range(2, len(sizes)), 1) if channels_last else None
    out = lowering.new(sizes, order, tensors[0].dtype)
    at: Size = 0
    for x in tensors:
        if x.rank != len(sizes):
            continue  # an empty tensor of one dimension
        lowering.copy(x, out.narrow(axis, at, x.sizes[axis]), node)
        at = at + x.sizes[axis]
    lowering.set(node, out)


@rule(aten.roll.default)
def roll(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    shifts: Any = node.args[1]
    axes: Any = argument(node, 2)
    by_axis: dict[int, int] = {}
    for shift, axis in zip(shifts, axes, strict=True):
        by_axis[axis % x.rank] = by_axis.get(axis % x.rank, 0) + shift
    out = lowering.new(x.sizes, dtype=x.dtype)
    pieces = [(x, out)]
    for axis, shift in by_axis.items():
        size = x.sizes[axis]
        moved = shift % size if size else 0
        if moved:
            pieces = [
                part
                for source, target in pieces
                for part in (
                    (source.narrow(axis, 0, size - moved), target.narrow(axis, moved, size - moved)),
                    (source.narrow(axis, size - moved, moved), target.narrow(axis, 0, moved)),
                )
            ]
    for source, target in pieces:
        lowering.copy(source, target, node)
    lowering.set(node, out)


@rule(aten.constant_pad_nd.default)
def constant_pad_nd(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    pads: Any = node.args[1]
    if not any(pads):
        lowering.set(node, x)
        return
    sizes = lowering.sizes(node)
    is_image = x.rank == 4 and same(x.strides[1], 1) and not same(x.sizes[1], 1)
    out = lowering.new_image(sizes, x.dtype) if is_image else lowering.new(sizes, dtype=x.dtype)
    value = constant(torch.tensor(argument(node, 2, 0) or 0, dtype=x.dtype))
    lowering.copy(value.expand(sizes), out, node)
    inside = out
    for i in range(len(pads) // 2):
        axis = x.rank - 1 - i
        inside = inside.narrow(axis, int(pads[2 * i]), x.sizes[axis])
    lowering.copy(x, inside, node)
    lowering.set(node, out)
