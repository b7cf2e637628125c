"""The memory planner on graphs with branches, loops, maps and scans."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir import meta
from rushlight.ir.control_flow import COND, MAP, SCAN, WHILE_LOOP
from rushlight.memory.apply import PlanOptions, plan_memory
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.timeline import build_timeline

aten = torch.ops.aten
SHAPE = [16, 16]
BYTES = 1024


def matmul_body(builder: Any, arity: Any = 1, returns: Any = 1) -> Any:
    """x, ... -> (x @ x, ...)"""
    g = builder()
    inputs = [g.input(f"arg{i}", SHAPE) for i in range(arity)]
    return g.output(*(g.mm(inputs[0], inputs[0]) for _ in range(returns)))


def identity_body(builder: Any) -> Any:
    g = builder()
    return g.output(g.input("arg", SHAPE))


def program(builder: Any, op: Any, bodies: Any, before: Any, after: Any) -> Any:
    """Builds a program: inputs `x` and a predicate, nodes of `before`, control flow, nodes of `after`."""
    g = builder()
    x = g.input("x", SHAPE)
    p = g.input("p", [], torch.bool)
    node = before(g, x, p)
    return g.output(after(g, x, node)), x, node


def cond(builder: Any, then: Any, otherwise: Any, after: Any = lambda g, x, y: y) -> Any:
    def before(g: Any, x: Any, p: Any) -> Any:
        return g.item(g.control_flow(COND, [then, otherwise], [x], shapes=[SHAPE], lead=(p,)), 0)

    return program(builder, COND, [then, otherwise], before, after)


def test_bodies_lie_within_the_step_of_their_node(builder: Any) -> None:
    graph, _, _ = cond(builder, matmul_body(builder), matmul_body(builder))
    steps = build_timeline(graph).steps
    (outer,) = [s for s in steps if s.bodies]
    inner = [s for s in steps if s.depth == 1]
    assert all(outer.start < s.start <= s.end < outer.end for s in inner)
    assert [s.end for s in steps] == sorted(s.end for s in steps)
    assert len({s.end for s in steps}) == len(steps)


def test_branches_write_their_results_into_the_same_bytes(builder: Any, place: Any) -> None:
    then, otherwise = matmul_body(builder), matmul_body(builder)
    graph, x, y = cond(builder, then, otherwise)
    report = plan_memory(graph)
    results = [body.graph.output_node().args[0][0] for body in (then, otherwise)]
    assert {place(y), *map(place, results)} == {place(y)} != {place(x)}
    assert report.peak == 2 * BYTES + 16


def test_an_operand_that_a_branch_returns_lives_as_long_as_the_result(builder: Any, place: Any) -> None:
    def after(g: Any, x: Any, y: Any) -> Any:
        filler = g.mm(g.call(aten.full.out, SHAPE, 1.0, shape=SHAPE), y)
        return g.mm(filler, y)

    def with_operand(then: Any) -> Any:
        g = builder()
        x = g.mm(g.input("x", SHAPE), g.input("z", SHAPE))
        p = g.input("p", [], torch.bool)
        y = g.item(g.control_flow(COND, [then, matmul_body(builder)], [x], shapes=[SHAPE], lead=(p,)), 0)
        graph = g.output(after(g, x, y))
        plan_memory(graph)
        others = [n for n in graph.graph.nodes if n.target in (aten.mm.out, aten.full.out) and n is not x]
        return [place(n) for n in others[:2]], place(x)

    others, operand = with_operand(identity_body(builder))
    assert operand not in others
    others, operand = with_operand(matmul_body(builder))
    assert operand in others


def test_operands_are_alive_until_the_last_branch_ends(builder: Any, place: Any) -> None:
    def twice(builder: Any) -> Any:
        g = builder()
        a = g.relu(g.input("arg", SHAPE))
        return g.output(g.mm(a, a))

    then, otherwise = twice(builder), twice(builder)
    graph, x, y = cond(builder, then, otherwise)
    plan_memory(graph)
    for body in (then, otherwise):
        (relu,) = [n for n in body.graph.nodes if n.target is aten.relu.out]
        assert place(relu) not in (place(x), place(y))


@pytest.mark.parametrize("returns_carry", [True, False])
def test_a_loop_keeps_carried_values_apart_from_its_temporaries(
    builder: Any, place: Any, returns_carry: Any
) -> None:
    g = builder()
    test = builder()
    a, _ = test.input("a", SHAPE), test.input("b", SHAPE)
    condition = test.output(test.call(aten.any.all_out, a, shape=[], dtype=torch.bool))
    inner = builder()
    carry, captured = inner.input("carry", SHAPE), inner.input("captured", SHAPE)
    temporary = inner.mm(carry, captured)
    new = inner.mm(temporary, captured)
    body = inner.output(new)
    x, w = g.input("x", SHAPE), g.input("w", SHAPE)
    loop = g.control_flow(WHILE_LOOP, [condition, body], (x,), (w,), shapes=[SHAPE])
    result = g.item(loop, 0)
    plan_memory(g.output(result if returns_carry else g.relu(result)))
    assert place(carry) == place(result) and place(captured) == place(w)
    assert len({place(n) for n in (result, w, temporary, new)}) == 4


def test_a_scan_has_places_for_carry_slice_and_stack(builder: Any, place: Any) -> None:
    inner = builder()
    carry, piece = inner.input("carry", [16]), inner.input("piece", [16])
    new = inner.call(aten.add.out, carry, piece, shape=[16])
    body = inner.output(new, inner.relu(new))
    g = builder()
    first, xs = g.input("first", [16]), g.input("xs", SHAPE)
    scan = g.control_flow(SCAN, [body], [first], [xs], [], shapes=[[16], SHAPE])
    last, stacked = g.item(scan, 0), g.item(scan, 1)
    report = plan_memory(g.output(last, stacked))
    assert place(carry) == place(last)
    assert len({place(n) for n in (last, stacked, xs, piece)}) == 4
    # The sum may overwrite the slice, which each iteration computes again, but not the carry.
    assert report.in_place >= 1 and place(new) != place(carry)


def test_a_map_reads_its_input_until_the_last_iteration(builder: Any, place: Any) -> None:
    inner = builder()
    body = inner.output(inner.relu(inner.input("piece", [16])))
    g = builder()
    xs = g.mm(g.input("x", SHAPE), g.input("y", SHAPE))
    mapped = g.item(g.control_flow(MAP, [body], [xs], [], shapes=[SHAPE]), 0)
    plan_memory(g.output(mapped))
    assert place(mapped) != place(xs)


def test_results_for_the_caller_are_not_planned(builder: Any, place: Any) -> None:
    then, otherwise = matmul_body(builder), matmul_body(builder)
    graph, x, y = cond(builder, then, otherwise)
    plan_memory(graph, options=PlanOptions(outputs=False))
    assert place(y) == (None, None)
    for body in (then, otherwise):
        assert place(body.graph.output_node().args[0][0])[0] == 1


class Chooses(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a * 2, (x,))
        return y, y.view(-1), y * 3


@pytest.mark.parametrize("inputs", [True, False])
def test_results_of_branches_are_copied_to_memory_of_the_caller(inputs: bool) -> None:
    x = torch.randn(3, 4)
    planner = MemoryPlanningPass(alloc_graph_input=inputs, alloc_graph_output=False)
    manager = to_edge(torch.export.export(Chooses(), (x,))).to_executorch(
        ExecutorchBackendConfig(memory_planning_pass=planner)
    )
    module = rushlight.load(manager.buffer)
    for value in (x.abs(), -x.abs()):
        torch.testing.assert_close(module(value), Chooses()(value))


def test_every_body_has_the_sizes_of_the_whole(builder: Any) -> None:
    then, otherwise = matmul_body(builder), matmul_body(builder)
    graph, _, _ = cond(builder, then, otherwise)
    plan_memory(graph)
    assert meta.get_planned_sizes(then) == meta.get_planned_sizes(graph)
