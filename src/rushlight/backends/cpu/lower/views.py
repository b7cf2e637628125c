"""Lowers operators that return views, or only move elements."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.comparisons import choose
from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import check_slice_bounds, dtype_of, is_static, shape_of
from rushlight.backends.cpu.lower.row import Category, Check, Lower, Row
from rushlight.backends.cpu.plan.bindings import shapes_of
from rushlight.backends.cpu.plan.sizes import Size, same
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir import dim_order_ops, meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten
assert dim_order_ops  # the import registers the operators of torch.ops.dim_order_ops


def view(lowering: Lowering, node: Node) -> None:
    """Lowers a change of the shape to a strided view, or to a copy if no strides express the view."""
    lowering.set_tensor(node, lowering.reshape(lowering.tensor(node.args[0]), lowering.sizes(node), node))


def permute(lowering: Lowering, node: Node) -> None:
    """Lowers permute to a strided view."""
    order: Any = node.args[1]
    lowering.set_tensor(node, lowering.tensor(node.args[0]).permute(order))


def transpose(lowering: Lowering, node: Node) -> None:
    """Lowers the exchange of two dimensions to a strided view."""
    x = lowering.tensor(node.args[0])
    order = list(range(x.rank))
    a, b = int(node.args[1]) % x.rank, int(node.args[2]) % x.rank  # type: ignore[arg-type]
    order[a], order[b] = order[b], order[a]
    lowering.set_tensor(node, x.permute(order))


def t(lowering: Lowering, node: Node) -> None:
    """Lowers the transpose of a matrix (or of a tensor of fewer dimensions) to a strided view."""
    x = lowering.tensor(node.args[0])
    lowering.set_tensor(node, x.permute(range(x.rank - 1, -1, -1)))


def squeeze(lowering: Lowering, node: Node) -> None:
    """Lowers the insertion or removal of dimensions of one element to a strided view."""
    view = lowering.tensor(node.args[0]).view(lowering.sizes(node))
    assert view is not None
    lowering.set_tensor(node, view)


def full(lowering: Lowering, node: Node) -> None:
    """Lowers `full` and `full_like` to a constant of one element, broadcast to the sizes of the result."""
    fake = meta.get_tensor(node)
    assert fake is not None
    value = node.args[1]
    lowering.set_tensor(node, constant(torch.tensor(value, dtype=fake.dtype)).expand(lowering.sizes(node)))


def expand(lowering: Lowering, node: Node) -> None:
    """Lowers a broadcast to a view with strides of 0."""
    lowering.set_tensor(node, lowering.tensor(node.args[0]).expand(lowering.sizes(node)))


def start_of(lowering: Lowering, start: Any, size: Size) -> Size:
    """Returns the index of the first element of a slice.

    Args:
        lowering: the lowering, whose symbols may be part of the result.
        start: the operator's argument: None, an integer (a negative one counts from the end), or a node with
            a symbolic integer, which is never negative.
        size: the number of elements along the axis.

    Returns:
        An index in [0, size], as an integer or an expression of symbols.
    """
    if start is None:
        return 0
    if isinstance(start, Node):
        return lowering.symbols.register(meta.get_val(start))
    if isinstance(size, int):
        return min(max(start + size if start < 0 else start, 0), size)
    return start if start >= 0 else size + start


def slice_(lowering: Lowering, node: Node) -> None:
    """Lowers a slice to a strided view."""
    x = lowering.tensor(node.args[0])
    axis = int(argument(node, 1, 0)) % x.rank
    start = start_of(lowering, argument(node, 2), x.sizes[axis])
    step = argument(node, 4) or 1
    lowering.set_tensor(node, x.narrow(axis, start, lowering.sizes(node)[axis], int(step)))


def select(lowering: Lowering, node: Node) -> None:
    """Lowers the selection of one index to a strided view without that dimension."""
    x = lowering.tensor(node.args[0])
    axis, index = int(node.args[1]) % x.rank, int(node.args[2])  # type: ignore[arg-type]
    lowering.set_tensor(node, x.select(axis, index if index >= 0 else x.sizes[axis] + index))


def split(lowering: Lowering, node: Node) -> None:
    """Lowers split and unbind to one strided view for each result."""
    x = lowering.tensor(node.args[0])
    is_unbind = "unbind" in str(node.target)
    axis = int(argument(node, 1 if is_unbind else 2, 0)) % x.rank
    if is_unbind:
        lowering.set_tensors(node, [x.select(axis, i) for i in range(x.sizes[axis])])
        return
    lengths: Any = node.args[1]
    if isinstance(lengths, int):
        lengths = [min(lengths, x.sizes[axis] - at) for at in range(0, x.sizes[axis], lengths)]
    items: list[Tensor] = []
    at = 0
    for length in lengths:
        items.append(x.narrow(axis, at, length))
        at += length
    lowering.set_tensors(node, items)


def getitem(lowering: Lowering, node: Node) -> None:
    """Lowers getitem to the selected result of an operator with several results."""
    source, index = node.args
    assert isinstance(source, Node) and isinstance(index, int)
    lowering.set_tensor(node, lowering.tensors(source)[index])


def repeat(lowering: Lowering, node: Node) -> None:
    """Lowers a repetition: a broadcast along dimensions of one element, a copy along the others."""
    x, counts = lowering.tensor(node.args[0]), _counts(node)
    while x.rank < len(counts):
        x = x.unsqueeze(0)
    x = x.expand([n if same(size, 1) else size for n, size in zip(counts, x.sizes, strict=True)])
    sizes = lowering.sizes(node)
    source = x
    for axis in reversed(range(x.rank)):
        if not same(x.sizes[axis], sizes[axis]):
            source = source.unsqueeze(axis)
            source = source.expand([*source.sizes[:axis], counts[axis], *source.sizes[axis + 1 :]])
    if source is not x:
        x = lowering.new_tensor(sizes, dtype=x.dtype)
        target = x.view(source.sizes)
        assert target is not None
        lowering.emit_copy(source, target, node)
    lowering.set_tensor(node, x)


def _counts(node: Node) -> list[Any]:
    counts: Any = node.args[1]
    return list(counts)


def same_elements(lowering: Lowering, node: Node) -> None:
    """Lowers an operator whose result equals its input; both nodes have the same tensor."""
    lowering.set_tensor(node, lowering.tensor(node.args[0]))


def convert(lowering: Lowering, node: Node) -> None:
    """Lowers a conversion from bool to another dtype, or between dtypes that a plan stores in the same way.

    A conversion from bool selects 1 or 0. The other conversions need no step.
    """
    if dtype_of(node.args[0]) is dtype_of(node):
        same_elements(lowering, node)
    else:
        choose(lowering, node, node.args[0], 1, 0)


def cat(lowering: Lowering, node: Node) -> None:
    """Lowers a concatenation to one copy for each input.

    If all inputs are channels last, the result is channels last; otherwise it is row-major.
    """
    sources: Any = node.args[0]
    sizes = lowering.sizes(node)
    axis = int(argument(node, 1, 0)) % len(sizes)
    tensors = [lowering.tensor(source) for source in sources]
    # rows, images and volumes
    channels_last = len(sizes) in (3, 4, 5) and all(
        same(x.strides[1], 1) and not same(x.sizes[1], 1) for x in tensors if x.rank == len(sizes)
    )
    order = (0, *range(2, len(sizes)), 1) if channels_last else None
    out = lowering.new_tensor(sizes, order, tensors[0].dtype)
    at: Size = 0
    for x in tensors:
        if x.rank != len(sizes):
            continue  # an empty tensor of one dimension
        lowering.emit_copy(x, out.narrow(axis, at, x.sizes[axis]), node)
        at = at + x.sizes[axis]
    lowering.set_tensor(node, out)


def roll(lowering: Lowering, node: Node) -> None:
    """Lowers roll to copies: each rolled dimension splits every copy into two copies."""
    x = lowering.tensor(node.args[0])
    shifts: Any = node.args[1]
    axes: Any = argument(node, 2)
    by_axis: dict[int, int] = {}
    for shift, axis in zip(shifts, axes, strict=True):
        by_axis[axis % x.rank] = by_axis.get(axis % x.rank, 0) + shift
    out = lowering.new_tensor(x.sizes, dtype=x.dtype)
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
        lowering.emit_copy(source, target, node)
    lowering.set_tensor(node, out)


def constant_pad_nd(lowering: Lowering, node: Node) -> None:
    """Lowers constant padding of float32 tensors."""
    padded = pad_by_copies(lowering, node, lowering.tensor(node.args[0]), argument(node, 2, 0) or 0)
    lowering.set_tensor(node, padded)


def pad_by_copies(lowering: Lowering, node: Node, x: Tensor, value: float) -> Tensor:
    """Emits constant padding: a copy of the value and a copy of the input into the result.

    Negative padding removes elements of the input.

    Args:
        lowering: the steps emitted so far.
        node: the padding.
        x: the input, of any dtype.
        value: the value of the padding, in the dtype of the input.

    Returns:
        The result, or a view of the input if all padding is negative.
    """
    pads: Any = node.args[1]
    for i, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        if min(before, after) < 0:
            axis, first = x.rank - 1 - i, max(-before, 0)
            x = x.narrow(axis, first, x.sizes[axis] - first - max(-after, 0))
    if all(pad <= 0 for pad in pads):
        return x
    sizes = lowering.sizes(node)
    is_image = x.rank == 4 and same(x.strides[1], 1) and not same(x.sizes[1], 1)
    out = lowering.new_image(sizes, x.dtype) if is_image else lowering.new_tensor(sizes, dtype=x.dtype)
    lowering.emit_copy(constant(torch.tensor(value, dtype=x.dtype)).expand(sizes), out, node)
    inside = out
    for i in range(len(pads) // 2):
        axis = x.rank - 1 - i
        inside = inside.narrow(axis, max(pads[2 * i], 0), x.sizes[axis])
    lowering.emit_copy(x, inside, node)
    return out


# Checks: each returns the reason why a node is refused, or None.


def check_roll(node: Node, constants: Constants) -> str | None:
    """Refuses the node if roll has no dimensions, a symbolic shift, or a dimension of dynamic size."""
    axes = argument(node, 2)
    if not axes or not all(isinstance(shift, int) for shift in node.args[1]):  # type: ignore[union-attr]
        return "it rolls over all dimensions, or by a symbolic number"
    source = meta.get_tensor(node.args[0])  # type: ignore[arg-type]
    assert source is not None
    return None if all(isinstance(source.shape[a], int) for a in axes) else "it rolls over a dynamic size"


def check_repeat(node: Node, constants: Constants) -> str | None:
    """Refuses the node if a size or a number of repetitions is dynamic, or the copy has many dimensions."""
    counts = _counts(node)
    if not is_static(node.args[0]) or not all(isinstance(count, int) for count in counts):
        return "its sizes are dynamic"
    many = len(counts) + sum(count > 1 for count in counts) > 8
    return "it repeats too many dimensions" if many else None


def check_full(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the value is symbolic."""
    return None if isinstance(node.args[1], (int, float, bool)) else "its value is symbolic"


