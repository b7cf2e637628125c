"""Plans several memories of limited size, for example a small fast memory and a large slow memory.

Each buffer is placed in a memory of its device. The cost of a plan is a sum over all buffers: the number of
bytes that nodes read and write in the buffer, times the cost of a byte in its memory. The planner first
places the buffers with the most accesses per byte and step of their lifetime, each in the cheapest memory
with a gap. Then it tries to move buffers to cheaper memories, and plans the new memory of each such buffer
again. The problem is NP-hard, and the cost is not guaranteed to be minimal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rushlight.memory.exact import ExactPlanner
from rushlight.memory.first_fit import lowest_gap
from rushlight.memory.lower_bound import busiest_step, lower_bound
from rushlight.memory.occupancy import Occupancy
from rushlight.memory.portfolio import best_first_fit
from rushlight.memory.problem import Buffer, MemorySearch, Plan, PlanError, Problem, align_up

CPU = (0, 0)
"""The type and index of the CPU as a device."""

MAX_RETRIES = 200
"""The maximum number of buffers that the planner tries to move to cheaper memories."""

_SHOWN = 5  # the number of buffers that an error message names


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a device.

    Attributes:
        name: a name for reports and messages, such as "sram".
        id: the id of the memory in the program, from 1. The application passes one block of memory to the
            runtime for each id.
        size: its size in bytes; None if it has no limit.
        cost: the cost of reading or writing one byte, in any unit.
        device: the type and index of the device to which the memory belongs, as in `TensorSpec`.
    """

    name: str
    id: int
    size: int | None = None
    cost: float = 1.0
    device: tuple[int, int] = CPU

    def __post_init__(self) -> None:
        if self.id < 1:
            raise ValueError(f"memory {self.name!r} has the id {self.id}; ids start at 1")
        if self.size is not None and self.size < 0:
            raise ValueError(
                f"memory {self.name!r} has the size {self.size}; a size is 0 or more bytes, or None"
            )
        if not 0 <= self.cost < math.inf:
            raise ValueError(f"memory {self.name!r} has the cost {self.cost}; a cost is 0 or more")

    @property
    def capacity(self) -> float:
        """The size in bytes; infinity if the memory has no limit."""
        return math.inf if self.size is None else self.size


