"""Sizes: integers, or sympy expressions over non-negative symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import sympy
import torch
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from rushlight.backends.cpu.plan.evaluate import (
    ADD,
    CONSTANT,
    FLOOR_DIVIDE,
    MAXIMUM,
    MINIMUM,
    MODULUS,
    MULTIPLY,
    SYMBOL,
)
from rushlight.ir.sym import bounds

Size: TypeAlias = int | sympy.Expr


class UnsupportedSize(ValueError):
    """A size that plans cannot express."""


def size_of(value: int | torch.SymInt) -> Size:
    """Returns a size of a tensor of torch as an integer or an expression."""
    if isinstance(value, int):
        return value
    constant = value.node.maybe_as_int()
    return int(constant) if constant is not None else simplify(value.node.expr)


def simplify(expression: Size) -> Size:
    """Simplifies an expression: divisions without a remainder become their quotients.

    torch's expressions may divide by a size that can be 0, as in `(s**2) // s`, although the quotient `s` is
    defined.

    Returns:
        The expression; an int if it is constant.
    """
    if isinstance(expression, int):
        return expression
    if expression.has(FloorDiv):
        expression = expression.replace(FloorDiv, _quotient)
    expanded = sympy.expand(expression)
    return int(expanded) if expanded.is_Integer else expanded


def _quotient(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    # sympy.fraction would return (s / 2 - 1 / 2, 1) for (s - 1) / 2.
    exact, rest = sympy.cancel(a / b).as_numer_denom()
    return exact if rest == 1 else FloorDiv(a, b)


def product(sizes: Iterable[Size]) -> Size:
    """Returns the product of sizes; 1 if there are none."""
    result: Size = 1
    for size in sizes:
        result = result * size
    return simplify(result)


def same(a: Size, b: Size) -> bool:
    """Returns whether two sizes are equal for all values of their symbols."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return bool(simplify(a - b) == 0)


def divide(a: Size, b: Size) -> Size:
    """Returns a / b, where a is a multiple of b."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return simplify(sympy.cancel(sympy.sympify(a) / b))


def window_count(positions: Size, stride: int) -> Size:
    """Returns the number of windows of a convolution or pooling along one dimension.

    Args:
        positions: the number of positions at which a window can start if the stride is 1.
        stride: the distance of consecutive windows.
    """
    if isinstance(positions, int):
        return (positions - 1) // stride + 1
    return simplify(FloorDiv(positions - 1, stride) + 1)


def _decreases(term: sympy.Expr) -> bool:
    """Returns whether a term becomes smaller if its symbols become larger."""
    return bool(term.free_symbols) and bool(term.could_extract_minus_sign())


def may_be_negative(size: Size) -> bool:
    """Returns whether a size contains a difference.

    For example, torch's length of `x[1:]` is `s - 1`, even if s is 0.
    """
    return not isinstance(size, int) and any(t.could_extract_minus_sign() for t in sympy.Add.make_args(size))


def not_negative(code: Sequence[int]) -> list[int]:
    """Returns max(0, size), in the encoding of payloads.

    Args:
        code: the size in the encoding of payloads.
    """
    return [*code, CONSTANT, 0, MAXIMUM]


class Symbols:
    """The symbols of one program with their bounds."""

    def __init__(self) -> None:
        self._bounds: dict[sympy.Symbol, tuple[int, int]] = {}

    def register(self, value: int | torch.SymInt) -> Size:
        """Registers the symbols of a size, and returns the size as an integer or an expression.

        Raises:
            UnsupportedSize: a symbol has no upper bound, or plans cannot express the size.
        """
        size = size_of(value)
        if isinstance(size, int) or isinstance(value, int):
            return size
        env = value.node.shape_env
        for symbol in size.free_symbols:
            if symbol in self._bounds:
                continue
            ranges = env.bound_sympy(symbol)
            try:
                upper = int(ranges.upper)
            except (TypeError, ValueError, OverflowError, AttributeError):
                raise UnsupportedSize(f"{symbol} has no upper bound") from None
            if upper > 2**31 - 1:
                raise UnsupportedSize(f"{symbol} has no upper bound")
            # A plan needs no lower bounds: the program checks them. Tracing also adds lower bounds that are
            # not true.
            self._bounds[symbol] = (0, upper)
        encode(size, dict.fromkeys(size.free_symbols, 0))
        return size

    def upper(self, size: Size) -> int:
        """Returns the upper bound of a size.

        Sizes increase with their symbols, except remainders and differences.
        """
        if isinstance(size, int):
            return size
        largest = int(size.subs({symbol: self._bounds[symbol][1] for symbol in size.free_symbols}))
        if not size.has(Mod, PythonMod) and not any(_decreases(term) for term in sympy.Add.make_args(size)):
            return largest
        ranges = {symbol: ValueRanges(*self._bounds[symbol]) for symbol in size.free_symbols}
        return max(largest, int(bound_sympy(size, ranges).upper))


def is_bounded(value: int | torch.SymInt) -> bool:
    """Returns whether plans can express the size, and the size has an upper bound."""
    if isinstance(value, int):
        return True
    try:
        Symbols().register(value)
    except UnsupportedSize:
        return False
    return bounds(value)[1] is not None


def encode(size: Size, index_of: Mapping[sympy.Expr, int]) -> list[int]:
    """Returns the size in the encoding of payloads; schema/cpu_plan.fbs describes the encoding.

    Args:
        size: the size.
        index_of: the indices of symbols and other known expressions.

    Raises:
        UnsupportedSize: plans cannot express the size.
        KeyError: a symbol is not in `index_of`.
    """
    if isinstance(size, int):
        return [CONSTANT, size]
    if size.is_Integer:
        return [CONSTANT, int(size)]
    if size.is_Symbol or size in index_of:
        return [SYMBOL, index_of[size]]
    if isinstance(size, sympy.Pow) and size.exp.is_Integer and 1 <= int(size.exp) <= 8:
        return _chain([size.base] * int(size.exp), MULTIPLY, index_of)
    if isinstance(size, FloorDiv):
        return _chain(size.args, FLOOR_DIVIDE, index_of)
    if isinstance(size, (Mod, PythonMod)):
        return _chain(size.args, MODULUS, index_of)
    if isinstance(size, sympy.Add):
        return _chain(size.args, ADD, index_of)
    if isinstance(size, sympy.Mul):
        return _chain(size.args, MULTIPLY, index_of)
    if isinstance(size, sympy.Max) or type(size).__name__ == "Max":
        return _chain(size.args, MAXIMUM, index_of)
    if isinstance(size, sympy.Min) or type(size).__name__ == "Min":
        return _chain(size.args, MINIMUM, index_of)
    raise UnsupportedSize(f"plans cannot express the size {size}")


def _chain(items: Iterable[sympy.Expr], code: int, index_of: Mapping[sympy.Expr, int]) -> list[int]:
    first, *rest = items
    result = encode(first, index_of)
    for item in rest:
        result += [*encode(item, index_of), code]
    return result
