"""The table of emitters: one row for each operator."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial

import torch
from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.builder import GraphBuilder, Layout
from rushlight.backends.xnnpack.emit_products import UnsupportedGroupError as UnsupportedGroupError
from rushlight.backends.xnnpack.emit_products import (
    emit_addmm,
    emit_batch_norm,
    emit_bmm,
    emit_convolution,
    emit_linear,
    emit_mm,
)
from rushlight.backends.xnnpack.emit_shapes import (
    emit_avg_pool,
    emit_cat,
    emit_clone,
    emit_max_dim,
    emit_max_pool,
    emit_mean,
    emit_pad,
    emit_permute,
    emit_reshape,
    emit_resize,
    emit_slice,
)
from rushlight.backends.xnnpack.emit_shared import (
    bounds_of_result,
    common_layout,
    emit_unary,
    fused_activation,
)
from rushlight.backends.xnnpack.nodes import (
    folded_padding,
    operation,
    rank_of,
    upper_dims,
)
from rushlight.backends.xnnpack.quantized import (
    quantize_params,
    quantized_op,
)
from rushlight.ir.edge_ops import argument
from rushlight.ir.errors import CompileError

aten = torch.ops.aten

Emit = Callable[[GraphBuilder, Node], None]


def emit(builder: GraphBuilder, node: Node) -> None:
    """Emits a node, unless another node's operator computes it.

    Raises:
        CompileError: there is no emitter for the operator.
    """
    if node in builder.skipped or builder.context.is_cast(node):
        return
    if builder.is_lazy(node):
        return
    if quantize_params(node) is not None:
        builder.quantize(node)
        return
    if node.target is operator.getitem:
        source = node.args[0]
        assert isinstance(source, Node)
        builder.same(node, source)
        return
    user = next(iter(node.users), None)
    if user is not None and (folded := folded_padding(user)) is not None and folded[0] is node:
        builder.skipped[node] = user
        return
    row = ROWS.get(operation(node))
    if row is None:
        raise CompileError(f"{node.name} ({node.target}) is not supported by XNNPACK")
    builder.quantized_op = quantized_op(node, builder.context)
    row(builder, node)
    builder.quantized_op = None


def _clamp(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    layout = common_layout(builder, [source])
    in_id = builder.value(source, layout)
    bounds = bounds_of_result(builder, node) or g.OutputMinMax(-math.inf, math.inf)
    builder.add(g.XNNClamp(in_id, builder.define(node, layout), 0), node, bounds)


def _binary(kind: Callable[..., object], builder: GraphBuilder, node: Node) -> None:
    a, b = node.args[0], node.args[1]
    assert isinstance(a, Node) and isinstance(b, Node)
    layout = common_layout(builder, [a, b])
    first, second = builder.value(a, layout), builder.value(b, layout)
    fuses = kind in (g.XNNAdd, g.XNNSubtract, g.XNNMultiply)
    result, bounds = fused_activation(builder, node) if fuses else (node, None)
    out = builder.define(result, layout)
    builder.same(node, result)
    builder.add(kind(first, second, out, 0), node, bounds)


def _leaky_relu(builder: GraphBuilder, node: Node) -> None:
    emit_unary(partial(g.XNNLeakyReLU, float(argument(node, 1, 0.01))), builder, node)


def _elu(builder: GraphBuilder, node: Node) -> None:
    emit_unary(partial(g.XNNELU, float(argument(node, 1, 1.0))), builder, node)


def _prelu(builder: GraphBuilder, node: Node) -> None:
    source, weight = node.args[0], node.args[1]
    assert isinstance(source, Node) and isinstance(weight, Node)
    is_image = rank_of(source) == 4
    layout = Layout.NHWC if is_image else Layout.PLAIN
    channels = upper_dims(builder.tensor(source))[1]
    slopes = builder.context.constant(weight).flatten().expand(channels)
    slopes_id = builder.constant(slopes.reshape((1, 1, 1, channels) if is_image else (channels,)))
    in_id = builder.value(source, layout)
    builder.add(g.XNNPReLU(in_id, slopes_id, builder.define(node, layout), 0), node)


def _softmax(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    in_id = builder.value(source)
    builder.add(g.XNNSoftmax(in_id, builder.define(node), 0), node)


ROWS: dict[object, Emit] = {
    aten.abs.default: partial(emit_unary, g.XNNAbs),
    aten.add.Tensor: partial(_binary, g.XNNAdd),
    aten.addmm.default: emit_addmm,
    aten.avg_pool2d.default: emit_avg_pool,
    aten.bmm.default: emit_bmm,
    aten.cat.default: emit_cat,
    aten.ceil.default: partial(emit_unary, g.XNNCeiling),
    aten.clamp.default: _clamp,
    aten.clone.default: emit_clone,
    aten.constant_pad_nd.default: emit_pad,
    aten.convolution.default: emit_convolution,
    aten.cos.default: partial(emit_unary, g.XNNCos),
    aten.div.Tensor: partial(_binary, g.XNNDiv),
    aten.elu.default: _elu,
    aten.exp.default: partial(emit_unary, g.XNNExp),
    aten.floor.default: partial(emit_unary, g.XNNFloor),
    aten.gelu.default: partial(emit_unary, g.XNNGelu),
    aten.hardswish.default: partial(emit_unary, g.XNNHardswish),
    aten.hardtanh.default: _clamp,
    aten.leaky_relu.default: _leaky_relu,
    aten.linear.default: emit_linear,
    aten.log.default: partial(emit_unary, g.XNNLog),
    aten.max_pool2d.default: emit_max_pool,
    aten.max_pool2d_with_indices.default: emit_max_pool,
    aten.max.dim: emit_max_dim,
    aten.maximum.default: partial(_binary, g.XNNMaximum),
    aten.mean.dim: emit_mean,
    aten.minimum.default: partial(_binary, g.XNNMinimum),
    aten.mm.default: emit_mm,
    aten.mul.Tensor: partial(_binary, g.XNNMultiply),
    aten._native_batch_norm_legit_no_training.default: emit_batch_norm,
    aten.neg.default: partial(emit_unary, g.XNNNegate),
    aten.permute_copy.default: emit_permute,
    aten.pow.Tensor_Scalar: partial(emit_unary, g.XNNSquare),
    aten.prelu.default: _prelu,
    aten.relu.default: _clamp,
    aten.rsqrt.default: partial(emit_unary, g.XNNReciprocalSquareRoot),
    aten.sigmoid.default: partial(emit_unary, g.XNNSigmoid),
    aten.sin.default: partial(emit_unary, g.XNNSin),
    aten.slice_copy.Tensor: emit_slice,
    aten._softmax.default: _softmax,
    aten.sqrt.default: partial(emit_unary, g.XNNSquareRoot),
    aten.squeeze_copy.dim: emit_reshape,
    aten.squeeze_copy.dims: emit_reshape,
    aten.sub.Tensor: partial(_binary, g.XNNSubtract),
    aten.tanh.default: partial(emit_unary, g.XNNTanh),
    aten.unsqueeze_copy.default: emit_reshape,
    aten.upsample_bilinear2d.vec: emit_resize,
    aten.view_copy.default: emit_reshape,
    "dim_order_ops._clone_dim_order.default": emit_clone,
    "dim_order_ops._to_dim_order_copy.default": emit_clone,
}
