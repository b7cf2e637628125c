"""Comparisons, logic, whole-number arithmetic and choices: what masks and places are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lowering import Lowering, rule
from rushlight.backends.cpu.plan.tables import Compare, Comparison, Where
from rushlight.backends.cpu.plan.tensor import Tensor, constant, planned_dtype
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op

aten = torch.ops.aten

_NAMES = {
    "eq": Comparison.EQUAL,
    "ne": Comparison.NOT_EQUAL,
    "lt": Comparison.LESS,
    "le": Comparison.LESS_EQUAL,
    "gt": Comparison.GREATER,
    "ge": Comparison.GREATER_EQUAL,
}
COMPARISONS = {
    getattr(getattr(aten, name), overload): comparison
    for name, comparison in _NAMES.items()
    for overload in ("Tensor", "Scalar")
}
LOGIC = {
    aten.bitwise_and.Tensor: Comparison.AND,
    aten.bitwise_or.Tensor: Comparison.OR,
    aten.bitwise_xor.Tensor: Comparison.XOR,
    aten.logical_and.default: Comparison.AND,
    aten.logical_or.default: Comparison.OR,
    aten.logical_xor.default: Comparison.XOR,
}
NOT = (aten.bitwise_not.default, aten.logical_not.default)
ARITHMETIC = frozenset(
    getattr(getattr(aten, name), overload)
    for name in ("add", "sub", "mul")
    for overload in ("Tensor", "Scalar")
)


def dtype_of(node: Any) -> torch.dtype | None:
    """That in which a plan keeps a tensor's node."""
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if fake is None else planned_dtype(fake.dtype)


def compare(lowering: Lowering, node: Node, comparison: Comparison, a: Any, b: Any) -> None:
    """node = a (comparison) b, where a number takes the other operand's type."""
    dtype = dtype_of(a) or dtype_of(b)
    assert dtype is not None
    sizes = lowering.sizes(node)
    left, right = (_operand(lowering, item, dtype).expand(sizes) for item in (a, b))
    result = dtype_of(node)
    assert result is not None
    out = lowering.new(sizes, dtype=result)
    lowering.emit(Compare(a=left, b=right, output=out, comparison=comparison), node)
    lowering.set(node, out)


def _operand(lowering: Lowering, item: Any, dtype: torch.dtype) -> Tensor:
    return lowering.tensor(item) if isinstance(item, Node) else constant(torch.tensor(item, dtype=dtype))


@rule(*COMPARISONS, *LOGIC)
def comparison(lowering: Lowering, node: Node) -> None:
    op = aten_op(node.target)
    compare(lowering, node, (COMPARISONS | LOGIC)[op], node.args[0], node.args[1])


@rule(*NOT)
def negation(lowering: Lowering, node: Node) -> None:
    compare(lowering, node, Comparison.EQUAL, node.args[0], False)


@rule(aten.where.self)
def where(lowering: Lowering, node: Node) -> None:
    choose(lowering, node, *node.args)


def choose(lowering: Lowering, node: Node, condition: Any, a: Any, b: Any) -> None:
    """node = condition ? a : b."""
    sizes, dtype = lowering.sizes(node), dtype_of(node)
    assert dtype is not None
    chosen = lowering.tensor(condition).expand(sizes)
    left, right = (_operand(lowering, item, dtype).expand(sizes) for item in (a, b))
    out = lowering.new(sizes, dtype=dtype)
    lowering.emit(Where(condition=chosen, a=left, b=right, output=out), node)
    lowering.set(node, out)
