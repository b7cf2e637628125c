"""The results of the alias analysis."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import COND
from rushlight.ir.spec import TensorSpec
from rushlight.memory.alias_sets import Owner
from rushlight.memory.aliases import Ownership, find_aliases

aten = torch.ops.aten
SHAPE = [16, 16]


def aliases_of(graph: Any, signature: Any = None) -> Any:
    return find_aliases(graph, signature, Ownership())


def steps(aliases: Any) -> Any:
    return {step.node: step for step in aliases.timeline.steps}


def test_a_view_is_accessed_with_its_base(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    flat = g.view(a, [256])
    b = g.mm(x, x)
    last = g.relu(flat)
    graph = g.output(b, last)
    aliases = aliases_of(graph)
    of = steps(aliases)
    spec = meta.get_spec(a)
    assert {access.node for access in aliases.accesses_to(spec)} == {a, flat, last}
    assert aliases.is_accessed_after(spec, of[b].end)
    assert not aliases.is_accessed_after(spec, of[b].end, by=(last,))
    assert not aliases.is_accessed_after(spec, of[last].end)
    assert not aliases.is_returned(spec, graph)


def test_parts_of_one_storage_are_accessed_apart(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    whole = g.mm(x, x)
    upper, lower = g.relu(x), g.relu(x)
    for node, start in ((upper, 0), (lower, 512)):
        spec = TensorSpec(torch.float32, [8, 16])
        spec.storage_base, spec.storage_base_offset = meta.get_spec(whole), start
        meta.set_spec(node.kwargs["out"], spec)
        meta.set_spec(node, spec)
    graph = g.output(g.mm(upper, lower))
    aliases = aliases_of(graph)
    assert lower not in {access.node for access in aliases.accesses_to(meta.get_spec(upper))}
    assert {upper, lower} <= {access.node for access in aliases.accesses_to(meta.get_spec(whole))}


def test_a_branch_may_hand_out_its_operand(builder: Any) -> None:
    first, second = builder(), builder()
    operand, _ = first.input("arg", SHAPE), first.input("more", SHAPE)
    same = first.output(operand)
    other = second.output(second.mm(second.input("arg", SHAPE), second.input("more", SHAPE)))
    g = builder()
    x, p = g.input("x", SHAPE), g.input("p", [], torch.bool)
    a = g.mm(x, x)
    node = g.control_flow(COND, [same, other], [a, x], shapes=[SHAPE], lead=(p,))
    y = g.item(node, 0)
    last = g.mm(y, y)
    graph = g.output(last)
    aliases = aliases_of(graph)
    alias_set = aliases.alias_sets.of(meta.get_spec(a))
    assert aliases.alias_sets_of(meta.get_spec(y))[1:] == [alias_set]
    assert last in {access.node for access in aliases.accesses_to(meta.get_spec(a))}
    assert alias_set.last == steps(aliases)[last].end


def overwriting_cases() -> Any:
    """Returns build(g, a) -> the operator, and whether its result may overwrite `a`."""

    def alone(g: Any, a: Any) -> Any:
        return g.relu(a), True

    def twice_in_step(g: Any, a: Any) -> Any:
        return g.call(aten.add.out, a, a, shape=SHAPE), True

    def under_another_shape(g: Any, a: Any) -> Any:
        return g.call(aten.add.out, a, g.view(a, [1, 16, 16]), shape=SHAPE), False

    def as_a_source(g: Any, a: Any) -> Any:
        places = g.input("places", SHAPE, torch.int64)
        return g.call(aten.scatter_add.out, a, 0, places, a, shape=SHAPE), False

    def as_one_of_a_list(g: Any, a: Any) -> Any:
        return g.call(aten.index_put.out, a, [a], g.input("v", [], torch.float32), shape=SHAPE), False

    def by_another_argument_alone(g: Any, a: Any) -> Any:
        places = g.input("places", SHAPE, torch.int64)
        other = g.input("other", SHAPE)
        return g.call(aten.scatter_add.out, other, 0, places, a, shape=SHAPE), False

    return [
        alone,
        twice_in_step,
        under_another_shape,
        as_a_source,
        as_one_of_a_list,
        by_another_argument_alone,
    ]


@pytest.mark.parametrize("build", overwriting_cases(), ids=lambda case: case.__name__)
def test_what_a_result_may_lie_over(builder: Any, build: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    node, allowed = build(g, a)
    aliases = aliases_of(g.output(node))
    assert aliases.may_write_over(meta.get_spec(a), node, meta.get_spec(node)) is allowed


def test_what_is_needed_later_is_not_overwritten(builder: Any) -> None:
    g = builder()
    x = g.input("x", SHAPE)
    a = g.mm(x, x)
    first, second = g.relu(a), g.relu(a)
    aliases = aliases_of(g.output(g.mm(first, second)))
    of = steps(aliases)
    spec = meta.get_spec(a)
    assert not aliases.may_compute_in_place(spec, meta.get_spec(first), of[first])
    assert aliases.may_compute_in_place(spec, meta.get_spec(second), of[second])


def test_only_planned_memory_is_overwritten(builder: Any, signature: Any) -> None:
    g = builder()
    weight = g.input("weight", SHAPE)
    y = g.relu(weight)
    graph = g.output(y)
    aliases = aliases_of(graph, signature(graph, parameters=["weight"]))
    assert aliases.alias_sets.of(meta.get_spec(weight)).owner is Owner.FILE
    assert not aliases.may_compute_in_place(meta.get_spec(weight), meta.get_spec(y), steps(aliases)[y])


def test_allocations_are_no_accesses(builder: Any) -> None:
    g = builder()
    a = g.relu(g.input("x", SHAPE))
    aliases = aliases_of(g.output(a))
    targets = {access.node.target for access in aliases.accesses_to(meta.get_spec(a))}
    assert memory_ops.alloc not in targets and aten.relu.out in targets
