"""Nodes are reordered if this lowers the peak and does not change results.

Before:   a = mm(x, x); b = mm(x, y); c = sum(a); d = sum(b)
Expected: a = mm(x, x); c = sum(a); b = mm(x, y); d = sum(b)
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.memory.aliases import Ownership
from rushlight.memory.apply import PlanOptions, plan_memory
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.reorder import reorder_nodes, restore_order
from rushlight.memory.schedule import Task, is_valid, order_tasks

aten = torch.ops.aten


class Branches(torch.nn.Module):
    """Eight large products, each of which is reduced to one row.

    In the exported order, all products come first.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        large = [torch.mm(x + i, x) for i in range(8)]
        return torch.cat([part.sum(0, keepdim=True) for part in large])


def compiled(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], **options: Any) -> tuple[Any, Any]:
    planner = MemoryPlanningPass(**options)
    config = ExecutorchBackendConfig(memory_planning_pass=planner)
    program = rushlight.compile(module, inputs, partitioner=(), backend_config=config)
    return program, planner.reports[0]


def test_branches_run_one_after_the_other() -> None:
    x = torch.randn(64, 64)
    _, before = compiled(Branches(), (x,), reorder=False)
    program, after = compiled(Branches(), (x,), reorder=True)
    assert before.moved == 0 and before.peak > 8 * x.nbytes
    assert after.moved > 0 and after.peak <= 4 * x.nbytes
    assert after.memories[0].optimal and after.least <= after.peak
    method = rushlight.load(program.buffer)
    torch.testing.assert_close(torch.as_tensor(method(x)), Branches()(x), rtol=1e-4, atol=1e-4)


class Writes(torch.nn.Module):
    """Reads a buffer before and after a write, each with a large intermediate value."""

    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(64, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        old = torch.mm(self.state, x)
        self.state.mul_(2)
        new = torch.mm(self.state, x)
        self.state.add_(x)
        newest = torch.mm(self.state, x)
        return torch.cat([part.sum(0, keepdim=True) for part in (newest, new, old)])


def test_accesses_to_state_keep_their_order() -> None:
    x, module = torch.randn(64, 64), Writes()
    program, _ = compiled(module, (x,), reorder=True)
    method = rushlight.load(program.buffer)
    for _ in range(3):
        torch.testing.assert_close(torch.as_tensor(method(x)), module(x), rtol=1e-4, atol=1e-4)


def test_random_numbers_keep_their_order(builder: Any) -> None:
    g = builder()
    x = g.input("x", [64, 64])
    noises = [g.call(aten.rand_like.out, x, shape=[64, 64]) for _ in range(4)]
    rows = noises
    graph = g.output(*[g.mm(row, x) for row in reversed(rows)])
    plan_memory(graph, options=PlanOptions(reorder=True))
    order = [n for n in graph.graph.nodes if n in noises]
    assert order == noises


def test_the_order_can_be_restored(builder: Any) -> None:
    g = builder()
    x = g.input("x", [64, 64])
    large = [g.mm(x, x) for _ in range(4)]
    small = [g.call(aten.sum.IntList_out, n, [0], shape=[64]) for n in large]
    graph = g.output(*small)
    before = [n.name for n in graph.graph.nodes]
    nodes = reorder_nodes(graph, None, Ownership(), 16)
    assert nodes is not None and [n.name for n in graph.graph.nodes] != before
    graph.graph.lint()
    restore_order(graph, nodes)
    assert [n.name for n in graph.graph.nodes] == before


def peak_of(order: list[int], tasks: list[Task], sizes: list[int]) -> int:
    """Returns the peak of an order: values are live from their task to the last task that uses them."""
    place = {task: index for index, task in enumerate(order)}
    peak = 0
    for step in range(len(order)):
        live = 0
        for value, size in enumerate(sizes):
            users = [place[t] for t, task in enumerate(tasks) if value in task.uses]
            live += size if users and min(users) <= step <= max(users) else 0
        peak = max(peak, live)
    return peak


@st.composite
def graphs(draw: Any) -> tuple[list[Task], list[int]]:
    count = draw(st.integers(2, 6))
    sizes = draw(st.lists(st.integers(1, 20), min_size=count, max_size=count))
    tasks = []
    for index in range(count):
        reads = draw(st.sets(st.integers(0, index - 1), max_size=2)) if index else set()
        tasks.append(Task(frozenset(reads), (index,), (*reads, index)))
    return tasks, sizes


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_small_graphs_get_the_best_order(graph: tuple[list[Task], list[int]]) -> None:
    tasks, sizes = graph
    order = order_tasks(tasks, sizes)
    assert is_valid(order, tasks)
    valid = (list(o) for o in itertools.permutations(range(len(tasks))) if is_valid(o, tasks))
    assert peak_of(order, tasks, sizes) == min(peak_of(o, tasks, sizes) for o in valid)


@pytest.mark.parametrize("order, valid", [([0, 1], True), ([1, 0], False), ([0], False), ([0, 0], False)])
def test_orders_are_checked(order: list[int], valid: bool) -> None:
    tasks = [Task(frozenset(), (0,), (0,)), Task(frozenset({0}), (1,), (0, 1))]
    assert is_valid(order, tasks) is valid
