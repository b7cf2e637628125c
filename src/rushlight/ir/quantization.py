"""Quantization in programs: parameters, arithmetic, and the quantize and dequantize nodes.

A quantized tensor is an integer tensor that represents the numbers (quantized - zero_point) * scale. In a
program, it is the result of a quantize operator and the input of a dequantize operator, both of
`quantized_decomposed`. The passes and all backends match these operators with the functions of this module.
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (defines quantized_decomposed)
from torch.fx import Node

from rushlight.ir import (
    meta,
    quantized_ops,  # noqa: F401  (defines the operators of rushlight)
)
from rushlight.ir.affine import dequantize_tensor, quantize_tensor
from rushlight.ir.edge_ops import argument, aten_op, is_op

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed

EIGHT_BITS = (torch.int8, torch.uint8)

INTEGERS = (*EIGHT_BITS, torch.int16, torch.int32)
"""The dtypes of quantized tensors."""

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
"""The dtypes of tensors that can be quantized."""

DYNAMIC_QUANTIZE = (qd.quantize_per_tensor.tensor, qd.quantize_per_token.default)
"""Operators that quantize with parameters that are computed at run time."""

DYNAMIC_DEQUANTIZE = (qd.dequantize_per_tensor.tensor, qd.dequantize_per_token.default)
"""Operators that dequantize the results of the DYNAMIC_QUANTIZE operators."""

DEQUANTIZE_WEIGHT = (
    qd.dequantize_per_tensor.default,
    qd.dequantize_per_channel.default,
    qd.dequantize_per_channel_group.default,
)
"""Operators that dequantize stored weights."""

TRANSPOSES = (
    aten.permute_copy.default,
    aten.permute.default,
    aten.transpose_copy.int,
    aten.t_copy.default,
    aten.t.default,
)
"""Operators that may transpose a matrix."""


@dataclass(frozen=True)
class QuantParams:
    """Quantization parameters of a tensor with one scale and one zero point.

    Args:
        scale: the difference between the real numbers of two consecutive integers.
        zero_point: the integer that represents the real number 0.
        quant_min: the least integer of the quantized tensor.
        quant_max: the greatest integer of the quantized tensor.
        dtype: the dtype of the quantized tensor.
    """

    scale: float
    zero_point: int
    quant_min: int = -128
    quant_max: int = 127
    dtype: torch.dtype = torch.int8

    def quantize(self, values: torch.Tensor) -> torch.Tensor:
        """Quantizes a float32 tensor, as `quantize_per_tensor` does."""
        return quantize_tensor(
            values, self.scale, self.zero_point, self.quant_min, self.quant_max, self.dtype
        )

    def dequantize(self, quantized: torch.Tensor) -> torch.Tensor:
        """Dequantizes an integer tensor to float32, as `dequantize_per_tensor` does."""
        return dequantize_tensor(quantized, self.scale, self.zero_point)

    def quantize_number(self, value: float) -> int:
        """Returns the integer that represents a real number."""
        return int(self.quantize(torch.tensor(value, dtype=torch.float32)))

    def clamped(self, low: float, high: float) -> QuantParams:
        """Returns parameters with a smaller integer range, which also clamps real numbers to [low, high]."""
        quant_min, quant_max = self.quantize_number(low), self.quantize_number(high)
        return replace(self, quant_min=quant_min, quant_max=max(quant_min, quant_max))

    def same_mapping(self, other: QuantParams) -> bool:
        """Returns whether equal integers represent equal real numbers with both parameters."""
        return (self.scale, self.zero_point) == (other.scale, other.zero_point)

    def includes_range_of(self, other: QuantParams) -> bool:
        """Returns whether these parameters represent each tensor with the parameters `other` exactly."""
        inside = self.quant_min <= other.quant_min and other.quant_max <= self.quant_max
        return inside and self.same_mapping(other)

    def as_int8(self) -> QuantParams:
        """Returns the parameters of the int8 tensor that equals a uint8 tensor minus 128."""
        if self.dtype is not torch.uint8:
            return self
        shifted = self.zero_point - 128, self.quant_min - 128, self.quant_max - 128
        return QuantParams(self.scale, *shifted, torch.int8)


def _params(node: object, target: object, dtypes: tuple[torch.dtype, ...]) -> QuantParams | None:
    if not is_op(node, target) or len(node.args) < 6:
        return None
    arguments: list[Any] = list(node.args)
    scale, zero_point, quant_min, quant_max, dtype = arguments[1:6]
    if dtype not in dtypes:
        return None
    return QuantParams(float(scale), int(zero_point), int(quant_min), int(quant_max), dtype)


def quantize_params(node: object, *dtypes: torch.dtype) -> QuantParams | None:
    """Returns the parameters of a node that quantizes a tensor.

    Args:
        node: any value; the result is None unless it calls `quantize_per_tensor` with literal parameters.
        dtypes: the dtypes to accept; int8 and uint8 by default.
    """
    return _params(node, qd.quantize_per_tensor.default, dtypes or EIGHT_BITS)


def dequantize_params(
    node: object, *dtypes: torch.dtype, results: Collection[torch.dtype] = (torch.float32,)
) -> QuantParams | None:
    """Returns the parameters of a node that dequantizes a tensor.

    Args:
        node: any value; the result is None unless it calls `dequantize_per_tensor` with literal parameters.
        dtypes: the dtypes to accept; int8 and uint8 by default.
        results: the dtypes of the result to accept.
    """
    params = _params(node, qd.dequantize_per_tensor.default, dtypes or EIGHT_BITS)
    if params is None or not isinstance(node, Node):
        return None
    return params if (node.kwargs.get("out_dtype") or torch.float32) in results else None


_INVERSES = {
    f"quantized_decomposed::de{name}": f"quantized_decomposed::{name}"
    for name in ("quantize_per_tensor", "quantize_per_channel")
}


def _schema_name(node: Node) -> str:
    op = aten_op(node.target)
    return "" if op is None else op._schema.name


def dequantizes(node: Node) -> bool:
    """Returns whether a node dequantizes a tensor, with one scale or with a scale for each channel."""
    return _schema_name(node) in _INVERSES


def quantizes(node: Node) -> bool:
    """Returns whether a node quantizes a tensor, with one scale or with a scale for each channel."""
    return _schema_name(node) in _INVERSES.values()


def is_inverse(dequantize: Node, quantize: Node) -> bool:
    """Returns whether `dequantize` and `quantize` have the same quantization parameters."""
    name = _INVERSES.get(_schema_name(dequantize))
    return name is not None and _schema_name(quantize) == name and quantize.args[1:] == dequantize.args[1:]


class DynamicScheme(enum.Enum):
    """How dynamic quantization computes its parameters from a tensor."""

    AFFINE = "affine"
    """From the minimum and the maximum of the tensor."""
    SYMMETRIC = "symmetric"
    """From the maximum absolute value of the tensor. The zero point is 0."""
    PER_TOKEN = "per token"
    """From the minimum and the maximum of each vector along the last dim."""
    PER_TOKEN_SYMMETRIC = "per token, symmetric"
    """From the maximum absolute value of each vector along the last dim. The zero point is 0."""

    @property
    def is_per_token(self) -> bool:
        """Whether each vector along the last dim has its own parameters."""
        return self in (DynamicScheme.PER_TOKEN, DynamicScheme.PER_TOKEN_SYMMETRIC)

    @property
    def is_symmetric(self) -> bool:
        """Whether all zero points are 0."""
        return self in (DynamicScheme.SYMMETRIC, DynamicScheme.PER_TOKEN_SYMMETRIC)


CHOOSE_QPARAMS: dict[object, DynamicScheme] = {
    qd.choose_qparams.tensor: DynamicScheme.AFFINE,
    qd.choose_qparams_symmetric.tensor: DynamicScheme.SYMMETRIC,
    qd.choose_qparams_per_token_asymmetric.default: DynamicScheme.PER_TOKEN,
    torch.ops.rushlight.choose_qparams_per_token_symmetric.default: DynamicScheme.PER_TOKEN_SYMMETRIC,
}
"""The operators that compute quantization parameters at run time."""


@dataclass(frozen=True)
class DynamicParams:
    """How a program computes quantization parameters at run time.

    Args:
        scheme: how the parameters are computed.
        quant_min: the least integer of the quantized tensor.
        quant_max: the greatest integer of the quantized tensor.
        eps: the least scale.
    """

    scheme: DynamicScheme
    quant_min: int
    quant_max: int
    eps: float


@dataclass(frozen=True)
class DynamicQuantization:
    """A float tensor that the program quantizes dynamically and dequantizes again.

    Args:
        source: the float tensor.
        choose: the node that computes the parameters.
        items: the nodes that read scale and zero point from `choose`.
        quantize: the node that quantizes `source`.
        dequantize: the node that dequantizes the result of `quantize`.
        params: how the parameters are computed.
        dtype: the dtype of the quantized tensor.
    """

    source: Node
    choose: Node
    items: tuple[Node, ...]
    quantize: Node
    dequantize: Node
    params: DynamicParams
    dtype: torch.dtype

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Returns all nodes from `choose` to `dequantize`, in graph order."""
        return (self.choose, *self.items, self.quantize, self.dequantize)


