"""Groups the supported nodes of a graph into the smallest possible number of partitions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from torch.fx import Graph, Node

COMPUTING = ("call_function", "call_module", "call_method")


def form_parts(
    graph: Graph, supported: Callable[[Node], bool], groups: Sequence[Sequence[Node]] = ()
) -> list[list[Node]]:
    """Groups the supported nodes into partitions without cyclic dependencies.

    The rank of a node is the largest number of edges from a supported node to an unsupported node on a path
    to this node. Supported nodes with the same rank form one partition. No path between two of these nodes
    contains an unsupported node, because the rank would increase at that node. A path with k such edges
    needs k + 1 partitions in any grouping; therefore the number of partitions is minimal. Without groups,
    the time is linear in the number of nodes and edges.

    Args:
        graph: the graph.
        supported: whether a backend supports a node.
        groups: nodes that must be in the same partition. If a node of a group is not supported, no node of
            the group is in a partition. A group that no partition can contain without a cycle is ignored. Of
            several groups whose partitions would depend on each other in a cycle, one is ignored.

    Returns:
        The partitions. The nodes of each partition are in graph order. A getitem node is in the partition of
        the node whose result it selects.
    """
    nodes = list(graph.nodes)
    chosen = _supported_nodes(nodes, supported, groups)
    rank = _ranks_with_groups(nodes, chosen, [group for group in groups if chosen.issuperset(group)])
    parts: dict[int, list[Node]] = {}
    for node in nodes:
        if node in chosen:
            parts.setdefault(rank[node], []).append(node)
    return [parts[level] for level in sorted(parts)]


def merge_overlapping(groups: Iterable[Sequence[Node]]) -> list[list[Node]]:
    """Merges groups that have common nodes."""
    group_of: dict[Node, list[Node]] = {}
    for group in groups:
        merged = list(dict.fromkeys(member for node in group for member in group_of.get(node, [node])))
        for node in merged:
            group_of[node] = merged
    return list({id(group): group for group in group_of.values()}.values())


def _ranks_with_groups(
    nodes: Sequence[Node], chosen: set[Node], groups: list[Sequence[Node]]
) -> dict[Node, int]:
    """Returns the rank of every node, with one rank for all nodes of a group.

    No such ranks exist if a path leaves a group and enters it again: the group cannot be one partition, and
    is ignored. If there are still no ranks, two groups have such a path together: it leaves and enters the
    first one through the second one. Then the last group is ignored.

    Args:
        nodes: the nodes in graph order.
        chosen: the supported nodes.
        groups: groups of supported nodes. No node is in two groups.
    """
    rank = _ranks(nodes, chosen, _leaders(groups))
    while rank is None:
        others = [group for group in groups if not _is_left_and_entered(nodes, group)]
        groups = others if len(others) < len(groups) else groups[:-1]
        rank = _ranks(nodes, chosen, _leaders(groups))
    return rank


def _leaders(groups: Iterable[Sequence[Node]]) -> dict[Node, Node]:
    """Returns the leader of the group, its first node, for each node of a group."""
    return {node: group[0] for group in groups for node in group}


def _ranks(nodes: Sequence[Node], chosen: set[Node], leader: dict[Node, Node]) -> dict[Node, int] | None:
    """Returns the rank of every node, by raising ranks until they are consistent.

    Args:
        nodes: the nodes in graph order.
        chosen: the supported nodes.
        leader: for each node of a group, one node of this group, which is the same for the whole group. All
            nodes of a group have the same rank.

    Returns:
        The ranks. None if they would rise forever, because an unsupported node reads one node of a group and
        is read by another one.
    """
    rank = dict.fromkeys(nodes, 0)  # the rank of a group is the rank of its leader
    is_stale = True
    while is_stale:
        # Inputs are before their users in the graph. Ranks of earlier nodes are therefore final, unless a
        # later node raises the rank of a group.
        is_stale = False
        for node in nodes:
            head = leader.get(node, node)
            before = rank[head]
            for source in node.all_input_nodes:
                leaves_partition = source in chosen and node not in chosen
                rank[head] = max(rank[head], rank[leader.get(source, source)] + leaves_partition)
            if rank[head] > len(nodes):  # more than the number of edges on a path without repeated nodes
                return None
            if rank[head] > before and node in leader:
                is_stale = True
    return {node: rank[leader.get(node, node)] for node in nodes}


def _is_left_and_entered(nodes: Sequence[Node], group: Sequence[Node]) -> bool:
    """Returns whether a path leads from a node of the group over nodes outside it to a node of the group."""
    inside = set(group)
    outside: set[Node] = set()  # nodes reached from the group through nodes outside the group
    for node in nodes:
        if node in inside:
            if any(source in outside for source in node.all_input_nodes):
                return True
        elif any(source in inside or source in outside for source in node.all_input_nodes):
            outside.add(node)
    return False


def _supported_nodes(
    nodes: Sequence[Node], supported: Callable[[Node], bool], groups: Iterable[Sequence[Node]]
) -> set[Node]:
    """Returns the nodes that can be in partitions; the arguments are those of `form_parts`."""
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
