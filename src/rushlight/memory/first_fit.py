"""First fit: places each buffer in the lowest gap that is free during its whole lifetime.

The order of the buffers determines the peak. The order by decreasing size is from Pisarchyk and Lee,
"Efficient Memory Management for Deep Neural Net Inference" (2020), section 5.2. Their algorithm chooses the
smallest gap, this one the lowest gap.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from rushlight.memory.occupancy import Occupancy
from rushlight.memory.problem import Buffer, Plan, Problem, align_up

Order = Callable[[Buffer], tuple[int, ...]]


def by_size(buffer: Buffer) -> tuple[int, ...]:
    """Orders by decreasing size, then by decreasing lifetime, then by start."""
    return (-buffer.size, buffer.lower - buffer.upper, buffer.lower)


def by_area(buffer: Buffer) -> tuple[int, ...]:
    """Orders by decreasing product of size and lifetime, then by start."""
    return (-buffer.size * (buffer.upper - buffer.lower), buffer.lower)


def by_lifetime(buffer: Buffer) -> tuple[int, ...]:
    """Orders by decreasing lifetime, then by decreasing size, then by start."""
    return (buffer.lower - buffer.upper, -buffer.size, buffer.lower)


def by_start(buffer: Buffer) -> tuple[int, ...]:
    """Orders by start, then by decreasing size, then by end."""
    return (buffer.lower, -buffer.size, buffer.upper)


def first_fit(problem: Problem, order: Order = by_size) -> Plan:
    """Places each buffer at the lowest offset that is free during its lifetime.

    The running time is about O(n log n) for n buffers.

    Args:
        problem: the buffers.
        order: the sort key that determines the order in which buffers are placed.
    """
    offsets: dict[int, int] = {}
    for buffers in problem.by_memory().values():
        occupancy = Occupancy((b.lower, b.upper) for b in buffers if b.size)
        # All offsets are multiples of the common alignment. Ends are rounded up to it, so that
        # adjacent ranges merge.
        common_alignment = gcd(*(b.alignment for b in buffers))
        for buffer in sorted(buffers, key=order):
            offset = 0
            if buffer.size:
                offset = lowest_gap(occupancy.taken(buffer.lower, buffer.upper), buffer)
                end = align_up(offset + buffer.size, common_alignment)
                occupancy.take(buffer.lower, buffer.upper, offset, end)
            offsets[buffer.id] = offset
    return Plan(offsets)


def lowest_gap(taken: list[tuple[int, int]], buffer: Buffer) -> int:
    """Returns the lowest aligned offset at which a buffer overlaps none of the ranges in use.

    Args:
        taken: the (start, end) ranges in use, in bytes, sorted by start.
        buffer: the buffer to place, with its size and alignment.
    """
    offset = 0
    for start, end in taken:
        if offset + buffer.size <= start:
            break
        offset = max(offset, align_up(end, buffer.alignment))
    return offset
