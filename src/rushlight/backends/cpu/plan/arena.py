"""Memory planning of a plan's intermediate results in one arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.tables import StorageKind
from rushlight.backends.cpu.plan.tensor import Storage
from rushlight.memory.check import check_plan
from rushlight.memory.exact import ExactPlanner
from rushlight.memory.problem import Buffer, Problem

plan_exactly = ExactPlanner()


def plan_arena(
    nodes: Sequence[PlanNode], sizes: Mapping[Storage, int], alignment: int
) -> tuple[dict[Storage, int], int]:
    """Plans the arena.

    Args:
        nodes: the steps in execution order.
        sizes: the size of each storage in bytes.
        alignment: the alignment of offsets in bytes.

    Returns:
        The offset of each storage of the arena, and the size of the arena, in bytes.
    """
    first: dict[Storage, int] = {}
    last: dict[Storage, int] = {}
    for index, node in enumerate(nodes):
        for storage in (*node.reads(), *node.writes()):
            if storage.kind is StorageKind.ARENA:
                first.setdefault(storage, index)
                last[storage] = index
    root = _in_place(nodes, sizes, first, last)
    lower: dict[Storage, int] = {}
    upper: dict[Storage, int] = {}
    for storage in first:
        head = root[storage]
        lower[head] = min(lower.get(head, first[storage]), first[storage])
        upper[head] = max(upper.get(head, last[storage]), last[storage])
    heads = list(lower)
    problem = Problem.of(
        Buffer(i, max(sizes[head], 1), lower[head], upper[head] + 1, alignment=alignment)
        for i, head in enumerate(heads)
    )
    plan = plan_exactly(problem)
    check_plan(problem, plan)
    offset = {head: plan.offsets[i] for i, head in enumerate(heads)}
    size = max(plan.peaks(problem).values(), default=0)
    return {storage: offset[root[storage]] for storage in first}, size


def _in_place(
    nodes: Sequence[PlanNode],
    sizes: Mapping[Storage, int],
    first: Mapping[Storage, int],
    last: Mapping[Storage, int],
) -> dict[Storage, Storage]:
    """Returns, for each storage, the storage whose memory it uses: its own, or the memory of an input.

    The output of a step can reuse the memory of an input if the step is the last reader of that memory.
    """
    root = {storage: storage for storage in first}
    end = dict(last)  # by root storage: the last step that accesses its memory
    for index, node in enumerate(nodes):
        out = node.output
        reads = node.operation.reads()
        candidates = [tensor for operand, tensor in node.operation.operands() if operand.in_place]
        if first.get(out.storage) != index:
            continue
        for operand in candidates:
            if operand.storage not in first or operand.storage is out.storage:
                continue
            head = root[operand.storage]
            is_only_read = sum(root.get(tensor.storage) is head for tensor in reads) == 1
            fits = sizes[operand.storage] == sizes[out.storage] == sizes[head]
            if (
                is_only_read
                and fits
                and end[head] == index
                and operand.has_layout_of(out)
                and operand.offset == out.offset
            ):
                root[out.storage] = head
                end[head] = last[out.storage]
                break
    return root
