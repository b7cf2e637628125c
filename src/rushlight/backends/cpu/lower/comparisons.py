"""Lowers comparisons, logical operators, integer arithmetic and selections, as used for masks and indices."""

from __future__ import annotations

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import dtype_of
from rushlight.backends.cpu.lower.row import Category, Row, rows
from rushlight.backends.cpu.plan.tables import Compare, Comparison, Where
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op

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


def compare(lowering: Lowering, node: Node, comparison: Comparison, a: object, b: object) -> None:
    """Lowers `node` to the comparison of a with b; a number gets the dtype of the other operand."""
    dtype = dtype_of(a) or dtype_of(b)
    assert dtype is not None
    sizes = lowering.sizes(node)
    left, right = (_operand(lowering, item, dtype).expand(sizes) for item in (a, b))
    result = dtype_of(node)
    assert result is not None
    out = lowering.new_tensor(sizes, dtype=result)
    lowering.emit(Compare(a=left, b=right, output=out, comparison=comparison), node)
    lowering.set_tensor(node, out)


def _operand(lowering: Lowering, item: object, dtype: torch.dtype) -> Tensor:
    return lowering.tensor(item) if isinstance(item, Node) else constant(torch.tensor(item, dtype=dtype))


def comparison(lowering: Lowering, node: Node) -> None:
    """Lowers a comparison of two tensors or a tensor and a number, or a logical operator."""
    op = aten_op(node.target)
    compare(lowering, node, (COMPARISONS | LOGIC)[op], node.args[0], node.args[1])


def negation(lowering: Lowering, node: Node) -> None:
    """Lowers the negation of truth values to a comparison with False."""
    compare(lowering, node, Comparison.EQUAL, node.args[0], False)


def isnan(lowering: Lowering, node: Node) -> None:
    """Lowers isnan: only NaN differs from itself."""
    compare(lowering, node, Comparison.NOT_EQUAL, node.args[0], node.args[0])


def where(lowering: Lowering, node: Node) -> None:
    """Lowers the choice between two tensors by a condition."""
    choose(lowering, node, *node.args)


def choose(lowering: Lowering, node: Node, condition: object, a: object, b: object) -> None:
    """Lowers `node` to the elements of `a` where `condition` is True, and of `b` elsewhere."""
    sizes, dtype = lowering.sizes(node), dtype_of(node)
    assert dtype is not None
    left, right = (_operand(lowering, item, dtype).expand(sizes) for item in (a, b))
    known = lowering.constant_value(condition)
    if known is not None and (known.all() or not known.any()):
        lowering.set_tensor(node, left if known.all() else right)
        return
    chosen = lowering.tensor(condition).expand(sizes)
    out = lowering.new_tensor(sizes, dtype=dtype)
    lowering.emit(Where(condition=chosen, a=left, b=right, output=out), node)
    lowering.set_tensor(node, out)


# Checks: each returns the reason why a node is refused, or None.


def check_same_types(node: Node, result: Node | None = None) -> str | None:
    """Refuses a node whose tensors do not have one dtype, or whose number does not fit this dtype.

    Args:
        node: the node; all its tensor arguments must have the same dtype.
        result: a further node that must have this dtype, or None.
    """
    if argument(node, 2, 1) != 1 and aten_op(node.target) in ARITHMETIC:
        return "it adds integers with a factor alpha"
    types = {dtype_of(item) for item in node.all_input_nodes} | {
        dtype_of(item) for item in (result,) if item is not None
    }
    if len(types) != 1 or None in types:
        return "its operands have different dtypes"
    is_integer = types != {torch.float32}
    numbers = [item for item in node.args[:2] if not isinstance(item, Node)]
    if any(
        not isinstance(item, int) if is_integer else not isinstance(item, (int, float)) for item in numbers
    ):
        return "it combines integers with a number that is not an integer"
    return None


def check_comparison(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the operands do not have one dtype."""
    return check_same_types(node)


def check_logic(node: Node, constants: Constants) -> str | None:
    """Refuses the node if an operand is not bool."""
    types = {dtype_of(item) for item in node.all_input_nodes}
    return None if types == {torch.bool} else "its operands are not bool"


def check_where(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the condition is not bool, or the operands do not have one dtype."""
    types = [dtype_of(item) for item in node.args]
    if types[0] is not torch.bool:
        return "its condition is not bool"
    return None if types[1] is types[2] else "its operands have different dtypes"


ROWS: dict[object, Row] = {
    **rows(COMPARISONS, Row(check_comparison, comparison, Category.MASK)),
    **rows(LOGIC, Row(check_logic, comparison, Category.MASK)),
    **rows(NOT, Row(check_logic, negation, Category.MASK)),
    aten.isnan.default: Row(None, isnan, Category.MASK),
    aten.where.self: Row(check_where, where, Category.MASK),
}
