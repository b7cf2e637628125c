"""Forms the smallest number of parts that the dependencies allow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from torch.fx import Graph, Node

COMPUTING = ("call_function", "call_module", "call_method")


def form_parts(
    graph: Graph, supported: Callable[[Node], bool], groups: Sequence[Sequence[Node]] = ()
) -> list[list[Node]]:
    """Groups the supported nodes into parts that depend on each other in no circle; nodes in graph order.

    The rank of a node is the largest number of parts that any path to it must have left: a path leaves a
    part when it goes from a supported node to an unsupported one. Supported nodes of one rank form one part.
    No path between two of them leads outside, since that would raise the rank; and a path with k such exits
    needs k + 1 parts in any partition, so the number of parts is minimal. Linear in nodes and edges.

    Nodes of one of `groups` stay in one part (none, unless all are supported); items of a tuple go with its
    maker.
    """
    nodes = list(graph.nodes)
    chosen = _supported(nodes, supported, groups)
    rank = _ranks(nodes, chosen, {node: group[0] for group in groups for node in group})
    while rank is None:  # a group that a path leaves and enters again cannot stay together
        groups = [group for group in groups if not _is_left_and_entered(nodes, group)]
        rank = _ranks(nodes, chosen, {node: group[0] for group in groups for node in group})
    parts: dict[int, list[Node]] = {}
    for node in nodes:
        if node in chosen:
            parts.setdefault(rank[node], []).append(node)
    return [parts[level] for level in sorted(parts)]


def joined(groups: Iterable[Sequence[Node]]) -> list[list[Node]]:
    """Joins groups that share nodes."""
    of: dict[Node, list[Node]] = {}
    for group in groups:
        together = list(dict.fromkeys(member for node in group for member in of.get(node, [node])))
        for node in together:
            of[node] = together
    return list({id(group): group for group in of.values()}.values())


def _ranks(nodes: Sequence[Node], chosen: set[Node], leader: dict[Node, Node]) -> dict[Node, int] | None:
    """Ranks in which nodes with one leader have one rank, None if there are none."""
    rank = dict.fromkeys(nodes, 0)
    changed = True
    while changed:  # more than once only where a group lifts nodes before its last
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
    outside: set[Node] = set()  # reached from the group through nodes that are not in it
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
