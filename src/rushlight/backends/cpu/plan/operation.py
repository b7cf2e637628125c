"""The base class of the operations of a plan, which describes operands by names and effects.

The operations in `tables.py` are generated from `schema/cpu_plan.fbs`. Their operands are tensors in a plan
under construction, and indices of values in a finished plan.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

V = TypeVar("V")
W = TypeVar("W")


class Effect(Enum):
    """The effect of an operation on an operand."""

    READS = "reads"
    WRITES = "writes"
    UPDATES = "updates"
    """Writes some elements and keeps the other elements."""


@dataclass(frozen=True)
class Operand:
    """A field of an operation with one or more operands.

    Attributes:
        name: the name of the field.
        effect: whether the operation reads, writes or updates the operand.
        in_place: whether the output may reuse the memory of the operand if both have the same layout. The
            kernel must read each element before it writes the output element at the same address.
        is_vector: whether the field is a list of operands.
    """

    name: str
    effect: Effect
    in_place: bool = False
    is_vector: bool = False

    @property
    def is_read(self) -> bool:
        """Whether the operation reads the operand and does not write it."""
        return self.effect is Effect.READS


class Operation(Generic[V]):
    """The computation of a step.

    Subclasses are dataclasses. `OPERANDS` lists the fields that are operands.
    """

    OPERANDS: ClassVar[tuple[Operand, ...]] = ()

    def operands(self) -> Iterator[tuple[Operand, V]]:
        """Yields the operands that are present, in the order of the fields."""
        for operand in self.OPERANDS:
            value = getattr(self, operand.name)
            if operand.is_vector:
                for item in value:
                    yield operand, item
            elif value is not None:
                yield operand, value

    def reads(self) -> list[V]:
        """Returns the operands that are read; an operand that is read twice is listed twice."""
        return [value for operand, value in self.operands() if operand.is_read]

    def writes(self) -> list[V]:
        """Returns the operands that are written, partly or completely."""
        return [value for operand, value in self.operands() if not operand.is_read]

    def mapped(self, change: Callable[[Operand, V], W]) -> Operation[W]:
        """Returns a copy of the operation with other operands.

        Args:
            change: returns the new operand for a field and its old operand.
        """
        result: Any = copy.copy(self)
        for operand in self.OPERANDS:
            value: Any = getattr(self, operand.name)
            if operand.is_vector:
                setattr(result, operand.name, [change(operand, item) for item in value])
            elif value is not None:
                setattr(result, operand.name, change(operand, value))
        typed: Operation[W] = result
        return typed
