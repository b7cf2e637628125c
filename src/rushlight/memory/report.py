"""The report of a memory plan, as numbers and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.memory.hierarchy import Memory
from rushlight.memory.lower_bound import busiest_step, lower_bound
from rushlight.memory.problem import Buffer, MemorySearch, Plan, Problem

_ENDED_BY = {
    "steps": "the search ended at its limit of work",
    "time": "the search ended at its time limit; the plan depends on the speed of the machine",
    "size": "the problem is too large for the search",
    "build": "this build does not contain the search",
}


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The result for one memory.

    Attributes:
        mem_id: the id of the memory.
        peak: the planned size in bytes.
        lower_bound: the bytes that each plan needs with this order of the nodes: the largest live set, or a
            larger bound that the planner has proven.
        buffers: the number of buffers in the memory.
        ended_by: why the search for a better plan ended early, as in `MemorySearch`; "" if it was complete.
        memory: the description of the memory, or None if the options have no memories.
        traffic: the number of bytes that nodes read and write in the memory.
    """

    mem_id: int
    peak: int
    lower_bound: int
    buffers: int
    ended_by: str = ""
    memory: Memory | None = None
    traffic: int = 0

    @property
    def ratio(self) -> float:
        """The peak divided by the lower bound; 1.0 for a plan that is optimal for this order of the nodes."""
        return self.peak / self.lower_bound if self.lower_bound else 1.0

    @property
    def optimal(self) -> bool:
        """Whether no plan needs fewer bytes with this order of the nodes."""
        return self.peak <= self.lower_bound

    @property
    def verdict(self) -> str:
        """A text that compares the peak with the optimum."""
        if self.optimal:
            return "optimal"
        reason = _ENDED_BY.get(self.ended_by)
        gap = f"at most {self.ratio - 1:.1%} above the optimum"
        return f"{gap} ({reason})" if reason else gap


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The result of planning one method.

    Attributes:
        memories: the result for each memory.
        in_place: the number of results that are computed in the memory of an argument.
        views: the number of tensors that are views of other tensors.
        largest: the largest buffers that are alive at the step with the largest live set, by decreasing size.
        problem: the planning problem.
        plan: the plan.
        moved: the number of nodes that the planner moved to lower the peak.
        least: a lower bound for any order of the nodes: the largest number of bytes that one node needs for
            its arguments and results; 0 if it is not known.
    """

    memories: tuple[MemoryUse, ...]
    in_place: int
    views: int
    largest: tuple[Buffer, ...]
    problem: Problem
    plan: Plan
    moved: int = 0
    least: int = 0

    @property
    def peak(self) -> int:
        """The sum of the planned bytes of all memories."""
        return sum(memory.peak for memory in self.memories)

    def __str__(self) -> str:
        lines = ["memory          peak   lower bound  ratio  buffers"]
        for use in self.memories:
            lines.append(
                f"{use.mem_id:<6} {use.peak:>13,} {use.lower_bound:>13,} {use.ratio:>6.3f} {use.buffers:>8}"
                f"  {use.verdict}"
            )
        for use in self.memories:
            if use.memory is not None:
                size = "no size limit" if use.memory.size is None else f"{use.memory.size:,} bytes"
                lines.append(
                    f"memory {use.mem_id} is {use.memory.name} ({size}): nodes read and write "
                    f"{use.traffic:,} bytes, with the cost {use.traffic * use.memory.cost:,.0f}"
                )
        lines.append(f"results in place: {self.in_place}, views: {self.views}, moved nodes: {self.moved}")
        if self.least:
            lines.append(f"lower bound for any order of the nodes: {self.least:,} bytes")
        for buffer in self.largest:
            lines.append(
                f"  {buffer.size:>13,} bytes, alive in steps {buffer.lower} to {buffer.upper - 1}: "
                f"{buffer.name}"
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
    """Returns the report of a plan.

    Args:
        problem: the buffers.
        plan: their offsets.
        sizes: returns the planned bytes of a memory id.
        in_place: the number of results that share the memory of an argument.
        views: the number of tensors that are views of other tensors.
        shown: the number of the largest buffers to list.
    """
    bounds, busiest = lower_bound(problem), busiest_step(problem)
    memories = []
    for mem_id, buffers in problem.by_memory().items():
        search = plan.searches.get(mem_id, MemorySearch(0))
        bound = max(bounds[mem_id], search.bound)
        memories.append(MemoryUse(mem_id, sizes(mem_id), bound, len(buffers), search.ended_by))
    alive = [
        buffer
        for buffer in problem.buffers
        if buffer.size and buffer.lower <= busiest[buffer.mem_id] < buffer.upper
    ]
    alive.sort(key=lambda buffer: (-buffer.size, buffer.lower))
    return PlanReport(tuple(memories), in_place, views, tuple(alive[:shown]), problem, plan)
