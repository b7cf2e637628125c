"""Checks plans with a sweep over the steps. The check shares no code with the planners."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping

from rushlight.memory.problem import Plan, PlanError, Problem


def check_plan(problem: Problem, plan: Plan, capacities: Mapping[int, int] | None = None) -> None:
    """Checks that a plan is valid for a problem.

    The offset of each buffer must be a non-negative multiple of its alignment. The buffer must fit into its
    memory. It must not share a byte with another buffer that is alive at the same step.

    Args:
        problem: the buffers.
        plan: their offsets.
        capacities: the bytes of each memory by memory id; None if there are no limits.

    Raises:
        PlanError: the plan is not valid.
    """
    known = {buffer.id for buffer in problem.buffers}
    for buffer_id in plan.offsets:
        if buffer_id not in known:
            raise PlanError(f"the plan places buffer {buffer_id}, which is not in the problem")
    for buffer in problem.buffers:
        offset = plan.offsets.get(buffer.id)
        if offset is None:
            raise PlanError(f"the plan has no offset for {buffer.label}")
        if not isinstance(offset, int) or offset < 0:
            raise PlanError(f"{buffer.label} has the offset {offset!r}, which is not a non-negative integer")
        if offset % buffer.alignment:
            raise PlanError(
                f"{buffer.label} has the offset {offset}, which is not a multiple of its alignment "
                f"{buffer.alignment}"
            )
        if capacities is not None:
            capacity = capacities.get(buffer.mem_id)
            if capacity is None:
                raise PlanError(f"{buffer.label} is in memory {buffer.mem_id}, which has no capacity")
            if offset + buffer.size > capacity:
                raise PlanError(
                    f"{buffer.label} ends at byte {offset + buffer.size} of memory {buffer.mem_id}, "
                    f"which has {capacity} bytes"
                )
    _check_overlaps(problem, plan)


def _check_overlaps(problem: Problem, plan: Plan) -> None:
    # At equal steps, ends are sorted before starts, because `upper` is exclusive.
    events: list[tuple[int, int, int]] = []
    for index, buffer in enumerate(problem.buffers):
        if buffer.size:
            events.append((buffer.upper, 0, index))
            events.append((buffer.lower, 1, index))
    events.sort()
    alive: dict[int, list[tuple[int, int]]] = {}
    for step, starts, index in events:
        buffer = problem.buffers[index]
        memory = alive.setdefault(buffer.mem_id, [])
        entry = (plan.offsets[buffer.id], index)
        if not starts:
            del memory[bisect_left(memory, entry)]
            continue
        at = bisect_left(memory, entry)
        for neighbour in memory[max(at - 1, 0) : at + 1]:
            other = problem.buffers[neighbour[1]]
            if neighbour[0] < entry[0] + buffer.size and entry[0] < neighbour[0] + other.size:
                raise PlanError(
                    f"{buffer.label} at [{entry[0]}, {entry[0] + buffer.size}) and {other.label} at "
                    f"[{neighbour[0]}, {neighbour[0] + other.size}) of memory {buffer.mem_id} "
                    f"are both alive at step {step}"
                )
        insort(memory, entry)
