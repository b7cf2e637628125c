"""Lowers unfold and im2col, and padding by reflection or replication."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import rank_of, shape_of
from rushlight.backends.cpu.lower.row import Category, Row, rows
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import aten_op

aten = torch.ops.aten

_REFLECTIONS = (
    aten.reflection_pad1d.default,
    aten.reflection_pad2d.default,
    aten.reflection_pad3d.default,
)
_REPLICATIONS = (
    aten.replication_pad1d.default,
    aten.replication_pad2d.default,
    aten.replication_pad3d.default,
)
_MAX_LINES = 32
"""The maximum number of reflected rows and columns of an operator; each becomes a copy."""


def unfold(lowering: Lowering, node: Node) -> None:
    """Lowers unfold to a view with overlapping windows."""
    x = lowering.tensor(node.args[0])
    axis, _, step = (int(item) for item in node.args[1:4])  # type: ignore[arg-type]
    axis %= x.rank
    strides = [stride * step if i == axis else stride for i, stride in enumerate(x.strides)]
    lowering.set_tensor(node, replace(x, sizes=lowering.sizes(node), strides=(*strides, x.strides[axis])))


def im2col(lowering: Lowering, node: Node) -> None:
    """Lowers im2col to a copy of a view [n, c, kernel h, kernel w, out h, out w]."""
    options: Any = node.args[1:5]
    kernel, dilation, padding, stride = (list(item) for item in options)
    x = _zero_padded(lowering, lowering.tensor(node.args[0]), padding, node)
    counts = [
        (size - (k - 1) * d - 1) // s + 1
        for size, k, d, s in zip(x.sizes[2:], kernel, dilation, stride, strict=True)
    ]
    windows = replace(
        x,
        sizes=(*x.sizes[:2], *kernel, *counts),
        strides=(
            *x.strides[:2],
            *(d * step for d, step in zip(dilation, x.strides[2:], strict=True)),
            *(s * step for s, step in zip(stride, x.strides[2:], strict=True)),
        ),
    )
    sizes = (x.sizes[0], product((x.sizes[1], *kernel)), product(counts))
    lowering.set_tensor(node, lowering.reshape(windows, sizes, node))


def _zero_padded(lowering: Lowering, x: Tensor, padding: list[int], node: Node) -> Tensor:
    if not any(padding):
        return x
    sizes = (*x.sizes[:2], *(size + 2 * pad for size, pad in zip(x.sizes[2:], padding, strict=True)))
    out = _like(lowering, x, sizes)
    lowering.emit_copy(constant(torch.zeros((), dtype=x.dtype)).expand(sizes), out, node)
    inside = out
    for axis, pad in enumerate(padding, 2):
        inside = inside.narrow(axis, pad, x.sizes[axis])
    lowering.emit_copy(x, inside, node)
    return out


def _like(lowering: Lowering, x: Tensor, sizes: tuple[Any, ...]) -> Tensor:
    """Returns a new tensor with the dtype of `x`; it is channels last if `x` is."""
    is_image = x.rank == 4 and same(x.strides[1], 1) and not same(x.sizes[1], 1)
    return lowering.new_image(sizes, x.dtype) if is_image else lowering.new_tensor(sizes, dtype=x.dtype)


def pad_with_elements(lowering: Lowering, node: Node) -> None:
    """Lowers padding by reflection or replication to copies, one dimension after the other."""
    x = lowering.tensor(node.args[0])
    pads: Any = node.args[1]
    reflects = aten_op(node.target) in _REFLECTIONS
    for i in range(len(pads) // 2):
        axis, before, after = x.rank - 1 - i, int(pads[2 * i]), int(pads[2 * i + 1])
        if before == 0 and after == 0:
            continue
        size = x.sizes[axis]
        out = _like(lowering, x, tuple(n + before + after if a == axis else n for a, n in enumerate(x.sizes)))
        lowering.emit_copy(x, out.narrow(axis, before, size), node)
        # For each side: the first line of padding, the number of lines, and the line that the first repeats.
        for at, count, source in ((0, before, before), (before + size, after, size - 2)):
            for line in range(count if reflects else 0):
                lowering.emit_copy(x.narrow(axis, source - line, 1), out.narrow(axis, at + line, 1), node)
            if count > 0 and not reflects:
                edge, target = x.narrow(axis, 0 if at == 0 else size - 1, 1), out.narrow(axis, at, count)
                lowering.emit_copy(edge.expand(target.sizes), target, node)
        x = out
    lowering.set_tensor(node, x)


# Checks: each returns the reason why a node is refused, or None.


def check_unfold(node: Node, constants: Constants) -> str | None:
    """Refuses the node if its input is a scalar or has a dynamic size along the dimension."""
    sizes = shape_of(node.args[0])  # type: ignore[arg-type]
    if not sizes:
        return "its input is a scalar"
    return None if isinstance(sizes[node.args[1]], int) else "its windows are along a dynamic size"  # type: ignore[index]


def check_im2col(node: Node, constants: Constants) -> str | None:
    """Refuses the node if its input is not [n, c, h, w] of a known height and width."""
    if rank_of(node.args[0]) != 4:
        return "its input is not a batch of images"
    height, width = shape_of(node.args[0])[2:]  # type: ignore[arg-type]
    return None if isinstance(height, int) and isinstance(width, int) else "its image has a dynamic size"


def check_pad(node: Node, constants: Constants) -> str | None:
    """Refuses the node if a padded size is dynamic, the padding is negative, or many lines are reflected."""
    pads: Any = node.args[1]
    if not all(isinstance(pad, int) and pad >= 0 for pad in pads):
        return "its padding is negative or symbolic"
    sizes = shape_of(node.args[0])[::-1][: len(pads) // 2]  # type: ignore[arg-type]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return "its input is empty or has a dynamic size"
    if aten_op(node.target) in _REFLECTIONS and sum(pads) > _MAX_LINES:
        return f"it reflects more than {_MAX_LINES} lines"
    return None


ROWS: dict[object, Row] = {
    aten.unfold_copy.default: Row(check_unfold, unfold, Category.VIEW),
    aten.im2col.default: Row(check_im2col, im2col, Category.VIEW),
    **rows((*_REFLECTIONS, *_REPLICATIONS), Row(check_pad, pad_with_elements, Category.VIEW)),
}
