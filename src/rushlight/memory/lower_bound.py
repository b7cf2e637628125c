"""The live-set bound: each plan needs at least the bytes of all buffers that are alive at the same step."""

from __future__ import annotations

from rushlight.memory.problem import Problem


def lower_bound(problem: Problem) -> dict[int, int]:
    """Returns the bytes of the largest live set by memory id. The running time is O(n log n)."""
    return {mem_id: _busiest(buffers)[1] for mem_id, buffers in _events(problem).items()}


def busiest_step(problem: Problem) -> dict[int, int]:
    """Returns the first step at which the live set of each memory is largest."""
    return {mem_id: _busiest(buffers)[0] for mem_id, buffers in _events(problem).items()}


def _events(problem: Problem) -> dict[int, list[tuple[int, int]]]:
    """Returns pairs of a step and a change of the live bytes, by memory id."""
    events: dict[int, list[tuple[int, int]]] = {}
    for mem_id, buffers in problem.by_memory().items():
        memory = events.setdefault(mem_id, [])
        for buffer in buffers:
            memory.append((buffer.lower, buffer.size))
            memory.append((buffer.upper, -buffer.size))
    return events


def _busiest(events: list[tuple[int, int]]) -> tuple[int, int]:
    # At equal steps, negative changes are sorted first: a buffer ends before other buffers begin.
    live = peak = step = 0
    for when, change in sorted(events):
        live += change
        if live > peak:
            peak, step = live, when
    return step, peak
