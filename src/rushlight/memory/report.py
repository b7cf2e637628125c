"""The result of memory planning, as numbers and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.memory.lower_bound import busiest_step, lower_bound
from rushlight.memory.problem import Buffer, Plan, Problem


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """One memory under a plan: its peak and the live-set lower bound in bytes."""

    mem_id: int
    peak: int
    lower_bound: int
    buffers: int

    @property
    def ratio(self) -> float:
        """Peak over lower bound; 1.0 for a plan that cannot be improved without reordering."""
        return self.peak / self.lower_bound if self.lower_bound else 1.0


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The outcome of planning one method.

    `in_place` results and `views` needed no bytes of their own. `largest` are the buffers alive at the step
    where the live set is largest, by decreasing size.
    """

    memories: tuple[MemoryUse, ...]
    in_place: int
    views: int
    largest: tuple[Buffer, ...]
    problem: Problem
    plan: Plan

    @property
    def peak(self) -> int:
        """Bytes over all memories."""
        return sum(memory.peak for memory in self.memories)

    def __str__(self) -> str:
        lines = ["memory          peak   lower bound  ratio  buffers"]
        for use in self.memories:
            lines.append(
                f"{use.mem_id:<6} {use.peak:>13,} {use.lower_bound:>13,} {use.ratio:>6.3f} {use.buffers:>8}"
            )
        lines.append(f"{self.in_place} results in place, {self.views} views")
        for buffer in self.largest:
            lines.append(
                f"  {buffer.size:>13,} bytes in steps {buffer.lower} to {buffer.upper - 1}: {buffer.name}"
            )
        return "\n".join(lines)


def make_report(
    problem: Problem,
    plan: Plan,
    sizes: Callable[[int], int],
    in_place: int,
    views: int,
    shown: int = 8,
) -> PlanReport:
    """Summarise `plan`; `sizes` gives the bytes reserved for a memory id."""
    bounds, busiest = lower_bound(problem), busiest_step(problem)
    memories = tuple(
        MemoryUse(mem_id, sizes(mem_id), bounds[mem_id], len(buffers))
        for mem_id, buffers in problem.by_memory().items()
    )
    alive = [
        buffer
        for buffer in problem.buffers
        if buffer.size and buffer.lower <= busiest[buffer.mem_id] < buffer.upper
    ]
    alive.sort(key=lambda buffer: (-buffer.size, buffer.lower))
    return PlanReport(memories, in_place, views, tuple(alive[:shown]), problem, plan)
