"""The memory planning pass with Rushlight's algorithms and with algorithms of users."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.exir import to_edge
from rushlight.ir import meta
from rushlight.memory.algorithms import (
    MemoryAlgoResult,
    MemoryPlanningAlgorithmSuite,
    SpecAllocResult,
    greedy,
    naive,
)
from rushlight.memory.naive import naive as naive_planner
from rushlight.memory.planning_pass import MemoryPlanningPass, is_plain_planner
from rushlight.memory.problem import Plan, PlanError

aten = torch.ops.aten
KIB = 1024


def chain(builder: Any, length: Any = 4) -> Any:
    g = builder()
    node = g.input("x", [16, 16])
    for _ in range(length):
        node = g.mm(node, node)
    return g.output(node)


def sizes(graph: Any) -> Any:
    return meta.get_planned_sizes(graph)


@pytest.mark.parametrize(
    "algorithm, expected",
    [
        (None, [0, 2 * KIB]),
        (naive_planner, [0, 5 * KIB]),
        (greedy, [0, 2 * KIB]),
        (naive, [0, 5 * KIB]),
        (partial(greedy, allow_overlapping_allocations=False), [0, 2 * KIB]),
        (MemoryPlanningAlgorithmSuite(), [0, 2 * KIB]),
        (MemoryPlanningAlgorithmSuite([naive]), [0, 5 * KIB]),
        (MemoryPlanningAlgorithmSuite([naive, greedy]), [0, 2 * KIB]),
    ],
)
def test_algorithms(builder: Any, algorithm: Any, expected: Any) -> None:
    graph = chain(builder)
    planning = MemoryPlanningPass(algorithm)
    result = planning.run(graph)
    assert result.modified and result.graph_module is graph
    assert sizes(graph) == expected
    assert planning.reports[0].peak == expected[1]


def test_only_the_default_planner_runs_operators_in_place(builder: Any) -> None:
    for algorithm, peak in [(None, KIB), (greedy, 2 * KIB)]:
        g = builder()
        graph = g.output(g.relu(g.relu(g.input("x", [16, 16]))))
        MemoryPlanningPass(algorithm)(graph)
        assert sizes(graph) == [0, peak]


def test_an_algorithm_may_write_the_specs_itself(builder: Any) -> None:
    seen: dict[str, Any] = {}

    def upside_down(
        alignment: Any, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: Any
    ) -> Any:
        seen.update(alignment=alignment, count=len(specs), padding=extra_padding)
        for number, spec in enumerate(specs):
            assert spec.lifetime[0] <= spec.lifetime[1]
            spec.mem_id, spec.mem_offset = 2, (len(specs) - 1 - number) * spec.allocated_memory
        return [0, 0, len(specs) * KIB]

    graph = chain(builder)
    MemoryPlanningPass(upside_down, alignment=32).run(graph)
    assert seen == {"alignment": 32, "count": 5, "padding": 0}
    assert sizes(graph) == [0, 0, 5 * KIB]
    assert {meta.get_spec(n).mem_id for n in graph.graph.nodes if n.op == "placeholder"} == {2}


@pytest.mark.parametrize(
    "offset, capacity, message",
    [(0, 9 * KIB, "both alive"), (8, 9 * KIB, "alignment"), (None, 0, "no offset for buffer")],
)
def test_wrong_algorithms_are_caught(builder: Any, offset: Any, capacity: Any, message: str) -> None:
    def wrong(alignment: Any, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: Any) -> Any:
        return MemoryAlgoResult({s: SpecAllocResult(1, 0, offset) for s in specs}, [0, capacity])

    with pytest.raises(PlanError, match=message):
        MemoryPlanningPass(wrong).run(chain(builder))


def test_a_plan_must_fit_the_sizes_returned(builder: Any) -> None:
    def small(alignment: Any, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: Any) -> Any:
        result = naive(alignment, specs, graph_module, graph_signature)
        return MemoryAlgoResult(result.spec_dict, [0, KIB])

    with pytest.raises(PlanError, match="which has 1024 bytes"):
        MemoryPlanningPass(small).run(chain(builder))


def test_overlaps_may_be_allowed(builder: Any) -> None:
    def all_at_zero(
        alignment: Any, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: Any
    ) -> Any:
        return MemoryAlgoResult({s: SpecAllocResult(1, 0, 0) for s in specs}, [0, KIB])

    graph = chain(builder)
    MemoryPlanningPass(all_at_zero, allow_lifetime_and_storage_overlap=True).run(graph)
    assert sizes(graph) == [0, KIB]


def test_a_subclass_may_choose_memories(builder: Any, place: Any) -> None:
    class Pools(MemoryPlanningPass):
        def run(self, graph_module: Any, graph_signature: Any = None) -> Any:  # type: ignore[override]
            for node in graph_module.graph.nodes:
                if node.target is aten.mm.out:
                    meta.get_spec(node).mem_id = 3
            return super().run(graph_module, graph_signature)

    graph = chain(builder, 2)
    Pools(greedy).run(graph)
    assert sizes(graph) == [0, KIB, 0, 2 * KIB]


def test_suites_compare_like_with_like(builder: Any) -> None:
    def one_more(*args: Any) -> Any:
        result = greedy(*args)
        return MemoryAlgoResult(result.spec_dict, [*result.bufsizes, 0])

    with pytest.raises(PlanError, match="greedy, one_more plan different memories"):
        MemoryPlanningPass(MemoryPlanningAlgorithmSuite([greedy, one_more])).run(chain(builder))


@pytest.mark.parametrize(
    "algorithm, plain",
    [
        (naive_planner, True),
        (lambda p: Plan(), True),
        (greedy, False),
        (MemoryPlanningAlgorithmSuite(), False),
    ],
)
def test_planners_are_told_from_algorithms(algorithm: Any, plain: Any) -> None:
    assert is_plain_planner(algorithm) is plain


def state_method(builder: Any, signature: Any, mutated: Any) -> Any:
    """Builds a method that reads the buffer `cache`, and writes to it if `mutated` is true."""
    g = builder()
    cache, x = g.input("b_cache", [16, 16]), g.input("x", [16, 16])
    total = g.mm(cache, x)
    outputs = [total]
    if mutated:
        write = g.graph.call_function(aten.copy_.default, (cache, total))
        meta.set_spec(write, meta.get_spec(cache))
        meta.set_val(write, meta.get_val(cache))
        outputs.insert(0, write)
    graph = g.output(*outputs)
    kinds = {"buffers": ["b_cache"]} if mutated else {"read_buffers": ["b_cache"]}
    return graph, signature(graph, **kinds), cache


def test_shared_state_has_one_place_in_all_methods(builder: Any, place: Any, signature: Any) -> None:
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    writer, writer_signature, written = state_method(builder, signature, True)
    reader, reader_signature, read = state_method(builder, signature, False)
    planning.run(writer, writer_signature)
    planning.run(reader, reader_signature)
    planning.run_multimethod()
    assert place(written) == place(read) == (2, 0)
    assert sizes(writer)[2] == sizes(reader)[2] == KIB
    assert not meta.get_spec(read).const


def test_shared_state_needs_the_second_memory(builder: Any, signature: Any) -> None:
    graph, cache_signature, cache = state_method(builder, signature, True)
    for node in graph.graph.nodes:
        if node.target is aten.mm.out:
            meta.get_spec(node).mem_id = 2
    with pytest.raises(PlanError, match="in memory 1"):
        MemoryPlanningPass(share_mutable_buffers=True).run(graph, cache_signature)


def test_shared_state_must_be_planned() -> None:
    with pytest.raises(ValueError, match="alloc_mutable_buffers"):
        MemoryPlanningPass(share_mutable_buffers=True, alloc_mutable_buffers=False)


def test_specs_within_others_follow_their_base() -> None:
    from rushlight.ir.spec import TensorSpec

    base, part = TensorSpec(torch.float32, [64]), TensorSpec(torch.float32, [16])
    other = TensorSpec(torch.float32, [64])
    part.storage_base, part.storage_base_offset = base, 64
    for spec in (base, part, other):
        spec.lifetime = [0, 1]
    result = greedy(16, [part, base, other], None, None)  # type: ignore[arg-type]
    places = result.spec_dict
    assert places[part].mem_offset == places[base].mem_offset + 64
    assert result.bufsizes == [0, 512]


def test_errors_name_the_node_that_writes_a_buffer() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x @ x)

    planner = MemoryPlanningPass(lambda problem: Plan({buffer.id: 0 for buffer in problem.buffers}))
    edge = to_edge(torch.export.export(Net(), (torch.ones(4, 4),)))
    with pytest.raises(PlanError, match=r"buffer 1 \(aten_mm_default\) .* and buffer 0 \(x\)"):
        edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))
