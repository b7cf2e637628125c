"""Lowers means and poolings of quantized images to steps on int8."""

from __future__ import annotations

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.images import average_pooling, max_pooling
from rushlight.backends.cpu.lower.quantized_lowering import QuantizedLowering
from rushlight.backends.cpu.plan.int8 import int8_range
from rushlight.backends.cpu.plan.node import make_window
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import Int8Mean, Int8Pool2d, Int8Range, Pooling
from rushlight.ir.edge_ops import argument, is_op
from rushlight.ir.quantization import QuantParams

aten = torch.ops.aten

_MAX_AVERAGED = 1 << 22  # the maximum number of elements of a mean in int8
_MAX_POOLED = 1 << 14  # the maximum number of elements of a window of pooling in int8


def _averages(lowering: QuantizedLowering, node: Node) -> tuple[Node, QuantParams, QuantParams] | None:
    """Returns the operand of a mean or average pooling in int8, and the parameters of operand and result.

    The result is None if the operand or the result is not quantized.
    """
    source, quantization = node.args[0], lowering.result_quantization(node)
    if source not in lowering.quant_params or quantization is None:
        return None
    assert isinstance(source, Node)
    return source, lowering.quant_params[source], quantization.params


def mean(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers a mean of int8; returns whether it did."""
    found = _averages(lowering, node)
    if found is None or node.kwargs.get("dtype") is not None:
        return False
    rank = lowering.stored_tensor(found[0]).rank
    given = argument(node, 1)
    axes = sorted({axis % rank for axis in ([given] if isinstance(given, int) else given or range(rank))})
    return _mean_over(lowering, node, found, axes)


def _mean_over(
    lowering: QuantizedLowering, node: Node, found: tuple[Node, QuantParams, QuantParams], axes: list[int]
) -> bool:
    source, old, new = found
    stored = lowering.stored_tensor(source)
    count = product(stored.sizes[axis] for axis in axes)
    if lowering.symbols.upper(count) > _MAX_AVERAGED:
        return False
    kept = [axis for axis in range(stored.rank) if axis not in axes]
    inner = next((a for a in kept if same(stored.strides[a], 1) and not same(stored.sizes[a], 1)), None)
    outer = [axis for axis in kept if axis != inner]
    last = [] if inner is None else [inner]
    columns = product(stored.sizes[axis] for axis in last)
    rows = product(stored.sizes[axis] for axis in outer)
    left = lowering.contiguous(stored.permute([*outer, *axes, *last]), node).view((rows, count, columns))
    sizes = [1 if axis in axes else stored.sizes[axis] for axis in range(stored.rank)]
    out = lowering.new_tensor(sizes, [*outer, *axes, *last], torch.int8)
    flat = out.permute([*outer, *axes, *last]).view((rows, columns))
    result = out.view(lowering.sizes(node))
    assert left is not None and flat is not None and result is not None
    step = Int8Mean(
        input=left,
        output=flat,
        input_zero_point=old.zero_point,
        range=int8_range(new),
        factor=old.scale / new.scale,
    )
    lowering.emit(step, node)
    lowering.set_quantized_result(node, result)
    return True


def _is_large(pooling: Pooling) -> bool:
    """Returns whether a window has too many elements for pooling in int8; it then runs in float32."""
    return pooling.window.kernel_h * pooling.window.kernel_w > _MAX_POOLED


def average_pool(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers an average pooling of int8; returns whether it did."""
    found = _averages(lowering, node)
    if found is None:
        return False
    source, old, new = found
    stored, sizes = lowering.stored_tensor(source), lowering.sizes(node)
    if is_op(node, aten.avg_pool2d.default):
        pooling = average_pooling(node)
    elif same(sizes[-1], 1) and same(sizes[-2], 1):
        return _mean_over(lowering, node, found, [stored.rank - 2, stored.rank - 1])
    else:
        height, width = stored.sizes[-2] // sizes[-2], stored.sizes[-1] // sizes[-1]
        pooling = Pooling(window=make_window((height, width), (height, width)))
    if _is_large(pooling):
        return False
    out = lowering.new_image(sizes, torch.int8)
    step = Int8Pool2d(
        input=lowering.contiguous_image(stored, node),
        output=out.permute((0, 2, 3, 1)),
        pooling=pooling,
        input_zero_point=old.zero_point,
        range=int8_range(new),
        factor=old.scale / new.scale,
    )
    lowering.emit(step, node)
    lowering.set_quantized_result(node, out)
    return True


def max_pool(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers a max pooling of int8; returns whether it did."""
    source = node.args[0]
    if source not in lowering.quant_params or _is_large(max_pooling(node)):
        return False
    assert isinstance(source, Node)
    params = lowering.quant_params[source]
    has_items = is_op(node, aten.max_pool2d_with_indices.default)
    getter = next((user for user in node.users if user.args[1] == 0), node) if has_items else node
    out = lowering.new_image(lowering.sizes(getter), torch.int8)
    image = lowering.contiguous_image(lowering.stored_tensor(source), node)
    step = Int8Pool2d(
        input=image,
        output=out.permute((0, 2, 3, 1)),
        pooling=max_pooling(node),
        input_zero_point=params.zero_point,
        range=Int8Range(zero_point=params.zero_point),
    )
    lowering.emit(step, node)
    if has_items:
        lowering.set_tensors(node, [out])
        lowering.quant_params[node] = params
    else:
        lowering.set_quantized(node, out, params)
    return True
