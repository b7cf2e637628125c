"""The context of the passes over a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.backends.cpu.options import Options
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import Symbols


@dataclass(frozen=True)
class Context:
    """The options of a partition, and the symbols of its sizes with their upper bounds."""

    options: Options
    symbols: Symbols


Pass = Callable[[list[PlanNode], Context], list[PlanNode]]
"""A pass: a function from the steps of a plan to steps with the same results, both in execution order."""
