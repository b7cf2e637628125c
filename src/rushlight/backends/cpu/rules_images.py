"""Convolutions, pooling and batch norm."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.bottlenecks import is_product
from rushlight.backends.cpu.drafts import BINARY, ConvolutionDraft, Draft
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Chain, Lowering, rule
from rushlight.backends.cpu.rules_transposed import transposed_convolution
from rushlight.backends.cpu.sizes import Size, product, same
from rushlight.backends.cpu.tensor import Tensor
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten
FEW_CHANNELS = 8  # the step gathers windows of so few, in whatever order they lie


def pair(value: Any, default: Any = 1) -> tuple[int, int]:
    """Height and width; of one number, for an image of one row, the width."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return pair(default)
    if isinstance(value, int):
        return value, value
    return (int(value[0]), int(value[0])) if len(value) == 1 else (int(value[0]), int(value[1]))


def image_of(lowering: Lowering, tensor: Tensor, node: Node, any_order: bool = False) -> Tensor:
    """[n, h, w, c] of a batch of images or rows, [n, c, h, w] or [n, c, w]."""
    if tensor.rank == 3:
        tensor = tensor.with_one(2)
    if not any_order:
        tensor = lowering.with_inner(tensor, 1, node)
    return tensor.permute((0, 2, 3, 1))


def output_of(lowering: Lowering, node: Node, source: Node | None = None) -> tuple[Tensor, Tensor]:
    """The node's tensor, and the same as [n, h, w, c]."""
    sizes = lowering.sizes(node if source is None else source)
    order = (0, 2, 3, 1) if len(sizes) == 4 else (0, 2, 1)
    out = lowering.new(sizes, order)
    image = out if out.rank == 4 else out.with_one(2)
    return out, image.permute((0, 2, 3, 1))


def _by_axis(value: Any, rank: int, fill: int) -> tuple[int, int]:
    """An option of a convolution by height and width; rows have a height of 1."""
    items = [int(v) for v in value]
    if rank == 3:
        return fill, items[0]
    return (items[0], items[0]) if len(items) == 1 else (items[0], items[1])


@rule(aten.convolution.default)
def convolution(lowering: Lowering, node: Node) -> None:
    source, weight_node, bias_node, stride, padding, dilation, transposed, _, groups = node.args
    x = lowering.tensor(source)
    weight = lowering.constants[weight_node]  # type: ignore[index]
    bias = None if bias_node is None else lowering.constants[bias_node]  # type: ignore[index]
    if weight.dim() == 3:
        weight = weight.unsqueeze(2)
    assert isinstance(groups, int)
    channels = weight.shape[0 if transposed else 1]
    any_order = groups == 1 and channels < FEW_CHANNELS
    if transposed:
        transposed_convolution(
            lowering,
            node,
            image_of(lowering, x, node, any_order),
            weight.detach(),
            None if bias is None else bias.detach().float(),
            _by_axis(stride, x.rank, 1),
            _by_axis(padding, x.rank, 0),
            groups,
        )
        return
    out, image = output_of(lowering, node)
    draft = ConvolutionDraft(
        StepKind.PRODUCT,
        [image_of(lowering, x, node, any_order), None, None, None, image],
        weight=weight.detach().float(),
        stored=lowering.stored_dtype(weight),
        rounds=weight.dtype is torch.bfloat16,
        bias=None if bias is None else bias.detach().float(),
        stride=_by_axis(stride, x.rank, 1),
        padding=_by_axis(padding, x.rank, 0),
        dilation=_by_axis(dilation, x.rank, 1),
        groups=groups,
    )
    lowering.emit(draft, node)
    lowering.set(node, out)


@rule(aten._native_batch_norm_legit_no_training.default)
def batch_norm(lowering: Lowering, node: Node) -> None:
    source, weight, bias, mean, variance, _, eps = node.args
    mean_value, variance_value = lowering.constants[mean], lowering.constants[variance]  # type: ignore[index]
    scale = torch.rsqrt(variance_value.double() + float(eps))  # type: ignore[arg-type]
    if weight is not None:
        scale = scale * lowering.constants[weight].double()  # type: ignore[index]
    shift = -mean_value.double() * scale
    if bias is not None:
        shift = shift + lowering.constants[bias].double()  # type: ignore[index]
    draft = lowering.convolution_of(source, node)
    if draft is not None and not draft.epilogue.clamps and draft.residual is None:
        draft.scale(scale.float().detach(), shift.float().detach())
        assert isinstance(source, Node)
        lowering.fused(draft, source, node)
        lowering.set_items(node, [lowering.tensor(source)])
        return
    assert isinstance(source, Node)
    sizes = lowering.sizes(source)
    shape = (-1, *(1,) * (len(sizes) - 2))
    chain = Chain(lowering, node, sizes)
    x = chain.take(source)
    scaled = chain.add(BINARY["mul"], x, chain.operand(lowering.constant(scale.float().view(shape))))
    chain.add(BINARY["add"], scaled, chain.operand(lowering.constant(shift.float().view(shape))))
    chain.finish()
    lowering.set_items(node, [lowering.tensor(node)])


