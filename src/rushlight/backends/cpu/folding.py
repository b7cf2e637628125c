"""Constant folding: nodes that do not depend on inputs are computed when the plan is made."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.nodes import tensors_of
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import aten_op

# Larger results would make the file too large, except permutations and conversions of constants.
MOST_ELEMENTS = 1 << 18


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


def is_folded(node: Node) -> bool:
    """Whether a plan stores the result, or the results, of a node with constant inputs."""
    values = tensors_of(node)
    if not values or not all(isinstance(size, int) for value in values for size in value.shape):
        return False
    if node.target is not operator.getitem:
        op = aten_op(node.target)
        if op is None or torch.Tag.nondeterministic_seeded in op.tags or op._schema.is_mutable:
            return False
    most = max((t.numel() for source in node.all_input_nodes for t in tensors_of(source)), default=0)
    return all(value.numel() <= max(MOST_ELEMENTS, most) for value in values)
