"""Lowers transposed convolutions to convolutions.

Along one axis, the outputs stride * i + r with the same r form a phase. Each phase is a convolution with its
own taps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.cost import product_cycles
from rushlight.backends.cpu.lower.lowering import Lowering
from rushlight.backends.cpu.lower.nodes import operation, rank_of
from rushlight.backends.cpu.plan.node import Convolution
from rushlight.backends.cpu.plan.sizes import Size
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.backends.cpu.target import Target
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument, aten_op


@dataclass(frozen=True)
class TransposedFilter:
    """The constants and options of a transposed convolution of images.

    Attributes:
        weight: [channels, outputs of a group, kh, kw].
        bias: [outputs], or None.
        stride: (height, width).
        padding: (height, width).
        groups: the number of groups.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None
    stride: tuple[int, int]
    padding: tuple[int, int]
    groups: int


@dataclass(frozen=True)
class PhaseProduct:
    """A convolution with stride 1 that computes phases of a transposed convolution.

    Attributes:
        output: a view [n, h, w, outputs of all phases] of the result.
        weight: [outputs of all phases, channels of a group, kh, kw].
        phases: the number of phases. The outputs of the first phase come first.
        padding: (height, width), before the first row and column.
    """

    output: Tensor
    weight: torch.Tensor
    phases: int
    padding: tuple[int, int]


@dataclass(frozen=True)
class Phases:
    """Consecutive phases of one axis: the outputs stride * i + r for begin <= r < end.

    Output i of each phase reads the `taps` inputs from index i + `first` on. A tap that a single phase does
    not need is zero.
    """

    begin: int
    end: int
    first: int
    taps: int


