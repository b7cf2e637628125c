"""Finds the node of a float program that corresponds to a node of the quantized program."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.fx import Node

from rushlight.ir import meta
from rushlight.quantize.graph_runner import GraphRunner
from rushlight.quantize.patterns import BATCH_NORM, MOVEMENT

_NAMESPACE = "quantized_decomposed"

aten = torch.ops.aten

# The operators whose results are parts of a tensor.
_DIVISIONS = frozenset({aten.unbind, aten.split, aten.split_with_sizes, aten.chunk, aten.tensor_split})


@dataclass(frozen=True)
class Layer:
    """An operator that both programs have.

    Attributes:
        reference: the node in the float program.
        node: the node in the quantized program.
        result: the node in the quantized program whose value the users read: `node`, or the dequantized value
            if the result is quantized.
    """

    reference: Node
    node: Node
    result: Node

    @property
    def name(self) -> str:
        """The path of the module and the name of the node, such as `features.2.conv2d_3`."""
        return f"{self.path}.{self.node.name}" if self.path else self.node.name

    @property
    def path(self) -> str:
        """The dotted name of the module, empty for the model itself."""
        path = meta.module_path_of(self.node) or meta.module_path_of(self.reference) or ""
        return path.removeprefix("L['self']").lstrip(".")

    @property
    def operator(self) -> str:
        """The name of the operator without its namespace."""
        op = self.computing.target
        return op._schema.name.split("::")[-1] if isinstance(op, OpOverload) else str(op)

    @property
    def source(self) -> meta.SourceLocation | None:
        """The line of the model's source code that calls the operator, or None."""
        return meta.source_of(self.reference) or meta.source_of(self.node)

    @property
    def moves_only(self) -> bool:
        """Whether the operator moves values without changing them."""
        op = self.computing.target
        return op in MOVEMENT or getattr(op, "overloadpacket", None) in _DIVISIONS

    @property
    def computing(self) -> Node:
        """The node that computes the value: for an item of several results, the node with the results."""
        source = self.node.args[0] if self.node.target is operator.getitem else self.node
        return source if isinstance(source, Node) else self.node


def layer_name(node: Node) -> str:
    """Returns the innermost module of a node and the name of the node, such as `features.2.conv2d_3`."""
    stack = meta.module_types_of(node)
    return f"{stack[-1][0]}.{node.name}" if stack and stack[-1][0] else node.name


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Returns at most `limit` names as text, and the number of further names."""
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) or "none") + rest


def is_quantization(node: Node) -> bool:
    """Returns whether a node quantizes, dequantizes, or computes parameters for quantization."""
    return getattr(node.target, "namespace", "") == _NAMESPACE


def _is(node: Node, word: str) -> bool:
    return is_quantization(node) and str(node.target).split(".")[1].startswith(word)


def pair_layers(reference: GraphRunner, quantized: GraphRunner) -> list[Layer]:
    """Returns the operators that both programs have, in the order of the quantized program.

    Two nodes correspond if `node.meta["from_node"]`, which torch.export and pt2e write, contains the same
    origin. A convolution with a folded batch norm corresponds to the batch norm.
    """
    by_name = {node.name: node for node in reference.nodes}
    found: dict[Node, Node] = {}
    for node in quantized.nodes:
        if node.op == "call_function" and not is_quantization(node) and _is_tensor(node):
            match = _match(node, by_name)
            if match is not None:
                found[match] = node
    layers = []
    for match, node in sorted(found.items(), key=lambda pair: quantized.order[pair[1]]):
        batch_norm = next((user for user in match.users if user.target in BATCH_NORM), None)
        if batch_norm is not None and batch_norm not in found and len(match.users) == 1:
            match = batch_norm
        layers.append(Layer(match, node, _result(node)))
    return layers


def _match(node: Node, by_name: Mapping[str, Node]) -> Node | None:
    """Returns the node of the float program that corresponds to a node of the quantized program, or None.

    Quantization inserts and renames `getitem` nodes. They correspond if the nodes with the lists do.
    """
    if node.target is not operator.getitem:
        return next((by_name[name] for name in _names(node) if _same(by_name.get(name), node)), None)
    source, index = node.args
    match = _match(source, by_name) if isinstance(source, Node) else None
    users = () if match is None else match.users
    return next((user for user in users if user.target is operator.getitem and user.args[1] == index), None)


def _names(node: Node) -> Iterator[str]:
    """The earlier names of a node, the oldest name first."""
    return reversed([node.name, *meta.earlier_names_of(node)])


def _same(candidate: Node | None, node: Node) -> bool:
    return candidate is not None and candidate.op == node.op and candidate.target == node.target


def _is_tensor(node: Node) -> bool:
    if isinstance(node.target, OpOverload) and not node.target._schema.returns:
        return False  # an assertion, which has no result
    value = meta.find_val(node)
    return value is None or (isinstance(value, torch.Tensor) and value.is_floating_point())


def _result(node: Node) -> Node:
    """The dequantized result of a node if all users read the quantized result, else the node."""
    users = list(node.users)
    if len(users) != 1 or not _is(users[0], "quantize_per"):
        return node
    real = [user for user in users[0].users if _is(user, "dequantize")]
    return real[0] if real and len(real) == len(users[0].users) else node


def how(layer: Layer) -> str:
    """Describes how a layer is computed, such as "int8, weights int8", "dynamic int8, weights int4/32" or
    "float".
    """
    activations = weights = ""
    for arg in layer.computing.all_input_nodes:
        if not _is(arg, "dequantize"):
            continue
        text, is_weight = _describe(arg)
        if is_weight:
            weights = weights or text
        else:
            activations = activations or text
    if layer.result is not layer.node:
        activations = activations or _describe(layer.result)[0]
    elif not weights and not _feeds_quantized_user(layer.node):
        return "float"
    parts = [activations, f"weights {weights}" if weights else ""]
    return ", ".join(part for part in parts if part)


def _feeds_quantized_user(node: Node) -> bool:
    """Whether the result of the only user, such as an activation function, is quantized."""
    users = list(node.users)
    if len(users) != 1 or is_quantization(users[0]) or users[0].op != "call_function":
        return False
    return len(users[0].all_input_nodes) == 1 and _result(users[0]) is not users[0]


def _describe(dequantize: Node) -> tuple[str, bool]:
    """The dtype of the input of a dequantize node as text, and whether the input is a stored weight."""
    name = str(dequantize.target).split(".")[1]
    stored = dequantize.args[0]
    if isinstance(stored, Node) and _is(stored, "quantize_per"):
        stored = stored.args[0]
    is_weight = isinstance(stored, Node) and stored.op == "get_attr"
    arguments = {
        declared.name: value
        for declared, value in zip(dequantize.target._schema.arguments, dequantize.args, strict=False)  # type: ignore[union-attr]
    }
    low, high = arguments.get("quant_min"), arguments.get("quant_max")
    text = str(arguments.get("dtype", torch.int8)).removeprefix("torch.")
    if isinstance(low, int) and isinstance(high, int) and -8 <= low and high <= 7:
        text = "int4"
    if "group_size" in arguments:
        text = f"{text}/{arguments['group_size']}"
    if name.endswith("per_token"):
        return f"dynamic {text} per token", is_weight
    if str(dequantize.target).endswith(".tensor"):
        return f"dynamic {text}", is_weight
    return text, is_weight
