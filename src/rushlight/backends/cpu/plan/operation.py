"""The base class of a plan's operations: operands with names and effects.

The operations in `tables.py` are generated from `schema/cpu_plan.fbs`. Their operands are tensors while a
plan is made, and indices of values in the finished plan.
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
    """Writes some elements and keeps the others."""


@dataclass(frozen=True)
class Operand:
    """A field of an operation that holds one or more operands.

    in_place: the output may reuse the operand's memory if both have the same layout; each element is read
    before the output's element at its place is written. is_vector: the field is a list.
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
    """The computation of a step. Subclasses are dataclasses; `OPERANDS` lists their operand fields."""

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
        """Returns the same operation on other operands."""
        result: Any = copy.copy(self)
        for operand in self.OPERANDS:
            value: Any = getattr(self, operand.name)
            if operand.is_vector:
                setattr(result, operand.name, [change(operand, item) for item in value])
            elif value is not None:
                setattr(result, operand.name, change(operand, value))
        typed: Operation[W] = result
        return typed
