"""The plan without sharing."""

from __future__ import annotations

from rushlight.memory.naive import naive
from rushlight.memory.problem import Buffer, Problem


def test_buffers_follow_each_other_by_memory() -> None:
    problem = Problem.of(
        [
            Buffer(0, 20, 0, 1),
            Buffer(1, 8, 5, 6),
            Buffer(2, 4, 0, 1, mem_id=2),
            Buffer(3, 4, 7, 8, alignment=64),
        ]
    )
    plan = naive(problem)
    assert plan.offsets == {0: 0, 1: 32, 2: 0, 3: 64}
    assert plan.peaks(problem) == {1: 68, 2: 4}
