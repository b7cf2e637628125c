"""Finds operators that XNNPACK runs on int8, and the quantize and dequantize nodes that belong to them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch.fx import Graph, Node

from rushlight.backends.xnnpack.constants import GROUP_UNIT
from rushlight.backends.xnnpack.nodes import SupportContext, folded_padding, operation, tensor_of
from rushlight.ir import meta, quantization
from rushlight.ir.edge_ops import argument, is_op
from rushlight.ir.errors import CompileError
from rushlight.ir.quantization import (
    CHOOSE_QPARAMS,
    DYNAMIC_DEQUANTIZE,
    DYNAMIC_QUANTIZE,
    DynamicQuantization,
    QuantizedWeight,
    QuantParams,
    dynamic_quantization,
    quantized_weight,
    transposed,
)

aten = torch.ops.aten

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
"""Operators whose results have the elements and the quantization parameters of their inputs."""
CLAMPS = (aten.relu.default, aten.hardtanh.default, aten.clamp.default)
INT8_OPS = MOVING | WEIGHTED.keys() | set(CLAMPS)
INT8_OPS |= {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.mean.dim}
"""The operators that XNNPACK runs on int8."""
_FUSING = WEIGHTED.keys() | {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor}


def quantize_params(node: object) -> QuantParams | None:
    """Returns the parameters of a node that quantizes to int8, the only 8-bit dtype of payloads."""
    return quantization.quantize_params(node, torch.int8)


def dequantize_params(node: object) -> QuantParams | None:
    """Returns the parameters of a node that dequantizes int8 to float32 or float16.

    The result is None if the parameters are not those with which the payload stores the int8 tensor.
    """
    params = _dequantize_params(node)
    if params is None or not isinstance(node, Node) or not isinstance(node.args[0], Node):
        return None
    stored = params_of_value(node.args[0])
    return params if stored is not None and params.same_mapping(stored) else None


def _dequantize_params(node: object) -> QuantParams | None:
    return quantization.dequantize_params(node, torch.int8, results=(torch.float32, torch.float16))


def result_bounds(activation: Node | None, params: QuantParams | None) -> tuple[float, float]:
    """Returns the bounds to which an operator must clamp its result. A missing bound is infinite.

    Args:
        activation: the relu, hardtanh or clamp that the operator computes, or None.
        params: the quantization parameters of the result, or None. If its integers have a smaller range than
            int8, their bounds are included. XNNPACK itself clamps to the range of int8.
    """
    low, high = -math.inf, math.inf
    if params is not None and params.quant_min > -128:
        low = (params.quant_min - params.zero_point) * params.scale
    if params is not None and params.quant_max < 127:
        high = (params.quant_max - params.zero_point) * params.scale
    if activation is None:
        return low, high
    op = operation(activation)
    if op == aten.relu.default:
        return max(low, 0.0), high
    default = (-1.0, 1.0) if op == aten.hardtanh.default else (None, None)
    given = argument(activation, 1, default[0]), argument(activation, 2, default[1])
    low = low if given[0] is None else max(low, float(given[0]))
    return low, high if given[1] is None else min(high, float(given[1]))


def params_of_value(node: Node) -> QuantParams | None:
    """Returns the quantization parameters of an int8 node, taken from the node or one of its users."""
    found = quantize_params(node)
    return found or next(filter(None, (_dequantize_params(user) for user in node.users)), None)


def is_packed_int4(weight: QuantizedWeight) -> bool:
    """Returns whether a payload contains a weight as int4, with two elements in a byte.

    Rows of an odd length are stored as int8, because XNNPACK's products of odd rows of int4 are wrong.
    """
    tensor = meta.get_tensor(weight.source)
    is_even = tensor is not None and tensor.shape[-1] % 2 == 0
    return weight.axis is not None and (weight.quant_min, weight.quant_max) == (-8, 7) and is_even


def supported_weight(node: object, context: SupportContext) -> QuantizedWeight | None:
    """Returns the quantized weight that a node dequantizes; None if XNNPACK does not support it.

    XNNPACK supports no zero points, and supports groups only in int4 weights, with sizes that are multiples
    of GROUP_UNIT. If a group of another weight is a whole row, its scale is returned as the scale of an
    output channel.
    """
    weight = quantized_weight(node, context.constant_value)
    if weight is None or weight.zero_points is not None:
        return None
    if weight.group_size is None:
        return weight
    is_row = isinstance(weight.scale, torch.Tensor) and weight.scale.shape[1] == 1
    if is_packed_int4(weight) and (weight.group_size % GROUP_UNIT == 0 or not is_row):
        return weight
    if not is_row:
        return None
    assert isinstance(weight.scale, torch.Tensor)
    return replace(weight, scale=weight.scale.flatten(), group_size=None)


def dynamic_input(node: object) -> DynamicQuantization | None:
    """Returns the dynamic quantization whose dequantize node is `node`.

    The result is None if XNNPACK does not support it: it supports only asymmetric quantization to int8.
    """
    found = dynamic_quantization(node)
    if found is None or found.dtype is not torch.int8 or found.params.scheme.is_symmetric:
        return None
    return found


def is_dynamic(node: Node) -> bool:
    """Returns whether the input of a product is quantized dynamically."""
    return dynamic_input(argument(node, WEIGHTED[operation(node)][0])) is not None


def is_dynamic_part(node: Node) -> bool:
    """Returns whether a node is part of a dynamic quantization: it chooses, reads or applies parameters."""
    if node.target is operator.getitem:
        return is_op(node.args[0], *CHOOSE_QPARAMS)
    return is_op(node, *CHOOSE_QPARAMS, *DYNAMIC_QUANTIZE, *DYNAMIC_DEQUANTIZE)


def viewed_source(node: Node) -> Node:
    """Returns the node that a chain of views reads; for other nodes, the node."""
    while is_op(node, aten.view_copy.default, aten.unsqueeze_copy.default, aten.squeeze_copy.dims):
        source = node.args[0]
        assert isinstance(source, Node)
        node = source
    return node


def requantizes(node: Node, context: SupportContext) -> bool:
    """Returns whether a node between dequantize and quantize nodes changes the quantization parameters."""
    source = node.args[0] if node.args else None
    if not isinstance(source, Node) or not quantization.dequantizes(source):
        return False
    return any(
        quantization.quantizes(user)
        and not (
            len(user.args) == len(source.args) and all(map(context.is_same, source.args[1:], user.args[1:]))
        )
        for user in node.users
    )


class InvalidParametersError(CompileError, ValueError):
    """A tensor is quantized with a scale or zero point that XNNPACK does not support."""


def check_scales(node: Node, context: SupportContext) -> None:
    """Checks the constant parameters of a quantize or dequantize node.

    Raises:
        InvalidParametersError: a scale is not a finite, normal, positive float32, or a zero point is not an
            int8.
    """
    params = quantize_params(node) or dequantize_params(node)
    weight = None if params else quantized_weight(node, context.constant_value)
    found = params.scale if params else weight.scale if weight else None
    if found is None:
        return
    scales = torch.as_tensor(found, dtype=torch.float32).flatten()
    bad = ~(torch.isfinite(scales) & (scales >= torch.finfo(torch.float32).tiny))
    if bool(bad.any()):
        index = int(bad.nonzero()[0])
        value = float(torch.as_tensor(found, dtype=torch.float64).flatten()[index])
        reason = f"its scale {index} is {value}, but XNNPACK supports only finite, normal, positive scales; "
        reason += "calibrate with data that is not constant"
    elif params and not -128 <= params.zero_point <= 127:
        reason = f"its zero point {params.zero_point} is not an int8"
    else:
        return
    source = meta.source_of(node)
    where = f"{node.name} ({operation(node)}{'' if source is None else f', {source}'})"
    raise InvalidParametersError(f"Invalid quantization scale or zero point for {where}: {reason}")


@dataclass(frozen=True)
class QuantizedOp:
    """A node that XNNPACK runs on int8.

    Attributes:
        node: the operator.
        nodes: the nodes that must be in the same delegate: the operator, and the nodes that dequantize its
            inputs and weights, pad the input of a convolution, compute an activation and quantize the result.
        result: the node that quantizes the result; None if the input is quantized dynamically and the result
            is float.
        dynamic: the dynamic quantization of the input; None for static quantization.
    """

    node: Node
    nodes: tuple[Node, ...]
    result: Node | None
    dynamic: DynamicQuantization | None

    @property
    def computed(self) -> tuple[Node, ...]:
        """The nodes that the operator computes before its result is quantized."""
        at = self.nodes.index(self.node)
        return self.nodes[at:] if self.result is None else self.nodes[at:-1]


def following_activation(node: Node) -> Node | None:
    """Returns the activation that can be fused into the operator; None if there is none.

    It must be the only user of the operator, and its lower bound must be less than its upper bound.
    """
    users = list(node.users)
    if len(users) != 1 or operation(node) not in _FUSING:
        return None
    if operation(users[0]) is aten.hardtanh.default:
        low, high = argument(users[0], 1, -1.0), argument(users[0], 2, 1.0)
        return users[0] if float(low) < float(high) else None
    return users[0] if operation(users[0]) is aten.relu.default else None


def quantized_op(node: Node, context: SupportContext) -> QuantizedOp | None:
    """Returns the int8 operator of a node; None if XNNPACK does not run the node on int8."""
    if node.op != "call_function" or operation(node) not in INT8_OPS:
        return None
    if operation(node) in WEIGHTED:
        return _weighted_op(node, context)
    sources = node.all_input_nodes
    if not sources or any(dequantize_params(source) is None for source in sources):
        return None
    if any(context.is_constant(source.args[0]) for source in sources):
        return None
    tail = _nodes_to_quantize(node)
    if tail is None:
        return None
    params = quantize_params(tail[-1])
    assert params is not None
    inputs = [given for source in sources if (given := dequantize_params(source)) is not None]
    if operation(node) in MOVING or operation(node) in CLAMPS:
        if not all(given.same_mapping(params) for given in inputs):
            return None
    if operation(node) not in _FUSING and operation(node) not in CLAMPS:
        # XNNPACK does not clamp these results, so that they must be in the range of the integers already.
        is_inside = all(params.includes_range_of(given) for given in inputs)
        if result_bounds(None, params) != (-math.inf, math.inf) and not is_inside:
            return None
    return QuantizedOp(node, (*sources, node, *tail), tail[-1], None)


def _nodes_to_quantize(node: Node) -> tuple[Node, ...] | None:
    """Returns the nodes after an operator up to the quantize node of its result.

    The result is None if any other node uses one of the results in between.
    """
    nodes: list[Node] = []
    last = node
    users = list(node.users)
    if len(users) == 1 and users[0].target is operator.getitem and users[0].args[1] == 0:
        last = users[0]
        nodes.append(last)
    elif (activation := following_activation(node)) is not None:
        last = activation
        nodes.append(last)
    users = list(last.users)
    params = quantize_params(users[0]) if len(users) == 1 else None
    activation = node if operation(node) in CLAMPS else following_activation(node)
    if params is None or operator.ge(*result_bounds(activation, params)):
        return None
    return (*nodes, users[0])


def weight_nodes(node: object) -> tuple[Node, ...]:
    """Returns the transposes that compute a weight, and as last node the matrix that they transpose."""
    nodes: list[Node] = []
    while (matrix := transposed(node)) is not None:
        assert isinstance(node, Node)
        nodes.append(node)
        node = matrix
    return (*nodes, node) if isinstance(node, Node) else ()


def _weighted_op(node: Node, context: SupportContext) -> QuantizedOp | None:
    at = WEIGHTED[operation(node)]
    source, bias = argument(node, at[0]), None if at[2] is None else argument(node, at[2])
    weights = weight_nodes(argument(node, at[1]))
    stored = supported_weight(weights[-1], context) if weights else None
    if stored is None or (bias is not None and not context.is_constant(bias)):
        return None
    is_convolution = operation(node) is aten.convolution.default
    if is_packed_int4(stored) and is_convolution:
        return None
    pads: tuple[Node, ...] = ()
    if (padding := folded_padding(node)) is not None:
        pads, source = (padding[0],), padding[0].args[0]
    if stored.axis is not None:
        is_transposed = is_convolution and bool(node.args[6])
        if stored.axis != int(is_transposed) or (is_transposed and int(node.args[8]) != 1):  # type: ignore[arg-type]
            return None
    dynamic = dynamic_input(source)
    if dynamic is not None and stored.axis is None:
        return None  # for dynamic inputs, XNNPACK supports only weights with a scale for each channel
    if dynamic is not None:
        if is_convolution and tensor_of(source).dim() != 4:  # type: ignore[union-attr]
            return None
        return QuantizedOp(node, (*dynamic.nodes, *pads, *weights, node), None, dynamic)
    if not isinstance(source, Node) or dequantize_params(source) is None or is_packed_int4(stored):
        return None
    if context.is_constant(source.args[0]):
        return None
    tail = _nodes_to_quantize(node)
    return None if tail is None else QuantizedOp(node, (source, *pads, *weights, node, *tail), tail[-1], None)


class QuantizedOps:
    """The int8 operators of a graph.

    Args:
        graph: the graph.
        context: the program, and the options of the partitioner.
        accepts: whether the partitioner accepts an int8 operator.

    Attributes:
        found: all int8 operators, by node.
        accepted: the int8 operators that `accepts` allows, by node. An operator is not accepted if a node of
            another operator reads its quantized weight or the dynamic scales of its input.
        nodes: the nodes of all accepted operators.
    """

    def __init__(self, graph: Graph, context: SupportContext, accepts: Callable[[QuantizedOp], bool]) -> None:
        found = [op for node in graph.nodes if (op := quantized_op(node, context)) is not None]
        self.found = {op.node: op for op in found}
        self.accepted = {op.node: op for op in found if accepts(op)}
        while True:
            self.nodes = {node for op in self.accepted.values() for node in op.nodes}
            kept = {op.node: op for op in self.accepted.values() if self._is_closed(op)}
            if len(kept) == len(self.accepted):
                return
            self.accepted = kept

    def _is_closed(self, op: QuantizedOp) -> bool:
        inner = op.nodes[: op.nodes.index(op.node)]
        return all(
            user in self.nodes
            for node in inner
            if dequantize_params(node) is None or _is_stored(node)
            for user in node.users
        )


def _is_stored(node: Node) -> bool:
    return isinstance(node.args[0], Node) and node.args[0].op == "placeholder"
