"""Lowers partial updates of tensors, and state that persists between calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import check_slice_bounds, dtype_of, rank_of, shape_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.lower.views import start_of
from rushlight.backends.cpu.plan.tables import Scatter, StorageKind
from rushlight.backends.cpu.plan.tensor import Tensor
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op

aten = torch.ops.aten

UPDATES = (
    aten.index_put.default,
    aten.index_add.default,
    aten.index_copy.default,
    aten.scatter_add.default,
    aten.slice_scatter.default,
    aten.select_scatter.default,
)
_PLACES = (aten.slice_copy.Tensor, aten.select_copy.int)


def _target(lowering: Lowering, node: Node) -> Tensor:
    """Returns the tensor that an update writes.

    It is the state or the planned memory of the first argument itself if no other node needs its old value,
    otherwise a copy of the first argument.
    """
    before = node.args[0]
    assert isinstance(before, Node)
    tensor = lowering.tensor(before)
    kind = tensor.storage.kind
    if (
        kind in (StorageKind.STATE, StorageKind.ARENA)
        and tensor.is_dense()
        and lowering.aliases.may_overwrite(before, node, _reads_shape)
    ):
        if kind is StorageKind.ARENA:
            return tensor
        if _becomes(node, lowering.new_states.get(tensor.storage)):
            return replace(tensor, version=tensor.version + 1)
    result = lowering.new_tensor(tensor.sizes, dtype=tensor.dtype)
    lowering.emit_copy(tensor, result, node)
    return result


def _reads_shape(user: Node, node: Node) -> bool:
    """Returns whether a user reads only the shape of a node, as `copy` does with its first argument."""
    op = aten_op(user.target)
    if op in _PLACES:
        return all(_reads_shape(reader, user) for reader in user.users)
    return op is aten.copy.default and user.args[1] is not node


def _becomes(node: Node, new_value: Node | None) -> bool:
    """Returns whether the node is the new value of the state, or further updates turn it into this value."""
    while node is not new_value:
        users = list(node.users)
        if len(users) != 1 or aten_op(users[0].target) not in UPDATES or users[0].args[0] is not node:
            return False
        node = users[0]
    return True


def index_put(lowering: Lowering, node: Node) -> None:
    """Lowers index_put with the indices of one dimension to a scatter step, which replaces or adds."""
    indices: Any = node.args[1]
    axis = next(i for i, item in enumerate(indices) if item is not None)
    _scatter(lowering, node, axis, indices[axis], node.args[2], bool(argument(node, 3, False)))


def index_add(lowering: Lowering, node: Node) -> None:
    """Lowers index_add to a scatter step."""
    target, axis, index, source = node.args[:4]
    _scatter(lowering, node, int(axis) % lowering.tensor(target).rank, index, source, adds=True)  # type: ignore[arg-type]


def scatter_add(lowering: Lowering, node: Node) -> None:
    """Lowers scatter_add whose indices are the same for all elements of a slice."""
    target, axis, index, source = node.args
    axis = int(axis) % lowering.tensor(target).rank  # type: ignore[arg-type]
    places = lowering.tensor(index)
    for other in reversed(range(places.rank)):
        if other != axis:
            places = places.select(other, 0)
    _scatter(lowering, node, axis, places, source, adds=True)


def index_copy(lowering: Lowering, node: Node) -> None:
    """Lowers index_copy to a scatter step."""
    target, axis, index, source = node.args
    _scatter(lowering, node, int(axis) % lowering.tensor(target).rank, index, source)  # type: ignore[arg-type]


def _scatter(
    lowering: Lowering, node: Node, axis: int, index: object, source: object, adds: bool = False
) -> None:
    values = lowering.tensor(source)
    places = index if isinstance(index, Tensor) else lowering.tensor(index)
    target = _target(lowering, node)
    sizes = (*target.sizes[:axis], places.sizes[0], *target.sizes[axis + 1 :])
    step = Scatter(source=values.expand(sizes), indices=places, output=target, axis=axis, adds=adds)
    lowering.emit(step, node)
    lowering.set_tensor(node, target)


def slice_scatter(lowering: Lowering, node: Node) -> None:
    """Lowers the replacement of a slice to a copy into a view of the target."""
    values = lowering.tensor(node.args[1])
    target = _target(lowering, node)
    axis = int(argument(node, 2, 0)) % target.rank
    start = start_of(lowering, argument(node, 3), target.sizes[axis])
    step = argument(node, 5) or 1
    lowering.emit_copy(values, target.narrow(axis, start, values.sizes[axis], int(step)), node)
    lowering.set_tensor(node, target)


def select_scatter(lowering: Lowering, node: Node) -> None:
    """Lowers the replacement of one index of a dimension to a copy into a view of the target."""
    values = lowering.tensor(node.args[1])
    target = _target(lowering, node)
    axis, index = int(node.args[2]) % target.rank, int(node.args[3])  # type: ignore[arg-type]
    lowering.emit_copy(values, target.select(axis, index if index >= 0 else target.sizes[axis] + index), node)
    lowering.set_tensor(node, target)


def copy(lowering: Lowering, node: Node) -> None:
    """Lowers `copy`: its result is the source, broadcast to the sizes of the target."""
    lowering.set_tensor(node, lowering.tensor(node.args[1]).expand(lowering.sizes(node)))


# Checks: each returns the reason why a node is refused, or None.

_NOT_A_ROW = "its indices are not one int64 tensor of one dimension"
_NOT_FLOAT32 = "it adds numbers that are not float32"
_NOT_SLICES = "its indices differ within a slice"


def check_index_put(node: Node, constants: Constants) -> str | None:
    """Refuses the node unless it has exactly one index, int64 [n]. It may add only in float32."""
    arguments: Any = node.args
    indices = [item for item in arguments[1] if item is not None]
    if len(indices) != 1 or rank_of(indices[0]) != 1 or dtype_of(indices[0]) is not torch.int64:
        return _NOT_A_ROW
    if argument(node, 3, False) and dtype_of(arguments[0]) is not torch.float32:
        return _NOT_FLOAT32
    return check_same_source(arguments[0], arguments[2])


def check_index_add(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the index is not int64 [n], the sum has a factor, or the dtype is not float32."""
    target, _, index, source = node.args[:4]
    if rank_of(target) < 1 or rank_of(index) != 1 or dtype_of(index) is not torch.int64:
        return _NOT_A_ROW
    if argument(node, 4, 1) != 1:
        return "it adds with a factor alpha"
    if dtype_of(target) is not torch.float32:
        return _NOT_FLOAT32
    return check_same_source(target, source)  # type: ignore[arg-type]


