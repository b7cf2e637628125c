"""What all operations of a plan have in common: operands with names and effects.

The operations are generated from `schema/cpu_plan.fbs`: `tables.py`. Their operands are tensors while a plan
is made, and indices of values in the plan itself.
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
    """What an operation does to an operand."""

    READS = "reads"
    WRITES = "writes"
    UPDATES = "updates"
    """Writes some elements and keeps the others."""


@dataclass(frozen=True)
class Operand:
    """A field of an operation that holds operands.

    in_place: the output may take the operand's memory if both lie alike: an element is read before the one at
    its place is written, and not after that. is_vector: the field is a list.
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
    """What a step does. Subclasses are dataclasses; `OPERANDS` lists the fields that are operands."""

    OPERANDS: ClassVar[tuple[Operand, ...]] = ()

    def operands(self) -> Iterator[tuple[Operand, V]]:
        """The operands that are there, in the order of the fields."""
        for operand in self.OPERANDS:
            value = getattr(self, operand.name)
            if operand.is_vector:
                for item in value:
                    yield operand, item
            elif value is not None:
                yield operand, value

    def reads(self) -> list[V]:
        """The operands that are read, each as often as it is read."""
        return [value for operand, value in self.operands() if operand.is_read]

    def writes(self) -> list[V]:
        """The operands that are written, in part or as a whole."""
        return [value for operand, value in self.operands() if not operand.is_read]

    def mapped(self, change: Callable[[Operand, V], W]) -> Operation[W]:
        """The same operation of other operands."""
        result: Any = copy.copy(self)
        for operand in self.OPERANDS:
            value: Any = getattr(self, operand.name)
            if operand.is_vector:
                setattr(result, operand.name, [change(operand, item) for item in value])
            elif value is not None:
                setattr(result, operand.name, change(operand, value))
        typed: Operation[W] = result
        return typed
