"""The exact planner: first fit, then a search for the smallest peak, which ends early at a limit.

The search is native code (`runtime/python/offset_search.cpp` and `capacity_search.cpp`), which visits about
100,000 states per second. This module converts a problem for the search: it divides sizes by a common unit,
and combines steps to sections.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from rushlight.memory.lower_bound import lower_bound
from rushlight.memory.portfolio import best_first_fit
from rushlight.memory.problem import Buffer, MemorySearch, Plan, Problem, align_up

DEFAULT_SECONDS = 1.0
STEPS_PER_SECOND = 200_000_000
"""The units of work for each second of the limit of a search. They take about 0.5 s on a Zen 4 core."""

MAX_BUFFERS = 8192
MAX_UNITS = 1 << 29


@dataclass(frozen=True, slots=True)
class ExactPlanner:
    """Plans each memory by first fit, and searches for a better plan if the peak is above the lower bound.

    Sizes are rounded up to multiples of the common alignment. The peak may therefore exceed the optimum by
    less than this alignment; the report does not call such a plan optimal.

    Attributes:
        seconds: the limit of the search of each memory; 0 turns the search off. The search ends after
            `seconds * STEPS_PER_SECOND` units of work, so that a program has the same plan on every machine.
            The search also ends after `seconds` of processor time. Only a machine that is about two times
            slower than a Zen 4 core reaches this time limit. Its plan then depends on its speed, and the
            report mentions this.
    """

    seconds: float = DEFAULT_SECONDS

    def __call__(self, problem: Problem) -> Plan:
        """Plans the buffers. `searches` of the plan has the results of the searches."""
        plan = best_first_fit(problem)
        offsets = dict(plan.offsets)
        searches: dict[int, MemorySearch] = {}
        bounds, peaks = lower_bound(problem), plan.peaks(problem)
        for mem_id, buffers in problem.by_memory().items():
            if peaks[mem_id] <= bounds[mem_id]:
                searches[mem_id] = MemorySearch(bounds[mem_id])
            else:
                searches[mem_id] = _improve([b for b in buffers if b.size], offsets, self.seconds)
        return Plan(offsets, searches)


def _improve(buffers: list[Buffer], offsets: dict[int, int], seconds: float) -> MemorySearch:
    """Lowers the peak of one memory. Changes `offsets` in place, and returns the proven lower bound."""
    parts = [_Part(part) for part in _independent(buffers)]
    # The peaks of the other parts need not be lower than the largest bound of a part.
    bound = max(part.bound for part in parts)
    steps, deadline, ended_by = int(seconds * STEPS_PER_SECOND), time.thread_time() + seconds, ""
    for part in sorted(parts, key=lambda part: -part.bound):
        if _peak(part.buffers, offsets) <= bound:
            continue
        left = deadline - time.thread_time()
        if not part.is_searchable(offsets):
            ended_by = ended_by or "size"
        elif steps <= 0 or left <= 0:
            ended_by = ended_by or ("steps" if steps <= 0 else "time")
        else:
            outcome = part.search(offsets, bound, steps, left)
            offsets.update(outcome.offsets)
            steps -= outcome.steps
            bound = max(bound, outcome.bound)
            ended_by = ended_by or outcome.ended_by
    return MemorySearch(bound, ended_by)


def _independent(buffers: Sequence[Buffer]) -> list[list[Buffer]]:
    """Divides the buffers into groups. Buffers of different groups are never alive at the same time."""
    groups: list[list[Buffer]] = []
    end = 0
    for buffer in sorted(buffers, key=lambda b: (b.lower, b.upper, b.id)):
        if not groups or buffer.lower >= end:
            groups.append([])
        groups[-1].append(buffer)
        end = max(end, buffer.upper)
    return groups


def _peak(buffers: Sequence[Buffer], offsets: Mapping[int, int]) -> int:
    return max(offsets[b.id] + b.size for b in buffers)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of a search.

    Attributes:
        offsets: the better offsets by buffer id; empty if none were found.
        bound: the proven lower bound of the peak, in bytes.
        steps: the units of work.
        ended_by: the reason of an early end, as in `MemorySearch`.
    """

    offsets: Mapping[int, int]
    bound: int
    steps: int
    ended_by: str


