"""Lowers convolutions, pooling and batch norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.lowering import ChainBuilder, Lowering
from rushlight.backends.cpu.lower.nodes import (
    check_first_result_alone,
    check_window,
    is_empty,
    rank_of,
    shape_of,
    tensors_of,
)
from rushlight.backends.cpu.lower.reductions import reduced
from rushlight.backends.cpu.lower.row import Row
from rushlight.backends.cpu.lower.transposed import TransposedFilter, check_transposed, transposed_convolution
from rushlight.backends.cpu.lower.volumes import check_volume_convolution, convolve_volume
from rushlight.backends.cpu.plan.node import Convolution, make_window
from rushlight.backends.cpu.plan.sizes import Size, product, same
from rushlight.backends.cpu.plan.tables import (
    BinaryFunction,
    Copy,
    Pool2d,
    Pooling,
    Reduce,
    Reduction,
    Window,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op, is_op

aten = torch.ops.aten
MAX_WINDOW_ROWS = 256  # the maximum height of the window of a grouped convolution
FEW_CHANNELS = 8  # with fewer channels, the step reads inputs with any strides


def pair(value: Any, default: object = 1) -> tuple[int, int]:
    """Returns the option of a 2-d operator as (height, width); a single number is used for both."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return pair(default)
    if isinstance(value, int):
        return value, value
    return (int(value[0]), int(value[0])) if len(value) == 1 else (int(value[0]), int(value[1]))


def image_of(lowering: Lowering, tensor: Tensor, node: Node, any_order: bool = False) -> Tensor:
    """Returns a batch [n, c, h, w] or [n, c, w] as [n, h, w, c], copied if channels are not innermost.

    Args:
        lowering: the steps emitted so far.
        tensor: the batch.
        node: the node for which the copy is emitted.
        any_order: whether any strides are accepted, so that no copy is needed.
    """
    if tensor.rank == 3:
        tensor = tensor.unsqueeze(2)
    if not any_order:
        tensor = lowering.with_innermost(tensor, 1, node)
    return tensor.permute((0, 2, 3, 1))


def output_of(lowering: Lowering, node: Node, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Allocates the node's result in channels-last memory; returns the result and its view [n, h, w, c].

    Args:
        lowering: the steps emitted so far.
        node: a node with one result, images [n, c, h, w] or rows [n, c, w].
        dtype: the dtype of the result in the plan.
    """
    sizes = lowering.sizes(node)
    out = lowering.new_tensor(sizes, (0, 2, 3, 1) if len(sizes) == 4 else (0, 2, 1), dtype)
    return out, out.as_image()


def by_axis(value: Any, rank: int, fill: int) -> tuple[int, int]:
    """Returns the option of a convolution as (height, width).

    Args:
        value: the option.
        rank: 3 for a convolution of rows, 4 for images.
        fill: the option along the height for rows.
    """
    items = [int(v) for v in value]
    if rank == 3:
        return fill, items[0]
    return (items[0], items[0]) if len(items) == 1 else (items[0], items[1])


def convolution(lowering: Lowering, node: Node) -> None:
    """Lowers a convolution or transposed convolution of rows [n, c, w], images [n, c, h, w] or volumes."""
    is_transposed = bool(node.args[6])
    if rank_of(node.args[0]) == 5:
        convolve_volume(lowering, node)
    elif is_transposed:
        _transposed_convolution(lowering, node)
    else:
        _convolution(lowering, node)


def _weight_and_bias(lowering: Lowering, node: Node) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns the weight of a convolution with four dimensions, and its bias in float32.

    A filter of rows is a filter of images of height 1.
    """
    weight_node, bias_node = node.args[1:3]
    weight = lowering.constants[weight_node].detach()  # type: ignore[index]
    bias = None if bias_node is None else lowering.constants[bias_node].detach().float()  # type: ignore[index]
    return (weight.unsqueeze(2) if weight.dim() == 3 else weight), bias


def _accepts_any_strides(groups: int, channels: int) -> bool:
    """Returns whether the step of a convolution reads inputs with any strides, so that no copy is needed."""
    return groups == 1 and channels < FEW_CHANNELS


def _transposed_convolution(lowering: Lowering, node: Node) -> None:
    source, _, _, stride, padding, _, _, _, groups = node.args
    x = lowering.tensor(source)
    weight, bias = _weight_and_bias(lowering, node)
    assert isinstance(groups, int)
    image = image_of(lowering, x, node, _accepts_any_strides(groups, weight.shape[0]))
    strides, pads = by_axis(stride, x.rank, 1), by_axis(padding, x.rank, 0)
    transposed_convolution(lowering, node, image, TransposedFilter(weight, bias, strides, pads, groups))


def _convolution(lowering: Lowering, node: Node) -> None:
    source, _, _, stride, padding, dilation, _, _, groups = node.args
    x = lowering.tensor(source)
    weight, bias = _weight_and_bias(lowering, node)
    assert isinstance(groups, int)
    dilations, pads = by_axis(dilation, x.rank, 1), by_axis(padding, x.rank, 0)
    reach = tuple(d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True))
    fused = []
    unpadded = _unpadded(lowering, source, node, pads, reach)
    if unpadded is not None:
        assert isinstance(source, Node)
        x, pads = unpadded
        fused = [source]
    out, image = output_of(lowering, node)
    step = Convolution(
        input=image_of(lowering, x, node, _accepts_any_strides(groups, weight.shape[1])),
        output=image,
        weight=weight.float(),
        weight_dtype=lowering.stored_dtype(weight),
        rounds_input=weight.dtype is torch.bfloat16,
        bias=bias,
        stride=by_axis(stride, x.rank, 1),
        padding=pads,
        dilation=dilations,
        groups=groups,
    )
    lowering.emit(step, node, fused)
    lowering.set_tensor(node, out)


