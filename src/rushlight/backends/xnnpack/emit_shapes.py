"""Emits pooling, resizing, and operators that only move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.builder import TO_NCHW, TO_NHWC, GraphBuilder, Layout
from rushlight.backends.xnnpack.constants import ALIGN_CORNERS, KEEP_DIMS, NONE
from rushlight.backends.xnnpack.emit_shared import (
    common_layout,
    emit_copy,
    sizes_of_reshape,
)
from rushlight.backends.xnnpack.nodes import (
    is_channels_last,
    is_weight_alone,
    pair,
    rank_of,
    tensor_of,
    transposed_constant,
    upper_dims,
)
from rushlight.ir.edge_ops import argument
from rushlight.ir.errors import CompileError

aten = torch.ops.aten
_IN_NHWC = [TO_NHWC.index(axis) for axis in range(4)]  # the position in memory of each axis of an image


def _pool_node(kind: Callable[..., object], builder: GraphBuilder, node: Node, window: Sequence[int]) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    in_id = builder.value(source, Layout.NHWC)
    out = builder.define(node, Layout.NHWC)
    builder.add(kind(*window, in_id, out, KEEP_DIMS), node)


def emit_avg_pool(builder: GraphBuilder, node: Node) -> None:
    """Emits average pooling."""
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    top, left = pair(argument(node, 3), (0, 0))
    _pool_node(g.XNNAvgPooling2d, builder, node, (top, left, top, left, *kernel, *stride, 0, 0))


def emit_max_pool(builder: GraphBuilder, node: Node) -> None:
    """Emits max pooling."""
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


def emit_mean(builder: GraphBuilder, node: Node) -> None:
    """Emits a mean over height and width."""
    source = node.args[0]
    assert isinstance(source, Node)
    in_id = builder.value(source, Layout.NHWC)
    builder.add(g.XNNGlobalAvgPooling2d(in_id, builder.define(node, Layout.NHWC), KEEP_DIMS), node)


def emit_max_dim(builder: GraphBuilder, node: Node) -> None:
    """Emits a maximum over height or width as pooling with a window of the whole axis."""
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
    shape = sizes_of_reshape(builder, node, range(result.dim()))
    builder.add(g.XNNStaticReshape(len(shape), shape, images, builder.define(node), 0), node)


def emit_resize(builder: GraphBuilder, node: Node) -> None:
    """Emits a bilinear resize."""
    source = node.args[0]
    assert isinstance(source, Node)
    height, width = (int(size) for size in builder.tensor(node).shape[-2:])
    flags = ALIGN_CORNERS if argument(node, 2) else 0
    in_id = builder.value(source, Layout.NHWC)
    out = builder.define(node, Layout.NHWC)
    builder.add(g.XNNStaticResizeBilinear2D(height, width, in_id, out, flags), node)


def emit_reshape(builder: GraphBuilder, node: Node) -> None:
    """Emits a reshape."""
    source = node.args[0]
    assert isinstance(source, Node)
    result = builder.tensor(node)
    in_id = builder.value(source)
    shape = sizes_of_reshape(builder, node, range(result.dim()))
    builder.add(g.XNNStaticReshape(len(shape), shape, in_id, builder.define(node), 0), node)


def emit_permute(builder: GraphBuilder, node: Node) -> None:
    """Emits a permute whose result has the layout PLAIN.

    Nothing is emitted for a transposed constant that only products read as their weight.
    """
    source = node.args[0]
    assert isinstance(source, Node)
    rank = rank_of(source)
    perm = [int(axis) % rank for axis in node.args[1]]  # type: ignore[union-attr, arg-type]
    is_only_weight = all(is_weight_alone(node, user) for user in node.users)
    if is_only_weight and transposed_constant(builder.context, node) is not None:
        return
    layout = Layout.PLAIN
    if not builder.context.is_constant(source) and builder.layouts_of(source) == {Layout.NHWC}:
        layout = Layout.NHWC
        perm = [_IN_NHWC[axis] for axis in perm]
    in_id = builder.value(source, layout)
    builder.add(g.XNNStaticTranspose(rank, perm, in_id, builder.define(node), 0), node)


def emit_cat(builder: GraphBuilder, node: Node) -> None:
    """Emits a concatenation."""
    sources = list(node.args[0])  # type: ignore[arg-type]
    layout = common_layout(builder, sources)
    rank = rank_of(node)
    axis = int(argument(node, 1, 0)) % rank
    axis = _IN_NHWC[axis] if layout is Layout.NHWC else axis
    if layout is Layout.NHWC and any(rank_of(source) != 4 for source in sources):
        raise CompileError(f"{node.name} concatenates tensors with different numbers of dimensions")
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


def emit_slice(builder: GraphBuilder, node: Node) -> None:
    """Emits a slice."""
    source = node.args[0]
    assert isinstance(source, Node)
    layout = common_layout(builder, [source])
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


def emit_pad(builder: GraphBuilder, node: Node) -> None:
    """Emits constant padding."""
    source = node.args[0]
    assert isinstance(source, Node)
    layout = common_layout(builder, [source])
    rank = rank_of(source)
    padding = [int(size) for size in node.args[1]]  # type: ignore[union-attr, arg-type]
    padding += [0] * (2 * rank - len(padding))
    before, after = padding[-2::-2], padding[::-2]
    if layout is Layout.NHWC:
        before, after = [before[i] for i in TO_NHWC], [after[i] for i in TO_NHWC]
    in_id = builder.value(source, layout)
    out = builder.define(node, layout)
    value = float(argument(node, 2, 0.0))
    builder.add(g.XNNStaticConstantPad(before, after, value, in_id, out, 0), node)


def emit_clone(builder: GraphBuilder, node: Node) -> None:
    """Emits a copy, possibly to another layout."""
    source, result = tensor_of(node.args[0]), tensor_of(node)
    assert source is not None and result is not None and is_channels_last(source) == is_channels_last(result)
    emit_copy(builder, node)
