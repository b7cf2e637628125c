"""What the table of operators has for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto

from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.ir.constants import Constants

Check = Callable[[Node, Constants], str | None]
"""Gives the reason why a plan cannot express a node, None if it can."""
Lower = Callable[[Lowering, Node], None]
"""Adds the steps that compute a node, and sets the tensor that the node stands for."""


class Category(Enum):
    """What sort of operator it is, by which the partitioner judges whether a part is worth it."""

    COMPUTATION = auto()
    ELEMENTWISE = auto()
    """One float32 number for each element."""
    MASK = auto()
    """Comparisons and choices, as masks are made of."""
    VIEW = auto()
    """Says only where elements are."""


@dataclass(frozen=True)
class Row:
    """How an operator is treated.

    Args:
        check: why a node of the operator is not taken; None if each is, whose types fit.
        lower: what a node becomes.
        category: what sort of operator it is.
    """

    check: Check | None
    lower: Lower
    category: Category = Category.COMPUTATION


def rows(ops: Iterable[object], row: Row) -> dict[object, Row]:
    """The same row for several operators."""
    return dict.fromkeys(ops, row)
