"""Encodes conditions on input sizes and on computed integers as named data.

The runtime checks input sizes before an execution, and integers after they are computed. A runtime that does
not support this named data ignores it, and checks only upper bounds. All numbers are little-endian. The data
consist of:

- The header, two uint32: version, number of guards.
- A guard for each dimension of each input with dynamic dimensions. A guard has four int64: the smallest
  size, the largest size (-1 means no bound), scale, offset. Four uint32 follow: the index of the input, the
  dimension, the index of the first guard with the same symbol, the byte offset of the input's name.
- The names. Each of them ends with a zero byte.

A size is scale * symbol + offset. A symbol has the same value in all its guards. For an integer input, the
dimension is 0xFFFFFFFF. For an integer that the method computes, the dimension is 0xFFFFFFFE, the index is
the index of the value, and the name is the name of the tensor from which the integer is read.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import sympy
import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from rushlight.ir import meta
from rushlight.ir.sym import IntLike, Ranges, as_int, bounds

KEY = "rushlight.shape_guards."
VERSION = 1
INTEGER = 0xFFFFFFFF
VALUE = 0xFFFFFFFE

_SMALLEST = -(2**63)
_HEADER = struct.Struct("<II")
_GUARD = struct.Struct("<qqqqIIII")


@dataclass(frozen=True, slots=True)
class _Guard:
    """A guard, with the fields that the text at the top of this file describes.

    Attributes:
        name: the name of the input, or of the tensor from which an integer is read.
        low: the smallest size.
        high: the largest size; -1 means no bound.
        scale, offset: the size is scale * symbol + offset.
        input: the index of the input or of the value.
        dim: the dimension, INTEGER or VALUE.
        first: the index of the first guard with the same symbol.
    """

    name: str
    low: int
    high: int
    scale: int
    offset: int
    input: int
    dim: int
    first: int


def shape_guards(inputs: Sequence[Node], computed: Sequence[tuple[Node, int]], ranges: Ranges) -> bytes:
    """Encodes the guards of a method.

    Args:
        inputs: the nodes of the user inputs.
        computed: the nodes with an integer result, each with the index of its value.
        ranges: the range constraints of the program, by symbol. They have precedence over the ranges from
            tracing, which often exclude the size 1 although the model supports it.

    Returns:
        The bytes. They are empty if there is nothing to check.
    """
    guards: list[_Guard] = []
    firsts: dict[sympy.Expr, int] = {}
    for index, node in enumerate(inputs):
        value = meta.get_val(node) if meta.has_val(node) else None
        if isinstance(value, torch.SymInt):
            guards.append(_guard(node, index, INTEGER, value, firsts, len(guards), ranges))
        elif isinstance(value, torch.Tensor):
            sizes = [_plain(size) for size in value.shape]
            if all(isinstance(size, int) for size in sizes):
                continue  # the runtime checks static shapes itself
            for dim, size in enumerate(sizes):
                if isinstance(size, int):
                    guards.append(_Guard(str(node.target), size, size, 1, 0, index, dim, len(guards)))
                else:
                    guards.append(_guard(node, index, dim, size, firsts, len(guards), ranges))
    for node, index in computed:
        low, high = _range_of(meta.get_val(node), ranges)
        if low is not None or high is not None:
            names = [argument.name for argument in node.all_input_nodes] or [node.name]
            smallest = _SMALLEST if low is None else low
            guards.append(
                _Guard(names[0], smallest, -1 if high is None else high, 1, 0, index, VALUE, len(guards))
            )
    return _encode(guards) if guards else b""


def _plain(size: IntLike) -> IntLike:
    constant = size.node.maybe_as_int() if isinstance(size, torch.SymInt) else None
    return size if constant is None else int(constant)


def _range_of(value: torch.SymInt, ranges: Ranges) -> tuple[int | None, int | None]:
    """The bounds of a data-dependent symbol. None means no bound."""
    expression = value.node.expr
    if expression not in ranges or not free_unbacked_symbols(value):
        return None, None
    return as_int(ranges[expression].lower), as_int(ranges[expression].upper)


def _guard(
    node: Node,
    index: int,
    dim: int,
    size: torch.SymInt,
    firsts: dict[sympy.Expr, int],
    position: int,
    ranges: Ranges,
) -> _Guard:
    """Returns the guard of a dynamic size or of an integer input.

    Args:
        node: the input.
        index: the index of the input.
        dim: the dimension; INTEGER for an integer input.
        size: the size or the integer.
        firsts: the index of the first guard of each symbol. A new symbol is added.
        position: the index of this guard.
        ranges: the range constraints of the program, by symbol.
    """
    low, high = bounds(size)
    expression = size.node.expr
    symbol, scale, offset = _linear(expression)
    if expression in ranges:
        lowest, highest = (as_int(bound) for bound in (ranges[expression].lower, ranges[expression].upper))
        low = low if lowest is None else lowest
        high = high if highest is None else highest
    elif symbol in ranges:
        lowest, highest = (as_int(bound) for bound in (ranges[symbol].lower, ranges[symbol].upper))
        low = low if lowest is None else scale * lowest + offset
        high = high if highest is None else scale * highest + offset
    first = firsts.setdefault(symbol, position)
    name = str(node.target)
    # An integer input may be negative. A size cannot be negative.
    low = low if dim == INTEGER else max(low, 0)
    return _Guard(name, low, -1 if high is None else high, scale, offset, index, dim, first)


def _linear(expression: sympy.Expr) -> tuple[sympy.Expr, int, int]:
    """Returns (symbol, scale, offset) of scale * symbol + offset.

    Any other expression is treated as a symbol.
    """
    symbols = list(expression.free_symbols)
    if len(symbols) == 1:
        scale = expression.coeff(symbols[0])
        offset = expression - scale * symbols[0]
        if scale.is_Integer and offset.is_Integer and scale > 0:
            return symbols[0], int(scale), int(offset)
    return expression, 1, 0


def _encode(guards: Sequence[_Guard]) -> bytes:
    names = bytearray()
    places: dict[str, int] = {}
    start = _HEADER.size + _GUARD.size * len(guards)
    for guard in guards:
        if guard.name not in places:
            places[guard.name] = start + len(names)
            names += guard.name.encode() + b"\0"
    records = b"".join(
        _GUARD.pack(g.low, g.high, g.scale, g.offset, g.input, g.dim, g.first, places[g.name]) for g in guards
    )
    return _HEADER.pack(VERSION, len(guards)) + records + bytes(names)
