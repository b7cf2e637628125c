"""The memory planner on graphs: in-place results, views, state and memories of the caller."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.ir import meta
from rushlight.memory.apply import PlanOptions, plan_memory
from rushlight.memory.naive import naive
from rushlight.memory.problem import Plan, PlanError
from rushlight.memory.write_back import write_back

aten = torch.ops.aten
KIB = 1024


def test_a_chain_of_elementwise_operators_runs_in_place(builder: Any, place: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    a = g.relu(x)
    b = g.relu(a)
    report = plan_memory(g.output(b))
    assert place(x) == place(a) == place(b) == (1, 0)
    assert report.peak == KIB and report.in_place == 2


def test_two_matrices_alternate(builder: Any, place: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    nodes = [x]
    for _ in range(5):
        nodes.append(g.mm(nodes[-1], nodes[-1]))
    graph = g.output(nodes[-1])
    report = plan_memory(graph)
    assert report.peak == 2 * KIB
    assert report.memories[0].ratio == 1.0
    assert [place(n)[1] for n in nodes] == [0, KIB] * 3
    assert meta.get_planned_sizes(graph) == [0, 2 * KIB]


def elementwise_cases() -> Any:
    """Returns (name, build, in place). The operator of the last node may or may not overwrite `a`."""

    def used_later(g: Any, a: Any, b: Any) -> Any:
        return g.call(aten.add.out, a, b, shape=[16, 16]), a, b

    def broadcast_other(g: Any, a: Any, b: Any) -> Any:
        row = g.mm(g.view(b, [1, 256]), g.view(a, [256, 1]))
        return (g.call(aten.add.out, a, row, shape=[16, 16]),)

    def broadcast_self(g: Any, a: Any, b: Any) -> Any:
        column = g.mm(a, g.call(aten.full.out, [16, 1], 1.0, shape=[16, 1]))
        return g.call(aten.add.out, column, b, shape=[16, 16]), b

    def other_dtype(g: Any, a: Any, b: Any) -> Any:
        return (g.call(aten.gt.Tensor_out, a, a, shape=[16, 16], dtype=torch.bool),)

    def no_row_in_the_table(g: Any, a: Any, b: Any) -> Any:
        return (g.call(aten.cumsum.out, a, 0, shape=[16, 16]),)

    def same_operand_twice(g: Any, a: Any, b: Any) -> Any:
        return (g.call(aten.mul.out, a, a, shape=[16, 16]),)

    def other_view_of_the_same_bytes(g: Any, a: Any, b: Any) -> Any:
        return (g.call(aten.add.out, a, g.view(a, [1, 16, 16]), shape=[1, 16, 16]),)

    def second_operand(g: Any, a: Any, b: Any) -> Any:
        return (g.call(aten.where.self_out, g.input("c", [16, 16], torch.bool), b, a, shape=[16, 16]), b)

    return [
        (used_later, False),
        (broadcast_other, True),
        (broadcast_self, False),
        (other_dtype, False),
        (no_row_in_the_table, False),
        (same_operand_twice, True),
        (other_view_of_the_same_bytes, False),
        (second_operand, True),
    ]


@pytest.mark.parametrize("build, expected", elementwise_cases(), ids=lambda v: getattr(v, "__name__", ""))
def test_which_operators_run_in_place(builder: Any, build: Any, expected: Any) -> None:
    g = builder()
    a = g.mm(g.input("x", [16, 16]), g.input("y", [16, 16]))
    b = g.input("z", [16, 16])
    report = plan_memory(g.output(*build(g, a, b)))
    assert (report.in_place == 1) is expected


def test_in_place_can_be_switched_off(builder: Any) -> None:
    g = builder()
    graph = g.output(g.relu(g.relu(g.input("x", [16, 16]))))
    report = plan_memory(graph, options=PlanOptions(in_place=False))
    assert report.in_place == 0 and report.peak == 2 * KIB


def test_views_share_their_base_and_keep_it_alive(builder: Any, place: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    a = g.mm(x, x)
    flat = g.view(a, [256])
    b = g.mm(x, x)
    c = g.call(aten.dot.out, flat, g.view(b, [256]), shape=[])
    report = plan_memory(g.output(c))
    assert place(flat) == place(a) != place(b)
    assert report.views == 2 and report.peak == 3 * KIB


@pytest.mark.parametrize("inputs", [True, False])
@pytest.mark.parametrize("outputs", [True, False])
def test_the_caller_may_own_inputs_and_outputs(builder: Any, place: Any, inputs: Any, outputs: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    a = g.mm(x, x)
    b = g.mm(a, a)
    report = plan_memory(g.output(b), options=PlanOptions(inputs=inputs, outputs=outputs))
    assert (place(x) != (None, None)) is inputs
    assert (place(b) != (None, None)) is outputs
    assert place(a)[0] == 1
    assert report.peak == KIB * (2 if inputs or outputs else 1)


def test_a_view_for_the_caller_is_copied(builder: Any, place: Any, signature: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    a = g.mm(x, x)
    graph = g.output(g.view(a, [256]))
    write_back(graph, signature(graph), copy_views=True)
    plan_memory(graph, options=PlanOptions(outputs=False))
    (result,) = graph.graph.output_node().args[0]
    assert result.target is aten.clone.out
    assert place(result) == (None, None) and place(a)[0] == 1


def test_a_state_is_alive_throughout_and_never_overwritten(builder: Any, place: Any, signature: Any) -> None:
    g = builder()
    state = g.input("state", [16, 16])
    x = g.input("x", [16, 16])
    new = g.call(aten.add.out, state, x, shape=[16, 16])
    y = g.mm(new, new)
    graph = g.output(new, y)
    exported = signature(graph, buffers=["state"])
    write_back(graph, exported)
    plan_memory(graph, exported)
    spec = meta.get_spec(state)
    assert spec.lifetime == [0, len(graph.graph.nodes) - 1]
    assert len({place(state), place(new), place(y)}) == 3


def test_a_returned_state_is_copied_before_it_changes(builder: Any, signature: Any) -> None:
    g = builder()
    state = g.input("state", [16, 16])
    new = g.relu(state)
    graph = g.output(new, state)
    exported = signature(graph, buffers=["state"])
    write_back(graph, exported)
    plan_memory(graph, exported)
    order = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert order.index(aten.clone.out) < order.index(aten.copy_.default)
    assert graph.graph.output_node().args[0][1].target is aten.clone.out


def test_constants_have_no_planned_memory(builder: Any, place: Any, signature: Any) -> None:
    g = builder()
    weight = g.input("weight", [16, 16])
    y = g.mm(g.input("x", [16, 16]), weight)
    z = g.relu(weight)
    graph = g.output(y, z)
    report = plan_memory(graph, signature(graph, parameters=["weight"]))
    assert place(weight) == (None, None)
    assert report.in_place == 0


def test_memories_are_chosen_by_the_user(builder: Any, place: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    a = g.relu(x)
    b = g.relu(a)
    meta.get_spec(a).mem_id = 3
    graph = g.output(b)
    report = plan_memory(graph)
    assert [place(n)[0] for n in (x, a, b)] == [1, 3, 1]
    assert meta.get_planned_sizes(graph) == [0, KIB, 0, KIB]
    assert [use.mem_id for use in report.memories] == [1, 3]


def test_views_cannot_move_between_memories(builder: Any) -> None:
    g = builder()
    a = g.relu(g.input("x", [16, 16]))
    b = g.view(a, [256])
    meta.get_spec(a).mem_id, meta.get_spec(b).mem_id = 2, 3
    with pytest.raises(PlanError, match="memories 3 and 2"):
        plan_memory(g.output(b))


def test_a_dim_without_a_sensible_bound_is_refused(builder: Any) -> None:
    g = builder()
    with pytest.raises(PlanError, match="Dim"):
        plan_memory(g.output(g.relu(g.input("x", [2**50]))))


def test_a_wrong_plan_is_caught(builder: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    graph = g.output(g.mm(x, x))
    with pytest.raises(PlanError, match="both alive at step"):
        plan_memory(graph, options=PlanOptions(planner=lambda p: Plan({b.id: 0 for b in p.buffers})))


def test_the_wider_alignment_is_taken_only_if_free(builder: Any, place: Any) -> None:
    g = builder()
    x = g.input("x", [4])
    y = g.input("y", [4])
    z = g.call(aten.cat.out, [x, y], 0, shape=[8])
    report = plan_memory(g.output(z))
    assert report.peak == 64
    assert sorted(place(n)[1] for n in (x, y, z)) == [0, 32, 48]


def test_the_report_reads_well(builder: Any) -> None:
    g = builder()
    x = g.input("x", [16, 16])
    text = str(plan_memory(g.output(g.mm(x, x)), options=PlanOptions(planner=naive)))
    assert text.splitlines()[0].split() == ["memory", "peak", "lower", "bound", "ratio", "buffers"]
    assert text.splitlines()[1].split() == ["1", "2,048", "2,048", "1.000", "2", "optimal"]
    assert "1,024 bytes, alive in steps 0 to 2: x" in text


def test_a_long_chain_needs_two_buffers(builder: Any) -> None:
    g = builder()
    node = g.input("x", [4, 4])
    for _ in range(300):
        node = g.relu(g.mm(node, node))
    report = plan_memory(g.output(node))
    assert report.in_place == 300 and report.peak == 128
