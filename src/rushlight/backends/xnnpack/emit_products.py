"""Emits matrix products, convolutions and batch norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.builder import TO_NHWC, GraphBuilder, Layout
from rushlight.backends.xnnpack.constants import GROUP_UNIT, NONE, TRANSPOSE_WEIGHTS
from rushlight.backends.xnnpack.emit_shared import (
    common_layout,
    fused_activation,
    sizes_of_reshape,
)
from rushlight.backends.xnnpack.nodes import (
    folded_padding,
    operation,
    pair,
    transposed_constant,
    upper_dims,
)
from rushlight.backends.xnnpack.quantized import (
    supported_weight,
)
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument
from rushlight.ir.errors import CompileError
from rushlight.ir.quantization import QuantizedWeight

aten = torch.ops.aten


class UnsupportedGroupError(CompileError, AssertionError):
    """The group size of the quantized weights of a product is not supported by XNNPACK."""


def _place(node: Node) -> str:
    source = meta.source_of(node)
    return "" if source is None else f", {source}"


def _product(
    builder: GraphBuilder, node: Node, source: Node, weight: Node, bias: Node | None, is_out_in: bool
) -> None:
    constant = transposed_constant(builder.context, weight)
    if constant is not None:
        weight, is_out_in = constant, not is_out_in
    in_id = builder.value(source)
    stored = supported_weight(weight, builder.context)
    if stored is not None:
        if stored.group_size is not None and stored.group_size % GROUP_UNIT:
            where = f"{node.name} ({operation(node)}{_place(node)})"
            raise UnsupportedGroupError(
                f"{where}: Delegation to XNNPACK requires group_size to be a multiple of {GROUP_UNIT}, "
                f"but got {stored.group_size}; quantize the layer with larger groups, or with one scale for "
                "each output channel"
            )
        values = builder.context.constant(stored.source)
        filter_id, bias_id = builder.weight_and_bias(values, stored, stored.axis, bias, source)
    else:
        filter_id = builder.value(weight)
        is_bf16 = builder.tensor(weight).dtype == torch.bfloat16
        bias_id = NONE
        if bias is not None and not builder.context.is_constant(bias):
            bias_id = builder.value(bias)
        elif bias is not None:
            bias_id = builder.constant(
                builder.context.constant(bias).flatten(), torch.float32 if is_bf16 else None
            )
    result, bounds = fused_activation(builder, node)
    out = builder.define(result)
    builder.same(node, result)
    flags = 0 if is_out_in else TRANSPOSE_WEIGHTS
    builder.add(g.XNNFullyConnected(in_id, filter_id, bias_id, out, flags), node, bounds)


def emit_linear(builder: GraphBuilder, node: Node) -> None:
    """Emits a linear layer with a weight [outputs, inputs]."""
    source, weight, bias = node.args[0], node.args[1], argument(node, 2)
    assert isinstance(source, Node) and isinstance(weight, Node)
    _product(builder, node, source, weight, bias, True)


def emit_addmm(builder: GraphBuilder, node: Node) -> None:
    """Emits a matrix product with a bias."""
    bias, source, weight = node.args[:3]
    assert isinstance(bias, Node) and isinstance(source, Node) and isinstance(weight, Node)
    _product(builder, node, source, weight, bias, False)


def emit_mm(builder: GraphBuilder, node: Node) -> None:
    """Emits a matrix product."""
    source, weight = node.args[:2]
    assert isinstance(source, Node) and isinstance(weight, Node)
    _product(builder, node, source, weight, None, False)


def emit_bmm(builder: GraphBuilder, node: Node) -> None:
    """Emits a batch of matrix products."""
    a, b = node.args[:2]
    assert isinstance(a, Node) and isinstance(b, Node)
    first, second = builder.value(a), builder.value(b)
    builder.add(g.XNNBatchMatrixMultiply(first, second, builder.define(node), 0), node)


def _spatial(values: Any, is_flat: bool, filler: int) -> tuple[int, int]:
    """Returns an option of a convolution as (height, width); the width of a 1-d convolution is `filler`."""
    items = list(values)
    if is_flat:
        return int(items[0]), filler
    return pair(items)


@dataclass(frozen=True)
class _Weights:
    """The weight and the bias of a convolution.

    Attributes:
        weight: [groups * outputs, inputs, height, width], float32 or the integers of a quantized weight.
        bias: float32 [groups * outputs], or None.
        quantized: the quantization of the weight; None for a float weight.
        inputs: the input channels of a group.
        outputs: the output channels of a group.
        is_flat: whether the convolution has one spatial dimension. The width of the weight is then 1.
        is_depthwise: whether XNNPACK's depthwise convolution computes it.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None
    quantized: QuantizedWeight | None
    inputs: int
    outputs: int
    is_flat: bool
    is_depthwise: bool