def check_memories(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Checks the type of each memory, and that ids and names are unique.

    Args:
        memories: the memories.

    Returns:
        The memories.

    Raises:
        ValueError: two memories have the same id or name.
        TypeError: one of them is no `Memory`.
    """
    found = tuple(memories)
    for memory in found:
        if not isinstance(memory, Memory):
            raise TypeError(f'a memory is a Memory, such as Memory("sram", 1, size=65536), not {memory!r}')
    for what in ("id", "name"):
        values = [getattr(memory, what) for memory in found]
        duplicate = next((value for value in values if values.count(value) > 1), None)
        if duplicate is not None:
            raise ValueError(f"two memories have the {what} {duplicate!r}")
    return found


def plan_memories(
    problem: Problem,
    memories: Sequence[Memory],
    traffic: Mapping[int, int],
    devices: Mapping[int, tuple[int, int]] | None = None,
    fixed: Mapping[int, int] | None = None,
    planner: ExactPlanner | None = None,
) -> tuple[Problem, Plan]:
    """Chooses a memory and an offset for each buffer.

    Args:
        problem: the buffers; their memory ids are ignored.
        memories: the memories.
        traffic: the number of bytes that nodes read and write in each buffer, by buffer id.
        devices: the device of each buffer, by buffer id; the default is the CPU.
        fixed: the memory id of each buffer whose memory is already chosen, by buffer id.
        planner: the planner for a single memory; None means the exact planner.

    Returns:
        The problem with the chosen memory ids, and its plan.

    Raises:
        PlanError: the buffers do not fit into the memories, or there is no memory for the device of a buffer.
            The message gives the number of missing bytes and the largest buffers.
    """
    planning = _HierarchyPlanner(problem, check_memories(memories), traffic, devices or {}, fixed or {})
    planning.insert()
    planning.retry()
    return planning.result(planner or ExactPlanner())


def cost_of(problem: Problem, memories: Sequence[Memory], traffic: Mapping[int, int]) -> float:
    """Returns the cost of a plan: accessed bytes times the cost of their memory, summed over all buffers."""
    costs = {memory.id: memory.cost for memory in memories}
    return sum(traffic.get(b.id, 0) * costs[b.mem_id] for b in problem.buffers)


class _HierarchyPlanner:
    def __init__(
        self,
        problem: Problem,
        memories: Sequence[Memory],
        traffic: Mapping[int, int],
        devices: Mapping[int, tuple[int, int]],
        fixed: Mapping[int, int],
    ) -> None:
        self.problem = problem
        self.traffic = traffic
        # Memories of equal cost are sorted by size, so that the larger one keeps space for larger buffers.
        self.memories = sorted(memories, key=lambda m: (m.cost, m.capacity, m.id))
        self.allowed = {
            b.id: self._allowed(b, devices.get(b.id, CPU), fixed.get(b.id)) for b in problem.buffers
        }
        self.chosen: dict[int, Memory] = {}
        self.inserted: dict[int, tuple[Memory, int]] = {}

    def _allowed(self, buffer: Buffer, device: tuple[int, int], mem_id: int | None) -> list[Memory]:
        """Returns the memories that may contain a buffer, the cheapest first."""
        found = [m for m in self.memories if m.device == device and mem_id in (None, m.id)]
        if found:
            return found
        known = ", ".join(f"{m.name} (id {m.id}, device {m.device[0]}:{m.device[1]})" for m in self.memories)
        wanted = "" if mem_id is None else f" and the id {mem_id}"
        raise PlanError(
            f"{buffer.label} needs a memory of the device {device[0]}:{device[1]}{wanted}; the memories are "
            f"{known}"
        )

    def _density(self, buffer: Buffer) -> float:
        """Returns the saved cost per byte and step if the buffer is in its cheapest memory."""
        allowed = self.allowed[buffer.id]
        saved = self.traffic.get(buffer.id, 0) * (allowed[-1].cost - allowed[0].cost)
        return saved / (buffer.size * (buffer.upper - buffer.lower))

    def insert(self) -> None:
        """Places each buffer in the cheapest memory that has a gap for it."""
        spans = [(b.lower, b.upper) for b in self.problem.buffers if b.size]
        used = {m.id: Occupancy(spans) for m in self.memories}
        sized = [b for b in self.problem.buffers if b.size]
        for buffer in sorted(sized, key=lambda b: (-self._density(b), -b.size, b.lower, b.id)):
            allowed = self.allowed[buffer.id]
            for memory in allowed:
                offset = lowest_gap(used[memory.id].taken(buffer.lower, buffer.upper), buffer)
                if offset + buffer.size <= memory.capacity or memory is allowed[-1]:
                    end = align_up(offset + buffer.size, buffer.alignment)
                    used[memory.id].take(buffer.lower, buffer.upper, offset, end)
                    self.chosen[buffer.id] = memory
                    self.inserted[buffer.id] = memory, offset
                    break
        for buffer in self.problem.buffers:
            if not buffer.size:
                self.chosen[buffer.id] = self.allowed[buffer.id][0]
                self.inserted[buffer.id] = self.chosen[buffer.id], 0

    def retry(self) -> None:
        """Moves a buffer to a cheaper memory if a new plan of this memory has space for the buffer."""
        movable = [
            b for b in self.problem.buffers if b.size and self.chosen[b.id] is not self.allowed[b.id][0]
        ]
        movable.sort(key=lambda b: (-self._density(b) * b.size, b.lower, b.id))
        for buffer in movable[:MAX_RETRIES]:
            for memory in self.allowed[buffer.id]:
                if memory is self.chosen[buffer.id]:
                    break
                inside = [*self._inside(memory), replace(buffer, mem_id=memory.id)]
                part = Problem(tuple(inside))
                if lower_bound(part)[memory.id] > memory.capacity:
                    continue
                if best_first_fit(part).peaks(part)[memory.id] <= memory.capacity:
                    self.chosen[buffer.id] = memory
                    break

    def _inside(self, memory: Memory) -> list[Buffer]:
        return [replace(b, mem_id=memory.id) for b in self.problem.buffers if self.chosen[b.id] is memory]

    def result(self, planner: ExactPlanner) -> tuple[Problem, Plan]:
        chosen = Problem(tuple(replace(b, mem_id=self.chosen[b.id].id) for b in self.problem.buffers))
        offsets: dict[int, int] = {}
        searches: dict[int, MemorySearch] = {}
        for memory in self.memories:
            part = Problem(tuple(b for b in chosen.buffers if b.mem_id == memory.id))
            if not part.buffers:
                continue
            plan = planner(part)
            peak = plan.peaks(part)[memory.id]
            if peak > memory.capacity and all(self.inserted[b.id][0] is memory for b in part.buffers):
                plan = Plan({b.id: self.inserted[b.id][1] for b in part.buffers})
                peak = plan.peaks(part)[memory.id]
            if peak > memory.capacity:
                raise PlanError(self._capacity_error(memory, part, peak, chosen))
            offsets.update(plan.offsets)
            searches.update(plan.searches)
        return chosen, Plan(offsets, searches)

    def _capacity_error(self, memory: Memory, part: Problem, peak: int, chosen: Problem) -> str:
        """Returns the error message, with the number of missing bytes and the largest buffers."""
        assert memory.size is not None
        step = busiest_step(part)[memory.id]
        alive = [b for b in chosen.buffers if b.lower <= step < b.upper and b.size]
        alive.sort(key=lambda b: (-b.size, b.id))
        largest = ", ".join(f"{b.label} {b.size:,} bytes" for b in alive[:_SHOWN])
        others = ", ".join(
            f"{m.name} {m.size:,}" for m in self.memories if m is not memory and m.size is not None
        )
        listed = f" (other memories: {others})" if others else ""
        return (
            f"the plan does not fit: memory {memory.name!r} has {memory.size:,} bytes{listed}, but "
            f"{peak - memory.size:,} bytes more are needed; {sum(b.size for b in alive):,} bytes are alive "
            f"at step {step}. The largest tensors at this step are {largest}"
        )
