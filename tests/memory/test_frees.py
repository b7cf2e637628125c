"""Tensors that the runtime allocates are freed after their last use."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import rushlight
from rushlight.delegate.partitioner import Partitioner
from rushlight.ir import memory_ops, meta
from rushlight.ir.spec import TensorShapeDynamism
from rushlight.memory.apply import plan_memory
from rushlight.memory.frees import free_unbounded

aten = torch.ops.aten


def test_unbounded_tensors_are_left_to_the_runtime_and_freed(builder: Any, place: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    found = g.call(aten.nonzero.out, x, shape=[256, 2], dtype=torch.int64)
    meta.get_spec(found).shape_dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND
    last = g.call(aten.sum.IntList_out, found, [0], shape=[2], dtype=torch.int64)
    graph = g.output(last)
    assert free_unbounded(graph, None)
    plan_memory(graph)
    assert place(found) == (None, None)
    (free,) = [n for n in graph.graph.nodes if n.target is memory_ops.free]
    assert free.prev is last and free.args == (found.kwargs["out"],)


def test_an_unbounded_output_is_not_freed(builder: Any) -> None:
    g = builder()
    found = g.call(aten.nonzero.out, g.input("x", [4]), shape=[4, 1], dtype=torch.int64)
    meta.get_spec(found).shape_dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND
    graph = g.output(found)
    assert not free_unbounded(graph, None)
    plan_memory(graph)
    assert all(n.target is not memory_ops.free for n in graph.graph.nodes)


class Parts(nn.Module):
    """Operators with several results, whose sizes depend on data. Each result has another last use."""

    def forward(self, marks: torch.Tensor) -> torch.Tensor:
        count: Any = torch.nonzero(marks).flatten().sum().item()
        torch._check(count >= 0)
        values, places = torch.sort(torch.ones(count, 4) * 3, 0)
        left, right = torch.split(values * 2, 2, 1)
        return (left + right).sum(0) + places.sum()


@pytest.mark.parametrize("partitioner", [None, []])
def test_each_of_several_results_is_freed_after_its_own_last_use(
    partitioner: list[Partitioner] | None,
) -> None:
    model = Parts()
    run = rushlight.load(rushlight.compile(model, (torch.tensor([0, 1, 1, 0]),), partitioner=partitioner))
    for marks in ([0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 0, 0]):
        inputs = torch.tensor(marks)
        torch.testing.assert_close(torch.as_tensor(run(inputs)), model(inputs))
