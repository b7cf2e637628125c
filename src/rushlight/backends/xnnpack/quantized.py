"""Quantized parts of a graph: what runs over whole numbers, and from which nodes that follows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.fx import Graph, Node

from rushlight.backends.xnnpack.facts import Facts, argument, operation, tensor_of
from rushlight.ir.edge_ops import aten_op
from rushlight.passes.quantized_nodes import Params, params_of

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed

WEIGHTED = {  # the positions of input, weight and bias
    aten.linear.default: (0, 1, 2),
    aten.addmm.default: (1, 2, 0),
    aten.mm.default: (0, 1, None),
    aten.convolution.default: (0, 1, 2),
}
MOVING = frozenset(
    {
        aten.permute_copy.default,
        aten.view_copy.default,
        aten.slice_copy.Tensor,
        aten.unsqueeze_copy.default,
        aten.squeeze_copy.dim,
        aten.squeeze_copy.dims,
        aten.max_pool2d.default,
        aten.max_pool2d_with_indices.default,
        aten.cat.default,
        "dim_order_ops._clone_dim_order.default",
        "dim_order_ops._to_dim_order_copy.default",
        aten.clone.default,
    }
)
"""Operators whose results are elements of their inputs, by the same parameters."""
CLAMPS = (aten.relu.default, aten.hardtanh.default, aten.clamp.default)
STATIC = MOVING | WEIGHTED.keys() | set(CLAMPS)
STATIC |= {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.mean.dim}
"""What XNNPACK runs over int8."""
_FUSING = WEIGHTED.keys() | {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor}

_DYNAMIC = {qd.dequantize_per_tensor.tensor: qd.quantize_per_tensor.tensor}
_DYNAMIC[qd.dequantize_per_token.default] = qd.quantize_per_token.default
_CHOOSE = (
    qd.choose_qparams.tensor,
    qd.choose_qparams_per_token_asymmetric.default,
)


# ---- Quantize and dequantize nodes ----


def quantize_params(node: object) -> Params | None:
    """Those of a node that quantizes floats to int8 with known numbers."""
    found = params_of(node, qd.quantize_per_tensor.default)
    return found if found is not None and found.dtype is torch.int8 else None


def dequantize_params(node: object) -> Params | None:
    """Those of a node that dequantizes int8 with known numbers."""
    found = params_of(node, qd.dequantize_per_tensor.default)
    return found if found is not None and found.dtype is torch.int8 else None


def params_of_value(node: Node) -> Params | None:
    """What the numbers of an int8 node mean, as the node or a user of it says."""
    found = quantize_params(node)
    return found or next(filter(None, (dequantize_params(user) for user in node.users)), None)


@dataclass(frozen=True)
class StoredWeight:
    """A constant of whole numbers.

    source: the node of the int8 constant. scale: one number, [channels], or [channels, groups]. axis: of the
    channels, None for one scale. low, high: the range of the numbers.
    """

    source: Node
    scale: float | torch.Tensor
    axis: int | None
    group_size: int
    low: int
    high: int

    @property
    def has_nibbles(self) -> bool:
        return (self.low, self.high) == (-8, 7) and self.axis is not None


def stored_weight(node: object, facts: Facts) -> StoredWeight | None:
    """What a node that dequantizes a constant reads; None for others, and if zero points are not 0."""
    if not isinstance(node, Node) or node.op != "call_function" or not node.args:
        return None
    source = node.args[0]
    if not isinstance(source, Node) or not facts.is_constant(source):
        return None
    tensor = tensor_of(source)
    if tensor is None or tensor.dtype is not torch.int8:
        return None
    op = aten_op(node.target)
    if op is qd.dequantize_per_tensor.default:
        params = dequantize_params(node)
        if params is None or params.zero_point != 0:
            return None
        return StoredWeight(source, params.scale, None, 0, params.low, params.high)
    if op not in (qd.dequantize_per_channel.default, qd.dequantize_per_channel_group.default):
        return None
    scales, zeros = node.args[1], node.args[2]
    if not isinstance(scales, Node) or not facts.is_constant(scales):
        return None
    if isinstance(zeros, Node) and (not facts.is_constant(zeros) or bool(facts.constant(zeros).any())):
        return None
    scale = facts.constant(scales).float()
    if op is qd.dequantize_per_channel.default:
        axis, low, high = (int(item) for item in node.args[3:6])  # type: ignore[arg-type]
        return StoredWeight(source, scale.flatten(), axis, 0, low, high)
    low, high, group = int(node.args[3]), int(node.args[4]), int(node.args[6])  # type: ignore[arg-type]
    if tensor.dim() != 2 or tensor.shape[1] % group:
        return None
    if group == tensor.shape[1] and (low, high) != (-8, 7):
        return StoredWeight(source, scale.flatten(), 0, 0, low, high)
    return StoredWeight(source, scale.reshape(tensor.shape[0], -1), 0, group, low, high)


@dataclass(frozen=True)
class RowInput:
    """Floats quantized by rows when the program runs. nodes: from choosing the scales to dequantizing."""

    source: Node
    nodes: tuple[Node, ...]


def row_input(node: object) -> RowInput | None:
    """What a node dequantizes whose scales the program has found itself just before."""
    if not isinstance(node, Node) or node.op != "call_function":
        return None
    packed = node.args[0] if node.args else None
    op = aten_op(node.target)
    wanted = None if op is None else _DYNAMIC.get(op)
    if wanted is None or not isinstance(packed, Node) or aten_op(packed.target) is not wanted:
        return None
    source, items = packed.args[0], packed.args[1:3]
    if not isinstance(source, Node) or tuple(node.args[1:3]) != tuple(items):
        return None
    choosers = {item.args[0] for item in items if isinstance(item, Node) and item.target is operator.getitem}
    if len(choosers) != 1:
        return None
    chooser = choosers.pop()
    if (
        not isinstance(chooser, Node)
        or aten_op(chooser.target) not in _CHOOSE
        or chooser.args[0] is not source
    ):
        return None
    result = tensor_of(packed)
    if result is None or result.dtype is not torch.int8:
        return None
    known = [item for item in items if isinstance(item, Node)]
    return RowInput(source, (chooser, *known, packed, node))


def is_row_part(node: Node) -> bool:
    """Whether a node finds scales when the program runs, or is what is done with them."""
    op = aten_op(node.target)
    if node.target is operator.getitem:
        return isinstance(node.args[0], Node) and aten_op(node.args[0].target) in _CHOOSE
    return op in _CHOOSE or op in _DYNAMIC or op in _DYNAMIC.values()


# ---- Operators over whole numbers ----


@dataclass(frozen=True)
class Whole:
    """A node that runs over whole numbers.

    nodes: what goes with it into a delegate: dequantized inputs and weights, an activation, the quantized
    result.
    result: the quantize node whose value is computed, None if the result is float (`row` then has the input).
    """

    node: Node
    nodes: tuple[Node, ...]
    result: Node | None
    row: RowInput | None

    @property
    def computed(self) -> tuple[Node, ...]:
        """The nodes that the operator computes, before its result is quantized."""
        at = self.nodes.index(self.node)
        return self.nodes[at:] if self.result is None else self.nodes[at:-1]


def activation_behind(node: Node) -> Node | None:
    """The activation that the operator takes along: its only user, with bounds that are apart."""
    users = list(node.users)
    if len(users) != 1 or operation(node) not in _FUSING:
        return None
    if operation(users[0]) is aten.hardtanh.default:
        low, high = argument(users[0], 1, -1.0), argument(users[0], 2, 1.0)
        return users[0] if float(low) < float(high) else None
    return users[0] if operation(users[0]) is aten.relu.default else None


def whole_of(node: Node, facts: Facts) -> Whole | None:
    """How an operator runs over whole numbers, None if it does not."""
    if node.op != "call_function" or operation(node) not in STATIC:
        return None
    if operation(node) in WEIGHTED:
        return _whole_weighted(node, facts)
    sources = node.all_input_nodes
    if not sources or any(dequantize_params(source) is None for source in sources):
        return None
    if any(facts.is_constant(source.args[0]) for source in sources):
        return None
    tail = _tail(node)
    if tail is None:
        return None
    params = quantize_params(tail[-1])
    assert params is not None
    if operation(node) in MOVING or operation(node) in CLAMPS:
        if any(not _is_same(dequantize_params(source), params) for source in sources):
            return None
    return Whole(node, (*sources, node, *tail), tail[-1], None)


def _is_same(a: Params | None, b: Params) -> bool:
    return a is not None and (a.scale, a.zero_point) == (b.scale, b.zero_point)


def _tail(node: Node) -> tuple[Node, ...] | None:
    """The nodes from behind an operator to the quantize node that is all that becomes of its result."""
    nodes: list[Node] = []
    last = node
    users = list(node.users)
    if len(users) == 1 and users[0].target is operator.getitem and users[0].args[1] == 0:
        last = users[0]
        nodes.append(last)
    elif (activation := activation_behind(node)) is not None:
        last = activation
        nodes.append(last)
    users = list(last.users)
    if len(users) != 1 or quantize_params(users[0]) is None:
        return None
    return (*nodes, users[0])


def weight_behind(node: object) -> tuple[Node, ...]:
    """A weight's nodes: transposes of a matrix, and the node itself last."""
    nodes: list[Node] = []
    while isinstance(node, Node) and operation(node) in (
        aten.permute_copy.default,
        aten.permute.default,
        aten.t.default,
        aten.t_copy.default,
    ):
        nodes.append(node)
        node = node.args[0]
    return (*nodes, node) if isinstance(node, Node) else ()


