"""Orders a graph so that the nodes of every partition are consecutive."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from torch.fx import Graph, Node

from rushlight.ir.errors import CompileError
from rushlight.ir.meta import source_of


class CircularPartitionError(CompileError):
    """Two partitions depend on each other in a cycle."""


def order_of_parts(graph: Graph, part_of: Mapping[Node, str]) -> list[Node | str]:
    """Returns nodes and partitions in a valid order that is as close to the graph's order as possible.

    The algorithm is Kahn's; each partition is one vertex, and the earliest ready vertex comes first. It takes
    O(n log n).

    Raises:
        CircularPartitionError: a partition depends on itself through another node; the message names both.
    """
    position = {node: i for i, node in enumerate(graph.nodes)}
    first: dict[Node | str, int] = {}
    for node, i in position.items():
        first.setdefault(part_of.get(node, node), i)
    waiting: dict[Node | str, int] = dict.fromkeys(first, 0)
    users: dict[Node | str, list[Node | str]] = {vertex: [] for vertex in first}
    for node in graph.nodes:
        vertex = part_of.get(node, node)
        for user in node.users:
            other = part_of.get(user, user)
            if other != vertex:
                users[vertex].append(other)
                waiting[other] += 1
    ready = [(first[vertex], vertex) for vertex, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Node | str] = []
    while ready:
        _, vertex = heapq.heappop(ready)
        order.append(vertex)
        for other in users[vertex]:
            waiting[other] -= 1
            if waiting[other] == 0:
                heapq.heappush(ready, (first[other], other))
    if len(order) != len(first):
        stuck = [vertex for vertex, count in waiting.items() if count > 0]
        parts = [vertex for vertex in stuck if isinstance(vertex, str)]
        between = next((vertex for vertex in stuck if isinstance(vertex, Node)), None)
        where = (
            f"; {between.name} ({between.target}, {source_of(between)}) lies between their nodes"
            if between
            else ""
        )
        raise CircularPartitionError(
            f"parts {', '.join(sorted(parts))} depend on each other in a circle{where}. "
            f"Tag that node too, or give its users another tag"
        )
    return order
