"""Checks of graphs that call a single delegate."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.fx import Graph, GraphModule, Node

from rushlight.compat.native.wrapper import check_delegate_contract

Results = Callable[[Graph, Node], Any]


def wrapper(results: Results, arguments: str = "ab", delegates: int = 1) -> GraphModule:
    """Returns a graph with the inputs a and b that calls delegates."""
    graph = Graph()
    inputs = {name: graph.placeholder(name) for name in "ab"}
    payload = graph.get_attr("payload")
    call = inputs["a"]
    for _ in range(delegates):
        call = graph.call_function(executorch_call_delegate, (payload, *(inputs[name] for name in arguments)))
    graph.output(results(graph, call))
    return GraphModule({"payload": torch.nn.Module()}, graph)


def items(*indices: int) -> Results:
    """Returns a function that reads results of the delegate."""
    return lambda graph, call: tuple(graph.call_function(operator.getitem, (call, i)) for i in indices)


def with_neg(graph: Graph, call: Node) -> Any:
    return (graph.call_function(torch.ops.aten.neg.default, items(0)(graph, call)),)


def with_input(graph: Graph, call: Node) -> Any:
    first = next(iter(graph.nodes))
    return (*items(0)(graph, call), first)


def nested(graph: Graph, call: Node) -> Any:
    return (graph.call_function(operator.getitem, (items(0)(graph, call)[0], 0)),)


def repeated(graph: Graph, call: Node) -> Any:
    return items(0)(graph, call) * 2


def with_number(graph: Graph, call: Node) -> Any:
    return (*items(0)(graph, call), 2.5)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_graphs_of_one_delegate(count: int) -> None:
    check_delegate_contract(wrapper(items(*range(count))), ["a", "b"], "forward")


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (with_neg, "did not fully delegate: aten.neg.default"),
        (with_input, "result a does not come from the native delegate"),
        (items(1, 0), r"in order.*\[1, 0\]"),
        (items(0, 0), "in order"),
        (items(1), "in order"),
        (repeated, "in order"),
        (with_number, "returns literal 2.5"),
        (nested, "indexes something other than the results"),
    ],
    ids=["operator", "input", "swapped", "twice", "gap", "repeated", "number", "nested"],
)
def test_other_results(results: Results, message: str) -> None:
    with pytest.raises(ValueError, match=f"method 'step'.*{message}"):
        check_delegate_contract(wrapper(results), ["a", "b"], "step")


@pytest.mark.parametrize("arguments", ["a", "ba", "abb", ""])
def test_other_inputs(arguments: str) -> None:
    with pytest.raises(ValueError, match="does not pass its inputs"):
        check_delegate_contract(wrapper(items(0), arguments), ["a", "b"], "forward")


@pytest.mark.parametrize("count", [0, 2])
def test_other_numbers_of_delegates(count: int) -> None:
    with pytest.raises(ValueError, match=f"calls {count} delegates"):
        check_delegate_contract(wrapper(items(), delegates=count), ["a", "b"], "forward")
