"""Converts FX graphs: their nodes, the results of the nodes, and the bodies of control flow operators."""

from __future__ import annotations

import operator
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule
from torch.fx import Node as FxNode

from rushlight.compat.native import schema
from rushlight.compat.native.arguments import aliased_argument, argument_value, kind_of, named_arguments
from rushlight.compat.native.schema import (
    Argument,
    NamedArgument,
    OpKind,
    Output,
    OutputValueKind,
    TensorValue,
)
from rushlight.compat.native.values import serialize_operator, tensor_meta_of
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op

Items = Mapping[str, Mapping[int, FxNode]]
"""For each node with several results: the nodes that select a result, by its index."""

_KINDS = {"call_function": OpKind.CALL_FUNCTION, "placeholder": OpKind.PLACEHOLDER, "output": OpKind.OUTPUT}


@dataclass
class ConvertedGraph:
    """The parts of a converted graph.

    Attributes:
        nodes: the nodes in execution order.
        inputs: the names of the placeholders.
        outputs: the names of the outputs that are tensors.
        tensors: the tensors by value name. They may be fake tensors.
    """

    nodes: list[schema.Node]
    inputs: list[str]
    outputs: list[str]
    tensors: dict[str, torch.Tensor]

    def tensor_values(self, without: frozenset[str] = frozenset()) -> list[TensorValue]:
        """Describes the tensors.

        Args:
            without: the names of tensors to leave out.

        Raises:
            ValueError: the format cannot describe a tensor. The message names the tensor.
        """
        values = []
        for name, tensor in self.tensors.items():
            if name not in without:
                try:
                    values.append(TensorValue(name, tensor_meta_of(tensor)))
                except ValueError as error:
                    raise ValueError(f"value {name}: {error}") from error
        return values


def convert_graph(module: GraphModule) -> ConvertedGraph:
    """Converts the graph of a module.

    Nodes that select a result of another node become results of that node. The body of a control flow
    operator becomes an argument of the operator.

    Args:
        module: the module. Its parameters, buffers and constants are inputs of the graph.

    Raises:
        ValueError: the format cannot represent a node. The message names the node and its operator.
    """
    items = _items(module)
    bodies: dict[str, schema.Graph] = {}
    result = ConvertedGraph([], [], [], {})
    for node in module.graph.nodes:
        if node.op == "get_attr":
            bodies[node.name] = _body(module, node)
        elif node.op not in _KINDS:
            raise ValueError(f"native graphs have no nodes of the kind {node.op}: {node.name}")
        elif not _is_item(node):
            result.nodes.append(_convert_node(node, items, bodies, result))
    return result


def _convert_node(
    node: FxNode, items: Items, bodies: Mapping[str, schema.Graph], result: ConvertedGraph
) -> schema.Node:
    inputs: list[NamedArgument] = []
    outputs: list[Output] = []
    if node.op == "output":
        returned = node.args[0]
        for value in returned if isinstance(returned, (list, tuple)) else (returned,):
            inputs.append(NamedArgument(Argument(argument_value(value, bodies))))
            if isinstance(value, FxNode) and isinstance(meta.find_val(value), torch.Tensor):
                result.outputs.append(value.name)
    else:
        if node.op == "placeholder":
            result.inputs.append(node.name)
        else:
            inputs = named_arguments(node, bodies)
        outputs = node_outputs(node, items, result.tensors)
    target = serialize_operator(node.target) if node.op == "call_function" else None
    return schema.Node(node.name, _KINDS[node.op], target, inputs or None, outputs or None)


def _body(module: GraphModule, node: FxNode) -> schema.Graph:
    body = getattr(module, str(node.target), None)
    if not isinstance(body, GraphModule):
        raise ValueError(
            f"node {node.name} reads the attribute {node.target}: native graphs have only tensors that are "
            "inputs of the graph; pass a tensor that the body of a control flow operator uses as an operand"
        )
    converted = convert_graph(body)
    return schema.Graph(
        converted.nodes,
        converted.inputs or None,
        converted.outputs or None,
        converted.tensor_values() or None,
    )


def _is_item(node: FxNode) -> bool:
    """Returns whether a node only selects a result of another node."""
    source = node.args[0] if node.op == "call_function" and node.target is operator.getitem else None
    return isinstance(source, FxNode) and isinstance(meta.find_val(source), (tuple, list))


def _items(module: GraphModule) -> Items:
    items: dict[str, dict[int, FxNode]] = {}
    for node in module.graph.nodes:
        if _is_item(node) and isinstance(node.args[1], int):
            known = items.setdefault(node.args[0].name, {}).setdefault(node.args[1], node)
            if known is not node:
                raise ValueError(
                    f"nodes {known.name} and {node.name} select the same result of {node.args[0].name}; "
                    "merge them with CSEPass"
                )
    return items


def node_outputs(node: FxNode, items: Items, tensors: MutableMapping[str, torch.Tensor]) -> list[Output]:
    """Describes the results of a node.

    Args:
        node: a placeholder or a call.
        items: the nodes that select results.
        tensors: gets the tensors among the results, by name.

    Raises:
        ValueError: the format has no result of this type. The message names the node.
    """
    val = meta.find_val(node)
    op = aten_op(node.target) if node.op == "call_function" else None
    if op is not None and not op._schema.returns:
        return []
    if not isinstance(val, (tuple, list)):
        kind = kind_of(val)
        if isinstance(val, torch.Tensor):
            tensors[node.name] = val
            if node.op == "call_function":
                return [Output(node.name, aliased_argument(node))]
        return [Output(node.name, kind=kind)]
    selected = items.get(node.name, {})
    names = [selected[i].name if i in selected else f"{node.name}_out{i}" for i in range(len(val))]
    outputs = []
    for index, (name, item) in enumerate(zip(names, val, strict=True)):
        kind = kind_of(item)
        if isinstance(item, torch.Tensor):
            tensors[name] = item
        elif kind is OutputValueKind.TENSOR:
            raise ValueError(
                f"node {node.name} ({serialize_operator(node.target)}): result {index} is a "
                f"{type(item).__name__}; native graphs have only tensors and numbers in tuples"
            )
        outputs.append(Output(name, kind=kind))
    if op is not None and _returns_list(op):
        return [Output("", kind=OutputValueKind.TENSOR_LIST, names=names)]
    return outputs


def _returns_list(op: OpOverload) -> bool:
    returns = op._schema.returns
    declared = returns[0].type if len(returns) == 1 else None
    return isinstance(declared, torch.ListType) and isinstance(declared.getElementType(), torch.TensorType)
