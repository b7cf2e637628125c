"""Runs first fit with several orders of the buffers, and returns the best plan."""

from __future__ import annotations

from rushlight.memory.first_fit import by_area, by_lifetime, by_size, by_start, first_fit
from rushlight.memory.lower_bound import lower_bound
from rushlight.memory.problem import Plan, Problem

ORDERS = (by_size, by_area, by_lifetime, by_start)


def best_first_fit(problem: Problem) -> Plan:
    """Returns the plan with the lowest peak of each memory; stops early if it reaches the lower bound."""
    bounds = lower_bound(problem)
    offsets: dict[int, int] = {}
    for mem_id, buffers in problem.by_memory().items():
        part = Problem(tuple(buffers))
        best: Plan | None = None
        best_peak = 0
        for order in ORDERS:
            plan = first_fit(part, order)
            peak = plan.peaks(part)[mem_id]
            if best is None or peak < best_peak:
                best, best_peak = plan, peak
            if best_peak <= bounds[mem_id]:
                break
        if best is not None:
            offsets.update(best.offsets)
    return Plan(offsets)
