"""A planner for debugging: each buffer has separate bytes."""

from __future__ import annotations

from rushlight.memory.problem import Plan, Problem, align_up


def naive(problem: Problem) -> Plan:
    """Places the buffers of each memory one after the other, in the order of the problem."""
    offsets: dict[int, int] = {}
    for buffers in problem.by_memory().values():
        end = 0
        for buffer in buffers:
            offsets[buffer.id] = align_up(end, buffer.alignment)
            end = offsets[buffer.id] + buffer.size
    return Plan(offsets)
