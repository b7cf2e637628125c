"""The type of a row in the table of operators: how an operator is checked and lowered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto

from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.ir.constants import Constants

Check = Callable[[Node, Constants], str | None]
"""Returns the reason why a plan cannot express a node; None if it can."""
Lower = Callable[[Lowering, Node], None]
"""Emits the steps that compute a node, and sets the node's tensor."""


class Category(Enum):
    """The kind of an operator, by which the partitioner decides whether a partition is large enough."""

    COMPUTATION = auto()
    ELEMENTWISE = auto()
    """Computes one float32 number for each element."""
    MASK = auto()
    """Compares or selects, for example for masks."""
    VIEW = auto()
    """Only moves elements."""


@dataclass(frozen=True)
class Row:
    """The check and the lowering of an operator.

    Attributes:
        check: returns the reason why a node is refused. None if no node with supported dtypes is refused.
        lower: emits the steps of a node.
        category: the kind of the operator.
    """

    check: Check | None
    lower: Lower
    category: Category = Category.COMPUTATION


def rows(ops: Iterable[object], row: Row) -> dict[object, Row]:
    """Assigns the same row to several operators."""
    return dict.fromkeys(ops, row)
