"""The memory planning problem as plain data: buffers with lifetimes and sizes, and the offsets of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


class PlanError(ValueError):
    """A planning problem or a plan is invalid."""


class DeviceMemoryError(PlanError, NotImplementedError):
    """A program has tensors on several devices, but a pass has already chosen a memory for a tensor."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """An alias set that a plan must place.

    Attributes:
        id: a number that identifies the buffer.
        lower: the first step at which the buffer is alive.
        upper: the first step at which it is no longer alive.
        size: its size in bytes.
        alignment: the alignment of its offset, in bytes.
        mem_id: the memory that contains it.
        name: a name for messages.
    """

    id: int
    size: int
    lower: int
    upper: int
    mem_id: int = 1
    alignment: int = 16
    name: str = ""

    def __post_init__(self) -> None:
        if self.size < 0:
            raise PlanError(f"{self.label} has the negative size {self.size}")
        if self.upper <= self.lower:
            raise PlanError(f"{self.label} has the empty lifetime [{self.lower}, {self.upper})")
        if self.mem_id < 1:
            raise PlanError(f"{self.label} has the memory id {self.mem_id}; memory ids start at 1")
        if self.alignment < 1:
            raise PlanError(f"{self.label} has the alignment {self.alignment}; it must be at least 1")

    @property
    def label(self) -> str:
        """The text that names the buffer in messages."""
        return f"buffer {self.id} ({self.name})" if self.name else f"buffer {self.id}"


@dataclass(frozen=True, slots=True)
class Problem:
    """The buffers of one program. Buffers of different memories never share bytes."""

    buffers: tuple[Buffer, ...]

    @staticmethod
    def of(buffers: Iterable[Buffer]) -> Problem:
        """Returns a problem with the given buffers.

        Raises:
            PlanError: two buffers have the same id.
        """
        collected = tuple(buffers)
        seen: set[int] = set()
        for buffer in collected:
            if buffer.id in seen:
                raise PlanError(f"two buffers have the id {buffer.id}")
            seen.add(buffer.id)
        return Problem(collected)

    def by_memory(self) -> dict[int, list[Buffer]]:
        """Returns the buffers of each memory, with memory ids in increasing order."""
        memories: dict[int, list[Buffer]] = {}
        for buffer in self.buffers:
            memories.setdefault(buffer.mem_id, []).append(buffer)
        return dict(sorted(memories.items()))


@dataclass(frozen=True, slots=True)
class MemorySearch:
    """The result of the search for the smallest peak of one memory.

    Attributes:
        bound: a proven lower bound of the peak of all plans, in bytes.
        ended_by: the reason why the search ended early; "" if it was complete. "steps" is the limit of work,
            and "time" the limit of time, so that the plan depends on the speed of the machine. "size" means
            that the problem is too large to search, and "build" that this build has no search.
    """

    bound: int
    ended_by: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The offsets of the buffers.

    Attributes:
        offsets: the offset of each buffer in its memory, in bytes, by buffer id.
        searches: the results of searches by memory id; empty if the planner does not search.
    """

    offsets: Mapping[int, int] = field(default_factory=dict)
    searches: Mapping[int, MemorySearch] = field(default_factory=dict)

    def peaks(self, problem: Problem) -> dict[int, int]:
        """Returns the size in bytes that each memory needs under this plan."""
        peaks: dict[int, int] = {}
        for buffer in problem.buffers:
            end = self.offsets[buffer.id] + buffer.size
            peaks[buffer.mem_id] = max(peaks.get(buffer.mem_id, 0), end)
        return dict(sorted(peaks.items()))


Planner: TypeAlias = Callable[[Problem], Plan]


def align_up(value: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` that is at least `value`."""
    return -(-value // alignment) * alignment
