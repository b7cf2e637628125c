"""What passes over a plan know beside its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.backends.cpu.options import Options
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import Symbols


@dataclass(frozen=True)
class Context:
    """How a part is planned, and the upper bounds of its symbols."""

    options: Options
    symbols: Symbols


Pass = Callable[[list[PlanNode], Context], list[PlanNode]]
"""Takes the steps of a plan in their order, and gives those that compute the same, in their order."""
