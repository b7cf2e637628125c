"""Nested loops over strided tensors, in the same order as in the portable kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from rushlight.aot_c.code import Code, terms
from rushlight.aot_c.values import TensorValue

_VARIABLES = "ijklmnpqrstuvw"


@dataclass
class Nest:
    """Nested loops, outermost first.

    Attributes:
        operands: the number of tensors that the loops access.
        sizes: the number of iterations of each loop.
        strides: for each loop, the stride of each operand in elements.
    """

    operands: int
    sizes: list[int] = field(default_factory=list)
    strides: list[list[int]] = field(default_factory=list)

    @classmethod
    def over(cls, shape: Sequence[int], *tensors: TensorValue) -> Nest:
        """Makes loops over a shape to which the tensors broadcast."""
        nest = cls(len(tensors))
        lead = [len(shape) - tensor.rank for tensor in tensors]
        for axis, size in enumerate(shape):
            strides = []
            for tensor, first in zip(tensors, lead, strict=True):
                own = axis - first
                repeats = own < 0 or (tensor.sizes[own] == 1 and size != 1)
                strides.append(0 if repeats else tensor.strides[own])
            nest.push(size, *strides)
        return nest

    def push(self, size: int, *strides: int) -> None:
        """Adds an innermost loop."""
        assert len(strides) == self.operands
        self.sizes.append(size)
        self.strides.append(list(strides))

    @property
    def numel(self) -> int:
        """The number of times that the body runs."""
        return math.prod(self.sizes)

    @property
    def inner_size(self) -> int:
        """The number of iterations of the innermost loop; 1 without loops."""
        return self.sizes[-1] if self.sizes else 1

    def inner_stride(self, operand: int) -> int:
        """Returns the stride of an operand in the innermost loop, in elements."""
        return self.strides[-1][operand] if self.sizes else 1

    def sort_by(self, operand: int) -> Nest:
        """Sorts the loops by decreasing stride of an operand."""
        order = sorted(range(len(self.sizes)), key=lambda d: -self.strides[d][operand])
        self.sizes = [self.sizes[d] for d in order]
        self.strides = [self.strides[d] for d in order]
        return self

    def collapse(self) -> Nest:
        """Merges adjacent loops where all strides allow it, and removes loops of one iteration."""
        sizes: list[int] = []
        strides: list[list[int]] = []
        for size, steps in zip(self.sizes, self.strides, strict=True):
            if size == 1:
                continue
            if sizes and all(outer == inner * size for outer, inner in zip(strides[-1], steps, strict=True)):
                sizes[-1] *= size
                strides[-1] = steps
            else:
                sizes.append(size)
                strides.append(steps)
        self.sizes, self.strides = sizes, strides
        return self

    def outer(self) -> Nest:
        """Returns the loops without the innermost loop."""
        return Nest(self.operands, self.sizes[:-1], self.strides[:-1])

    @contextmanager
    def emit(self, code: Code, prefix: str = "") -> Iterator[list[str]]:
        """Writes loops around the code that the body of the with statement writes.

        Yields:
            For each operand, the index of its element as a C expression.
        """
        with ExitStack() as stack:
            names = [prefix + _VARIABLES[d] for d in range(len(self.sizes))]
            for name, size in zip(names, self.sizes, strict=True):
                stack.enter_context(code.block(f"for (ptrdiff_t {name} = 0; {name} < {size}; ++{name})"))
            yield [
                terms(*((name, steps[k]) for name, steps in zip(names, self.strides, strict=True)))
                for k in range(self.operands)
            ]


def plus(*parts: str) -> str:
    """Writes a sum of expressions; summands that are `0` or empty are left out."""
    return " + ".join(part for part in parts if part not in ("0", "")) or "0"
