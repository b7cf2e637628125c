"""Compares nodes and graphs."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.fx import Node

from rushlight.ir import meta


def is_shape_dynamic(node: Node) -> bool:
    """Returns whether a size of the node's tensor is known only at run time."""
    return any(isinstance(size, torch.SymInt) for size in meta.get_val(node).shape)


def is_same_node(node_left: Node | Iterable[Node], node_right: Node | Iterable[Node]) -> bool:
    """Returns whether two nodes compute the same result with the same operators from the same inputs.

    Arguments that are not nodes are not compared. The time is linear in the number of nodes on which the two
    nodes depend.

    Args:
        node_left: a node, or several nodes.
        node_right: a node, or several nodes, which are compared pairwise in order.
    """
    lefts = [node_left] if isinstance(node_left, Node) else list(node_left)
    rights = [node_right] if isinstance(node_right, Node) else list(node_right)
    if len(lefts) != len(rights):
        return False
    waiting = list(zip(lefts, rights, strict=True))
    seen = set(waiting)
    while waiting:
        left, right = waiting.pop()
        if (left.op, left.target) != (right.op, right.target):
            return False
        if len(left.all_input_nodes) != len(right.all_input_nodes):
            return False
        pairs = set(zip(left.all_input_nodes, right.all_input_nodes, strict=True)) - seen
        seen |= pairs
        waiting += pairs
    return True


def is_identical_graph(graph_left: torch.fx.GraphModule, graph_right: torch.fx.GraphModule) -> bool:
    """Returns whether both graphs have the same operations with the same connections, in the same order."""
    left, right = list(graph_left.graph.nodes), list(graph_right.graph.nodes)
    if len(left) != len(right):
        return False
    position: dict[torch.fx.Node, int] = {}
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        position[a] = position[b] = i
        if a.op != b.op or (a.op == "call_function" and a.target != b.target):
            return False
        if [position[x] for x in a.all_input_nodes] != [position[x] for x in b.all_input_nodes]:
            return False
    return True
