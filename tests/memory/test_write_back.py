"""Copies that write new values back to buffers are removed where this is valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from rushlight.exir import to_edge
from rushlight.ir import meta
from rushlight.ir.control_flow import COND
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.memory.apply import plan_memory
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.write_back import WriteBackMutationsPass, write_back
from rushlight.passes.runner import run_passes
from rushlight.passes.spec_prop import SpecPropPass
from rushlight.passes.to_out_var import ToOutVarPass
from rushlight.runtime import Runtime

aten = torch.ops.aten
SHAPE = [16, 16]


def put(g: Any, a: Any) -> Any:
    """Returns `a` with the first row replaced by a new input."""
    row = g.view(g.input(f"row{len(g.graph.nodes)}", [1, 16]), [16])
    return g.call(aten.select_scatter.out, a, row, 0, 0, shape=SHAPE)


def branch(g: Any, operand: Any) -> Any:
    """Returns the result of a cond whose first branch returns its operand unchanged."""
    first, second = type(g)(), type(g)()
    same = first.output(first.input("arg", SHAPE))
    other = second.output(second.relu(second.input("arg", SHAPE)))
    predicate = g.input(f"p{len(g.graph.nodes)}", [], torch.bool)
    return g.item(g.control_flow(COND, [same, other], [operand], shapes=[SHAPE], lead=(predicate,)), 0)


@dataclass(frozen=True)
class Method:
    """A method that gives the buffer `state` [16, 16] new contents.

    Attributes:
        build: build(g, state, x) adds the nodes of the method to the graph builder `g`, and returns the new
            contents and the outputs for the user. x is an input [16, 16].
        copies: whether a copy must write the new contents back. Otherwise they are computed in the buffer.
    """

    build: Callable[[Any, Any, Any], tuple[Any, list[Any]]]
    copies: bool


METHODS: dict[str, Method] = {}


def method(*, copies: bool) -> Callable[[Any], Any]:
    """Adds a function to METHODS."""

    def add(build: Any) -> Any:
        METHODS[build.__name__] = Method(build, copies)
        return build

    return add


@method(copies=False)
def updated(g: Any, state: Any, x: Any) -> Any:
    new = put(g, state)
    return new, [g.mm(new, x)]


@method(copies=False)
def updated_twice(g: Any, state: Any, x: Any) -> Any:
    new = put(g, put(g, state))
    return new, [g.mm(new, x)]


@method(copies=False)
def read_before(g: Any, state: Any, x: Any) -> Any:
    old = g.mm(state, x)
    return put(g, state), [old]


@method(copies=True)
def read_afterwards(g: Any, state: Any, x: Any) -> Any:
    new = put(g, state)
    return new, [g.mm(state, x)]


@method(copies=True)
def view_read_afterwards(g: Any, state: Any, x: Any) -> Any:
    flat = g.view(state, [256])
    new = put(g, state)
    return new, [g.relu(flat)]


@method(copies=True)
def middle_read_afterwards(g: Any, state: Any, x: Any) -> Any:
    middle = put(g, state)
    new = put(g, middle)
    return new, [g.mm(middle, x)]


@method(copies=True)
def returned(g: Any, state: Any, x: Any) -> Any:
    new = put(g, state)
    return new, [new]


@method(copies=True)
def view_returned(g: Any, state: Any, x: Any) -> Any:
    new = put(g, state)
    return new, [g.view(new, [256])]


@method(copies=True)
def written_whole(g: Any, state: Any, x: Any) -> Any:
    return g.relu(state), [g.mm(x, x)]


@method(copies=True)
def from_elsewhere(g: Any, state: Any, x: Any) -> Any:
    return put(g, g.mm(x, x)), [g.mm(state, x)]


@method(copies=True)
def other_view_of_itself(g: Any, state: Any, x: Any) -> Any:
    whole = g.view(state, SHAPE)
    return g.call(aten.slice_scatter.out, state, whole, 0, 0, 16, shape=SHAPE), [g.mm(x, x)]


@method(copies=True)
def itself_as_the_source(g: Any, state: Any, x: Any) -> Any:
    places = g.input("places", SHAPE, torch.int64)
    return g.call(aten.scatter_add.out, state, 0, places, state, shape=SHAPE), [g.mm(x, x)]


@method(copies=True)
def itself_as_the_rows(g: Any, state: Any, x: Any) -> Any:
    rows = g.input("rows", [16], torch.int64)
    return g.call(aten.index_put.out, state, [rows], state, shape=SHAPE), [g.mm(x, x)]


@method(copies=True)
def middle_as_the_source(g: Any, state: Any, x: Any) -> Any:
    middle = put(g, state)
    return g.call(aten.slice_scatter.out, middle, middle, 0, 0, 16, shape=SHAPE), [g.mm(x, x)]


@method(copies=True)
def returned_by_a_branch(g: Any, state: Any, x: Any) -> Any:
    new = put(g, state)
    return new, [branch(g, state)]


def program(builder: Any, signature: Any, method: Method) -> Any:
    """Returns the graph of a method, its signature, `state` and its new contents."""
    g = builder()
    state, x = g.input("state", SHAPE), g.input("x", SHAPE)
    new, outputs = method.build(g, state, x)
    graph = g.output(new, *outputs)
    return graph, signature(graph, buffers=["state"]), state, new


@pytest.mark.parametrize("name", METHODS)
def test_which_new_contents_are_copied(builder: Any, signature: Any, place: Any, name: str) -> None:
    copies = METHODS[name].copies
    graph, exported, state, new = program(builder, signature, METHODS[name])
    assert write_back(graph, exported)
    plan_memory(graph, exported)
    assert any(n.target is aten.copy_.default for n in graph.graph.nodes) is copies
    assert (place(new) == place(state)) is not copies
    if not copies:
        assert exported.output_specs[0].arg.name == graph.graph.output_node().args[0][0].name


def test_state_of_the_caller_is_copied(builder: Any, signature: Any) -> None:
    graph, exported, _, _ = program(builder, signature, METHODS["updated"])
    write_back(graph, exported, in_place=False)
    plan_memory(graph, exported)
    assert any(n.target is aten.copy_.default for n in graph.graph.nodes)


def test_shared_state_is_updated_in_its_own_memory(builder: Any, signature: Any, place: Any) -> None:
    graph, exported, state, new = program(builder, signature, METHODS["updated_twice"])
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    write_back(graph, exported)
    planning.run(graph, exported)
    planning.run_multimethod()
    assert place(new) == place(state) == (2, 0)


def two_states(builder: Any, signature: Any, contents: Any) -> Any:
    """Builds a method with two buffers, whose new contents are `contents(g, a, b)`."""
    g = builder()
    a, b = g.input("a", SHAPE), g.input("b", SHAPE)
    graph = g.output(*contents(g, a, b))
    return graph, signature(graph, buffers=["a", "b"]), a


def test_contents_that_lie_in_another_buffer_are_copied_before_that_is_written(
    builder: Any, signature: Any
) -> None:
    graph, exported, a = two_states(builder, signature, lambda g, a, b: (g.relu(b), g.view(a, SHAPE)))
    write_back(graph, exported)
    plan_memory(graph, exported)
    (copy,) = [n for n in graph.graph.nodes if n.target is aten.clone.out]
    first, second = [n for n in graph.graph.nodes if n.target is aten.copy_.default]
    order = list(graph.graph.nodes)
    assert second.args[1] is copy and order.index(copy) < order.index(first)


def test_contents_that_lie_in_a_buffer_written_later_are_not_copied(builder: Any, signature: Any) -> None:
    graph, exported, a = two_states(builder, signature, lambda g, a, b: (b, g.relu(b)))
    write_back(graph, exported)
    plan_memory(graph, exported)
    assert all(n.target is not aten.clone.out for n in graph.graph.nodes)


def test_an_output_that_a_branch_takes_from_a_buffer_is_copied(builder: Any, signature: Any) -> None:
    g = builder()
    state = g.input("state", SHAPE)
    result = branch(g, state)
    graph = g.output(g.relu(state), result)
    write_back(graph, signature(graph, buffers=["state"]))
    copied = graph.graph.output_node().args[0][1]
    assert copied.target is aten.clone.out and copied.args == (result,)


def test_programs_of_the_compiler(export_case: Any) -> None:
    program = to_edge(export_case("kv_cache")).exported_program()
    specified = run_passes(program, [SpecPropPass(), ToOutVarPass()]).exported_program
    before = fingerprint(specified)
    result = WriteBackMutationsPass(in_place=False)(specified)
    assert result.modified and first_difference(before, fingerprint(specified)) is None
    copied = result.exported_program.graph.output_node().args[0][0]
    assert copied.target is aten.copy_.default and copied.args[0].name == "b_cache"
    assert result.exported_program.graph_signature.output_specs[0].arg.name == copied.name


def test_programs_without_state_stay(export_case: Any) -> None:
    program = to_edge(export_case("add")).exported_program()
    program = run_passes(program, [SpecPropPass()]).exported_program
    assert not WriteBackMutationsPass()(program).modified


def test_an_operator_that_wrote_the_buffer_itself_is_not_copied(builder: Any, signature: Any) -> None:
    g = builder()
    state, x = g.input("state", SHAPE), g.input("x", SHAPE)
    written = g.graph.call_function(aten.copy_.default, (state, x))
    meta.set_spec(written, meta.get_spec(state))
    meta.set_val(written, meta.get_val(state))
    graph = g.output(written)
    assert not write_back(graph, signature(graph, buffers=["state"]))


@pytest.mark.parametrize("write_input", [False, True])
def test_a_buffer_and_an_input_of_the_same_name(write_input: bool) -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.tensor(5))
            self.count: torch.Tensor

        def forward(self, count: torch.Tensor) -> tuple[torch.Tensor, ...]:
            old = count * 1
            self.count.add_(count)
            if write_input:
                count.mul_(2)
            return self.count * 1, count, old

    program = to_edge(torch.export.export(Counter(), (torch.tensor(1),))).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    factor = 2 if write_input else 1
    for count, total in ((1, 6), (3, 9), (0, 9)):
        got = [result.item() for result in method.execute([torch.tensor(count)])]
        assert got == [total, factor * count, count]