def dynamic_quantization(node: object) -> DynamicQuantization | None:
    """Returns the dynamic quantization whose last node is `node`; None for any other node."""
    if not is_op(node, *DYNAMIC_DEQUANTIZE):
        return None
    per_token = is_op(node, qd.dequantize_per_token.default)
    read: list[Any] = list(node.args[:3])
    quantize, scale, zero_point = read
    if not is_op(quantize, DYNAMIC_QUANTIZE[per_token]) or quantize.args[1:3] != (scale, zero_point):
        return None
    choose = _item_of(scale, 0)
    if choose is None or choose is not _item_of(zero_point, 1) or not is_op(choose, *CHOOSE_QPARAMS):
        return None
    arguments: list[Any] = list(quantize.args)
    source, _, _, quant_min, quant_max, dtype = arguments
    scheme = CHOOSE_QPARAMS[aten_op(choose.target)]
    options: list[Any] = list(choose.args)
    if scheme.is_per_token != per_token or options[0] is not source:
        return None
    eps = torch.finfo(torch.float32).eps if scheme is DynamicScheme.PER_TOKEN else options[3]
    params = DynamicParams(scheme, int(quant_min), int(quant_max), float(eps))
    items = tuple(item for item in (scale, zero_point) if isinstance(item, Node))
    return DynamicQuantization(source, choose, items, quantize, node, params, dtype)


