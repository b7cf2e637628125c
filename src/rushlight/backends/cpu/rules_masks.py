"""Comparisons, logic, whole-number arithmetic and choices: what masks and places are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.drafts import Draft
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Lowering, rule
from rushlight.backends.cpu.tensor import Tensor, planned_dtype
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op

aten = torch.ops.aten

# Combination of runtime/backends/cpu/steps/combine.cpp.
_CODES = {name: code for code, name in enumerate("eq ne lt le gt ge and or xor add sub mul".split())}
COMPARISONS = {
    getattr(getattr(aten, name), overload): name
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for overload in ("Tensor", "Scalar")
}
LOGIC = {
    aten.bitwise_and.Tensor: "and",
    aten.bitwise_or.Tensor: "or",
    aten.bitwise_xor.Tensor: "xor",
    aten.logical_and.default: "and",
    aten.logical_or.default: "or",
    aten.logical_xor.default: "xor",
}
NOT = (aten.bitwise_not.default, aten.logical_not.default)
ARITHMETIC = {
    getattr(getattr(aten, name), overload): name
    for name in ("add", "sub", "mul")
    for overload in ("Tensor", "Scalar")
}


def dtype_of(node: Any) -> torch.dtype | None:
    """That in which a plan keeps a tensor's node."""
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if fake is None else planned_dtype(fake.dtype)


def combine(lowering: Lowering, node: Node, name: str, a: Any, b: Any) -> None:
    """node = a (name) b, where a number takes the other operand's type."""
    dtype = dtype_of(a) or dtype_of(b)
    assert dtype is not None
    sizes = lowering.sizes(node)
    operands = [_operand(lowering, item, dtype).expand(sizes) for item in (a, b)]
    result = dtype_of(node)
    assert result is not None
    out = lowering.new(sizes, dtype=result)
    lowering.emit(Draft(StepKind.COMBINE, [*operands, out], ints=[_CODES[name]]), node)
    lowering.set(node, out)


def _operand(lowering: Lowering, item: Any, dtype: torch.dtype) -> Tensor:
    return (
        lowering.tensor(item)
        if isinstance(item, Node)
        else lowering.constant(torch.tensor(item, dtype=dtype))
    )


@rule(*COMPARISONS, *LOGIC)
def comparison(lowering: Lowering, node: Node) -> None:
    op = aten_op(node.target)
    name = COMPARISONS.get(op) or LOGIC[op]  # type: ignore[index]
    combine(lowering, node, name, node.args[0], node.args[1])


@rule(*NOT)
def negation(lowering: Lowering, node: Node) -> None:
    combine(lowering, node, "eq", node.args[0], False)


@rule(aten.where.self)
def where(lowering: Lowering, node: Node) -> None:
    choose(lowering, node, *node.args)


def choose(lowering: Lowering, node: Node, condition: Any, a: Any, b: Any) -> None:
    """node = condition ? a : b."""
    sizes, dtype = lowering.sizes(node), dtype_of(node)
    assert dtype is not None
    operands = [
        lowering.tensor(condition).expand(sizes),
        *(_operand(lowering, item, dtype).expand(sizes) for item in (a, b)),
    ]
    out = lowering.new(sizes, dtype=dtype)
    lowering.emit(Draft(StepKind.SELECT, [*operands, out]), node)
    lowering.set(node, out)
