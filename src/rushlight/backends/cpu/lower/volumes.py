"""Lowers convolutions and pooling of volumes [n, c, d, h, w] to steps on images.

A volume is treated as d frames, which are images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import check_first_result_alone, check_window, operation, rank_of
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.lower.transposed import (
    check_transposed,
    padded_frames,
    transposed_volume_convolution,
)
from rushlight.backends.cpu.plan.node import MAX_SOURCES, MIN_PIECE, Convolution, make_window
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import BinaryFunction, Interpolation, Pool2d, Pooling, Resize2d
from rushlight.backends.cpu.plan.tensor import Tensor
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten

_FEW_CHANNELS = 16  # with fewer channels, no Winograd step is selected
_LAST = (0, 2, 3, 4, 1)  # the dimensions of a channels-last volume in memory order
MAX_GROUPED_FRAMES = 7
"""The maximum depth of the window of a grouped convolution; one chain adds the results of all frames."""

Triple = tuple[int, int, int]


def triple(value: Any) -> Triple:
    """Returns the option of an operator as (depth, height, width)."""
    items = [value] if isinstance(value, int) else [int(v) for v in value]
    return (items[0],) * 3 if len(items) == 1 else (items[0], items[1], items[2])


def _channels_last(lowering: Lowering, x: Tensor, node: Node) -> Tensor:
    return lowering.with_innermost(x, 1, node).permute(_LAST)


def _frames(lowering: Lowering, x: Tensor, node: Node) -> Tensor:
    """Returns a volume as images [n * d, h, w, c]."""
    last = _channels_last(lowering, x, node)
    return lowering.reshape(last, (product(last.sizes[:2]), *last.sizes[2:]), node)


def _columns(lowering: Lowering, x: Tensor, node: Node) -> Tensor:
    """Returns a volume as images [n, d, h * w, c]."""
    last = _channels_last(lowering, x, node)
    n, d, h, w, c = last.sizes
    return lowering.reshape(last, (n, d, product((h, w)), c), node)


@dataclass(frozen=True)
class _VolumeConvolution:
    """A convolution of volumes, and its arguments."""

    lowering: Lowering
    node: Node
    weight: torch.Tensor
    bias: torch.Tensor | None
    stride: Triple
    padding: Triple
    dilation: Triple
    groups: int

    @classmethod
    def of(cls, lowering: Lowering, node: Node) -> _VolumeConvolution:
        _, weight, bias, stride, padding, dilation, _, _, groups = node.args
        assert isinstance(groups, int)
        return cls(
            lowering,
            node,
            lowering.constants[weight].detach(),  # type: ignore[index]
            None if bias is None else lowering.constants[bias].detach().float(),  # type: ignore[index]
            triple(stride),
            triple(padding),
            triple(dilation),
            groups,
        )

    @property
    def is_along_depth(self) -> bool:
        """Whether a window has only one pixel in each frame, at the position of the output pixel."""
        is_pixel = tuple(self.weight.shape[3:]) == (1, 1)
        return is_pixel and self.stride[1:] == (1, 1) and self.padding[1:] == (0, 0)

    def along_depth(self, x: Tensor, output: Tensor) -> None:
        """Emits a convolution along the depth, which is the height of images [n, d, h * w, c]."""
        windows = ((self.stride[0], 1), (self.padding[0], 0), (self.dilation[0], 1))
        self._emit([x], output, self.weight[..., 0], self.bias, *windows)

    def of_frames(
        self, images: list[Tensor], output: Tensor, weight: torch.Tensor, bias: torch.Tensor | None
    ) -> None:
        """Emits a convolution of images [n * d, h, w, c] with `weight` [outputs, c of a group, h, w]."""
        self._emit(images, output, weight, bias, self.stride[1:], self.padding[1:], self.dilation[1:])

    def _emit(
        self,
        images: list[Tensor],
        output: Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        stride: tuple[int, int],
        padding: tuple[int, int],
        dilation: tuple[int, int],
    ) -> None:
        """Emits a convolution of images.

        Args:
            images: inputs [n, h, w, c] with consecutive channels.
            output: the result [n, h, w, outputs].
            weight: [outputs, c of a group, h, w].
            bias: [outputs], or None.
            stride: (height, width).
            padding: (height, width).
            dilation: (height, width).
        """
        step = Convolution(
            input=images[0],
            more_inputs=images[1:],
            output=output,
            weight=weight.float(),
            weight_dtype=self.lowering.stored_dtype(self.weight),
            rounds_input=self.weight.dtype is torch.bfloat16,
            bias=bias,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=self.groups,
        )
        self.lowering.emit(step, self.node)


def convolve_volume(lowering: Lowering, node: Node) -> None:
    """Lowers a convolution of volumes, or a transposed one, to convolutions of images.

    A convolution whose windows have one frame, or one pixel in each frame, is lowered to one convolution of
    images. Otherwise, for each output frame, the frames of its window become the channels of one image. A
    grouped convolution is lowered to the sum of one convolution for each frame of the window.
    """
    x = lowering.tensor(node.args[0])
    convolution = _VolumeConvolution.of(lowering, node)
    if node.args[6]:
        transposed_volume_convolution(
            lowering,
            node,
            x,
            convolution.weight,
            convolution.bias,
            convolution.stride,
            convolution.padding,
            lambda volumes: _sources(lowering, volumes, node),
        )
        return
    out = lowering.new_tensor(lowering.sizes(node), _LAST)
    lowering.set_tensor(node, out)
    if convolution.is_along_depth:
        convolution.along_depth(_columns(lowering, x, node), _columns(lowering, out, node))
        return
    weight, images = convolution.weight, _frames(lowering, out, node)
    by_tap = _volumes_by_tap(lowering, x, out, convolution)
    if len(by_tap) == 1:
        convolution.of_frames([_frames(lowering, by_tap[0], node)], images, weight[:, :, 0], convolution.bias)
    elif convolution.groups == 1:
        joined = weight.transpose(1, 2).flatten(1, 2)
        convolution.of_frames(_sources(lowering, by_tap, node), images, joined, convolution.bias)
    else:
        _sum_groups(lowering, by_tap, convolution)


def _volumes_by_tap(
    lowering: Lowering, x: Tensor, out: Tensor, convolution: _VolumeConvolution
) -> list[Tensor]:
    """Returns, for each tap along the depth, the frames of `x` that it reads for all frames of `out`."""
    padding = convolution.padding[0]
    x = padded_frames(lowering, x, padding, padding, convolution.node)
    step, dilation = convolution.stride[0], convolution.dilation[0]
    return [x.narrow(2, i * dilation, out.sizes[2], step) for i in range(convolution.weight.shape[2])]


def _sources(lowering: Lowering, volumes: list[Tensor], node: Node) -> list[Tensor]:
    """Returns volumes of one shape as images with consecutive channels, either as views or as one copy."""
    n, c, d, h, w = volumes[0].sizes
    if same(n, 1) and len(volumes) <= MAX_SOURCES and isinstance(c, int) and c >= MIN_PIECE:
        volumes = [lowering.with_innermost(volume, 1, node) for volume in volumes]
        return [volume.permute(_LAST).squeeze(0) for volume in volumes]
    # Planes of few channels are copied faster to planes. The step reads these as the first step of a network
    # reads an image.
    has_planes = isinstance(c, int) and c * len(volumes) < _FEW_CHANNELS
    order = (0, 2, 1, 3, 4) if has_planes else _LAST
    joined = lowering.new_tensor((n, c * len(volumes), d, h, w), order, volumes[0].dtype)
    for i, volume in enumerate(volumes):
        lowering.emit_copy(volume, joined.narrow(1, i * c, c), node)
    frames = joined.permute(_LAST)
    return [lowering.reshape(frames, (product(frames.sizes[:2]), *frames.sizes[2:]), node)]


def _sum_groups(lowering: Lowering, volumes: list[Tensor], convolution: _VolumeConvolution) -> None:
    node = convolution.node
    sizes = lowering.sizes(node)
    chain = ChainBuilder(lowering, node, sizes)
    total: int | None = None
    for i, volume in enumerate(volumes):
        part = lowering.new_tensor(sizes, _LAST)
        frames, images = (_frames(lowering, tensor, node) for tensor in (volume, part))
        convolution.of_frames([frames], images, convolution.weight[:, :, i], None if i else convolution.bias)
        operand = chain.operand(part)
        total = operand if total is None else chain.add(BinaryFunction.ADD, total, operand)
    chain.finish()


def _pool(
    lowering: Lowering, node: Node, kernel: Triple, options: tuple[Triple, ...], **kind: bool
) -> Tensor:
    """Pools each frame, then pools along the depth; returns the result."""
    x = lowering.tensor(node.args[0])
    stride, padding, dilation = options
    getter = next((user for user in node.users if user.args[1] == 0), None) if "is_maximum" in kind else None
    sizes = lowering.sizes(getter or node)

    def pool(source: Tensor, output: Tensor, by_axis: list[tuple[int, int]]) -> None:
        pooling = Pooling(window=make_window(*by_axis), **kind)
        lowering.emit(Pool2d(input=source, output=output, pooling=pooling), node)

    windows = (kernel, stride, padding, dilation)
    if any(item[1:] != (fill, fill) for item, fill in zip(windows, (1, 1, 0, 1), strict=True)):
        flat = lowering.new_tensor((*sizes[:2], x.sizes[2], *sizes[3:]), _LAST)
        by_axis = [(item[1], item[2]) for item in windows]
        pool(_frames(lowering, x, node), _frames(lowering, flat, node), by_axis)
        x = flat
    if any(item[0] != fill for item, fill in zip(windows, (1, 1, 0, 1), strict=True)):
        out = lowering.new_tensor(sizes, _LAST)
        by_axis = [(item[0], fill) for item, fill in zip(windows, (1, 1, 0, 1), strict=True)]
        pool(_columns(lowering, x, node), _columns(lowering, out, node), by_axis)
        x = out
    return x


def max_pool3d_with_indices(lowering: Lowering, node: Node) -> None:
    """Lowers max pooling whose indices are not used."""
    kernel = triple(node.args[1])
    options = (
        triple(argument(node, 2) or kernel),
        triple(argument(node, 3, 0)),
        triple(argument(node, 4, 1)),
    )
    lowering.set_tensors(node, [_pool(lowering, node, kernel, options, is_maximum=True)])


def avg_pool3d(lowering: Lowering, node: Node) -> None:
    """Lowers average pooling.

    Pooling along one axis after the other is exact, because the number of values in a window is the product
    of the numbers along each axis, with or without padding.
    """
    kernel = triple(node.args[1])
    options = (triple(argument(node, 2) or kernel), triple(argument(node, 3, 0)), (1, 1, 1))
    counts = bool(argument(node, 5, True))
    lowering.set_tensor(node, _pool(lowering, node, kernel, options, counts_padding=counts))


def resize_volume(lowering: Lowering, node: Node, interpolation: Interpolation, scales: list[float]) -> None:
    """Lowers the resizing of a volume: first along the depth, then of each frame.

    Args:
        lowering: the steps emitted so far.
        node: the resizing of a volume [n, c, d, h, w].
        interpolation: the interpolation along each axis.
        scales: the distance of two outputs in inputs, for (depth, height, width).
    """
    x, sizes = lowering.tensor(node.args[0]), lowering.sizes(node)
    flat = lowering.new_tensor((*sizes[:3], *x.sizes[3:]), _LAST)
    out = lowering.new_tensor(sizes, _LAST)
    deep = [
        lowering.reshape(last, (*last.sizes[:2], 1, product(last.sizes[2:])), node)
        for last in (_channels_last(lowering, tensor, node) for tensor in (x, flat))
    ]
    images = [_frames(lowering, tensor, node) for tensor in (flat, out)]
    for (source, target), (scale_h, scale_w) in ((deep, (scales[0], 1.0)), (images, scales[1:])):
        step = Resize2d(
            input=source, output=target, interpolation=interpolation, scale_h=scale_h, scale_w=scale_w
        )
        lowering.emit(step, node)
    lowering.set_tensor(node, out)


# Checks: each returns the reason why a node is refused, or None.


def check_volume_convolution(node: Node) -> str | None:
    """Refuses a convolution of volumes with constant weights that plans do not support."""
    weight, groups = node.args[1], node.args[8]
    window = meta.get_tensor(weight)  # type: ignore[arg-type]
    if getattr(operation(weight), "namespace", "") == "quantized_decomposed":  # type: ignore[arg-type]
        return "its input is a volume and its weights are quantized"
    if node.args[6]:
        return check_transposed(node, list(triple(node.args[5]))) or (
            None if groups == 1 else "it is transposed and grouped, and its input is a volume"
        )
    if groups != 1 and window is not None and window.shape[2] > MAX_GROUPED_FRAMES:
        return f"it is grouped and its window has {window.shape[2]} frames"
    return None


def check_max_pool3d(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is not [n, c, d, h, w], or the indices are used."""
    if rank_of(node.args[0]) != 5:
        return "its input is not a batch of volumes"
    return check_first_result_alone(node) or check_window(*node.args[1:5])


def check_avg_pool3d(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is not [n, c, d, h, w], or the divisor is given."""
    if rank_of(node.args[0]) != 5:
        return "its input is not a batch of volumes"
    return "its divisor is given" if argument(node, 6) is not None else check_window(*node.args[1:4])


ROWS: dict[Any, Row] = {
    aten.max_pool3d_with_indices.default: Row(check_max_pool3d, max_pool3d_with_indices),
    aten.avg_pool3d.default: Row(check_avg_pool3d, avg_pool3d),
}
