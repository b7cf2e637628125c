"""Decomposes selected nodes of a Core ATen program in place; other nodes are not changed."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Graph, Node
from torch.fx.node import Argument, map_aggregate

from rushlight.frontend.diagnosis import plain_words
from rushlight.frontend.fast_decomposer import Tools
from rushlight.frontend.node_writer import NodeWriter, eliminate_dead_code, without_grad
from rushlight.frontend.recorder import NeedsFallback, evaluate
from rushlight.frontend.symbols import SymbolNodes
from rushlight.ir import meta
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import fake_mode_of, no_new_guards, tensor_key
from rushlight.passes.base import graph_modules
from rushlight.passes.rebuild import with_graph_module


def expand_nodes(
    program: MethodProgram, nodes: Collection[Node], preserve: Collection[OpOverload]
) -> MethodProgram:
    """Decomposes nodes to Core ATen.

    Args:
        program: the program. It is changed, and the caller must not use it afterwards.
        nodes: calls of functional operators in the program's graph, or in the bodies of its control flow.
        preserve: functional operators that are not decomposed inside the decompositions.

    Returns:
        The program with the decompositions.

    Raises:
        NeedsFallback: a node can be decomposed only together with the whole program. The program is then in
            an invalid state.
    """
    chosen = frozenset(nodes)
    tools = Tools.of(program.graph, preserve)
    with plain_words(), no_new_guards(fake_mode_of(program.graph)), tools.expander.active():
        for module in graph_modules(program.graph_module):
            if any(node in chosen for node in module.graph.nodes):
                _GraphExpander(module.graph, tools).run(chosen)
                module.recompile()
    return with_graph_module(program, program.graph_module)


class _GraphExpander:
    """Expands nodes of one graph, in order."""

    def __init__(self, graph: Graph, tools: Tools) -> None:
        self._graph = graph
        self._tools = tools
        self._symbols = SymbolNodes(graph)
        self._writer = NodeWriter(graph, self._symbols)
        self._stale: set[Node] = set()
        """Nodes whose input metadata changed."""
        self._erased: set[Node] = set()

    def run(self, chosen: Collection[Node]) -> None:
        """Expands the chosen nodes of the graph."""
        for node in list(self._graph.nodes):
            if node in self._erased:
                continue
            if node.op == "placeholder":
                self._symbols.add_placeholder(node)
            elif node in chosen:
                self._expand(node)
            elif node.op == "output":
                meta.set_val(node, map_aggregate(node.args[0], _val_of))
            else:
                if node in self._stale:
                    self._evaluate_again(node)
                self._symbols.add(node)
        eliminate_dead_code(self._graph)

    def _expand(self, node: Node) -> None:
        assert isinstance(node.target, OpOverload)
        with self._graph.inserting_before(node):
            expansion, inputs = self._tools.expander.expand(node.target, node.args, node.kwargs)
            result = self._writer.instantiate(expansion, inputs, node)
        if isinstance(result, Node):
            self._replace(node, result)
            return
        for user in list(node.users):
            part = result[user.args[1]] if user.target is operator.getitem else None
            if not isinstance(part, Node):
                raise NeedsFallback(f"{user} does not read a single result of {node.target}")
            self._replace(user, part)
        self._erase(node)

    def _replace(self, old: Node, new: Node) -> None:
        """Replaces a node for its users, and records users whose metadata may change."""
        if _key(meta.get_val(old)) != _key(meta.get_val(new)):
            self._stale.update(old.users)
        old.replace_all_uses_with(new)
        self._erase(old)

    def _erase(self, node: Node) -> None:
        self._graph.erase_node(node)
        self._erased.add(node)

    def _evaluate_again(self, node: Node) -> None:
        """Computes the metadata of a node again after the metadata of its inputs changed."""
        before = meta.get_val(node)
        if isinstance(node.target, OpOverload) and not meta.makes_symbols(node):
            val = evaluate(self._tools.evaluator, node.target, node.args, node.kwargs)
        elif node.target is operator.getitem:
            source: Any = node.args[0]
            val = meta.get_val(source)[node.args[1]]
        else:
            raise NeedsFallback(f"{node.target} reads a tensor whose layout changes")
        meta.set_val(node, without_grad(val))
        if _key(before) != _key(val):
            self._stale.update(node.users)


def _key(val: object) -> object:
    if isinstance(val, torch.Tensor):
        return tensor_key(val)
    return tuple(map(_key, val)) if isinstance(val, (list, tuple)) else None


def _val_of(item: Argument) -> Argument:
    return meta.find_val(item) if isinstance(item, Node) else item