def _item_of(node: object, index: int) -> Node | None:
    """Returns the node whose result number `index` is read by the getitem node `node`, else None."""
    if isinstance(node, Node) and node.target is operator.getitem and node.args[1] == index:
        source = node.args[0]
        return source if isinstance(source, Node) else None
    return None


@dataclass(frozen=True)
class PerChannelDequantize:
    """The arguments of a node that dequantizes a tensor with one scale for each channel.

    Args:
        source: the node of the quantized tensor.
        scale: the node of the scales, [channels].
        zero_point: the node of the zero points, [channels]; None if all are 0.
        axis: the dim of the channels; it may be negative.
        quant_min: the least integer that may occur.
        quant_max: the greatest integer that may occur.
    """

    source: Node
    scale: Node
    zero_point: Node | None
    axis: int
    quant_min: int
    quant_max: int

    @staticmethod
    def of(node: object) -> PerChannelDequantize | None:
        """Returns the arguments of a dequantize_per_channel node; None for any other node."""
        if not isinstance(node, Node) or not is_op(node, qd.dequantize_per_channel.default):
            return None
        source, scale, zero_point, axis, quant_min, quant_max = node.args[:6]
        assert isinstance(source, Node) and isinstance(scale, Node)
        zeros = zero_point if isinstance(zero_point, Node) else None
        return PerChannelDequantize(source, scale, zeros, int(axis), int(quant_min), int(quant_max))  # type: ignore[arg-type]


@dataclass(frozen=True)
class QuantizedWeight:
    """A constant int8 tensor, and the parameters of the node that dequantizes it.

    Args:
        dequantize: the node that dequantizes.
        source: the node of the int8 tensor.
        scale: one number, or float32 [channels], or [channels, groups] for groups within the rows of a
            matrix.
        zero_points: a tensor of the shape of `scale`; None if all zero points are 0.
        axis: the dim of the channels; None for a single scale.
        group_size: the number of elements of a group; None without groups.
        quant_min: the least integer that may occur.
        quant_max: the greatest integer that may occur.
    """

    dequantize: Node
    source: Node
    scale: float | torch.Tensor
    zero_points: torch.Tensor | None
    axis: int | None
    group_size: int | None
    quant_min: int
    quant_max: int

    @property
    def is_int4(self) -> bool:
        """Whether all integers that may occur fit in 4 bits."""
        return self.quant_min >= -8 and self.quant_max <= 7

    @property
    def scale_node(self) -> Node | None:
        """The node of the scales; None for a single scale."""
        return self._parameter(1)

    @property
    def zero_point_node(self) -> Node | None:
        """The node of the zero points; None for a single scale, or if all zero points are 0."""
        return None if self.zero_points is None else self._parameter(2)

    def _parameter(self, index: int) -> Node | None:
        given = self.dequantize.args[index]
        return given if isinstance(given, Node) else None

    def channel_scales(self, channels: int) -> torch.Tensor:
        """Returns the scales as float32 [channels] or [channels, groups]."""
        if isinstance(self.scale, torch.Tensor):
            return self.scale
        return torch.full((channels,), self.scale)