def phases(kernel: int, stride: int, padding: int) -> list[Phases]:
    """Returns one entry for each phase of an axis."""
    found = []
    for r in range(stride):
        first = min(-((kernel - 1 - r - padding) // stride), 0)
        last = max((r + padding) // stride, first)
        found.append(Phases(r, r + 1, first, last - first + 1))
    return found


def merged(parts: list[Phases]) -> Phases:
    """Merges adjacent phases into one entry."""
    first = min(part.first for part in parts)
    last = max(part.first + part.taps for part in parts)
    return Phases(parts[0].begin, parts[-1].end, first, last - first)


def merged_by_inputs(parts: list[Phases]) -> list[Phases]:
    """Merges adjacent phases that read the same inputs."""
    groups: list[list[Phases]] = []
    for part in parts:
        if groups and (groups[-1][0].first, groups[-1][0].taps) == (part.first, part.taps):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [merged(group) for group in groups]


def taps_of(
    weight: torch.Tensor, axis: int, phase: int, part: Phases, stride: int, padding: int
) -> torch.Tensor:
    """Returns the taps of one phase along `axis`, in the order of the inputs that they multiply.

    Args:
        weight: the weight of the transposed convolution.
        axis: the dimension of `weight`.
        phase: the number r of the phase.
        part: the entry with this phase.
        stride: the stride along the axis.
        padding: the padding along the axis.
    """
    kernel = weight.shape[axis]
    places = [phase + padding - stride * (part.first + j) for j in range(part.taps)]
    inside = torch.tensor([0 <= place < kernel for place in places])
    chosen = weight.index_select(axis, torch.tensor([min(max(p, 0), kernel - 1) for p in places]))
    return chosen * inside.view(-1, *(1,) * (weight.dim() - 1 - axis))


def transposed_convolution(
    lowering: Lowering, node: Node, image: Tensor, transposed_filter: TransposedFilter
) -> None:
    """Lowers a transposed convolution of `image` [n, h, w, c].

    The outputs of adjacent phases are adjacent in memory, so that one product can compute several phases. If
    a concatenation puts other channels between the pixels, each phase has its own product. Source: Shi et
    al., "Is the deconvolution layer the same as a convolutional layer?", 2016, which describes transposed
    convolutions as sub-pixel convolutions.
    """
    whole, result = transposed_result(lowering, node, transposed_filter.stride[1], torch.float32)
    transpose_images(lowering, node, [image], whole, transposed_filter)
    lowering.set_tensor(node, result)


def transposed_result(
    lowering: Lowering, node: Node, stride: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Allocates the result of a transposed convolution of images [n, c, h, w] or rows [n, c, w].

    Args:
        lowering: the steps emitted so far.
        node: the convolution.
        stride: the stride along the width.
        dtype: the dtype of the result in the plan.

    Returns:
        The memory [n, h, w, c], whose width is a multiple of the stride, and the result, a view of it.
    """
    sizes = lowering.sizes(node)
    rows, columns = (1, sizes[2]) if len(sizes) == 3 else (sizes[2], sizes[3])
    whole = lowering.new_tensor((sizes[0], rows, _round_up(columns, stride), sizes[1]), dtype=dtype)
    result = whole.narrow(2, 0, columns).permute((0, 3, 1, 2))
    return whole, result.squeeze(2) if len(sizes) == 3 else result


def transposed_volume_convolution(
    lowering: Lowering,
    node: Node,
    x: Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: tuple[int, int, int],
    padding: tuple[int, int, int],
    sources: Callable[[list[Tensor]], list[Tensor]],
) -> None:
    """Lowers a transposed convolution of volumes `x` [n, c, d, h, w] without groups.

    All output frames of one phase along the depth use the same taps. They are lowered as a transposed
    convolution of images, whose channels are the channels of all frames that one output frame reads.

    Args:
        lowering: the steps emitted so far.
        node: the convolution.
        x: the input.
        weight: [c, outputs, kd, kh, kw].
        bias: [outputs], or None.
        stride: (depth, height, width).
        padding: (depth, height, width).
        sources: converts volumes of one shape to images with consecutive channels.
    """
    n, outputs, depth, rows, columns = lowering.sizes(node)
    per_phase, width = -(-depth // stride[0]), _round_up(columns, stride[2])
    whole = lowering.new_tensor((n, per_phase * stride[0], rows, width, outputs))
    parts = phases(weight.shape[2], stride[0], padding[0])
    before = max(-part.first for part in parts)
    after = max(0, *(per_phase + part.first + part.taps - 1 - x.sizes[2] for part in parts))
    frames = padded_frames(lowering, x, before, after, node)
    for part in parts:
        by_tap = [frames.narrow(2, before + part.first + tap, per_phase) for tap in range(part.taps)]
        taps = taps_of(weight.float(), 2, part.begin, part, stride[0], padding[0])
        joined_taps = taps.permute(2, 0, 1, 3, 4).flatten(0, 1)
        output = whole.narrow(1, part.begin, per_phase, stride[0]).view((n * per_phase, rows, width, outputs))
        assert output is not None
        weight_of_phase = joined_taps.to(weight.dtype)
        filter_of_phase = TransposedFilter(weight_of_phase, bias, stride[1:], padding[1:], groups=1)
        transpose_images(lowering, node, sources(by_tap), output, filter_of_phase)
    lowering.set_tensor(node, whole.narrow(1, 0, depth).narrow(3, 0, columns).permute((0, 4, 1, 2, 3)))


def padded_frames(lowering: Lowering, x: Tensor, before: int, after: int, node: Node) -> Tensor:
    """Returns a volume with `before` zero frames before and `after` zero frames after its frames."""
    if before == 0 and after == 0:
        return x
    n, c, d, h, w = x.sizes
    out = lowering.new_tensor((n, c, d + before + after, h, w), (0, 2, 3, 4, 1), x.dtype)
    for start, count in ((0, before), (d + before, after)):
        if count:
            edge = out.narrow(2, start, count)
            lowering.emit_copy(constant(torch.zeros((), dtype=x.dtype)).expand(edge.sizes), edge, node)
    lowering.emit_copy(x, out.narrow(2, before, d), node)
    return out


def transpose_images(
    lowering: Lowering,
    node: Node,
    images: list[Tensor],
    whole: Tensor,
    transposed_filter: TransposedFilter,
) -> None:
    """Emits the convolutions that compute a transposed convolution.

    Args:
        lowering: the steps emitted so far.
        node: the node that the convolutions compute.
        images: inputs [n, h, w, c] with consecutive channels.
        whole: the output [n, h, w, outputs]; its width is a multiple of the stride.
        transposed_filter: the constants and options.
    """
    weight, bias = transposed_filter.weight, transposed_filter.bias
    in_float32 = replace(transposed_filter, weight=weight.float())
    for product in phase_products(lowering, node, whole, in_float32):
        step = Convolution(
            input=images[0],
            more_inputs=images[1:],
            output=product.output,
            weight=product.weight,
            weight_dtype=lowering.stored_dtype(weight),
            rounds_input=weight.dtype is torch.bfloat16,
            bias=None if bias is None else bias.repeat(product.phases),
            padding=product.padding,
            groups=transposed_filter.groups,
        )
        lowering.emit(step, node)


def phase_products(
    lowering: Lowering, node: Node, whole: Tensor, transposed_filter: TransposedFilter
) -> Iterator[PhaseProduct]:
    """Yields the convolutions that compute a transposed convolution.

    Args:
        lowering: the steps emitted so far.
        node: the node that the convolutions compute.
        whole: the output [n, h, w, outputs]; its width is a multiple of the stride.
        transposed_filter: the constants and options. Weights may be int8.
    """
    weight, groups = transposed_filter.weight, transposed_filter.groups
    stride, padding = transposed_filter.stride, transposed_filter.padding
    count, rows, columns, outputs = whole.sizes
    # [outputs, channels of a group, kh, kw]
    grouped = weight.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
    down = [part for part in phases(weight.shape[2], stride[0], padding[0]) if part.begin < rows]
    across = _phases_across(lowering, node, whole, transposed_filter)
    for y in down:
        lines = whole.narrow(1, y.begin, -(-(rows - y.begin) // stride[0]), stride[0])
        side_by_side = lines.view((count, lines.sizes[1], columns // stride[1], stride[1] * outputs))
        assert side_by_side is not None
        row_taps = taps_of(grouped, 2, y.begin, y, stride[0], padding[0])
        for x in across:
            parts = [taps_of(row_taps, 3, r, x, stride[1], padding[1]) for r in range(x.begin, x.end)]
            output = side_by_side.narrow(3, x.begin * outputs, len(parts) * outputs)
            yield PhaseProduct(output, torch.cat(parts), len(parts), (-y.first, -x.first))


def _phases_across(
    lowering: Lowering, node: Node, whole: Tensor, transposed_filter: TransposedFilter
) -> list[Phases]:
    """Returns the phases of the width; an entry has the phases that one product computes.

    The arguments are those of `transpose_images`.
    """
    weight, stride, padding = transposed_filter.weight, transposed_filter.stride, transposed_filter.padding
    across = phases(weight.shape[3], stride[1], padding[1])
    count, rows, columns, outputs = whole.sizes
    assert isinstance(outputs, int)
    target = lowering.options.target
    if transposed_filter.groups > 1 or _is_concatenated(node, outputs, target):
        return across
    down = phases(weight.shape[2], stride[0], padding[0])
    depth = max(part.taps for part in down) * weight.shape[0]
    pixels = lowering.symbols.upper(count) * rows * (columns // stride[1])
    return _cheapest(across, pixels, depth, outputs, target)


def _round_up(value: Size, step: int) -> Size:
    return -(-value // step) * step


def _is_concatenated(node: Node, outputs: int, target: Target) -> bool:
    """Returns whether the result is concatenated with other channels, and computed in its place there."""
    concatenations = [user for user in node.users if aten_op(user.target) is torch.ops.aten.cat.default]
    return any(argument(user, 1, 0) == 1 for user in concatenations) and outputs >= 2 * target.vector


def _cheapest(parts: list[Phases], rows: int, depth: int, outputs: int, target: Target) -> list[Phases]:
    """Returns all phases as one product, or one product for each set of inputs, whichever is faster."""

    def cycles(some: list[Phases]) -> float:
        return sum(product_cycles(rows, p.taps * depth, (p.end - p.begin) * outputs, target) for p in some)

    return min(([merged(parts)], merged_by_inputs(parts)), key=cycles)


# Checks: each returns the reason why a node is refused, or None.


def check_transposed(node: Node, dilation: list[int]) -> str | None:
    """Refuses a transposed convolution with quantized weights in groups, a dilation, or a dynamic image."""
    weight: Any = node.args[1]
    is_quantized = getattr(operation(weight), "namespace", "") == "quantized_decomposed"
    if is_quantized and (node.args[8] != 1 or rank_of(node.args[0]) == 5):
        return "it is transposed and grouped, or a volume, and its weights are quantized"
    if any(d != 1 for d in dilation):
        return "it is transposed and dilated"
    result = meta.get_tensor(node)
    if result is None or not all(isinstance(size, int) for size in result.shape[1:]):
        return "it is transposed and its image has a dynamic size"
    return "it is transposed and has no output" if 0 in result.shape[1:] else None
