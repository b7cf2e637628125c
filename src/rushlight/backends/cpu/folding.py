"""Nodes that do not depend on inputs: computed while planning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from rushlight.ir import meta
from rushlight.ir.constants import constant_inputs
from rushlight.ir.edge_ops import aten_op

# Larger results, unless a permutation or a conversion of a constant, would bloat the file.
MOST_ELEMENTS = 1 << 18


class Values(Mapping[Node, torch.Tensor]):
    """The data of some constants, computed when it is read."""

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


class Constants:
    """The constants of a program, and the nodes that follow from them alone."""

    def __init__(self, stored: Mapping[str, torch.Tensor], graph: Graph, *, folds: bool = True) -> None:
        """`stored`: the constants of the graph's placeholders by name. folds: what follows from them counts
        too."""
        self._values: dict[Node, torch.Tensor] = {}
        self._foldable: set[Node] = set()
        for node in graph.nodes:
            if node.op == "placeholder" and node.name in stored:
                self._values[node] = stored[node.name].detach()
            elif folds and node.op == "call_function" and self._folds(node):
                self._foldable.add(node)

    @classmethod
    def of(cls, program: ExportedProgram, *, folds: bool = True) -> Constants:
        """Those of a program's own graph."""
        return cls(constant_inputs(program), program.graph, folds=folds)

    def _folds(self, node: Node) -> bool:
        op = aten_op(node.target)
        value = meta.get_tensor(node)
        if op is None or value is None or torch.Tag.nondeterministic_seeded in op.tags:
            return False
        if op._schema.is_mutable or not all(isinstance(size, int) for size in value.shape):
            return False
        if not all(self.is_constant(source) for source in node.all_input_nodes):
            return False
        return value.numel() <= MOST_ELEMENTS or value.numel() <= max(
            (t.numel() for s in node.all_input_nodes if (t := meta.get_tensor(s)) is not None), default=0
        )

    def is_constant(self, node: object) -> bool:
        """Whether the node does not depend on inputs or state."""
        return isinstance(node, Node) and (node in self._values or node in self._foldable)

    def value(self, node: object) -> torch.Tensor | None:
        """The data of a constant node."""
        if not isinstance(node, Node):
            return None
        if node in self._foldable and node not in self._values:
            self._values[node] = self._compute(node)
        return self._values.get(node)

    def _compute(self, node: Node) -> torch.Tensor:
        op: Any = aten_op(node.target)
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self.value)
        with torch.no_grad():
            result: torch.Tensor = op(*args, **kwargs)
        return result.detach()
