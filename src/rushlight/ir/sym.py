"""Symbolic sizes: hints and bounds of `torch.SymInt` values."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeAlias

import sympy
import torch
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

IntLike = int | torch.SymInt

Ranges: TypeAlias = dict[sympy.Expr, ValueRanges[sympy.Expr]]
"""The bounds of symbols and symbolic expressions, as in `ExportedProgram.range_constraints`."""

_UNBOUNDED = sys.maxsize - 1


def is_symbolic(value: object) -> bool:
    """Returns whether `value` is a symbolic int, float or bool."""
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def has_hint(value: IntLike) -> bool:
    """Returns whether `value` is a plain int or a symbolic int with an example value."""
    return isinstance(value, int) or bool(value.node.has_hint())


def hint(value: IntLike) -> int | None:
    """Returns the example value of a size; None if the size depends on data."""
    if isinstance(value, int):
        return value
    return int(value.node.hint) if value.node.has_hint() else None


def bounds(value: IntLike) -> tuple[int, int | None]:
    """Returns the inclusive bounds of `value`. The upper bound is None if `value` is unbounded."""
    if isinstance(value, int):
        return value, value
    node = value.node
    constant = node.maybe_as_int()
    if constant is not None:
        return int(constant), int(constant)
    ranges: ValueRanges[sympy.Expr] = bound_sympy(node.expr, _ranges_of_symbols(node))
    lower = as_int(ranges.lower)
    upper = as_int(ranges.upper)
    return (lower if lower is not None else -_UNBOUNDED), upper


def _ranges_of_symbols(node: Any) -> dict[sympy.Symbol, ValueRanges[sympy.Expr]]:
    """Returns the ranges of the symbols in a symbolic size.

    Torch writes the missing bound of a data-dependent size as a large number. It becomes infinite here, so
    that the bounds of expressions such as `size // 2` are also missing.
    """
    known = node.shape_env.var_to_range
    return {
        symbol: ValueRanges(
            -int_oo if as_int(known[symbol].lower) is None else known[symbol].lower,
            int_oo if as_int(known[symbol].upper) is None else known[symbol].upper,
        )
        for symbol in node.expr.free_symbols
        if symbol in known
    }


def upper_bound(value: IntLike) -> int | None:
    """Returns the inclusive upper bound of `value`; None if it is unbounded."""
    return bounds(value)[1]


def upper_shape(shape: Iterable[IntLike]) -> tuple[int | None, ...]:
    """Returns the upper bound of each dim; None for an unbounded dim."""
    return tuple(upper_bound(dim) for dim in shape)


def plain_size(size: IntLike) -> IntLike:
    """Returns a symbolic size as an int if it has only one possible value, else unchanged."""
    if isinstance(size, int):
        return size
    known = size.node.maybe_as_int()
    return size if known is None else int(known)


def same_size(left: IntLike, right: IntLike) -> bool:
    """Returns whether two sizes are equal for all inputs. No guard is added."""
    left, right = plain_size(left), plain_size(right)
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return bool(sympy.expand(expression_of(left) - expression_of(right)) == 0)


def expression_of(size: IntLike) -> sympy.Expr:
    """Returns the sympy expression of a size."""
    return sympy.Integer(size) if isinstance(size, int) else size.node.expr


def as_int(value: int | sympy.Expr) -> int | None:
    """Returns a bound as an int; None if it is infinite."""
    try:
        number = int(value)
    # sympy raises AttributeError for some products with infinity.
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return number if abs(number) < _UNBOUNDED else None