def _pool(lowering: Lowering, node: Node, window: list[int], ints: list[int], item: bool = False) -> None:
    x = lowering.tensor(node.args[0])
    getter = next((user for user in node.users if user.args[1] == 0), None) if item else None
    out, image = output_of(lowering, node, getter)
    draft = Draft(StepKind.POOL, [image_of(lowering, x, node), image], ints=[*window, *ints])
    lowering.emit(draft, node)
    lowering.set_items(node, [out]) if item else lowering.set(node, out)


def _max_pool(lowering: Lowering, node: Node, item: bool) -> None:
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    window = [*kernel, *stride, *pair(argument(node, 3), 0), *pair(argument(node, 4), 1)]
    _pool(lowering, node, window, [1, 0, 0], item)


@rule(aten.max_pool2d_with_indices.default)
def max_pool2d_with_indices(lowering: Lowering, node: Node) -> None:
    _max_pool(lowering, node, item=True)


@rule(aten.max_pool2d.default)
def max_pool2d(lowering: Lowering, node: Node) -> None:
    _max_pool(lowering, node, item=False)


def _pool_before(lowering: Lowering, node: Node, window: list[int]) -> bool:
    """Makes means of what a convolution of 1 x 1 gives its results for means, of which there are fewer, and
    whether it did.
    """
    draft = lowering.convolution_of(node.args[0], node)
    if draft is None or not is_product(draft) or draft.epilogue.clamps or draft.residual is not None:
        return False
    source, before = draft.operands[0], draft.out
    assert source is not None
    pixels, means = source.sizes[1:3], lowering.sizes(node)[2:]
    # Windows that reach outside would be means of fewer, or of zeros as well.
    inside = all(
        isinstance(count, int) and isinstance(mean, int) and (mean - 1) * stride + kernel <= count
        for count, mean, kernel, stride in zip(pixels, means, window[0:2], window[2:4], strict=True)
    )
    if not inside or any(window[4:6]) or not same(source.strides[3], 1):
        return False
    # What lies between is no larger than before.
    if product(means) * source.sizes[3] > product(pixels) * before.sizes[3]:
        return False
    out, image = output_of(lowering, node)
    pooled = lowering.new_image((*out.sizes[:1], source.sizes[3], *means)).permute((0, 2, 3, 1))
    lowering.drop(draft)
    lowering.emit(Draft(StepKind.POOL, [source, pooled], ints=[*window, 0, 0, 1]), node)
    draft.operands = [pooled, *draft.operands[1:-1], image]
    lowering.emit(draft, node)
    lowering.set(node, out)
    return True


@rule(aten.avg_pool2d.default)
def avg_pool2d(lowering: Lowering, node: Node) -> None:
    kernel = pair(node.args[1])
    window = [*kernel, *pair(argument(node, 2), kernel), *pair(argument(node, 3), 0), 1, 1]
    counts_padding = argument(node, 5, True)
    divisor = argument(node, 6) or 0
    if not divisor and _pool_before(lowering, node, window):
        return
    _pool(lowering, node, window, [0, int(divisor), int(bool(counts_padding))])


@rule(aten._adaptive_avg_pool2d.default, aten.adaptive_avg_pool2d.default)
def adaptive_avg_pool2d(lowering: Lowering, node: Node) -> None:
    x = lowering.tensor(node.args[0])
    sizes: tuple[Size, ...] = lowering.sizes(node)
    height, width = x.sizes[-2] // sizes[-2], x.sizes[-1] // sizes[-1]
    if same(sizes[-1], 1) and same(sizes[-2], 1):
        out = lowering.new_image(sizes)
        image = lowering.with_inner(x, 1, node).permute((0, 2, 3, 1))
        target = out.permute((0, 2, 3, 1)).without(1).without(1)
        lowering.emit(Draft(StepKind.REDUCE, [image, target], ints=[1, 1, 2]), node)
        lowering.set(node, out)
        return
    _pool(lowering, node, [height, width, height, width, 0, 0, 1, 1], [0, 0, 0])
