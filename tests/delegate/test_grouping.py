"""Parts are acyclic, complete, and as few as dependencies allow."""

from __future__ import annotations

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.fx import Graph, Node

from rushlight.delegate.grouping import form_parts
from rushlight.delegate.order import order_of_parts


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, set[Node]]:
    graph = Graph()
    nodes = [graph.placeholder("x")]
    for _ in range(draw(st.integers(1, 7))):
        sources = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
        nodes.append(graph.call_function(torch.stack, (tuple(sources),)))
    graph.output(nodes[-1])
    chosen = draw(st.sets(st.sampled_from(nodes[1:])))
    return graph, chosen


def is_acyclic(graph: Graph, part_of: dict[Node, str]) -> bool:
    edges = {
        (part_of.get(a, a), part_of.get(b, b))
        for a in graph.nodes
        for b in a.users
        if part_of.get(a, a) != part_of.get(b, b)
    }
    reach = set(edges)
    while True:
        more = {(a, d) for (a, b), (c, d) in itertools.product(reach, edges) if b == c} - reach
        if not more:
            return all(a != b for a, b in reach)
        reach |= more


def fewest(graph: Graph, chosen: list[Node]) -> int:
    """Returns the smallest number of parts: tries every partition of the chosen nodes."""
    for count in range(1, len(chosen) + 1):
        for labels in itertools.product(range(count), repeat=len(chosen)):
            if is_acyclic(graph, {n: str(label) for n, label in zip(chosen, labels, strict=True)}):
                return count
    return 0


@given(graphs())
def test_parts_are_acyclic_complete_and_fewest(case: tuple[Graph, set[Node]]) -> None:
    graph, chosen = case
    parts = form_parts(graph, chosen.__contains__)
    assert [node for part in parts for node in part].__len__() == len(chosen)
    assert {node for part in parts for node in part} == chosen
    part_of = {node: str(i) for i, part in enumerate(parts) for node in part}
    assert is_acyclic(graph, part_of)
    order = order_of_parts(graph, part_of)
    assert len(order) == len(set(order)) == len(list(graph.nodes)) - len(chosen) + len(parts)
    if len(chosen) <= 5:
        assert len(parts) == fewest(graph, [node for node in graph.nodes if node in chosen])


@given(graphs(), st.data())
def test_groups_stay_together(case: tuple[Graph, set[Node]], data: st.DataObject) -> None:
    graph, chosen = case
    ordered = [node for node in graph.nodes if node in chosen]
    size = data.draw(st.integers(0, len(ordered)))
    groups = [ordered[:size]] if size else []
    parts = form_parts(graph, chosen.__contains__, groups)
    part_of = {node: str(i) for i, part in enumerate(parts) for node in part}
    assert is_acyclic(graph, part_of)
    assert part_of.keys() == chosen
    for group in groups:
        together = len({part_of[node] for node in group}) == 1
        assert together or not is_acyclic(graph, dict.fromkeys(group, "group"))


def test_an_unsupported_node_in_between_makes_two_parts() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    a = graph.call_function(torch.neg, (x,))
    b = graph.call_function(torch.sort, (a,))
    c = graph.call_function(torch.add, (a, b))
    graph.output(c)
    assert form_parts(graph, lambda node: node.target is not torch.sort) == [[a], [c]]


def test_groups_that_depend_on_each_other_in_a_cycle_are_not_both_kept() -> None:
    """a -> (unsupported) -> b and d -> (unsupported) -> c, with the groups (a, c) and (b, d)."""
    graph = Graph()
    x = graph.placeholder("x")
    a, d = (graph.call_function(torch.relu, (x,)) for _ in range(2))
    to_b, to_c = (graph.call_function(torch.nonzero, (node,)) for node in (a, d))
    b, c = (graph.call_function(torch.relu, (node,)) for node in (to_b, to_c))
    graph.output((b, c))
    parts = form_parts(graph, {a, b, c, d}.__contains__, [[a, c], [b, d]])
    part_of = {node: str(i) for i, part in enumerate(parts) for node in part}
    assert set(part_of) == {a, b, c, d}
    assert part_of[a] == part_of[c]
    assert is_acyclic(graph, part_of)


def test_a_group_with_an_unsupported_node_does_not_divide_a_partition() -> None:
    """The group (p, q) forms no partition, because no backend supports q; its common rank must not matter."""
    graph = Graph()
    x = graph.placeholder("x")
    a, p = (graph.call_function(torch.relu, (x,)) for _ in range(2))
    q = graph.call_function(torch.nonzero, (a,))
    b = graph.call_function(torch.relu, (p,))
    graph.output((q, b))
    assert form_parts(graph, {a, p, b}.__contains__, [[p, q]]) == [[a, b]]
