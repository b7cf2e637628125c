"""Slots that buffers use one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rushlight.memory.check import check_plan
from rushlight.memory.problem import Buffer, Problem
from rushlight.memory.slots import slots

ROWS = st.lists(
    st.tuples(st.integers(1, 300), st.integers(0, 20), st.integers(1, 8), st.sampled_from([1, 2])),
    max_size=25,
)


@given(ROWS)
def test_buffers_that_share_bytes_begin_at_one_offset(rows: list[tuple[int, int, int, int]]) -> None:
    problem = Problem.of(
        Buffer(i, size, lower, lower + length, mem_id) for i, (size, lower, length, mem_id) in enumerate(rows)
    )
    plan = slots(problem)
    check_plan(problem, plan)
    for one in problem.buffers:
        for other in problem.buffers:
            start, there = plan.offsets[one.id], plan.offsets[other.id]
            if one.mem_id == other.mem_id and start <= there < start + one.size:
                assert start == there


def test_a_free_slot_is_taken_again() -> None:
    problem = Problem.of([Buffer(0, 64, 0, 2), Buffer(1, 32, 1, 3), Buffer(2, 48, 2, 4)])
    assert slots(problem).offsets == {0: 0, 2: 0, 1: 64}
