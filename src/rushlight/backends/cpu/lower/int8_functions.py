"""Finds elementwise functions of one int8 tensor, which become lookup tables.

A function can consist of several operators.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch.fx import Graph, Node

from rushlight.backends.cpu.lower.quantized_lowering import INT8_VALUES, MOVES, SPLITS
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import aten_op, is_op
from rushlight.ir.quantization import QuantParams, dequantize_params, quantize_params

MAX_NODES = 32
aten = torch.ops.aten
# Elementwise functions that torch does not tag as pointwise.
_UNTAGGED = frozenset({aten.hardswish.default})


@dataclass(frozen=True)
class Int8Function:
    """Elementwise nodes between a dequantized node and a quantize node, whose results no other node reads.

    Attributes:
        source: the dequantized node.
        nodes: the elementwise nodes in graph order.
        result: the quantize node.
    """

    source: Node
    nodes: tuple[Node, ...]
    result: Node

    def table(self, params: QuantParams, out: QuantParams, constants: Constants) -> torch.Tensor:
        """Returns the int8 results for all int8 inputs from -128 to 127."""
        values: dict[Node, Any] = {}
        inputs = params.dequantize(INT8_VALUES)

        def value_of(node: Node) -> Any:
            if node in values:
                return values[node]
            value = constants.value(node)
            return inputs if value is None else value.reshape(())

        for node in self.nodes:
            op: Any = aten_op(node.target)
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), value_of)
            values[node] = op(*args, **kwargs)
        return out.quantize(values[self.nodes[-1]])


def int8_functions(graph: Graph, constants: Constants) -> dict[Node, Int8Function]:
    """Returns the functions by their quantize nodes."""
    places = {node: i for i, node in enumerate(graph.nodes)}
    found = {}
    for node in graph.nodes:
        if quantize_params(node) is not None and not constants.is_constant(node):
            function = _function_of(node, constants, places)
            if function is not None:
                found[node] = function
    return found


def _function_of(result: Node, constants: Constants, places: dict[Node, int]) -> Int8Function | None:
    """Returns the function whose result a quantize node quantizes; None if there is no such function."""
    nodes: set[Node] = set()
    sources: dict[object, Node] = {}
    stack = [result.args[0]]
    while stack:
        node = stack.pop()
        if not isinstance(node, Node) or node in nodes:
            continue
        value = meta.get_tensor(node)
        if value is None:
            return None
        if constants.is_constant(node):
            if value.numel() != 1:
                return None
        elif is_dequantized(node):
            key = (node.args[0], dequantize_params(node)) if dequantize_params(node) is not None else node
            sources.setdefault(key, node)
        elif _is_elementwise(node) and len(nodes) < MAX_NODES:
            nodes.add(node)
            stack += node.all_input_nodes
        else:
            return None
    if len(sources) != 1 or not nodes:
        return None
    (source,) = sources.values()
    shape = meta.get_tensor(source)
    assert shape is not None
    for node in nodes:
        value = meta.get_tensor(node)
        assert value is not None
        others = (user for user in node.users if user not in nodes and user is not result)
        if tuple(value.shape) != tuple(shape.shape) or next(others, None) is not None:
            return None
    return Int8Function(source, tuple(sorted(nodes, key=places.__getitem__)), result)


def is_dequantized(node: object) -> bool:
    """Returns whether a node dequantizes int8, or only moves or splits a dequantized tensor."""
    while is_op(node, *MOVES, *SPLITS) or _is_part(node):
        node = node.args[0]
    return dequantize_params(node) is not None


def _is_part(node: object) -> TypeGuard[Node]:
    return isinstance(node, Node) and node.target is operator.getitem and is_op(node.args[0], *SPLITS)


def _is_elementwise(node: Node) -> bool:
    op = aten_op(node.target)
    value = meta.get_tensor(node)
    return (
        op is not None
        and value is not None
        and value.dtype is torch.float32
        and (torch.Tag.pointwise in op.tags or op in _UNTAGGED)
        and torch.Tag.nondeterministic_seeded not in op.tags
    )
