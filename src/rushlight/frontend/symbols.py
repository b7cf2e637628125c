"""Nodes for symbolic sizes: maps an expression of input sizes to the node that computes it."""

from __future__ import annotations

import operator
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node

from rushlight.frontend.recorder import NeedsFallback
from rushlight.ir import meta
from rushlight.ir.sym import IntLike


class SymbolNodes:
    """Maps each symbolic expression of a graph to the node that computes it, and creates missing nodes."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[sympy.Expr, Node] = {}
        self._inputs: list[Node] = []
        self._sizes: dict[sympy.Symbol, Node] = {}

    def add_placeholder(self, node: Node) -> None:
        """Registers an input of the graph, whose sizes may be symbols."""
        self._inputs.append(node)
        self.add(node)

    def add(self, node: Node) -> None:
        """Registers a node that may compute a symbolic scalar."""
        val = meta.find_val(node)
        if isinstance(val, torch.SymInt):
            self._known.setdefault(val.node.expr, node)

    def node_of(self, item: object) -> Any:
        """Returns the node that computes a symbolic int. Other items, and constants, are returned as values.

        Raises:
            NeedsFallback: the item is a symbolic float or bool, or no node can compute it.
        """
        if isinstance(item, torch.SymInt):
            constant = item.node.maybe_as_int()
            return constant if constant is not None else self._node_of_expression(item)
        if isinstance(item, (torch.SymFloat, torch.SymBool)):
            raise NeedsFallback(f"a decomposition computes with the symbolic scalar {item}")
        return item

    def _node_of_expression(self, value: torch.SymInt) -> Node:
        expression = value.node.expr
        node = self._known.get(expression)
        if node is None:
            node = self._build(expression, value)
            self._known[expression] = node
        return node

    def _build(self, expression: sympy.Expr, value: torch.SymInt) -> Node:
        if expression.is_Symbol:
            return self._size_node(expression)
        if not (expression.is_Add or expression.is_Mul):
            raise NeedsFallback(f"a decomposition computes the size {expression}")
        function = operator.add if expression.is_Add else operator.mul
        shape_env = value.node.shape_env
        operands = [self._operand(part, shape_env) for part in expression.args]
        result, total = operands[0]
        for operand, part in operands[1:]:
            total = function(total, part)
            result = self._graph.call_function(function, (result, operand))
            meta.set_val(result, total)
        assert isinstance(result, Node)
        return result

    def _operand(self, expression: sympy.Expr, shape_env: Any) -> tuple[Node | int, IntLike]:
        if expression.is_Integer:
            return int(expression), int(expression)
        value = shape_env.create_symintnode(expression, hint=None)
        return self._node_of_expression(value), value

    def _size_node(self, symbol: sympy.Symbol) -> Node:
        """Returns a call of `sym_size.int` for the first input dim whose size is the symbol.

        The call is inserted after the inputs.
        """
        node = self._sizes.get(symbol)
        if node is not None:
            return node
        for placeholder in self._inputs:
            val = meta.find_val(placeholder)
            if not isinstance(val, torch.Tensor):
                continue
            sizes: tuple[IntLike, ...] = tuple(val.shape)
            for dim, size in enumerate(sizes):
                if isinstance(size, torch.SymInt) and size.node.expr == symbol:
                    with self._graph.inserting_after(self._inputs[-1]):
                        node = self._graph.call_function(torch.ops.aten.sym_size.int, (placeholder, dim))
                    meta.set_val(node, size)
                    self._sizes[symbol] = node
                    return node
        raise NeedsFallback(f"no input has the size {symbol}")