def _unpadded(
    lowering: Lowering, source: Any, node: Node, padding: tuple[int, int], reach: tuple[int, ...]
) -> tuple[Tensor, tuple[int, int]] | None:
    """Fuses zero padding into the convolution that reads the padded image.

    This is possible only if no other node reads the padded image, and the padding removes no pixels. The
    copies that pad are then removed. The padding at the bottom and the right follows from the size of the
    output.

    Args:
        lowering: the steps emitted so far.
        source: the convolution's input.
        node: the convolution.
        padding: the convolution's own padding (height, width).
        reach: the distance from the first to the last pixel of a window (height, width).

    Returns:
        The unpadded input and the total padding; None if the padding cannot be fused.
    """
    if not isinstance(source, Node) or source in lowering.constants:
        return None
    if aten_op(source.target) is not aten.constant_pad_nd.default or argument(source, 2, 0):
        return None
    pads: Any = source.args[1]  # before and after each dimension, the last dimension first
    rank = rank_of(source)
    if not any(pads) or min(pads) < 0 or any(pads[2 * (rank - 2) :]):
        return None
    if not lowering.aliases.is_only_read_by(source, node):
        return None
    left, right = (tuple(int(pads[i]) if i < len(pads) else 0 for i in places) for places in ((2, 0), (3, 1)))
    inside = all(
        pad + max(before, after) <= most
        for pad, before, after, most in zip(padding, left, right, reach, strict=True)
    )
    copies = lowering.aliases.writers_of(source)
    if not inside or not all(step.of(Copy) and lowering.aliases.may_run_later(step) for step in copies):
        return None
    for step in copies:
        lowering.remove_step(step)
    return lowering.tensor(source.args[0]), (padding[0] + left[0], padding[1] + left[1])