def _whole_weighted(node: Node, facts: Facts) -> Whole | None:
    at = WEIGHTED[operation(node)]
    source, bias = argument(node, at[0]), None if at[2] is None else argument(node, at[2])
    weights = weight_behind(argument(node, at[1]))
    stored = stored_weight(weights[-1], facts) if weights else None
    if stored is None or (bias is not None and not facts.is_constant(bias)):
        return None
    is_convolution = operation(node) is aten.convolution.default
    if stored.has_nibbles and is_convolution:
        return None
    if stored.axis is not None:
        is_transposed = is_convolution and bool(node.args[6])
        if stored.axis != int(is_transposed) or (is_transposed and int(node.args[8]) != 1):  # type: ignore[arg-type]
            return None
    row = row_input(source)
    if row is not None:
        if is_convolution and (tensor_of(source).dim() != 4 or bool(node.args[6])):  # type: ignore[union-attr]
            return None
        return Whole(node, (*row.nodes, *weights, node), None, row)
    if not isinstance(source, Node) or dequantize_params(source) is None or stored.has_nibbles:
        return None
    if facts.is_constant(source.args[0]):
        return None
    tail = _tail(node)
    return None if tail is None else Whole(node, (source, *weights, node, *tail), tail[-1], None)


# ---- Which of them a delegate takes ----


class Wholes:
    """The operators of a graph that run over whole numbers, those that `accepts` lets, and what they need.

    An operator is left out if something else reads its quantized weight or the scales found for its input.
    """

    def __init__(self, graph: Graph, facts: Facts, accepts: Callable[[Whole], bool]) -> None:
        found = [whole for node in graph.nodes if (whole := whole_of(node, facts)) is not None]
        self.found = {whole.node: whole for whole in found}
        self.accepted = {whole.node: whole for whole in found if accepts(whole)}
        while True:
            self.nodes = {node for whole in self.accepted.values() for node in whole.nodes}
            kept = {whole.node: whole for whole in self.accepted.values() if self._is_closed(whole)}
            if len(kept) == len(self.accepted):
                return
            self.accepted = kept

    def _is_closed(self, whole: Whole) -> bool:
        inner = whole.nodes[: whole.nodes.index(whole.node)]
        return all(
            user in self.nodes
            for node in inner
            if dequantize_params(node) is None or _is_stored(node)
            for user in node.users
        )


def _is_stored(node: Node) -> bool:
    return isinstance(node.args[0], Node) and node.args[0].op == "placeholder"
