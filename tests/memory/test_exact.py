"""The exact planner: optimal for small problems, at the bound for cut rectangles, and deterministic."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushlight.memory import exact
from rushlight.memory.__main__ import main
from rushlight.memory.check import check_plan
from rushlight.memory.exact import ExactPlanner
from rushlight.memory.lower_bound import lower_bound
from rushlight.memory.portfolio import best_first_fit
from rushlight.memory.problem import Buffer, Problem, align_up


def cut_problem(seed: int, count: int, height: int = 64, width: int = 60) -> Problem:
    """Cuts a rectangle of `width` steps and `height` units into buffers. The smallest peak is `height`."""
    random = Random(seed)
    parts = [(0, width, 0, height)]
    while len(parts) < count:
        lower, upper, low, high = parts.pop(random.randrange(len(parts)))
        if upper - lower > 1 and (high - low == 1 or random.random() < 0.6):
            cut = random.randint(lower + 1, upper - 1)
            parts += [(lower, cut, low, high), (cut, upper, low, high)]
        elif high - low > 1:
            cut = random.randint(low + 1, high - 1)
            parts += [(lower, upper, low, cut), (lower, upper, cut, high)]
        else:
            parts.append((lower, upper, low, high))
    random.shuffle(parts)
    rows = enumerate(parts)
    return Problem.of(Buffer(i, 64 * (high - low), lower, upper) for i, (lower, upper, low, high) in rows)


def smallest_peak(problem: Problem) -> int:
    """Returns the optimum: tries every order, because every canonical plan is a lowest fit of some order."""
    best = sys.maxsize
    for order in itertools.permutations(problem.buffers):
        placed: list[tuple[int, Buffer]] = []
        for buffer in order:
            offset = 0
            beside = [(o, b) for o, b in placed if b.lower < buffer.upper and buffer.lower < b.upper]
            for start, other in sorted(beside, key=lambda place: place[0]):
                if offset + buffer.size <= start:
                    break
                offset = max(offset, align_up(start + other.size, buffer.alignment))
            placed.append((offset, buffer))
        best = min(best, max(offset + buffer.size for offset, buffer in placed))
    return best


def buffers(most: int, alignments: tuple[int, ...] = (1,)) -> st.SearchStrategy[Problem]:
    row = st.tuples(st.integers(1, 9), st.integers(0, 5), st.integers(1, 4), st.sampled_from(alignments))
    return st.lists(row, min_size=1, max_size=most).map(
        lambda rows: Problem.of(
            Buffer(i, size, lower, lower + length, alignment=alignment)
            for i, (size, lower, length, alignment) in enumerate(rows)
        )
    )


@settings(max_examples=60, deadline=None)
@given(buffers(6, (1, 2, 3, 4)))
def test_small_problems_are_solved(problem: Problem) -> None:
    plan = ExactPlanner(0.2)(problem)
    check_plan(problem, plan)
    (peak,) = plan.peaks(problem).values()
    # Sizes are rounded up to the alignment. The peak and the bound may differ from the optimum by less than
    # it.
    assert peak - smallest_peak(problem) < max(buffer.alignment for buffer in problem.buffers)
    assert plan.searches[1].bound <= peak
    if all(buffer.alignment == 1 for buffer in problem.buffers):
        assert plan.searches[1].bound == peak


@settings(max_examples=60, deadline=None)
@given(buffers(40, (1, 16, 64)))
def test_plans_are_valid_and_never_worse_than_first_fit(problem: Problem) -> None:
    plan = ExactPlanner(0.02)(problem)
    check_plan(problem, plan)
    assert plan.peaks(problem)[1] <= best_first_fit(problem).peaks(problem)[1]
    assert lower_bound(problem)[1] <= plan.searches[1].bound <= plan.peaks(problem)[1]


@pytest.mark.parametrize("seed", range(4))
def test_cut_rectangles_are_put_together_again(seed: int) -> None:
    problem = cut_problem(seed, 60)
    plan = ExactPlanner(1.0)(problem)
    check_plan(problem, plan)
    assert best_first_fit(problem).peaks(problem)[1] > 64 * 64
    assert plan.peaks(problem) == {1: 64 * 64} == {1: plan.searches[1].bound}
    assert plan.searches[1].ended_by == ""


def test_a_bound_above_the_live_set_is_proven() -> None:
    """At most 8 bytes are live at each step, but every plan needs 10."""
    rows = [(2, 1, 3), (4, 0, 1), (4, 4, 5), (4, 5, 6), (4, 3, 6), (4, 0, 2), (2, 2, 4), (2, 1, 4)]
    problem = Problem.of(Buffer(i, size, a, b, alignment=1) for i, (size, a, b) in enumerate(rows))
    plan = ExactPlanner(1.0)(problem)
    assert lower_bound(problem) == {1: 8}
    assert plan.peaks(problem) == {1: 10} == {1: plan.searches[1].bound}
    assert smallest_peak(problem) == 10


def test_the_limit_of_work_ends_the_search_and_is_the_same_in_every_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The time limit is sufficient on any machine.
    monkeypatch.setattr(exact, "STEPS_PER_SECOND", 50_000)
    problem = cut_problem(5, 400, height=500, width=300)
    plans = [ExactPlanner(60.0)(problem) for _ in range(2)]
    assert plans[0].offsets == plans[1].offsets
    assert plans[0].searches[1].ended_by == "steps"


def test_no_seconds_mean_no_search() -> None:
    problem = cut_problem(1, 60)
    plan = ExactPlanner(0)(problem)
    assert plan.offsets == best_first_fit(problem).offsets
    assert plan.searches[1].ended_by == "steps"


def test_parts_that_are_never_alive_together_share_one_bound() -> None:
    """The second part has the larger bound, so that the plan of the first part need not be optimal."""
    hard = cut_problem(2, 60)
    large = Buffer(1000, 2 * 64 * 64, 100, 101)
    plan = ExactPlanner(1.0)(Problem.of([*hard.buffers, large]))
    assert plan.peaks(Problem.of([*hard.buffers, large])) == {1: large.size}
    assert plan.searches[1].ended_by == ""


def test_without_the_extension_first_fit_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rushlight.runtime._native", None)
    problem = cut_problem(1, 60)
    plan = ExactPlanner(1.0)(problem)
    assert plan.offsets == best_first_fit(problem).offsets
    assert plan.searches[1].ended_by == "build"


@pytest.mark.parametrize(
    "rows, bound, peak, message",
    [
        ([(0, 0, 1, 1)], 1, 1, "the size"),
        ([(1, 1, 1, 1)], 1, 1, "the lifetime"),
        ([(1, 0, 9, 1)], 1, 1, "the lifetime"),
        ([(1, 0, 1, 0)], 1, 1, "alignment"),
        ([(1, 0, 1, 1)], 2, 1, "bound <= peak"),
        ([(1, 0, 1, 1)] * 8193, 1, 1, "8192 buffers"),
    ],
)
def test_the_extension_refuses_wrong_problems(
    rows: list[tuple[int, int, int, int]], bound: int, peak: int, message: str
) -> None:
    from rushlight.runtime._native import search_offsets

    with pytest.raises(ValueError, match=message):
        search_offsets(rows, bound, peak, 1000, 1.0)


def test_the_command_prints_a_table_and_writes_plans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instances = tmp_path / "instances"
    instances.mkdir()
    lines = [f"b{b.id},{b.lower},{b.upper},{b.size}" for b in cut_problem(0, 40).buffers]
    (instances / "cut.csv").write_text("\n".join(["id,lower,upper,size", *lines]))
    assert main([str(instances), "--out", str(tmp_path / "plans")]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == "instance buffers live set proven bound first fit peak seconds".split()
    assert row.split()[:4] == ["cut", "40", "4,096", "4,096"] and row.endswith("optimal")
    assert (tmp_path / "plans" / "cut.csv").read_text().splitlines()[0] == "id,lower,upper,size,offset"


@pytest.mark.parametrize(
    "text, message",
    [
        ("id,size\n1,2\n", "lacks the columns lower, upper"),
        ("id,lower,upper,size\na,3,1,4\n", "line 2: .*empty lifetime"),
    ],
)
def test_the_command_names_wrong_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    assert main([str(file)]) == 1
    assert re.search(message, capsys.readouterr().err)
