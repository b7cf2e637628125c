"""The result of memory planning, as numbers and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.memory.lower_bound import busiest_step, lower_bound
from rushlight.memory.problem import Buffer, Plan, Problem


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The peak and the live-set lower bound of one memory, in bytes."""

    mem_id: int
    peak: int
    lower_bound: int
    buffers: int

    @property
    def ratio(self) -> float:
        """The peak divided by the lower bound.

        1.0 means that no plan is better without another order of the nodes.
        """
        return self.peak / self.lower_bound if self.lower_bound else 1.0


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The result of planning one method.

    Attributes:
        in_place: the number of results that are computed in the memory of an argument.
        views: the number of tensors that are views of others.
        largest: the buffers that are alive at the step with the largest live set, by decreasing size.
    """

    memories: tuple[MemoryUse, ...]
    in_place: int
    views: int
    largest: tuple[Buffer, ...]
    problem: Problem
    plan: Plan

    @property
    def peak(self) -> int:
        """The bytes of all memories."""
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
    """Makes a report of a plan. `sizes` returns the reserved bytes of a memory id."""
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
