"""Higher-order operators: control flow operators with their body graphs, and delegate calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

Submodule = tuple[str, GraphModule, Node]

COND = torch.ops.higher_order.cond
WHILE_LOOP = torch.ops.higher_order.while_loop
MAP = torch.ops.higher_order.map_impl
SCAN = torch.ops.higher_order.scan

# The indices of the arguments that are graph modules.
CONTROL_FLOW: Mapping[object, tuple[int, ...]] = {COND: (1, 2), WHILE_LOOP: (0, 1), MAP: (0,), SCAN: (0,)}


DELEGATE_CALL = "executorch_call_delegate"
"""The name of the higher-order operator that calls a lowered module."""


def is_delegate_call(node: Node) -> bool:
    """Returns whether the node calls a lowered module."""
    names = getattr(node.target, "__name__", None), getattr(node.target, "_name", None)
    return node.op == "call_function" and DELEGATE_CALL in names


def is_control_flow(node: Node) -> bool:
    """Returns whether the node is a higher-order operator whose arguments are graph modules."""
    return node.op == "call_function" and node.target in CONTROL_FLOW


def control_flow_submodules(
    module: GraphModule, operators: Collection[object] = CONTROL_FLOW.keys()
) -> list[Submodule]:
    """Returns (attribute name, body graph, control flow node) for each body of a graph, in order.

    Bodies within bodies are not included.
    """
    return list(_submodules(module, operators))


def _submodules(module: GraphModule, operators: Collection[object]) -> Iterator[Submodule]:
    for node in module.graph.nodes:
        if node.op != "call_function" or node.target not in operators:
            continue
        for position in CONTROL_FLOW[node.target]:
            attribute = node.args[position]
            if isinstance(attribute, Node) and attribute.op == "get_attr":
                child = module.get_submodule(str(attribute.target))
                if isinstance(child, GraphModule):
                    yield str(attribute.target), child, node


def get_control_flow_submodules(graph_module: GraphModule) -> list[Submodule]:
    """Returns the bodies of cond, map and scan, each as (attribute name, body graph, node)."""
    return control_flow_submodules(graph_module, (COND, MAP, SCAN))


def get_cond_while_submodules(graph_module: GraphModule) -> list[Submodule]:
    """Returns the branches of cond and the condition and body of while_loop."""
    return control_flow_submodules(graph_module, (COND, WHILE_LOOP))


def get_scan_submodules(graph_module: GraphModule) -> list[Submodule]:
    """Returns the bodies of scan."""
    return control_flow_submodules(graph_module, (SCAN,))


def bfs_trace_with_node_process(gm: GraphModule, node_op: Callable[[Node], None]) -> None:
    """Calls `node_op` with every node of the graph, then with every node of its control flow bodies."""
    queue = deque([gm])
    while queue:
        module = queue.popleft()
        for node in module.graph.nodes:
            node_op(node)
        queue.extend(child for _, child, _ in get_control_flow_submodules(module))


def contains_any_call_fn_target_op(graph_module: GraphModule, ops: Collection[object]) -> bool:
    """Returns whether the graph or a control flow body in it calls one of `ops`.

    An operator of a dialect is compared by the torch operator that it wraps (`_op`).
    """
    if any(
        node.op == "call_function"
        and (node.target if isinstance(node.target, OpOverload) else getattr(node.target, "_op", node.target))
        in ops
        for node in graph_module.graph.nodes
    ):
        return True
    children = (child for _, child, _ in get_control_flow_submodules(graph_module))
    return any(contains_any_call_fn_target_op(child, ops) for child in children)
