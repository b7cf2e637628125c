"""The result of memory planning, as numbers and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.memory.hierarchy import Memory
from rushlight.memory.lower_bound import busiest_step, lower_bound
from rushlight.memory.problem import Buffer, MemorySearch, Plan, Problem

_ENDED_BY = {
    "steps": "the search has reached its limit of work",
    "time": "the search has reached its time limit: the plan depends on the speed of the machine",
    "size": "too large to search",
    "build": "this build has no search",
}


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The result for one memory.

    Attributes:
        mem_id: the memory.
        peak: its size in bytes.
        lower_bound: the bytes that every plan needs with this order of the nodes: the largest live set, or a
            larger bound that the planner has proven.
        buffers: the number of buffers.
        ended_by: why the search for a better plan ended early, as in `MemorySearch`; "" if it was complete.
        memory: the description of the memory, if the user gave any.
        traffic: the bytes that nodes read and write in it.
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
        """The peak divided by the lower bound.

        1.0 means that a better plan needs another order of the nodes.
        """
        return self.peak / self.lower_bound if self.lower_bound else 1.0

    @property
    def optimal(self) -> bool:
        """Whether every plan needs at least this number of bytes."""
        return self.peak <= self.lower_bound

    @property
    def verdict(self) -> str:
        """What the planner has proven about the peak, as text."""
        if self.optimal:
            return "optimal"
        reason = _ENDED_BY.get(self.ended_by)
        gap = f"at most {self.ratio - 1:.1%} above the optimum"
        return f"{gap} ({reason})" if reason else gap


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The result of planning one method.

    Attributes:
        in_place: the number of results that are computed in the memory of an argument.
        views: the number of tensors that are views of others.
        moved: the number of nodes that were moved in the graph to lower the live bytes.
        least: the bytes that the largest node needs for its arguments and results, in any order of the nodes.
        largest: the buffers that are alive at the step with the largest live set, by decreasing size.
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
        """The bytes of all memories."""
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
                size = "any size" if use.memory.size is None else f"{use.memory.size:,} bytes"
                lines.append(
                    f"memory {use.mem_id} is {use.memory.name} ({size}); nodes read and write "
                    f"{use.traffic:,} bytes in it, at a cost of {use.traffic * use.memory.cost:,.0f}"
                )
        lines.append(f"{self.in_place} results in place, {self.views} views, {self.moved} nodes moved")
        if self.least:
            lines.append(f"some node needs {self.least:,} bytes in any order of the nodes")
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
