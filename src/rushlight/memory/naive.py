"""No sharing at all: every buffer keeps its own bytes for the whole program. For debugging."""

from __future__ import annotations

from rushlight.memory.problem import Plan, Problem, align_up


def naive(problem: Problem) -> Plan:
    """Place the buffers of each memory one after the other, in the order given."""
    offsets: dict[int, int] = {}
    for buffers in problem.by_memory().values():
        end = 0
        for buffer in buffers:
            offsets[buffer.id] = align_up(end, buffer.alignment)
            end = offsets[buffer.id] + buffer.size
    return Plan(offsets)
