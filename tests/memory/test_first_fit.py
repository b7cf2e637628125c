"""First-fit placement gives valid plans with the lowest possible offsets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushlight.memory.check import check_plan
from rushlight.memory.first_fit import by_area, by_lifetime, by_size, by_start, first_fit
from rushlight.memory.lower_bound import busiest_step, lower_bound
from rushlight.memory.naive import naive
from rushlight.memory.portfolio import best_first_fit
from rushlight.memory.problem import Buffer, PlanError, Problem

buffers = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(0, 20),
        st.integers(1, 8),
        st.sampled_from([1, 2]),
        st.sampled_from([1, 16, 64]),
    ),
    max_size=25,
)


def problem_of(rows: Any) -> Any:
    return Problem.of(
        Buffer(i, size, lower, lower + length, mem_id, alignment)
        for i, (size, lower, length, mem_id, alignment) in enumerate(rows)
    )


@given(buffers)
@pytest.mark.parametrize("order", [by_size, by_area, by_lifetime, by_start])
def test_any_order_gives_a_right_plan(order: Any, rows: Any) -> None:
    problem = problem_of(rows)
    plan = first_fit(problem, order)
    check_plan(problem, plan, plan.peaks(problem))
    for mem_id, peak in plan.peaks(problem).items():
        assert peak >= lower_bound(problem)[mem_id]


@given(buffers)
def test_a_portfolio_is_no_worse_than_by_size(rows: Any) -> None:
    problem = problem_of(rows)
    plan = best_first_fit(problem)
    check_plan(problem, plan)
    for mem_id, peak in first_fit(problem).peaks(problem).items():
        assert plan.peaks(problem)[mem_id] <= peak


@given(buffers)
def test_naive_plans_share_nothing(rows: Any) -> None:
    problem = problem_of(rows)
    plan = naive(problem)
    check_plan(problem, plan)
    forever = Problem.of(Buffer(b.id, b.size, 0, 100, b.mem_id, b.alignment) for b in problem.buffers)
    check_plan(forever, plan)


@given(buffers)
def test_each_place_is_the_lowest_possible(rows: Any) -> None:
    """Every buffer is at offset 0, or within one alignment after a buffer with an overlapping lifetime."""
    problem = problem_of(rows)
    plan = first_fit(problem)
    for buffer in problem.buffers:
        offset = plan.offsets[buffer.id]
        ends = [0] + [
            plan.offsets[other.id] + other.size
            for other in problem.buffers
            if other.mem_id == buffer.mem_id and other.lower < buffer.upper and buffer.lower < other.upper
        ]
        assert any(end <= offset < end + buffer.alignment for end in ends)


@pytest.mark.parametrize(
    "rows, bound, step",
    [
        ([], {}, {}),
        ([(16, 0, 1, 1, 16)], {1: 16}, {1: 0}),
        ([(16, 0, 2, 1, 16), (32, 2, 2, 1, 16)], {1: 32}, {1: 2}),
        ([(16, 0, 3, 1, 16), (32, 2, 2, 1, 16)], {1: 48}, {1: 2}),
        ([(16, 0, 3, 1, 16), (32, 2, 2, 2, 16)], {1: 16, 2: 32}, {1: 0, 2: 2}),
    ],
)
def test_lower_bound(rows: Any, bound: Any, step: Any) -> None:
    assert lower_bound(problem_of(rows)) == bound
    assert busiest_step(problem_of(rows)) == step


def test_a_chain_of_pairs_reaches_the_bound() -> None:
    problem = Problem.of(Buffer(i, 64 * (1 + i % 5), i, i + 2) for i in range(200))
    assert first_fit(problem).peaks(problem) == lower_bound(problem)


def test_many_buffers_alive_together_stack_without_gaps() -> None:
    problem = Problem.of(Buffer(i, 16 * (1 + i % 7), i, 2001) for i in range(2000))
    assert first_fit(problem).peaks(problem) == lower_bound(problem)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0, -1, 0, 1), "negative size"),
        ((0, 1, 3, 3), "empty lifetime"),
        ((0, 1, 0, 1, 0), "memory ids start at 1"),
        ((0, 1, 0, 1, 1, 0), "alignment"),
    ],
)
def test_ill_formed_buffers_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Buffer(*arguments)


def test_an_id_names_one_buffer() -> None:
    with pytest.raises(PlanError, match="two buffers have the id 3"):
        Problem.of([Buffer(3, 1, 0, 1), Buffer(3, 1, 2, 3)])