def _weights_of(builder: GraphBuilder, node: Node, norm: Node | None) -> _Weights:
    """Returns the weight and the bias of a convolution.

    Args:
        builder: the graph under construction.
        node: the convolution.
        norm: the result of a batch norm that is folded into the weight and the bias, or None.
    """
    weight_node, bias_node = node.args[1:3]
    assert isinstance(weight_node, Node)
    quantized = supported_weight(weight_node, builder.context)
    if quantized is not None:
        weight = builder.context.constant(quantized.source)
    else:
        weight = builder.context.constant(weight_node).float()
    bias = builder.context.constant(bias_node).float() if isinstance(bias_node, Node) else None
    is_flat = weight.dim() == 3
    if is_flat:
        weight = weight.unsqueeze(-1)
    is_transposed, groups = bool(node.args[6]), int(node.args[8])  # type: ignore[arg-type]
    if norm is not None:
        weight, bias = _fold_norm(builder, norm, weight, bias, is_transposed, groups)
    if is_transposed:
        inputs, outputs = weight.shape[0] // groups, weight.shape[1]
        weight = weight.reshape(groups, inputs, *weight.shape[1:]).transpose(1, 2)
        weight = weight.reshape(groups * outputs, inputs, *weight.shape[3:])
    else:
        inputs, outputs = weight.shape[1], weight.shape[0] // groups
    is_depthwise = inputs == 1 and not is_transposed
    return _Weights(weight, bias, quantized, inputs, outputs, is_flat, is_depthwise)


def emit_convolution(builder: GraphBuilder, node: Node) -> None:
    """Emits a convolution or a transposed convolution."""
    source = node.args[0]
    added = (0, 0, 0, 0)  # top, right, bottom, left
    if (folded := folded_padding(node)) is not None:
        source, added = folded[0].args[0], folded[1]
    assert isinstance(source, Node)
    norm = _following_norm(builder, node)
    weights = _weights_of(builder, node, norm)
    is_flat = weights.is_flat
    in_id = _as_image(builder, source) if is_flat else builder.value(source, Layout.NHWC)
    filter_id, bias_id = _define_weights(builder, node, weights, source)
    result, bounds = fused_activation(builder, norm if norm is not None else node)
    dims = upper_dims(builder.tensor(result))
    if is_flat:
        out = builder.temporary(result, [dims[0], dims[2], 1, dims[1]])
    else:
        out = builder.define(result, Layout.NHWC)
    stride = _spatial(node.args[3], is_flat, 1)
    padding = _spatial(node.args[4], is_flat, 0)
    dilation = _spatial(node.args[5], is_flat, 1)
    adjustment = _spatial(node.args[7], is_flat, 0)
    is_transposed, groups = bool(node.args[6]), int(node.args[8])  # type: ignore[arg-type]
    kind = g.XNNDepthwiseConv2d if weights.is_depthwise else g.XNNConv2d
    convolution = (g.XNNConvTranspose2d if is_transposed else kind)(
        padding_top=padding[0] + added[0],
        padding_right=padding[1] + added[1],
        padding_bottom=padding[0] + added[2],
        padding_left=padding[1] + added[3],
        kernel_height=weights.weight.shape[2],
        kernel_width=weights.weight.shape[3],
        subsampling_height=stride[0],
        subsampling_width=stride[1],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        group_input_channels=weights.inputs,
        group_output_channels=weights.outputs,
        groups=groups,
        adjustment_height=adjustment[0],
        adjustment_width=adjustment[1],
        input1_id=in_id,
        filter_id=filter_id,
        bias_id=bias_id,
        output_id=out,
    )
    builder.add(convolution, node, bounds)
    if is_flat:
        _from_image(builder, result, out)
    builder.same(node, result)


