"""How each operator becomes nodes of the payload: one row an operator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.builder import TO_NCHW, TO_NHWC, GraphBuilder, Layout
from rushlight.backends.xnnpack.constants import ALIGN_CORNERS, KEEP_DIMS, NONE, TRANSPOSE_WEIGHTS
from rushlight.backends.xnnpack.nodes import (
    folded_padding,
    is_channels_last,
    is_weight_alone,
    operation,
    pair,
    rank_of,
    tensor_of,
    transposed_constant,
    upper_dims,
)
from rushlight.backends.xnnpack.quantized import (
    activation_behind,
    quantize_params,
    quantized_op,
    stored_weight,
)
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument
from rushlight.ir.errors import CompileError

aten = torch.ops.aten
INFINITY = float("inf")
_IN_NHWC = [TO_NHWC.index(axis) for axis in range(4)]  # where an axis of an image is in memory

Emit = Callable[[GraphBuilder, Node], None]


def emit(builder: GraphBuilder, node: Node) -> None:
    """Adds what computes `node`. Raises CompileError if there is no row for its operator."""
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


def _common_layout(builder: GraphBuilder, nodes: Sequence[Node]) -> Layout:
    """Channels-last if one of the images is there only in that layout and all may be."""
    computed = [node for node in nodes if not builder.context.is_constant(node)]
    if not all(rank_of(node) == 4 for node in computed):
        return Layout.PLAIN
    is_last = any(builder.layouts_of(node) == {Layout.NHWC} for node in computed)
    return Layout.NHWC if is_last else Layout.PLAIN


# ---- Activations that the operator before them takes along ----


def _bounds(node: Node) -> g.OutputMinMax | None:
    op = operation(node)
    if op == aten.relu.default:
        return g.OutputMinMax(0.0, INFINITY)
    if op == aten.hardtanh.default:
        return g.OutputMinMax(float(argument(node, 1, -1.0)), float(argument(node, 2, 1.0)))
    if op == aten.clamp.default:
        low, high = argument(node, 1), argument(node, 2)
        return g.OutputMinMax(
            -INFINITY if low is None else float(low), INFINITY if high is None else float(high)
        )
    return None


def _fused(builder: GraphBuilder, node: Node) -> tuple[Node, g.OutputMinMax | None]:
    """The node whose value results, and the bounds, where an activation is the only user of `node`."""
    activation = activation_behind(node)
    if activation is not None:
        builder.skipped[activation] = node
        return activation, _bounds(activation)
    return node, None


def _clamp(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    bounds = _bounds(node)
    assert bounds is not None
    layout = _common_layout(builder, [source])
    in_id = builder.value(source, layout)
    builder.add(g.XNNClamp(in_id, builder.define(node, layout), 0), node, bounds)


# ---- Elementwise ----


def _unary(kind: Callable[..., object], builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    layout = _common_layout(builder, [source])
    in_id = builder.value(source, layout)
    builder.add(kind(in_id, builder.define(node, layout), 0), node)


def _binary(kind: Callable[..., object], builder: GraphBuilder, node: Node) -> None:
    a, b = node.args[0], node.args[1]
    assert isinstance(a, Node) and isinstance(b, Node)
    layout = _common_layout(builder, [a, b])
    first, second = builder.value(a, layout), builder.value(b, layout)
    fuses = kind in (g.XNNAdd, g.XNNSubtract, g.XNNMultiply)
    result, bounds = _fused(builder, node) if fuses else (node, None)
    out = builder.define(result, layout)
    builder.same(node, result)
    builder.add(kind(first, second, out, 0), node, bounds)


def _leaky_relu(builder: GraphBuilder, node: Node) -> None:
    _unary(partial(g.XNNLeakyReLU, float(argument(node, 1, 0.01))), builder, node)


def _elu(builder: GraphBuilder, node: Node) -> None:
    _unary(partial(g.XNNELU, float(argument(node, 1, 1.0))), builder, node)


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


def _copy(builder: GraphBuilder, node: Node) -> None:
    _unary(g.XNNCopy, builder, node)


# ---- Matrix products ----


GROUP_UNIT = 32
"""The number of weights of which a group is a multiple."""


class UnsupportedGroupError(CompileError, AssertionError):
    """The weights of a product are quantized in groups of a size that XNNPACK lacks."""


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
    stored = stored_weight(weight, builder.context)
    if stored is not None:
        if stored.group_size is not None and stored.group_size % GROUP_UNIT:
            where = f"{node.name} ({operation(node)}{_place(node)})"
            raise UnsupportedGroupError(
                f"{where}: XNNPACK requires group_size to be a multiple of {GROUP_UNIT}, but got "
                f"{stored.group_size}; quantize the layer with larger groups, or with one scale for each "
                "output channel"
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
    result, bounds = _fused(builder, node)
    out = builder.define(result)
    builder.same(node, result)
    flags = 0 if is_out_in else TRANSPOSE_WEIGHTS
    builder.add(g.XNNFullyConnected(in_id, filter_id, bias_id, out, flags), node, bounds)


def _linear(builder: GraphBuilder, node: Node) -> None:
    source, weight, bias = node.args[0], node.args[1], argument(node, 2)
    assert isinstance(source, Node) and isinstance(weight, Node)
    _product(builder, node, source, weight, bias, True)


def _addmm(builder: GraphBuilder, node: Node) -> None:
    bias, source, weight = node.args[:3]
    assert isinstance(bias, Node) and isinstance(source, Node) and isinstance(weight, Node)
    _product(builder, node, source, weight, bias, False)


def _mm(builder: GraphBuilder, node: Node) -> None:
    source, weight = node.args[:2]
    assert isinstance(source, Node) and isinstance(weight, Node)
    _product(builder, node, source, weight, None, False)


def _bmm(builder: GraphBuilder, node: Node) -> None:
    a, b = node.args[:2]
    assert isinstance(a, Node) and isinstance(b, Node)
    first, second = builder.value(a), builder.value(b)
    builder.add(g.XNNBatchMatrixMultiply(first, second, builder.define(node), 0), node)


# ---- Convolutions and what becomes one ----


def _spatial(values: Any, is_flat: bool, filler: int) -> tuple[int, int]:
    """Height and width of a list; one over a line gets `filler` as its width."""
    items = list(values)
    if is_flat:
        return int(items[0]), filler
    return pair(items)


def _convolution(builder: GraphBuilder, node: Node) -> None:
    source, weight_node, bias_node = node.args[:3]
    added = (0, 0, 0, 0)
    if (folded := folded_padding(node)) is not None:
        source, added = folded[0].args[0], folded[1]
    assert isinstance(source, Node) and isinstance(weight_node, Node)
    quantized = stored_weight(weight_node, builder.context)
    if quantized is not None:
        weight = builder.context.constant(quantized.source)
    else:
        weight = builder.context.constant(weight_node).float()
    bias = builder.context.constant(bias_node).float() if isinstance(bias_node, Node) else None
    is_flat = weight.dim() == 3
    if is_flat:
        weight = weight.unsqueeze(-1)
    is_transposed, groups = bool(node.args[6]), int(node.args[8])  # type: ignore[arg-type]
    norm = _following_norm(builder, node)
    if norm is not None:
        weight, bias = _fold_norm(builder, norm, weight, bias, is_transposed, groups)
    if is_transposed:
        inputs, outputs = weight.shape[0] // groups, weight.shape[1]
        weight = weight.reshape(groups, inputs, *weight.shape[1:]).transpose(1, 2)
        weight = weight.reshape(groups * outputs, inputs, *weight.shape[3:])
    else:
        inputs, outputs = weight.shape[1], weight.shape[0] // groups
    is_depthwise = inputs == 1 and not is_transposed
    stored = weight.permute((1, 2, 3, 0) if is_depthwise else TO_NHWC)
    stride = _spatial(node.args[3], is_flat, 1)
    padding = _spatial(node.args[4], is_flat, 0)
    dilation = _spatial(node.args[5], is_flat, 1)
    extra = _spatial(node.args[7], is_flat, 0)
    in_id = _as_image(builder, source) if is_flat else builder.value(source, Layout.NHWC)
    if quantized is not None:
        axis = None if quantized.axis is None else 3 if is_depthwise else 0
        filter_id, bias_id = builder.weight_and_bias(stored, quantized, axis, bias_node, source)
    else:
        filter_id = builder.constant(stored)
        bias_id = NONE if bias is None else builder.constant(bias)
    result, bounds = _fused(builder, norm if norm is not None else node)
    dims = upper_dims(builder.tensor(result))
    if is_flat:
        out = builder.temporary(result, [dims[0], dims[2], 1, dims[1]])
    else:
        out = builder.define(result, Layout.NHWC)
    kind = g.XNNConvTranspose2d if is_transposed else g.XNNDepthwiseConv2d if is_depthwise else g.XNNConv2d
    builder.add(
        kind(
            padding[0] + added[0],
            padding[1] + added[1],
            padding[0] + added[2],
            padding[1] + added[3],
            weight.shape[2],
            weight.shape[3],
            *stride,
            *dilation,
            inputs,
            outputs,
            groups,
            *extra,
            in_id,
            filter_id,
            bias_id,
            out,
            0,
        ),
        node,
        bounds,
    )
    if is_flat:
        _as_line(builder, result, out)
    builder.same(node, result)


def _as_image(builder: GraphBuilder, source: Node) -> int:
    """A line [n, c, l] as the image [n, l, 1, c] in memory."""
    dims = upper_dims(builder.tensor(source))
    transposed = builder.temporary(source, [dims[0], dims[2], dims[1]])
    builder.add(g.XNNStaticTranspose(3, [0, 2, 1], builder.value(source), transposed, 0), source)
    image = builder.temporary(source, [dims[0], dims[2], 1, dims[1]])
    shape = _reshape_to(builder, source, [0, 2, -1, 1])
    builder.add(g.XNNStaticReshape(4, shape, transposed, image, 0), source)
    return image


def _as_line(builder: GraphBuilder, result: Node, image: int) -> None:
    dims = upper_dims(builder.tensor(result))
    line = builder.temporary(result, [dims[0], dims[2], dims[1]])
    shape = _reshape_to(builder, result, [0, 2, 1])
    builder.add(g.XNNStaticReshape(3, shape, image, line, 0), result)
    out = builder.define(result)
    builder.add(g.XNNStaticTranspose(3, [0, 2, 1], line, out, 0), result)


def _reshape_to(builder: GraphBuilder, node: Node, axes: Sequence[int]) -> list[int]:
    """Sizes of the axes named, 1 for -1, and 0, which is inferred, for a dynamic one."""
    shape = builder.tensor(node).shape
    return [1 if axis < 0 else shape[axis] if isinstance(shape[axis], int) else 0 for axis in axes]


def _following_norm(builder: GraphBuilder, node: Node) -> Node | None:
    """The item of a batch norm that is the only thing done to `node`."""
    users = list(node.users)
    if len(users) != 1 or operation(users[0]) != aten._native_batch_norm_legit_no_training.default:
        return None
    items = list(users[0].users)
    if users[0].args[0] is not node or len(items) != 1:
        return None
    builder.skipped |= {users[0]: node, items[0]: node}
    return items[0]


def _norm_factors(builder: GraphBuilder, norm: Node) -> tuple[torch.Tensor, torch.Tensor]:
    """(w, b) with which a batch norm is x * w + b, per channel, in double precision."""

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


def _batch_norm(builder: GraphBuilder, node: Node) -> None:
    """As a multiplication and an addition per channel."""
    source = node.args[0]
    assert isinstance(source, Node)
    tensor = builder.tensor(source)
    layout = _common_layout(builder, [source])
    shape = (-1,) if layout is Layout.NHWC else (-1, *(1,) * (tensor.dim() - 2))
    scale, shift = (factor.reshape(shape) for factor in _norm_factors(builder, node))
    in_id = builder.value(source, layout)
    dims = list(builder.tensor_value(in_id).dims)
    scaled = builder.temporary(source, dims)
    builder.add(g.XNNMultiply(in_id, builder.constant(scale, tensor.dtype), scaled, 0), node)
    out = builder.define(node, layout)
    builder.add(g.XNNAdd(scaled, builder.constant(shift, tensor.dtype), out, 0), node)


# ---- Pools ----


def _pool_node(kind: Callable[..., object], builder: GraphBuilder, node: Node, window: Sequence[int]) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    in_id = builder.value(source, Layout.NHWC)
    out = builder.define(node, Layout.NHWC)
    builder.add(kind(*window, in_id, out, KEEP_DIMS), node)


def _avg_pool(builder: GraphBuilder, node: Node) -> None:
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    top, left = pair(argument(node, 3), (0, 0))
    _pool_node(g.XNNAvgPooling2d, builder, node, (top, left, top, left, *kernel, *stride, 0, 0))


def _max_pool(builder: GraphBuilder, node: Node) -> None:
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    top, left = pair(argument(node, 3), (0, 0))
    dilation = pair(argument(node, 4), (1, 1))
    bottom, right = top, left
    if argument(node, 5, False):
        source = tensor_of(node.args[0])
        out = builder.tensor(node)
        assert source is not None
        extra = []
        for axis in range(2):
            reach = (int(out.shape[2 + axis]) - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1
            extra.append(max(0, reach - int(source.shape[2 + axis]) - (top, left)[axis]))
        bottom, right = max(top, extra[0]), max(left, extra[1])
    window = (top, right, bottom, left, *kernel, *stride, *dilation)
    _pool_node(g.XNNMaxPooling2d, builder, node, window)


def _mean(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    in_id = builder.value(source, Layout.NHWC)
    builder.add(g.XNNGlobalAvgPooling2d(in_id, builder.define(node, Layout.NHWC), KEEP_DIMS), node)


def _max_dim(builder: GraphBuilder, node: Node) -> None:
    """As a pool whose window is the whole height or width."""
    source = node.args[0]
    assert isinstance(source, Node)
    axis = int(node.args[1]) % 4  # type: ignore[arg-type]
    size = int(builder.tensor(source).shape[axis])
    kernel = (size, 1) if axis == 2 else (1, size)
    window = (0, 0, 0, 0, *kernel, *kernel, 1, 1)
    if argument(node, 2, False):
        _pool_node(g.XNNMaxPooling2d, builder, node, window)
        return
    in_id = builder.value(source, Layout.NHWC)
    dims = [1 if dim == axis else length for dim, length in enumerate(upper_dims(builder.tensor(source)))]
    pooled = builder.temporary(source, [dims[dim] for dim in TO_NHWC])
    builder.add(g.XNNMaxPooling2d(*window, in_id, pooled, 0), node)
    images = builder.temporary(source, dims)
    builder.add(g.XNNStaticTranspose(4, list(TO_NCHW), pooled, images, 0), node)
    result = builder.tensor(node)
    shape = _reshape_to(builder, node, range(result.dim()))
    builder.add(g.XNNStaticReshape(len(shape), shape, images, builder.define(node), 0), node)


def _resize(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    height, width = (int(size) for size in builder.tensor(node).shape[-2:])
    flags = ALIGN_CORNERS if argument(node, 2) else 0
    in_id = builder.value(source, Layout.NHWC)
    out = builder.define(node, Layout.NHWC)
    builder.add(g.XNNStaticResizeBilinear2D(height, width, in_id, out, flags), node)


# ---- Shapes ----


def _reshape(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    result = builder.tensor(node)
    in_id = builder.value(source)
    shape = _reshape_to(builder, node, range(result.dim()))
    builder.add(g.XNNStaticReshape(len(shape), shape, in_id, builder.define(node), 0), node)


def _permute(builder: GraphBuilder, node: Node) -> None:
    """From whatever layout the input has, to a plain one."""
    source = node.args[0]
    assert isinstance(source, Node)
    rank = rank_of(source)
    perm = [int(axis) % rank for axis in node.args[1]]  # type: ignore[union-attr, arg-type]
    is_taken_along = all(is_weight_alone(node, user) for user in node.users)
    if is_taken_along and transposed_constant(builder.context, node) is not None:
        return
    layout = Layout.PLAIN
    if not builder.context.is_constant(source) and builder.layouts_of(source) == {Layout.NHWC}:
        layout = Layout.NHWC
        perm = [_IN_NHWC[axis] for axis in perm]
    in_id = builder.value(source, layout)
    builder.add(g.XNNStaticTranspose(rank, perm, in_id, builder.define(node), 0), node)


def _cat(builder: GraphBuilder, node: Node) -> None:
    sources = list(node.args[0])  # type: ignore[arg-type]
    layout = _common_layout(builder, sources)
    rank = rank_of(node)
    axis = int(argument(node, 1, 0)) % rank
    axis = _IN_NHWC[axis] if layout is Layout.NHWC else axis
    if layout is Layout.NHWC and any(rank_of(source) != 4 for source in sources):
        raise CompileError(f"{node.name} joins tensors of different ranks")
    ids = [builder.value(source, layout) for source in sources]
    kinds: dict[int, Callable[..., object]] = {
        2: g.XNNConcatenate2,
        3: g.XNNConcatenate3,
        4: g.XNNConcatenate4,
        5: g.XNNConcatenate5,
    }
    while True:
        part, ids = ids[:5], ids[5:]
        if ids:
            dims = list(builder.tensor_value(part[0]).dims)
            dims[axis] = sum(builder.tensor_value(index).dims[axis] for index in part)
            out = builder.temporary(node, dims)
        else:
            out = builder.define(node, layout)
        padded = part + [NONE] * (5 - len(part))
        builder.add(kinds[len(part)](axis, *padded[:4], out, 0, padded[4]), node)
        if not ids:
            return
        ids.insert(0, out)


def _slice(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    layout = _common_layout(builder, [source])
    tensor, result = builder.tensor(source), builder.tensor(node)
    axis = int(argument(node, 1, 0)) % tensor.dim()
    size = int(tensor.shape[axis])
    start = int(argument(node, 2) or 0)
    start = min(max(start + size if start < 0 else start, 0), size)
    offsets = [start if i == axis else 0 for i in range(tensor.dim())]
    sizes = [int(length) for length in result.shape]
    if layout is Layout.NHWC:
        offsets, sizes = [offsets[i] for i in TO_NHWC], [sizes[i] for i in TO_NHWC]
    in_id = builder.value(source, layout)
    out = builder.define(node, layout)
    builder.add(g.XNNStaticSlice(len(sizes), offsets, sizes, in_id, out, 0), node)


def _pad(builder: GraphBuilder, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    layout = _common_layout(builder, [source])
    rank = rank_of(source)
    given = [int(size) for size in node.args[1]]  # type: ignore[union-attr, arg-type]
    given += [0] * (2 * rank - len(given))
    before, after = given[-2::-2], given[::-2]
    if layout is Layout.NHWC:
        before, after = [before[i] for i in TO_NHWC], [after[i] for i in TO_NHWC]
    in_id = builder.value(source, layout)
    out = builder.define(node, layout)
    value = float(argument(node, 2, 0.0))
    builder.add(g.XNNStaticConstantPad(before, after, value, in_id, out, 0), node)


def _clone(builder: GraphBuilder, node: Node) -> None:
    source, result = tensor_of(node.args[0]), tensor_of(node)
    assert source is not None and result is not None and is_channels_last(source) == is_channels_last(result)
    _copy(builder, node)


ROWS: dict[object, Emit] = {
    aten.abs.default: partial(_unary, g.XNNAbs),
    aten.add.Tensor: partial(_binary, g.XNNAdd),
    aten.addmm.default: _addmm,
    aten.avg_pool2d.default: _avg_pool,
    aten.bmm.default: _bmm,
    aten.cat.default: _cat,
    aten.ceil.default: partial(_unary, g.XNNCeiling),
    aten.clamp.default: _clamp,
    aten.clone.default: _clone,
    aten.constant_pad_nd.default: _pad,
    aten.convolution.default: _convolution,
    aten.cos.default: partial(_unary, g.XNNCos),
    aten.div.Tensor: partial(_binary, g.XNNDiv),
    aten.elu.default: _elu,
    aten.exp.default: partial(_unary, g.XNNExp),
    aten.floor.default: partial(_unary, g.XNNFloor),
    aten.gelu.default: partial(_unary, g.XNNGelu),
    aten.hardswish.default: partial(_unary, g.XNNHardswish),
    aten.hardtanh.default: _clamp,
    aten.leaky_relu.default: _leaky_relu,
    aten.linear.default: _linear,
    aten.log.default: partial(_unary, g.XNNLog),
    aten.max_pool2d.default: _max_pool,
    aten.max_pool2d_with_indices.default: _max_pool,
    aten.max.dim: _max_dim,
    aten.maximum.default: partial(_binary, g.XNNMaximum),
    aten.mean.dim: _mean,
    aten.minimum.default: partial(_binary, g.XNNMinimum),
    aten.mm.default: _mm,
    aten.mul.Tensor: partial(_binary, g.XNNMultiply),
    aten._native_batch_norm_legit_no_training.default: _batch_norm,
    aten.neg.default: partial(_unary, g.XNNNegate),
    aten.permute_copy.default: _permute,
    aten.pow.Tensor_Scalar: partial(_unary, g.XNNSquare),
    aten.prelu.default: _prelu,
    aten.relu.default: _clamp,
    aten.rsqrt.default: partial(_unary, g.XNNReciprocalSquareRoot),
    aten.sigmoid.default: partial(_unary, g.XNNSigmoid),
    aten.sin.default: partial(_unary, g.XNNSin),
    aten.slice_copy.Tensor: _slice,
    aten._softmax.default: _softmax,
    aten.sqrt.default: partial(_unary, g.XNNSquareRoot),
    aten.squeeze_copy.dim: _reshape,
    aten.squeeze_copy.dims: _reshape,
    aten.sub.Tensor: partial(_binary, g.XNNSubtract),
    aten.tanh.default: partial(_unary, g.XNNTanh),
    aten.unsqueeze_copy.default: _reshape,
    aten.upsample_bilinear2d.vec: _resize,
    aten.view_copy.default: _reshape,
    "dim_order_ops._clone_dim_order.default": _clone,
    "dim_order_ops._to_dim_order_copy.default": _clone,
}
