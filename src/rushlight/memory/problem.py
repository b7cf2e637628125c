"""Memory planning as plain data: buffers with lifetimes and sizes go in, offsets come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


class PlanError(ValueError):
    """A problem that is ill-formed, or a plan that breaks its problem's rules."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """One storage that a plan must place.

    `lower` is the first step at which the buffer is alive and `upper` the first step at which it no longer
    is. `size` is in bytes; the offset chosen is a multiple of `alignment` bytes in the memory `mem_id`.
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
            raise PlanError(f"{self.label} is alive at no step: [{self.lower}, {self.upper})")
        if self.mem_id < 1:
            raise PlanError(f"{self.label} asks for memory {self.mem_id}; memories count from 1")
        if self.alignment < 1:
            raise PlanError(f"{self.label} has the alignment {self.alignment}; it must be at least 1")

    @property
    def label(self) -> str:
        """How messages call this buffer."""
        return f"buffer {self.id} ({self.name})" if self.name else f"buffer {self.id}"


@dataclass(frozen=True, slots=True)
class Problem:
    """The buffers of one program. Buffers of different memories never meet."""

    buffers: tuple[Buffer, ...]

    @staticmethod
    def of(buffers: Iterable[Buffer]) -> Problem:
        """Collect buffers; raises PlanError if two share an id."""
        collected = tuple(buffers)
        seen: set[int] = set()
        for buffer in collected:
            if buffer.id in seen:
                raise PlanError(f"two buffers have the id {buffer.id}")
            seen.add(buffer.id)
        return Problem(collected)

    def by_memory(self) -> dict[int, list[Buffer]]:
        """The buffers of each memory, memories in increasing order."""
        memories: dict[int, list[Buffer]] = {}
        for buffer in self.buffers:
            memories.setdefault(buffer.mem_id, []).append(buffer)
        return dict(sorted(memories.items()))


@dataclass(frozen=True, slots=True)
class Plan:
    """Byte offsets by buffer id, each within its buffer's memory."""

    offsets: Mapping[int, int] = field(default_factory=dict)

    def peaks(self, problem: Problem) -> dict[int, int]:
        """Bytes that each memory needs under this plan."""
        peaks: dict[int, int] = {}
        for buffer in problem.buffers:
            end = self.offsets[buffer.id] + buffer.size
            peaks[buffer.mem_id] = max(peaks.get(buffer.mem_id, 0), end)
        return dict(sorted(peaks.items()))


Planner: TypeAlias = Callable[[Problem], Plan]


def align_up(value: int, alignment: int) -> int:
    """The least multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment
