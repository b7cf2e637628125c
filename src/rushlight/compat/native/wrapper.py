"""Checks that the graph of a method only calls one delegate, so that the delegate alone is the method."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.fx import GraphModule, Node


def check_delegate_contract(
    graph_module: GraphModule, user_inputs: Sequence[object], method_name: str
) -> None:
    """Checks that a graph passes its inputs to one delegate and returns the results of this delegate.

    The payload of the delegate can then replace the method. Results that the graph does not return are
    accepted only after the last returned result.

    Args:
        graph_module: the main graph of a lowered method.
        user_inputs: the names of the inputs of the method, in order.
        method_name: the name of the method, for error messages.

    Raises:
        ValueError: the graph contains other operators or no single delegate call, or changes the inputs or
            the results.
    """
    method = f"method {method_name!r}"
    calls = [node for node in graph_module.graph.nodes if node.op == "call_function"]
    delegates = [node for node in calls if node.target is executorch_call_delegate]
    items = [node for node in calls if node.target is operator.getitem]
    others = sorted({str(node.target) for node in calls if node not in delegates and node not in items})
    if others:
        raise ValueError(
            f"{method} did not fully delegate: {', '.join(others)} would run outside of the native backend"
        )
    if len(delegates) != 1:
        raise ValueError(f"{method} calls {len(delegates)} delegates; it must call exactly one")
    (call,) = delegates
    given = [value.name if isinstance(value, Node) else value for value in call.args[1:]]
    if given != list(user_inputs):
        raise ValueError(
            f"{method} does not pass its inputs to the delegate as they are: its inputs are "
            f"{list(user_inputs)}, and the delegate receives {given}"
        )
    for item in items:
        if item.args[0] is not call:
            raise ValueError(
                f"{method}: node {item.name} indexes something other than the results of the delegate"
            )
    _check_results(graph_module.graph.output_node().args[0], method)


def _check_results(results: object, method: str) -> None:
    """Checks that the results of the graph are the first results of the delegate."""
    listed = list(results) if isinstance(results, (list, tuple)) else [results]
    positions = []
    for result in listed:
        if not isinstance(result, Node):
            raise ValueError(f"{method} returns literal {result!r}, which the delegate does not compute")
        if result.target is not operator.getitem:
            raise ValueError(f"{method}: result {result.name} does not come from the native delegate")
        positions.append(result.args[1])
    if positions != list(range(len(positions))):
        raise ValueError(
            f"{method} must return the results of the delegate in order, each once, but returns {positions}"
        )
