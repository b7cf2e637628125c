"""The checker accepts correct memory plans and refuses wrong ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushlight.memory.check import check_plan
from rushlight.memory.problem import Buffer, Plan, PlanError, Problem

PAIR = Problem.of([Buffer(0, 32, 0, 3, name="conv"), Buffer(1, 32, 2, 5, name="relu")])


@pytest.mark.parametrize("offsets", [{0: 0, 1: 32}, {0: 32, 1: 0}, {0: 0, 1: 320}])
def test_right_plans_pass(offsets: Any) -> None:
    check_plan(PAIR, Plan(offsets))


@pytest.mark.parametrize(
    "offsets, message",
    [
        (
            {0: 0, 1: 0},
            r"buffer 1 \(relu\) at \[0, 32\) and buffer 0 \(conv\) at \[0, 32\) .* alive at step 2",
        ),
        ({0: 0, 1: 16}, r"buffer 1 \(relu\) .* and buffer 0 \(conv\)"),
        ({0: 16, 1: 0}, r"buffer 1 \(relu\) .* and buffer 0 \(conv\)"),
        ({0: 0}, r"no offset for buffer 1 \(relu\)"),
        ({0: 0, 1: 33}, "multiple of its alignment 16"),
        ({0: 0, 1: -32}, "not a non-negative integer"),
        ({0: 0, 1: 32.0}, "not a non-negative integer"),
        ({0: 0, 1: 32, 7: 64}, "buffer 7, which is not in the problem"),
    ],
)
def test_wrong_plans_are_refused(offsets: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        check_plan(PAIR, Plan(offsets))


def test_capacities_bound_each_memory() -> None:
    plan = Plan({0: 0, 1: 32})
    check_plan(PAIR, plan, {1: 64})
    with pytest.raises(PlanError, match="ends at byte 64 of memory 1, which has 63 bytes"):
        check_plan(PAIR, plan, {1: 63})
    with pytest.raises(PlanError, match="memory 1, which has no capacity"):
        check_plan(PAIR, plan, {2: 640})


def test_lifetimes_that_only_touch_may_share() -> None:
    problem = Problem.of([Buffer(0, 32, 0, 3), Buffer(1, 32, 3, 5), Buffer(2, 32, 0, 5, mem_id=2)])
    check_plan(problem, Plan({0: 0, 1: 0, 2: 0}))


rows = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 10), st.integers(1, 5), st.integers(0, 60)), max_size=12
)


@given(rows)
def test_the_verdict_is_that_of_all_pairs(rows: Any) -> None:
    problem = Problem.of(Buffer(i, s, t, t + n, alignment=1) for i, (s, t, n, _) in enumerate(rows))
    plan = Plan({i: row[3] for i, row in enumerate(rows)})

    def collide(a: Any, b: Any) -> Any:
        x, y = plan.offsets[a.id], plan.offsets[b.id]
        return a.lower < b.upper and b.lower < a.upper and max(x, y) < min(x + a.size, y + b.size)

    buffers = problem.buffers
    wrong = any(collide(a, b) for i, a in enumerate(buffers) for b in buffers[:i])
    if wrong:
        with pytest.raises(PlanError, match="both alive"):
            check_plan(problem, plan)
    else:
        check_plan(problem, plan)