def check_scatter_add(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the dtype is not float32, or if indices differ within a slice."""
    arguments: Any = node.args
    target, axis, index, source = arguments
    shapes = [meta.get_tensor(item) for item in (target, index, source)]
    if dtype_of(target) is not torch.float32 or any(shape is None for shape in shapes):
        return _NOT_FLOAT32
    rank, sizes = rank_of(target), [tuple(shape.shape) for shape in shapes if shape is not None]
    if rank < 1 or any(len(size) != rank for size in sizes):
        return _NOT_SLICES
    others = [i for i in range(rank) if i != int(axis) % rank]
    whole = all(sizes[0][i] == sizes[1][i] == sizes[2][i] for i in others)
    if not whole or sizes[1][int(axis) % rank] != sizes[2][int(axis) % rank]:
        return _NOT_SLICES
    is_row = not others or _repeats_row(index, others)
    return None if is_row else _NOT_SLICES


def _repeats_row(index: Node, others: list[int]) -> bool:
    """Returns whether indices are the same along the dimensions `others`."""
    if index.op != "call_function" or aten_op(index.target) is not aten.expand_copy.default:
        return False
    source: Any = index.args[0]
    sizes = shape_of(source)
    rank = rank_of(index)
    return all(len(sizes) + i < rank or sizes[i - rank] == 1 for i in others)


def check_index_copy(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the indices are not [n], or the dtypes differ."""
    target, _, index, source = node.args
    if rank_of(target) < 1 or rank_of(index) != 1:
        return _NOT_A_ROW
    return check_same_source(target, source)  # type: ignore[arg-type]


def check_scatter(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the dtypes differ, or if the plan cannot compute which elements are replaced."""
    arguments: Any = node.args
    reason = check_same_source(arguments[0], arguments[1])
    if reason is not None:
        return reason
    if aten_op(node.target) is aten.select_scatter.default:
        return None if isinstance(arguments[3], int) else "its index is symbolic"
    return check_slice_bounds(
        arguments[0], arguments[1], argument(node, 2, 0), argument(node, 3), argument(node, 5)
    )


def check_copy(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the dtypes of target and source differ."""
    arguments: Any = node.args
    return check_same_source(arguments[0], arguments[1])


def check_same_source(target: Node, source: Node) -> str | None:
    """Refuses the node if the plan stores target and source in different dtypes."""
    same = dtype_of(target) is dtype_of(source)
    return None if same else "it writes elements of another dtype"


ROWS: dict[object, Row] = {
    aten.index_put.default: Row(check_index_put, index_put),
    aten.index_add.default: Row(check_index_add, index_add),
    aten.index_copy.default: Row(check_index_copy, index_copy),
    aten.scatter_add.default: Row(check_scatter_add, scatter_add),
    aten.slice_scatter.default: Row(check_scatter, slice_scatter),
    aten.select_scatter.default: Row(check_scatter, select_scatter),
    aten.copy.default: Row(check_copy, copy),
}