class _Part:
    """Buffers of one memory, converted for the search.

    Attributes:
        buffers: the buffers.
        alignment: the common divisor of all alignments, in bytes. Offsets are multiples of it, and sizes are
            rounded up to multiples.
        unit: the common divisor of the rounded sizes, and of the alignments that do not divide all of these
            sizes, in bytes.
        sizes: the rounded size of each buffer, in units.
        spans: the lifetime of each buffer, in sections.
        largest_live_set: the largest sum of the sizes that are alive at the same time, in units.
        rounding: the largest number of bytes by which the rounded peak may exceed the peak.
        bound: a lower bound of the peak, in bytes.
    """

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = buffers
        self.alignment = gcd(*(b.alignment for b in buffers))
        sizes = [align_up(b.size, self.alignment) for b in buffers]
        unit = gcd(*sizes)
        self.unit = gcd(unit, *(b.alignment for b in buffers if unit % b.alignment))
        self.sizes = [size // self.unit for size in sizes]
        self.spans, sections = _sections(buffers)
        live = [0] * (sections + 1)
        for size, (first, end) in zip(self.sizes, self.spans, strict=True):
            live[first] += size
            live[end] -= size
        self.largest_live_set = total = 0
        for change in live:
            total += change
            self.largest_live_set = max(self.largest_live_set, total)
        # The peak is the end of a buffer. It is below the rounded end by less than the common alignment.
        self.rounding = self.alignment - min((b.size - 1) % self.alignment + 1 for b in buffers)
        self.bound = self.largest_live_set * self.unit - self.rounding

    def is_searchable(self, offsets: Mapping[int, int]) -> bool:
        """Whether the problem is small enough for the search."""
        padding = sum(b.alignment for b in self.buffers) // self.unit
        small = _peak(self.buffers, offsets) // self.unit < MAX_UNITS
        return small and sum(self.sizes) + padding < 2 * MAX_UNITS and len(self.buffers) <= MAX_BUFFERS

    def search(self, offsets: Mapping[int, int], bound: int, steps: int, seconds: float) -> _Outcome:
        """Searches for a smaller peak.

        Args:
            offsets: the offsets of the plan so far, by buffer id, in bytes.
            bound: the search ends when the peak is at most this number of bytes.
            steps: the maximum number of search steps.
            seconds: the maximum processor time.
        """
        try:
            from rushlight.runtime._native import search_offsets
        except ImportError:
            return _Outcome({}, bound, 0, "build")
        rows = [
            (size, first, end, b.alignment // gcd(b.alignment, self.unit))
            for b, size, (first, end) in zip(self.buffers, self.sizes, self.spans, strict=True)
        ]
        peak = max(offsets[b.id] + align_up(b.size, self.alignment) for b in self.buffers)
        peak_units = -(-peak // self.unit)
        target_units = max(self.largest_live_set, (bound + self.rounding) // self.unit)
        if target_units >= peak_units:
            return _Outcome({}, bound, 0, "")
        places, proven, used_steps, is_out_of_time = search_offsets(
            rows, target_units, peak_units, steps, seconds
        )
        found = {b.id: place * self.unit for b, place in zip(self.buffers, places, strict=False)}
        reached = _peak(self.buffers, found or offsets)
        if proven > target_units:
            bound = proven * self.unit - self.rounding
        ended_by = "" if reached <= bound else "time" if is_out_of_time else "steps"
        return _Outcome(found, bound, used_steps, ended_by)


def _sections(buffers: Sequence[Buffer]) -> tuple[list[tuple[int, int]], int]:
    """Returns the lifetime of each buffer in sections, and the number of sections.

    A new section starts at a step at which a buffer begins, if a buffer has ended since the start of the last
    section. A section has all buffers that are alive after its last buffer has begun. The live set of each
    step is a subset of the buffers of a section.
    """
    events = [(b.upper, 0, i) for i, b in enumerate(buffers)]
    events += [(b.lower, 1, i) for i, b in enumerate(buffers)]
    first, end = [0] * len(buffers), [0] * len(buffers)
    sections, ended = 0, True
    for _, begins, index in sorted(events):
        if begins:
            sections += ended
            ended = False
            first[index] = sections - 1
        else:
            ended = True
            end[index] = sections
    return list(zip(first, end, strict=True)), sections
