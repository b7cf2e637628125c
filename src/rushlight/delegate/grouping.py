"""Forms the smallest number of partitions that the dependencies allow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from torch.fx import Graph, Node

COMPUTING = ("call_function", "call_module", "call_method")


def form_parts(
    graph: Graph, supported: Callable[[Node], bool], groups: Sequence[Sequence[Node]] = ()
) -> list[list[Node]]:
    """Groups the supported nodes into partitions without cyclic dependencies; nodes stay in graph order.

    The rank of a node is the largest number of partitions that a path to the node leaves. A path leaves a
    partition when it goes from a supported node to an unsupported node. Supported nodes of one rank form one
    partition. No path between two of these nodes leaves the partition, since that would raise the rank. A
    path that leaves k partitions needs k + 1 partitions in any grouping; therefore the number of partitions
    is minimal. The time is linear in nodes and edges.

    Nodes of one of `groups` stay in one partition, or in none if a node of the group is not supported. A
    getitem node is in the partition of the node that makes its tuple.
    """
    nodes = list(graph.nodes)
    chosen = _supported(nodes, supported, groups)
    rank = _ranks(nodes, chosen, {node: group[0] for group in groups for node in group})
    # a path that leaves and enters a group again prevents the group from being one partition
    while rank is None:
        groups = [group for group in groups if not _is_left_and_entered(nodes, group)]
        rank = _ranks(nodes, chosen, {node: group[0] for group in groups for node in group})
    parts: dict[int, list[Node]] = {}
    for node in nodes:
        if node in chosen:
            parts.setdefault(rank[node], []).append(node)
    return [parts[level] for level in sorted(parts)]


def joined(groups: Iterable[Sequence[Node]]) -> list[list[Node]]:
    """Joins groups that have common nodes."""
    of: dict[Node, list[Node]] = {}
    for group in groups:
        together = list(dict.fromkeys(member for node in group for member in of.get(node, [node])))
        for node in together:
            of[node] = together
    return list({id(group): group for group in of.values()}.values())


def _ranks(nodes: Sequence[Node], chosen: set[Node], leader: dict[Node, Node]) -> dict[Node, int] | None:
    """Returns ranks that are equal for nodes with the same leader; None if no such ranks exist."""
    rank = dict.fromkeys(nodes, 0)
    changed = True
    while changed:  # iterates again only if a group raises the rank of nodes before its last node
        changed = False
        for node in nodes:
            level = rank[node]
            for source in node.all_input_nodes:
                level = max(level, rank[source] + (source in chosen and node not in chosen))
            head = leader.get(node)
            if head is not None:
                level = max(level, rank[head])
                if rank[head] < level:
                    rank[head] = level
                    changed = True
            if rank[node] < level:
                changed = changed or head is not None
                rank[node] = level
            if level > len(nodes):
                return None
    return rank


def _is_left_and_entered(nodes: Sequence[Node], group: Sequence[Node]) -> bool:
    inside = set(group)
    outside: set[Node] = set()  # nodes reached from the group through nodes outside the group
    for node in nodes:
        if node in inside:
            if any(source in outside for source in node.all_input_nodes):
                return True
        elif any(source in inside or source in outside for source in node.all_input_nodes):
            outside.add(node)
    return False


def _supported(
    nodes: Sequence[Node], supported: Callable[[Node], bool], groups: Iterable[Sequence[Node]]
) -> set[Node]:
    chosen: set[Node] = set()
    for node in nodes:
        if node.op not in COMPUTING:
            continue
        source = node.args[0] if node.args and node.target is operator.getitem else None
        if isinstance(source, Node) and source.op in COMPUTING:
            if source in chosen:
                chosen.add(node)
        elif supported(node):
            chosen.add(node)
    for group in groups:
        if not all(node in chosen for node in group):
            chosen.difference_update(group)
    return chosen
