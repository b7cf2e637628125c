"""Orders a graph so that the nodes of every partition are consecutive."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from torch.fx import Graph, Node

from rushlight.ir.errors import CompileError
from rushlight.ir.meta import source_of


class CircularPartitionError(CompileError, AssertionError):
    """Partitions depend on each other in a cycle. ExecuTorch raises an AssertionError."""


def order_of_parts(graph: Graph, part_of: Mapping[Node, str]) -> list[Node | str]:
    """Returns the nodes outside partitions, and the partitions, in topological order.

    The algorithm is Kahn's. Each partition is one vertex. Of all vertices without pending inputs, the vertex
    that is first in the graph is next, so that the result is close to the order of the graph. The time is
    O(n log n).

    Args:
        graph: the graph.
        part_of: the tags of the nodes in partitions.

    Raises:
        CircularPartitionError: a partition depends on its own results through nodes outside the partition.
            The message names the partition and such a node.
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
            f"; {between.name} ({between.target}, {source_of(between)}) is on a path between their nodes"
            if between
            else ""
        )
        raise CircularPartitionError(
            f"partitions {', '.join(sorted(parts))} depend on each other in a cycle{where}. "
            f"Tag that node too, or give its users another tag"
        )
    return order