def check_slice(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the first index of the slice has no bounds, or the slice may exceed its input."""
    source: Any = node.args[0]
    return check_slice_bounds(source, node, argument(node, 1, 0), argument(node, 2), argument(node, 4))


def check_select(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the index is symbolic."""
    return None if isinstance(node.args[2], int) else "its index is symbolic"


def check_split(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input or a part has a dynamic size."""
    if not is_static(node.args[0]):
        return "its input has a dynamic size"
    is_fixed = all(isinstance(size, int) for shape in shapes_of(node) for size in shape)
    return None if is_fixed else "one of its parts has a dynamic size"


def check_cat(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the inputs and the result do not have one dtype."""
    types = {dtype_of(item) for item in (*node.all_input_nodes, node)}
    return None if len(types) == 1 else "its operands have different dtypes"


def check_pad(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the padding or the value is symbolic, or a dynamic or short dimension is cut."""
    pads: Any = node.args[1]
    if not all(isinstance(pad, int) for pad in pads):
        return "its padding is symbolic"
    sizes = shape_of(node.args[0])[::-1]  # type: ignore[arg-type]
    for size, before, after in zip(sizes, pads[::2], pads[1::2], strict=False):
        cut = max(-before, 0) + max(-after, 0)
        if cut and not (isinstance(size, int) and size > cut):
            return "its padding is negative, and the dimension has a dynamic size or no elements are left"
    return None if isinstance(argument(node, 2, 0) or 0, (int, float)) else "its value is symbolic"


def check_convert(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the dtype changes and the input is not bool."""
    source, result = dtype_of(node.args[0]), dtype_of(node)
    return None if source is result or source is torch.bool else f"it converts {source} to {result}"


def _row(lower: Lower, check: Check | None = None) -> Row:
    return Row(check, lower, Category.VIEW)


ROWS: dict[object, Row] = {
    aten.view_copy.default: _row(view),
    aten._unsafe_view.default: _row(view),
    aten.reshape.default: _row(view),
    aten.permute_copy.default: _row(permute),
    aten.transpose_copy.int: _row(transpose),
    aten.t_copy.default: _row(t),
    aten.unsqueeze_copy.default: _row(squeeze),
    aten.squeeze_copy.default: _row(squeeze),
    aten.squeeze_copy.dim: _row(squeeze),
    aten.squeeze_copy.dims: _row(squeeze),
    aten.full.default: _row(full, check_full),
    aten.full_like.default: _row(full, check_full),
    aten.expand_copy.default: _row(expand),
    aten.slice_copy.Tensor: _row(slice_, check_slice),
    aten.select_copy.int: _row(select, check_select),
    aten.split_with_sizes_copy.default: _row(split, check_split),
    aten.split_copy.Tensor: _row(split, check_split),
    aten.unbind_copy.int: _row(split, check_split),
    operator.getitem: _row(getitem),
    aten.clone.default: _row(same_elements),
    aten.alias_copy.default: _row(same_elements),
    aten.dropout.default: _row(same_elements),
    torch.ops.dim_order_ops._clone_dim_order.default: _row(same_elements),
    torch.ops.dim_order_ops._to_dim_order_copy.default: _row(convert, check_convert),
    aten.cat.default: _row(cat, check_cat),
    aten.repeat.default: _row(repeat, check_repeat),
    aten.roll.default: _row(roll, check_roll),
    aten.constant_pad_nd.default: _row(constant_pad_nd, check_pad),
}
