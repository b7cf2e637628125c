"""Inserts recorded decompositions into a graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Graph, Node
from torch.fx.node import Argument, map_aggregate

from rushlight.frontend.recorder import Expansion, Ref
from rushlight.frontend.symbols import SymbolNodes
from rushlight.ir import meta


class NodeWriter:
    """Adds nodes to a graph at its current insertion point.

    Args:
        graph: the graph.
        symbols: the nodes of the graph's symbolic sizes.
    """

    def __init__(self, graph: Graph, symbols: SymbolNodes) -> None:
        self._graph = graph
        self._symbols = symbols

    def instantiate(self, expansion: Expansion, inputs: list[Node], origin: Node) -> Any:
        """Adds the steps of a decomposition.

        Args:
            expansion: the recorded decomposition.
            inputs: its input nodes.
            origin: the node whose source line the new nodes get.

        Returns:
            The node of the result, or a sequence of nodes if the decomposition has several results.
        """
        results: list[Any] = []

        def to_node(item: object) -> Any:
            if isinstance(item, Ref):
                if item.step < 0:
                    return inputs[item.index or 0]
                result = results[item.step]
                return result if item.index is None else result[item.index]
            return self._symbols.node_of(item)

        for step in expansion.steps:
            args, kwargs = map_aggregate(step.args, to_node), map_aggregate(step.kwargs, to_node)
            new = self.new_call(step.target, args, kwargs, origin)
            meta.set_original(new, step.original)
            meta.set_val(new, step.val)
            single = step.val is None or isinstance(step.val, torch.Tensor)
            results.append(new if single else self._items(new, step.val, origin))
        return map_aggregate(expansion.output, to_node)

    def new_call(
        self, op: OpOverload, args: tuple[Argument, ...], kwargs: dict[str, Argument], origin: Node
    ) -> Node:
        """Adds a call of an operator with the source line of `origin`. Its metadata has no value yet."""
        name = op._schema.name.split("::")[1]
        new = self._graph.create_node("call_function", op, args, kwargs, name=name)
        _copy_origin(origin, new)
        meta.set_original(new, op)
        return new

    def _items(self, new: Node, val: Iterable[object], origin: Node) -> list[Node | None]:
        items: list[Node | None] = []
        for index, part in enumerate(val):
            if not isinstance(part, torch.Tensor):
                items.append(None)
                continue
            item = self._graph.call_function(operator.getitem, (new, index))
            meta.copy_origin(new, item)
            meta.set_val(item, part)
            items.append(item)
        return items


def _copy_origin(old: Node, new: Node) -> None:
    meta.copy_origin(old, new)
    meta.set_origin(new, meta.origin_of(old))
    meta.add_source(new, old)


def without_grad(val: object) -> Any:
    """Returns a value in which no tensor requires gradients. Sequences are converted item by item."""
    if isinstance(val, torch.Tensor):
        return val.detach() if val.requires_grad else val
    if isinstance(val, (list, tuple)):
        return type(val)(without_grad(item) for item in val)
    return val


def eliminate_dead_code(graph: Graph) -> None:
    """Erases calls that have no users and no side effects."""
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and not node.is_impure():
            graph.erase_node(node)
