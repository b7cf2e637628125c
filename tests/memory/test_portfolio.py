"""The best order for first fit, separately for each memory."""

from __future__ import annotations

from random import Random

from rushlight.memory.first_fit import first_fit
from rushlight.memory.portfolio import ORDERS, best_first_fit
from rushlight.memory.problem import Buffer, Problem


def random_problem(seed: int) -> Problem:
    random = Random(seed)
    rows = [(16 * random.randint(1, 20), random.randint(0, 20), random.randint(1, 8)) for _ in range(60)]
    return Problem.of(
        Buffer(index, size, lower, lower + length, 1 + index % 2)
        for index, (size, lower, length) in enumerate(rows)
    )


def test_each_memory_has_the_lowest_peak_of_all_orders() -> None:
    by_size_alone = 0
    for seed in range(10):
        problem = random_problem(seed)
        peaks = best_first_fit(problem).peaks(problem)
        others = [first_fit(problem, order).peaks(problem) for order in ORDERS]
        assert peaks == {mem_id: min(other[mem_id] for other in others) for mem_id in peaks}
        by_size_alone += peaks == others[0]
    assert by_size_alone < 10  # further orders improve the plan
