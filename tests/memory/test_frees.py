"""Tensors that the runtime allocates are freed after their last use."""

from __future__ import annotations

from typing import Any

import torch

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
