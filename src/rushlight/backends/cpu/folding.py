"""Constant folding: nodes that do not depend on inputs are computed ahead of time."""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Iterator, Mapping

import torch
from torch.fx import Graph, Node

from rushlight.backends.cpu.lower.nodes import tensors_of
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import aten_op

MAX_ELEMENTS = 1 << 18
"""The maximum number of elements of a stored result that is larger than its inputs."""
MAX_COMPUTED = 1 << 25
"""The maximum number of elements of a result that is computed, but not stored."""


class SelectedConstants(Mapping[Node, torch.Tensor]):
    """The values of some constants of a graph; a value is computed when it is read."""

    def __init__(self, constants: Constants, nodes: Iterable[Node]) -> None:
        self._constants = constants
        self._nodes = frozenset(nodes)

    def __getitem__(self, node: Node) -> torch.Tensor:
        if node not in self._nodes:
            raise KeyError(node)
        value = self._constants.value(node)
        assert value is not None
        return value

    def __contains__(self, node: object) -> bool:
        return node in self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def constants_of_plan(
    stored: Mapping[str, torch.Tensor], graph: Graph, outside: Container[Node] = ()
) -> Constants:
    """Returns the constants of a graph: constant placeholders, and nodes that are computed from them.

    Args:
        stored: the tensors of the graph's placeholders that are constants, by name.
        graph: the graph.
        outside: nodes that are not computed ahead of time.
    """
    return Constants(stored, graph, _folded(stored, graph, outside).__contains__)


def _folded(stored: Mapping[str, torch.Tensor], graph: Graph, outside: Container[Node]) -> set[Node]:
    """Returns the nodes that are computed ahead of time.

    A node whose result is too large to be stored is computed only if all its users are computed too.
    """
    found: set[Node] = set()
    for node in graph.nodes:
        if node.op != "call_function" or node in outside or not _is_computable(node):
            continue
        if all(source in found or source.name in stored for source in node.all_input_nodes):
            found.add(node)
    while True:
        large = [node for node in found if not found.issuperset(node.users) and not _may_be_stored(node)]
        if not large:
            return found
        for node in large:  # also removes the nodes that are computed from it
            if node in found:
                found.remove(node)
                large += found.intersection(node.users)


def _is_computable(node: Node) -> bool:
    """Returns whether a node with constant inputs has constant results of known sizes."""
    values = tensors_of(node)
    if not values or not all(isinstance(size, int) for value in values for size in value.shape):
        return False
    if sum(value.numel() for value in values) > MAX_COMPUTED:
        return False
    if node.target is operator.getitem:
        return True
    op = aten_op(node.target)
    return op is not None and torch.Tag.nondeterministic_seeded not in op.tags and not op._schema.is_mutable


def _may_be_stored(node: Node) -> bool:
    """Returns whether the results of a node may be in the file."""
    most = max((t.numel() for source in node.all_input_nodes for t in tensors_of(source)), default=0)
    return all(value.numel() <= max(MAX_ELEMENTS, most) for value in tensors_of(node))