def channel_scale(lowering: Lowering, node: Node) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the factors and the addends, float64 [channels], by which a batch norm maps its input."""
    _, weight, bias, mean, variance, _, eps = node.args
    mean_value, variance_value = lowering.constants[mean], lowering.constants[variance]  # type: ignore[index]
    scale = torch.rsqrt(variance_value.double() + float(eps))  # type: ignore[arg-type]
    if weight is not None:
        scale = scale * lowering.constants[weight].double()  # type: ignore[index]
    shift = -mean_value.double() * scale
    if bias is not None:
        shift = shift + lowering.constants[bias].double()  # type: ignore[index]
    return scale.detach(), shift.detach()


def _has_channels_of(tensor: Tensor, convolution: Convolution, channels: int) -> bool:
    """Returns whether dimension 1 of a tensor is that of the outputs of the convolution that computes it.

    It is another dimension if the tensor is a permuted view, or the result of a linear layer on sequences.
    """
    return convolution.weight.shape[0] % channels == 0 and same(tensor.strides[1], 1)


def batch_norm(lowering: Lowering, node: Node) -> None:
    """Lowers a batch norm with constant statistics.

    It is folded into the weights of the preceding convolution if no other node reads the result of the
    convolution. Otherwise it becomes a multiplication by a scale and an addition of a shift by channel.
    """
    source = node.args[0]
    scale, shift = channel_scale(lowering, node)
    found = lowering.convolution_of(source, node)
    if (
        found is not None
        and not found[1].clamps
        and found[1].residual is None
        and _has_channels_of(lowering.tensor(source), found[1], len(scale))
    ):
        step, convolution = found
        convolution.scale(scale.float(), shift.float())
        assert isinstance(source, Node)
        lowering.append_fused(step, source, node)
        lowering.set_tensors(node, [lowering.tensor(source)])
        return
    assert isinstance(source, Node)
    sizes = lowering.sizes(source)
    shape = (-1, *(1,) * (len(sizes) - 2))
    chain = ChainBuilder(lowering, node, sizes)
    x = chain.take(source)
    scaled = chain.add(BinaryFunction.MUL, x, chain.operand(constant(scale.float().view(shape))))
    chain.add(BinaryFunction.ADD, scaled, chain.operand(constant(shift.float().view(shape))))
    chain.finish()
    lowering.set_tensors(node, [lowering.tensor(node)])


def _pool(lowering: Lowering, node: Node, pooling: Pooling, item: bool = False) -> None:
    x = lowering.tensor(node.args[0])
    getter = next((user for user in node.users if user.args[1] == 0), None) if item else None
    out, image = output_of(lowering, node if getter is None else getter)
    lowering.emit(Pool2d(input=image_of(lowering, x, node), output=image, pooling=pooling), node)
    lowering.set_tensors(node, [out]) if item else lowering.set_tensor(node, out)


def max_pooling(node: Node) -> Pooling:
    """Returns the parameters of a max_pool2d node."""
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    window = make_window(kernel, stride, pair(argument(node, 3), 0), pair(argument(node, 4), 1))
    return Pooling(window=window, is_maximum=True)


def average_pooling(node: Node) -> Pooling:
    """Returns the parameters of an avg_pool2d node."""
    kernel = pair(node.args[1])
    return Pooling(
        window=make_window(kernel, pair(argument(node, 2), kernel), pair(argument(node, 3), 0)),
        divisor=int(argument(node, 6) or 0),
        counts_padding=bool(argument(node, 5, True)),
    )


def max_pool2d_with_indices(lowering: Lowering, node: Node) -> None:
    """Lowers max pooling whose indices are not used."""
    _pool(lowering, node, max_pooling(node), item=True)


def max_pool2d(lowering: Lowering, node: Node) -> None:
    """Lowers max pooling."""
    _pool(lowering, node, max_pooling(node))


def _pool_before_convolution(lowering: Lowering, node: Node, window: Window) -> bool:
    """Moves average pooling before the 1 x 1 convolution that computes its input, if this is less work.

    Returns:
        Whether the pooling was moved.
    """
    found = lowering.convolution_of(node.args[0], node)
    if found is None or type(found[1]) is not Convolution or not found[1].is_pointwise:
        return False
    step, convolution = found
    if convolution.clamps or convolution.residual is not None:
        return False
    source, before = convolution.input, convolution.output
    x = lowering.tensor(node.args[0])
    if x.rank != 4 or not x.permute((0, 2, 3, 1)).has_layout_of(before):  # a permuted view of the result
        return False
    pixels, means = source.sizes[1:3], lowering.sizes(node)[2:]
    # The mean of a window that is partly outside the image is over fewer pixels, or includes zeros.
    if not _has_windows_inside(window, pixels, means) or not same(source.strides[3], 1):
        return False
    # The tensor between the two steps must not become larger.
    if product(means) * source.sizes[3] > product(pixels) * before.sizes[3]:
        return False
    out, image = output_of(lowering, node)
    pooled = lowering.new_image((*out.sizes[:1], source.sizes[3], *means)).permute((0, 2, 3, 1))
    lowering.remove_step(step)
    pooling = Pooling(window=window, counts_padding=True)
    lowering.emit(Pool2d(input=source, output=pooled, pooling=pooling), node)
    convolution.input, convolution.output = pooled, image
    lowering.append_step(step, node)
    lowering.set_tensor(node, out)
    return True


def _has_windows_inside(window: Window, pixels: Sequence[Size], means: Sequence[Size]) -> bool:
    """Returns whether all windows are inside of an image, whose size is known.

    Args:
        window: the window.
        pixels: the height and width of the image.
        means: the numbers of windows along both.
    """
    kernels, strides = (window.kernel_h, window.kernel_w), (window.stride_h, window.stride_w)
    return not (window.pad_h or window.pad_w) and all(
        isinstance(size, int) and isinstance(count, int) and (count - 1) * stride + kernel <= size
        for size, count, kernel, stride in zip(pixels, means, kernels, strides, strict=True)
    )


def avg_pool2d(lowering: Lowering, node: Node) -> None:
    """Lowers average pooling; it may be moved before a 1 x 1 convolution, see `_pool_before_convolution`."""
    pooling = average_pooling(node)
    if pooling.divisor or not _pool_before_convolution(lowering, node, pooling.window):
        _pool(lowering, node, pooling)


MAX_PARTS = 64
"""The maximum number of windows of different sizes; each becomes a reduction."""


def _windows(size: int, count: int) -> list[tuple[int, int]]:
    """Returns the first index and the length of each window of adaptive pooling along an axis."""
    begins = [i * size // count for i in range(count)]
    return [(begin, -(-(i + 1) * size // count) - begin) for i, begin in enumerate(begins)]


def _reduce_windows(lowering: Lowering, node: Node, image: Tensor, reduction: Reduction) -> None:
    """Emits adaptive pooling with windows of different sizes, one reduction for each window.

    Args:
        lowering: the steps emitted so far.
        node: the pooling.
        image: the result [n, h, w, c].
        reduction: the mean or the maximum.
    """
    source = image_of(lowering, lowering.tensor(node.args[0]), node)
    height, width = ([int(tensor.sizes[axis]) for tensor in (source, image)] for axis in (1, 2))
    for row, (top, rows) in enumerate(_windows(*height)):
        for column, (left, columns) in enumerate(_windows(*width)):
            part = source.narrow(1, top, rows).narrow(2, left, columns)
            target = image.select(2, column).select(1, row)
            lowering.emit(Reduce(input=part, output=target, reduction=reduction, kept=1, reduced=2), node)


def _has_equal_windows(node: Node) -> bool:
    """Returns whether all windows of adaptive pooling have the same size."""
    source, result = tensors_of(node.args[0])[0], tensors_of(node)[0]  # type: ignore[arg-type]
    return not any(a % b for a, b in zip(source.shape[2:], result.shape[2:], strict=True))


def adaptive_avg_pool2d(lowering: Lowering, node: Node) -> None:
    """Lowers adaptive average pooling.

    It becomes a mean over all pixels if the output has one pixel, average pooling if all windows have the
    same size, and otherwise one mean for each window.
    """
    x = lowering.tensor(node.args[0])
    sizes: tuple[Size, ...] = lowering.sizes(node)
    height, width = x.sizes[-2] // sizes[-2], x.sizes[-1] // sizes[-1]
    if same(sizes[-1], 1) and same(sizes[-2], 1):
        lowering.set_tensor(node, reduced(lowering, node, x, Reduction.MEAN, (2, 3)))
        return
    if not _has_equal_windows(node):
        out, image = output_of(lowering, node)
        _reduce_windows(lowering, node, image, Reduction.MEAN)
        lowering.set_tensor(node, out)
        return
    _pool(lowering, node, Pooling(window=make_window((height, width), (height, width))))


def adaptive_max_pool2d(lowering: Lowering, node: Node) -> None:
    """Lowers adaptive max pooling whose indices are not used."""
    x = lowering.tensor(node.args[0])
    result = tensors_of(node)[0]
    if tuple(result.shape[2:]) == (1, 1):
        lowering.set_tensors(node, [reduced(lowering, node, x, Reduction.MAXIMUM, (2, 3))])
        return
    if not _has_equal_windows(node):
        out = lowering.new_image([lowering.symbols.register(size) for size in result.shape])
        _reduce_windows(lowering, node, out.as_image(), Reduction.MAXIMUM)
        lowering.set_tensors(node, [out])
        return
    height, width = (x.sizes[axis] // result.shape[axis] for axis in (-2, -1))
    window = make_window((height, width), (height, width))
    _pool(lowering, node, Pooling(window=window, is_maximum=True), item=True)


# Checks: each returns the reason why a node is refused, or None.


def check_convolution(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input, the weights or the geometry are not supported."""
    source, weight, bias, stride, padding, dilation, transposed, _, groups = node.args
    if rank_of(source) not in (3, 4, 5):
        return f"its input has {rank_of(source)} dimensions"
    if not constants.is_constant(weight) or not (bias is None or constants.is_constant(bias)):
        return "its weights are not constant"
    if is_empty(weight):
        return "its weights are empty"
    if any(int(p) < 0 for p in padding):  # type: ignore[union-attr, arg-type]
        return "its padding is negative"
    window = meta.get_tensor(weight)  # type: ignore[arg-type]
    if window is not None and (reason := check_window(window.shape[2:], stride, padding, dilation)):
        return reason
    if rank_of(source) == 5:
        return check_volume_convolution(node)
    if transposed:
        return check_transposed(node, [int(d) for d in dilation])  # type: ignore[union-attr, arg-type]
    if groups != 1 and window is not None and window.dim() == 4 and window.shape[2] > MAX_WINDOW_ROWS:
        return f"it is grouped and its window has {window.shape[2]} rows"
    return None


