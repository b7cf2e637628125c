"""Computes symbols and symbolic expressions of a plan from the sizes of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import sympy
import torch
from torch.fx import Node

from rushlight.backends.cpu.plan.sizes import Size, UnsupportedSize, encode, may_be_negative, product, size_of
from rushlight.ir import meta

Source = TypeVar("Source")


@dataclass(frozen=True)
class Binding:
    """An equation for a size of an argument, which determines an unknown: size = factor * unknown + shift."""

    unknown: sympy.Expr  # a symbol; a function of symbols, such as a quotient; or the whole size
    factor: int
    shift: int


class Bindings:
    """The unknowns that the sizes of arguments determine, and their indices."""

    def __init__(self) -> None:
        self._index: dict[sympy.Expr, int] = {}

    def solve(self, sizes: Iterable[tuple[Size, Source]]) -> Iterator[tuple[Binding, Source]]:
        """Yields a binding for each new unknown, with the source of the size that determines it.

        Symbols are solved first, then functions of symbols, then whole sizes. Differences are solved last,
        because a size of 0 does not determine the operands of a difference.

        Args:
            sizes: sizes of arguments, each with its source, such as the argument and dimension.
        """
        symbolic = [(size, source) for size, source in sizes if not isinstance(size, int)]
        listed = sorted(symbolic, key=lambda item: may_be_negative(item[0]))
        for find in (self._symbol, self._function, self._whole):
            for size, source in listed:
                binding = None if self.knows(size) else find(size)
                if binding is not None and binding.unknown not in self._index:
                    self._index[binding.unknown] = len(self._index)
                    yield binding, source

    def knows(self, size: Size) -> bool:
        """Returns whether the unknowns so far determine the size."""
        try:
            self.code(size)
        except KeyError:
            return False
        return True

    def code(self, size: Size) -> list[int]:
        """Returns the size in the encoding of payloads.

        Raises:
            KeyError: no argument determines a symbol of the size.
            UnsupportedSize: plans cannot express the size.
        """
        return encode(size, self._index)

    def _symbol(self, size: sympy.Expr) -> Binding | None:
        """Returns the binding of the only symbol of a size that is linear in it."""
        symbols = list(size.free_symbols)
        return _linear(size, symbols[0]) if len(symbols) == 1 else None

    def _function(self, size: sympy.Expr) -> Binding | None:
        """Returns the binding of the only function, such as a quotient, of a size that is linear in it."""
        functions = [item for item in size.atoms(sympy.Function) if not self.knows(item)]
        outer = [item for item in functions if not any(item in other.args for other in functions)]
        return _linear(size, outer[0]) if len(outer) == 1 else None

    def _whole(self, size: sympy.Expr) -> Binding | None:
        """Returns the binding of a size that is itself the unknown."""
        return Binding(size, 1, 0)


def _linear(size: sympy.Expr, unknown: sympy.Expr) -> Binding | None:
    """Returns the binding of a size factor * unknown + shift with factor > 0; None for any other size."""
    stand_in = sympy.Dummy()
    replaced = sympy.expand(size.subs(unknown, stand_in))
    if replaced.free_symbols != {stand_in}:
        return None
    factor, shift = replaced.coeff(stand_in, 1), replaced.coeff(stand_in, 0)
    if not (factor.is_Integer and shift.is_Integer and replaced == factor * stand_in + shift and factor > 0):
        return None
    return Binding(unknown, int(factor), int(shift))


def shapes_of(node: Node) -> list[tuple[Size, ...]]:
    """Returns the shapes of a node's tensors; an int is a shape of one size."""
    value = meta.find_val(node)
    items = value if isinstance(value, (list, tuple)) else [value]
    shapes = [item.shape if isinstance(item, torch.Tensor) else (item,) for item in items]
    sized = (int, torch.SymInt)
    return [tuple(size_of(s) for s in shape) for shape in shapes if all(isinstance(s, sized) for s in shape)]


def expresses(arguments: Iterable[Size], shapes: Iterable[tuple[Size, ...]]) -> bool:
    """Returns whether the sizes of arguments determine all sizes of the shapes."""
    bindings = Bindings()
    for _ in bindings.solve((size, None) for size in arguments):
        pass
    try:
        return all(bindings.knows(size) for shape in shapes for size in (*shape, product(shape)))
    except UnsupportedSize:
        return False
