"""Lowers operators that gather rows of a table, or elements of a tensor, by indices."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import is_static, operation, rank_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.lower.unsupported_quantized import unsupported_table_reason
from rushlight.backends.cpu.plan.sizes import product
from rushlight.backends.cpu.plan.tables import Gather, Take
from rushlight.backends.cpu.plan.tensor import Tensor, constant, stored_constant
from rushlight.ir import meta
from rushlight.ir.constants import Constants

aten = torch.ops.aten


def embedding(lowering: Lowering, node: Node) -> None:
    """Lowers an embedding to a gather of rows.

    A constant table is stored once, in the dtype in which weights are stored.
    """
    table = node.args[0]
    data = lowering.constant_value(table)
    if data is not None and table not in lowering.embedding_tables:
        lowering.embedding_tables[table] = stored_constant(data, lowering.stored_dtype(data))
    tensor = lowering.tensor(table) if data is None else lowering.embedding_tables[table]
    _gather(lowering, node, tensor, node.args[1], wraps_negative=False)


def index(lowering: Lowering, node: Node) -> None:
    """Lowers an index by one tensor of integers to a gather of rows, or of the same elements of each row."""
    table = lowering.tensor(node.args[0])
    indices: Any = node.args[1]
    if len(indices) > 1:
        axis = len(indices) - 1
        places = lowering.constant_value(indices[axis])
        assert places is not None
        size = int(table.sizes[axis])
        sizes = (*table.sizes[:axis], places.numel(), *table.sizes[axis + 1 :])
        wrapped = torch.where(places < 0, places + size, places)
        column = constant(wrapped.reshape(-1, *(1,) * (table.rank - axis - 1)))
        out = lowering.new_tensor(sizes)
        lowering.emit(Take(input=table, indices=column.expand(sizes), output=out, axis=axis), node)
        lowering.set_tensor(node, lowering.reshape(out, lowering.sizes(node), node))
        return
    flat = lowering.reshape(table, (table.sizes[0], product(table.sizes[1:])), node)
    _gather(lowering, node, lowering.with_innermost(flat, 1, node), indices[0], wraps_negative=True)


def _gather(lowering: Lowering, node: Node, table: Tensor, indices: object, wraps_negative: bool) -> None:
    """Emits a gather of rows of a table [rows, n].

    If `wraps_negative` is True, negative indices count from the end of the table.
    """
    ids = lowering.tensor(indices)
    count = product(ids.sizes)
    out = lowering.new_tensor(lowering.sizes(node))
    target = out.view((count, table.sizes[1]))
    assert target is not None
    flat = lowering.reshape(ids, (count,), node)
    step = Gather(table_of_rows=table, indices=flat, output=target, wraps_negative=wraps_negative)
    lowering.emit(step, node)
    lowering.set_tensor(node, out)


def index_select(lowering: Lowering, node: Node) -> None:
    """Lowers index_select to a gather of rows, or to a gather of the same elements of each row."""
    source, axis, indices = lowering.tensor(node.args[0]), int(node.args[1]), node.args[2]  # type: ignore[arg-type]
    axis %= source.rank
    places = lowering.tensor(indices)
    row = product(source.sizes[1:])
    if axis == 0 and isinstance(row, int):
        flat = lowering.reshape(source, (source.sizes[0], row), node)
        _gather(lowering, node, lowering.with_innermost(flat, 1, node), indices, wraps_negative=False)
        return
    sizes = lowering.sizes(node)
    if places.rank == 0:
        places = places.unsqueeze(0)
    for _ in range(axis + 1, len(sizes)):
        places = places.unsqueeze(places.rank)
    _take(lowering, node, axis, places.expand(sizes))


def gather(lowering: Lowering, node: Node) -> None:
    """Lowers a gather of elements along a dimension."""
    axis = int(node.args[1]) % lowering.tensor(node.args[0]).rank  # type: ignore[arg-type]
    _take(lowering, node, axis, lowering.tensor(node.args[2]))


def _take(lowering: Lowering, node: Node, axis: int, places: Tensor) -> None:
    out = lowering.new_tensor(lowering.sizes(node))
    lowering.emit(Take(input=lowering.tensor(node.args[0]), indices=places, output=out, axis=axis), node)
    lowering.set_tensor(node, out)


# Checks: each returns the reason why a node is refused, or None.


def check_index(node: Node, constants: Constants) -> str | None:
    """Refuses several indices, an index of a later dimension that is not constant, and dynamic rows."""
    source: Any = node.args[0]
    indices: Any = node.args[1]
    *whole, places = indices
    if whole and not any(whole) and constants.is_constant(places) and is_static(source):
        value = meta.get_tensor(places)
        is_integer = value is not None and value.dtype is torch.int64 and value.numel() > 0
        return None if is_integer else "its index is empty or not int64"
    if len(indices) != 1 or rank_of(source) < 1:
        return "it has several indices, or an index of another dimension than the first"
    fake = meta.get_tensor(source)
    assert fake is not None
    return None if all(isinstance(size, int) for size in fake.shape[1:]) else "its rows have a dynamic length"


def check_embedding(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the table is not constant, or is quantized in a way that plans do not support."""
    if getattr(operation(node.args[0]), "namespace", "") == "quantized_decomposed":  # type: ignore[arg-type]
        return unsupported_table_reason(node.args[0], constants)  # type: ignore[arg-type]
    return None if constants.is_constant(node.args[0]) else "its table is not constant"


def check_take(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input or the index of a gather is a scalar."""
    source, index = node.args[0], node.args[2]
    if rank_of(source) < 1:
        return "its input is a scalar"
    if operation(node) is aten.gather.default and rank_of(index) != rank_of(source):
        return "its index and its input have different numbers of dimensions"
    return None


ROWS: dict[object, Row] = {
    aten.embedding.default: Row(check_embedding, embedding),
    aten.index.Tensor: Row(check_index, index),
    aten.index_select.default: Row(check_take, index_select),
    aten.gather.default: Row(check_take, gather),
}