def check_batch_norm(node: Node, constants: Constants) -> str | None:
    """Refuses the node if its tensors are not constant, or more than the first result is used."""
    if not all(a is None or constants.is_constant(a) for a in node.args[1:5]):
        return "its statistics are not constant"
    return check_first_result_alone(node)


def check_max_pool2d_with_indices(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is not [n, c, h, w], or the indices are used."""
    if rank_of(node.args[0]) != 4:
        return "its input is not a batch of images"
    return check_first_result_alone(node) or check_window(*node.args[1:5])


def check_pool(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the input is not [n, c, h, w], or the divisor of average pooling is negative."""
    if rank_of(node.args[0]) != 4:
        return "its input is not a batch of images"
    divides = is_op(node, aten.avg_pool2d.default)
    divisor = argument(node, 6) if divides else None
    if divisor is not None and divisor < 0:
        return "its divisor is negative"
    return check_window(node.args[1], *node.args[2 : 4 if divides else 5])


def check_adaptive_max_pool(node: Node, constants: Constants) -> str | None:
    """Refuses the node if the indices are used, or it has many windows of different or dynamic sizes."""
    sizes = shape_of(node.args[0])  # type: ignore[arg-type]
    if not all(isinstance(size, int) for size in sizes[2:]):
        return "its image has a dynamic size"
    return check_first_result_alone(node) or check_adaptive_pool(node, constants)


def check_adaptive_pool(node: Node, constants: Constants) -> str | None:
    """Refuses an input that is not [n, c, h, w], and many windows of different or dynamic sizes."""
    if rank_of(node.args[0]) != 4:
        return "its input is not a batch of images"
    source, result = tensors_of(node.args[0])[0], tensors_of(node)[0]  # type: ignore[arg-type]
    if tuple(result.shape[2:]) == (1, 1):
        return None
    if not all(isinstance(n, int) for n in (*source.shape[2:], *result.shape[2:])):
        return "its image has a dynamic size"
    if 0 in result.shape:
        return "its output is empty"
    if not _has_equal_windows(node):
        many = result.shape[2] * result.shape[3] > MAX_PARTS or not all(source.shape[2:])
        return f"it has more than {MAX_PARTS} windows of different sizes" if many else None
    return check_window([a // b for a, b in zip(source.shape[2:], result.shape[2:], strict=True)])


ROWS: dict[object, Row] = {
    aten.convolution.default: Row(check_convolution, convolution),
    aten._native_batch_norm_legit_no_training.default: Row(check_batch_norm, batch_norm),
    aten.max_pool2d_with_indices.default: Row(check_max_pool2d_with_indices, max_pool2d_with_indices),
    aten.max_pool2d.default: Row(check_pool, max_pool2d),
    aten.avg_pool2d.default: Row(check_pool, avg_pool2d),
    aten._adaptive_avg_pool2d.default: Row(check_adaptive_pool, adaptive_avg_pool2d),
    aten.adaptive_avg_pool2d.default: Row(check_adaptive_pool, adaptive_avg_pool2d),
    aten.adaptive_max_pool2d.default: Row(check_adaptive_max_pool, adaptive_max_pool2d),
}