def quantized_weight(
    node: object, constant_value: Callable[[object], torch.Tensor | None]
) -> QuantizedWeight | None:
    """Returns the constant weight that a node dequantizes.

    Args:
        node: any value; the result is None unless the node dequantizes an int8 constant.
        constant_value: returns the tensor of a constant node, and None for other nodes.
    """
    if not is_op(node, *DEQUANTIZE_WEIGHT):
        return None
    source = node.args[0]
    tensor = meta.get_tensor(source) if isinstance(source, Node) else None
    if tensor is None or tensor.dtype is not torch.int8 or constant_value(source) is None:
        return None
    assert isinstance(source, Node)
    params = dequantize_params(node, torch.int8, results=FLOATS)
    if params is not None:
        zeros = None if params.zero_point == 0 else torch.tensor(params.zero_point)
        return QuantizedWeight(
            node, source, params.scale, zeros, None, None, params.quant_min, params.quant_max
        )
    arguments: list[Any] = list(node.args)
    given = constant_value(arguments[1])
    if is_op(node, qd.dequantize_per_tensor.default) or given is None:
        return None
    scale = given.to(torch.float32)
    zeros = None if arguments[2] is None else constant_value(arguments[2])
    if arguments[2] is not None and zeros is None:
        return None
    zeros = zeros if zeros is not None and bool(zeros.any()) else None
    channels = PerChannelDequantize.of(node)
    if channels is not None:
        return QuantizedWeight(
            node, source, scale, zeros, channels.axis, None, channels.quant_min, channels.quant_max
        )
    quant_min, quant_max, group_size = int(arguments[3]), int(arguments[4]), int(arguments[6])
    if tensor.dim() != 2 or tensor.shape[1] % group_size:
        return None
    scale = scale.reshape(tensor.shape[0], -1)
    return QuantizedWeight(node, source, scale, zeros, 0, group_size, quant_min, quant_max)


def transposed(node: object) -> Node | None:
    """Returns the matrix whose transpose a node computes; None for any other node."""
    if not is_op(node, *TRANSPOSES):
        return None
    arguments: list[Any] = list(node.args)
    matrix = arguments[0]
    tensor = meta.get_tensor(matrix)
    if tensor is None or tensor.dim() != 2:
        return None
    if is_op(node, aten.permute_copy.default, aten.permute.default):
        swaps = [axis % 2 for axis in arguments[1]] == [1, 0]
    elif is_op(node, aten.transpose_copy.int):
        swaps = (arguments[1] - arguments[2]) % 2 == 1
    else:
        swaps = True
    return matrix if swaps else None


@dataclass(frozen=True)
class LinearOperands:
    """The operands of a linear layer: input [.., k], weight [n, k], bias [n] or None."""

    input: Node
    weight: Node
    bias: Node | None


def linear_operands(node: Node) -> LinearOperands | None:
    """Returns the operands of a linear layer; None if the node does not compute a linear layer."""
    arguments: list[Any] = list(node.args)
    if is_op(node, aten.linear.default):
        return LinearOperands(arguments[0], arguments[1], argument(node, 2))
    if is_op(node, aten.addmm.default) and not node.kwargs:
        bias, source, right = arguments[:3]
    elif is_op(node, aten.mm.default, aten.matmul.default):
        (source, right), bias = arguments[:2], None
    else:
        return None
    weight = transposed(right)
    bias_tensor = meta.get_tensor(bias) if isinstance(bias, Node) else None
    if bias_tensor is not None and bias_tensor.dim() != 1:
        return None
    return None if weight is None else LinearOperands(source, weight, bias)


def clamp_bounds(node: Node) -> tuple[float, float] | None:
    """Returns the lower and upper bound of a clamp node; None for any other node."""
    if is_op(node, aten.relu.default):
        return 0.0, math.inf
    if is_op(node, aten.hardtanh.default):
        return float(argument(node, 1)), float(argument(node, 2))
    if is_op(node, aten.clamp.default):
        low, high = argument(node, 1), argument(node, 2)
        if isinstance(low, Node) or isinstance(high, Node):
            return None
        return -math.inf if low is None else float(low), math.inf if high is None else float(high)
    return None