def _define_weights(builder: GraphBuilder, node: Node, weights: _Weights, source: Node) -> tuple[int, int]:
    """Adds the filter and the bias of a convolution to the constants; returns their ids.

    Args:
        builder: the graph under construction.
        node: the convolution.
        weights: its weight and bias.
        source: its input.
    """
    stored = weights.weight.permute((1, 2, 3, 0) if weights.is_depthwise else TO_NHWC)
    quantized = weights.quantized
    if quantized is None:
        filter_id = builder.constant(stored)
        return filter_id, NONE if weights.bias is None else builder.constant(weights.bias)
    # The dimension of the output channels in `stored`.
    axis = None if quantized.axis is None else 3 if weights.is_depthwise else 0
    return builder.weight_and_bias(stored, quantized, axis, node.args[2], source)


def _as_image(builder: GraphBuilder, source: Node) -> int:
    """Emits the conversion of a tensor [n, c, l] to an image in memory order [n, l, 1, c]."""
    dims = upper_dims(builder.tensor(source))
    transposed = builder.temporary(source, [dims[0], dims[2], dims[1]])
    builder.add(g.XNNStaticTranspose(3, [0, 2, 1], builder.value(source), transposed, 0), source)
    image = builder.temporary(source, [dims[0], dims[2], 1, dims[1]])
    shape = sizes_of_reshape(builder, source, [0, 2, -1, 1])
    builder.add(g.XNNStaticReshape(4, shape, transposed, image, 0), source)
    return image


def _from_image(builder: GraphBuilder, result: Node, image: int) -> None:
    """Emits the conversion of an image in memory order [n, l, 1, c] to the tensor [n, c, l] of `result`."""
    dims = upper_dims(builder.tensor(result))
    line = builder.temporary(result, [dims[0], dims[2], dims[1]])
    shape = sizes_of_reshape(builder, result, [0, 2, 1])
    builder.add(g.XNNStaticReshape(3, shape, image, line, 0), result)
    out = builder.define(result)
    builder.add(g.XNNStaticTranspose(3, [0, 2, 1], line, out, 0), result)


def _following_norm(builder: GraphBuilder, node: Node) -> Node | None:
    """Returns the getitem node of a batch norm that is the only user of `node`; otherwise None."""
    users = list(node.users)
    if len(users) != 1 or operation(users[0]) != aten._native_batch_norm_legit_no_training.default:
        return None
    items = list(users[0].users)
    if users[0].args[0] is not node or len(items) != 1:
        return None
    builder.skipped |= {users[0]: node, items[0]: node}
    return items[0]


def _norm_factors(builder: GraphBuilder, norm: Node) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the scale and the shift of a batch norm by channel, in float64."""

    def value(node: object, default: float) -> torch.Tensor:
        if isinstance(node, Node):
            return builder.context.constant(node).double()
        return torch.tensor(default, dtype=torch.float64)

    gamma, beta, mean, variance = (
        value(node, default) for node, default in zip(norm.args[1:5], (1.0, 0.0, 0.0, 1.0), strict=True)
    )
    scale = gamma / torch.sqrt(variance + float(norm.args[6]))  # type: ignore[arg-type]
    return scale, beta - mean * scale


def _fold_norm(
    builder: GraphBuilder,
    item: Node,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    is_transposed: bool,
    groups: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    norm = item.args[0]
    assert isinstance(norm, Node)
    scale, shift = _norm_factors(builder, norm)
    new_bias = shift if bias is None else bias.double() * scale + shift
    wide = weight.double()
    if is_transposed:
        grouped = wide.reshape(groups, wide.shape[0] // groups, *wide.shape[1:])
        wide = (grouped * scale.reshape(groups, 1, -1, 1, 1)).reshape(wide.shape)
    else:
        wide = wide * scale.reshape(-1, 1, 1, 1)
    return wide.float(), new_bias.float()


def emit_batch_norm(builder: GraphBuilder, node: Node) -> None:
    """Emits a batch norm as a multiplication and an addition by channel."""
    source = node.args[0]
    assert isinstance(source, Node)
    tensor = builder.tensor(source)
    layout = common_layout(builder, [source])
    shape = (-1,) if layout is Layout.NHWC else (-1, *(1,) * (tensor.dim() - 2))
    scale, shift = (factor.reshape(shape) for factor in _norm_factors(builder, node))
    in_id = builder.value(source, layout)
    dims = list(builder.tensor_value(in_id).dims)
    scaled = builder.temporary(source, dims)
    builder.add(g.XNNMultiply(in_id, builder.constant(scale, tensor.dtype), scaled, 0), node)
    out = builder.define(node, layout)
    builder.add(g.XNNAdd(scaled, builder.constant(shift, tensor.dtype), out, 0), node)
