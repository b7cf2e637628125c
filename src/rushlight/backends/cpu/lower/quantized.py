"""Lowers nodes with quantized operands or results to steps on int8."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.images import by_axis, channel_scale, output_of
from rushlight.backends.cpu.lower.int8_functions import Int8Function
from rushlight.backends.cpu.lower.lowering import in_order, order_of, result_order
from rushlight.backends.cpu.lower.products import rows_as_image, weight_only_product_of
from rushlight.backends.cpu.lower.quantized_lowering import (
    INT8_VALUES,
    MOVES,
    SPLITS,
    Int8Weight,
    QuantizedLowering,
)
from rushlight.backends.cpu.lower.quantized_pooling import average_pool, max_pool, mean
from rushlight.backends.cpu.lower.table import ROWS
from rushlight.backends.cpu.lower.transposed import TransposedFilter, phase_products, transposed_result
from rushlight.backends.cpu.lower.views import pad_by_copies
from rushlight.backends.cpu.plan.int8 import (
    Int4Linear,
    Int8Convolution,
    ResidualSum,
    int8_range,
)
from rushlight.backends.cpu.plan.sizes import Size, product, same
from rushlight.backends.cpu.plan.tables import (
    Int8Binary,
    Quantize,
    QuantizedGather,
    StorageKind,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument, aten_op, is_op
from rushlight.ir.quantization import (
    CHOOSE_QPARAMS,
    DYNAMIC_DEQUANTIZE,
    DYNAMIC_QUANTIZE,
    QuantParams,
    dequantize_params,
    dynamic_quantization,
    linear_operands,
    qd,
    quantize_params,
)

aten = torch.ops.aten

_POOLS = (aten.max_pool2d.default, aten.max_pool2d_with_indices.default)
_AVERAGES = (aten.avg_pool2d.default, aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default)
_OVER_IMAGES = (aten.convolution.default, *_POOLS, *_AVERAGES)


def lower_quantized(
    lowering: QuantizedLowering, node: Node, functions: dict[Node, Int8Function], constants: Constants
) -> bool:
    """Lowers a node with quantized operands or a quantized result, if a step on int8 can compute it.

    Args:
        lowering: the steps emitted so far.
        node: the node.
        functions: the int8 functions by their quantize nodes. The elementwise nodes of a function are not
            lowered by themselves.
        constants: the constants of the graph.

    Returns:
        Whether the node was lowered.
    """
    if is_op(node, qd.quantize_per_tensor.default):
        _quantize(lowering, node, functions.get(node), constants)
        return True
    if is_op(node, qd.dequantize_per_tensor.default):
        _dequantize(lowering, node)
        return True
    if _lower_dynamic(lowering, node):
        return True
    source = node.args[0] if node.args else None
    if isinstance(source, Node) and node in lowering.fused_clamps and source in lowering.quant_params:
        lowering.set_quantized(node, lowering.stored_tensor(source), lowering.quant_params[source])
        return True
    lower = _ROWS.get(node.target if node.target is operator.getitem else aten_op(node.target))
    return lower is not None and lower(lowering, node)


def _quantize(
    lowering: QuantizedLowering, node: Node, function: Int8Function | None, constants: Constants
) -> None:
    params = quantize_params(node)
    assert params is not None
    params = params.as_int8()
    source = node.args[0]
    if isinstance(source, Node) and source in lowering.quant_params or function is not None:
        origin = source if function is None else function.source
        assert isinstance(origin, Node)
        stored, old = lowering.stored_tensor(origin), lowering.quant_params[origin]
        if function is None and params.includes_range_of(old):
            lowering.set_tensor(node, stored)
            return
        table = (
            params.quantize(old.dequantize(INT8_VALUES))
            if function is None
            else function.table(old, params, constants)
        )
        out = lowering.new_tensor(stored.sizes, order_of(lowering, stored), torch.int8)
        lowering.set_tensor(node, lowering.emit_lookup(stored, table, out, node))
        return
    x = lowering.tensor(source)
    channels_last = x.rank == 4 and any(is_op(u, *_OVER_IMAGES) for user in node.users for u in user.users)
    order = (0, 2, 3, 1) if channels_last else order_of(lowering, x)
    out = lowering.new_tensor(x.sizes, order, torch.int8)
    lowering.emit(Quantize(input=x, output=out, scale=params.scale, range=int8_range(params)), node)
    lowering.set_tensor(node, out)


def _dequantize(lowering: QuantizedLowering, node: Node) -> None:
    params = dequantize_params(node)
    source = node.args[0]
    assert params is not None and isinstance(source, Node)
    stored = lowering.uint8_as_int8(lowering.stored_tensor(source), node)
    lowering.set_quantized(node, stored, params.as_int8())


def _lower_dynamic(lowering: QuantizedLowering, node: Node) -> bool:
    if is_op(node, *CHOOSE_QPARAMS, *DYNAMIC_QUANTIZE):
        return True
    source = node.args[0] if node.args else None
    if node.target is operator.getitem:
        return is_op(source, *CHOOSE_QPARAMS)
    if is_op(node, *DYNAMIC_DEQUANTIZE):
        found = dynamic_quantization(node)
        assert found is not None
        lowering.set_tensor(node, lowering.tensor(found.source))
        lowering.dynamic_params[node] = found.params
        return True
    if isinstance(source, Node) and source in lowering.dynamic_params and is_op(node, *MOVES):
        ROWS[aten_op(node.target)].lower(lowering, node)
        lowering.dynamic_params[node] = lowering.dynamic_params[source]
        return True
    return False


def _bias(lowering: QuantizedLowering, node: object, outputs: int) -> torch.Tensor | None:
    value = lowering.constant_value(node)
    return None if value is None else value.detach().float().expand(outputs).contiguous()


def _finish_product(
    lowering: QuantizedLowering,
    node: Node,
    source: Node,
    weight: Int8Weight,
    result: Callable[[torch.dtype], tuple[Tensor, Tensor]],
    left: Tensor,
    rows: tuple[Tensor, Tensor] | None,
    **options: Any,
) -> None:
    """Emits a product with constant int8 weights.

    Args:
        lowering: the steps emitted so far.
        node: the product.
        source: the LHS node.
        weight: the weights.
        result: allocates the result in a dtype; returns it and its view as an image.
        left: the int8 LHS as an image.
        rows: the scales and zero points of the rows of a dynamically quantized LHS, or None.
        options: further attributes of the operation.
    """
    quantization = lowering.result_quantization(node) if rows is None else None
    params = lowering.quant_params[source] if rows is None else QuantParams(1.0, 0)
    out, image = result(torch.float32 if quantization is None else torch.int8)
    scales, zeros = (None, None) if rows is None else rows
    step = Int8Convolution(
        input=left,
        row_scale=scales,
        row_zero_point=zeros,
        output=image,
        weight=weight.values,
        scales=weight.scales * params.scale,
        zero=params.zero_point,
        result=None if quantization is None else quantization.params,
        **options,
    )
    lowering.emit(step, node)
    if quantization is None:
        lowering.set_tensor(node, out)
        return
    lowering.set_quantized_result(node, out)


def _convolution(lowering: QuantizedLowering, node: Node) -> bool:
    source, weight_node, bias, stride, padding, dilation, is_transposed, _, groups = node.args
    weight = lowering.int8_weight(weight_node, axis=1 if is_transposed else 0)
    if source not in lowering.quant_params or weight is None:
        return False
    assert isinstance(source, Node) and isinstance(groups, int)
    if is_transposed:
        _transposed_convolution(lowering, node, source, weight)
        return True
    stored = lowering.stored_tensor(source)
    values = weight.values.unsqueeze(2) if weight.values.dim() == 3 else weight.values
    is_depthwise = groups > 1 and values.shape[1] == 1 and values.shape[0] == groups
    if is_depthwise and lowering.result_quantization(node) is None:
        return False
    left = lowering.contiguous_image(stored, node)
    if is_depthwise:
        left = _in_arena(lowering, left, node)

    _finish_product(
        lowering,
        node,
        source,
        Int8Weight(values, weight.scales),
        partial(output_of, lowering, node),
        left,
        None,
        bias=_bias(lowering, bias, values.shape[0]),
        stride=by_axis(stride, stored.rank, 1),
        padding=by_axis(padding, stored.rank, 0),
        dilation=by_axis(dilation, stored.rank, 1),
        groups=groups,
    )
    return True


def _transposed_convolution(
    lowering: QuantizedLowering, node: Node, source: Node, weight: Int8Weight
) -> None:
    """Lowers a transposed convolution without groups to int8 convolutions, which compute its phases.

    Int8 convolutions have dense results. Copies put these between the pixels of the other phases.
    """
    stored, params = lowering.stored_tensor(source), lowering.quant_params[source]
    values = weight.values.unsqueeze(2) if weight.values.dim() == 3 else weight.values
    strides, pads = by_axis(node.args[3], stored.rank, 1), by_axis(node.args[4], stored.rank, 0)
    bias = _bias(lowering, node.args[2], values.shape[1])
    quantization = lowering.result_quantization(node)
    dtype = torch.float32 if quantization is None else torch.int8
    image = lowering.contiguous_image(stored, node)
    whole, out = transposed_result(lowering, node, strides[1], dtype)
    filters = TransposedFilter(values, bias, strides, pads, groups=1)
    for phase in phase_products(lowering, node, whole, filters):
        is_dense = phase.output.is_contiguous()
        dense = phase.output if is_dense else lowering.new_tensor(phase.output.sizes, dtype=dtype)
        step = Int8Convolution(
            input=image,
            output=dense,
            weight=phase.weight,
            scales=(weight.scales * params.scale).repeat(phase.phases),
            bias=None if bias is None else bias.repeat(phase.phases),
            padding=phase.padding,
            zero=params.zero_point,
            result=None if quantization is None else quantization.params,
        )
        lowering.emit(step, node)
        if not is_dense:
            lowering.emit_copy(dense, phase.output, node)
    if quantization is None:
        lowering.set_tensor(node, out)
    else:
        lowering.set_quantized_result(node, out)


def _in_arena(lowering: QuantizedLowering, image: Tensor, node: Node) -> Tensor:
    """Returns an image that a depthwise convolution can read, copied if necessary."""
    if image.storage.kind is StorageKind.ARENA:
        return image
    copied = lowering.new_tensor(image.sizes, dtype=image.dtype)
    lowering.emit_copy(image, copied, node)
    return copied


def _batch_norm(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers the batch norm of an int8 image to a depthwise convolution with a window of one pixel."""
    source = node.args[0]
    getter = next((user for user in node.users if user.args[1] == 0), None)
    if source not in lowering.quant_params or getter is None:
        return False
    assert isinstance(source, Node)
    stored, quantization = lowering.stored_tensor(source), lowering.result_quantization(getter)
    if quantization is None or stored.rank not in (3, 4):
        return False
    params = lowering.quant_params[source]
    scale, shift = channel_scale(lowering, node)
    out, image = output_of(lowering, getter, torch.int8)
    step = Int8Convolution(
        input=_in_arena(lowering, lowering.contiguous_image(stored, node), node),
        output=image,
        weight=torch.ones(len(scale), 1, 1, 1, dtype=torch.int8),
        scales=(scale * params.scale).float(),
        bias=shift.float(),
        groups=len(scale),
        zero=params.zero_point,
        result=quantization.params,
    )
    lowering.emit(step, node)
    lowering.set_tensors(node, [out])
    lowering.quant_params[node] = quantization.params
    lowering.fused_clamps.update(quantization.clamps)
    lowering.steps[-1].nodes += quantization.nodes
    return True


def _linear(lowering: QuantizedLowering, node: Node) -> bool:
    operands = linear_operands(node)
    if operands is None:
        return False
    source, weight_node, bias = operands.input, operands.weight, operands.bias
    weight = lowering.int8_weight(weight_node)
    if source not in lowering.dynamic_params and (source not in lowering.quant_params or weight is None):
        return _weight_only_product(lowering, node, source, weight_node, bias)
    if weight is None:
        return _int4_product(lowering, node, source, weight_node, bias)
    if weight.values.dim() != 2:
        return False
    stored = lowering.stored_tensor(source)
    scales = None
    if source in lowering.dynamic_params:
        left, *scales = lowering.quantize_rows(stored, lowering.dynamic_params[source], node)
    else:
        left = lowering.contiguous(stored, node)

    def result(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        out = lowering.new_tensor(lowering.sizes(node), dtype=dtype)
        return out, rows_as_image(out)

    values = weight.values[:, :, None, None]
    offset = _bias(lowering, bias, values.shape[0])
    pair_of_rows = None if scales is None else (scales[0], scales[1])
    int8_matrix = Int8Weight(values, weight.scales)
    _finish_product(
        lowering, node, source, int8_matrix, result, rows_as_image(left), pair_of_rows, bias=offset
    )
    return True


def _weight_only_product(
    lowering: QuantizedLowering, node: Node, source: Node, weight_node: object, bias: object
) -> bool:
    weight = lowering.grouped_weight(weight_node)
    if weight is None:
        return False
    offset = _bias(lowering, bias, weight.values.shape[0])
    lowering.set_tensor(node, weight_only_product_of(lowering, node, lowering.tensor(source), weight, offset))
    return True


def _int4_product(
    lowering: QuantizedLowering, node: Node, source: Node, weight_node: object, bias: object
) -> bool:
    weight = lowering.grouped_weight(weight_node)
    assert weight is not None
    unquantized = lowering.stored_tensor(source)
    left, scales, zeros = lowering.quantize_rows(unquantized, lowering.dynamic_params[source], node)
    out = lowering.new_tensor(lowering.sizes(node))
    step = Int4Linear(
        input=rows_as_image(left),
        row_scale=scales,
        row_zero_point=zeros,
        output=rows_as_image(out),
        weight=weight.values[:, :, None, None],
        bias=_bias(lowering, bias, weight.values.shape[0]),
        grouped=weight,
    )
    lowering.emit(step, node)
    lowering.set_tensor(node, out)
    return True


def _embedding(lowering: QuantizedLowering, node: Node) -> bool:
    table = lowering.grouped_weight(node.args[0])
    if table is None:
        return False
    ids, sizes = lowering.tensor(node.args[1]), lowering.sizes(node)
    rows = product(ids.sizes)
    flat = lowering.reshape(ids, (rows,), node)
    out = lowering.new_tensor(sizes)
    target = out.view((rows, sizes[-1]))
    assert target is not None
    step = QuantizedGather(
        table_of_rows=constant(table.stored()),
        indices=flat,
        table_scale=constant(table.scales.float().flatten()),
        output=target,
        bits=table.bits,
        rows=table.values.shape[0],
        columns=table.values.shape[1],
        group=table.group,
    )
    lowering.emit(step, node)
    lowering.set_tensor(node, out)
    return True


def _binary(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers a sum, a difference or a product of two int8 tensors whose result is quantized."""
    a, b = node.args[:2]
    quantization = lowering.result_quantization(node)
    if a not in lowering.quant_params or b not in lowering.quant_params or quantization is None:
        return False
    if argument(node, 2, 1) != 1:
        return False
    assert isinstance(a, Node) and isinstance(b, Node)
    sizes = lowering.sizes(node)
    params = [lowering.quant_params[a], lowering.quant_params[b]]
    inputs = [lowering.stored_tensor(a), lowering.stored_tensor(b)]
    if (
        is_op(node, aten.add.Tensor)
        and a is not b
        and (_fuse_addition(lowering, node, a, b) or _fuse_addition(lowering, node, b, a))
    ):
        return True
    out_params = quantization.params
    multiplies = is_op(node, aten.mul.Tensor)
    factors = [p.scale / out_params.scale for p in params]
    if multiplies:
        factors = [params[0].scale * params[1].scale / out_params.scale, 0.0]
    elif is_op(node, aten.sub.Tensor):
        factors[1] = -factors[1]
    operands = [tensor.expand(sizes) for tensor in inputs]
    order = result_order(lowering, operands)
    out = lowering.new_tensor(sizes, order, torch.int8)
    first, second = (in_order(lowering, operand, order) for operand in operands)
    step = Int8Binary(
        a=first,
        b=second,
        output=out,
        multiplies=multiplies,
        a_zero_point=params[0].zero_point,
        b_zero_point=params[1].zero_point,
        range=int8_range(out_params),
        a_factor=factors[0],
        b_factor=factors[1],
    )
    lowering.emit(step, node)
    lowering.set_quantized_result(node, out)
    return True


def _fuse_addition(lowering: QuantizedLowering, node: Node, source: Node, other: Node) -> bool:
    """Fuses the addition of two int8 tensors into the product that computes `source`.

    Returns:
        Whether this was possible.
    """
    found = lowering.int8_convolution_of(source, node)
    quantization = lowering.result_quantization(node)
    x, y = lowering.stored_tensor(source), lowering.stored_tensor(other)
    if (
        found is None
        or quantization is None
        or not x.has_layout_of(y)
        or not _has_sizes(x, lowering.sizes(node))
    ):
        return False
    step, product_of_int8 = found
    source_params, other_params = lowering.quant_params[source], lowering.quant_params[other]
    if product_of_int8.result is None or not source_params.same_mapping(product_of_int8.result):
        return False
    scale = quantization.params.scale
    factors = (source_params.scale / scale, other_params.scale / scale)
    out = product_of_int8.output
    product_of_int8.sum = ResidualSum(other_params.zero_point, factors, quantization.params)
    product_of_int8.residual = replace(out, storage=y.storage, offset=y.offset + out.offset - x.offset)
    lowering.remove_step(step)
    lowering.append_step(step, node)
    lowering.set_quantized_result(node, x)
    return True


def _has_sizes(tensor: Tensor, sizes: tuple[Size, ...]) -> bool:
    return tensor.rank == len(sizes) and all(same(a, b) for a, b in zip(tensor.sizes, sizes, strict=True))


def _concatenate(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers a concatenation of int8 tensors, which are converted to common parameters."""
    sources: Any = node.args[0]
    if any(source not in lowering.quant_params for source in sources):
        return False
    params = [lowering.quant_params[source] for source in sources]
    quantization = lowering.result_quantization(node)
    if quantization is None:
        if not all(each.same_mapping(params[0]) for each in params):
            return False
        out_params = params[0]
    else:
        out_params = quantization.params
    inputs = [lowering.stored_tensor(source) for source in sources]
    sizes = lowering.sizes(node)
    if any(tensor.rank != len(sizes) for tensor in inputs):
        return False
    axis = int(argument(node, 1, 0)) % len(sizes)
    largest = max(inputs, key=lambda tensor: lowering.symbols.upper(product(tensor.sizes)))
    out = lowering.new_tensor(sizes, order_of(lowering, largest), torch.int8)
    at: Size = 0
    for tensor, old in zip(inputs, params, strict=True):
        part = out.narrow(axis, at, tensor.sizes[axis])
        lowering.emit_requantize(tensor, old, out_params, part, node)
        at = at + tensor.sizes[axis]
    lowering.set_quantized(node, out, out_params)
    if quantization is not None:
        lowering.fused_clamps.update(quantization.clamps)
    return True


def _pad(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers constant padding of an int8 tensor, if a number of its quantization is the value."""
    source = node.args[0]
    if source not in lowering.quant_params:
        return False
    assert isinstance(source, Node)
    params, value = lowering.quant_params[source], float(argument(node, 2, 0) or 0)
    number = params.quantize_number(value)
    if float(params.dequantize(torch.tensor(number))) != value:
        return False
    padded = pad_by_copies(lowering, node, lowering.stored_tensor(source), number)
    lowering.set_quantized(node, padded, params)
    return True


def _move(lowering: QuantizedLowering, node: Node) -> bool:
    """Lowers an operator that only moves the elements of an int8 tensor, such as a view."""
    source = node.args[0]
    if source not in lowering.quant_params:
        return False
    assert isinstance(source, Node)
    op = node.target if node.target is operator.getitem else aten_op(node.target)
    with lowering.without_dequantization():
        ROWS[op].lower(lowering, node)
    lowering.quant_params[node] = lowering.quant_params[source]
    return True


QUANTIZED = frozenset(
    {qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default, *CHOOSE_QPARAMS}
    | {*DYNAMIC_QUANTIZE, *DYNAMIC_DEQUANTIZE}
)
"""Operators that `lower_quantized` always lowers."""

QuantizedLower = Callable[[QuantizedLowering, Node], bool]
_ROWS: dict[object, QuantizedLower] = {
    aten.convolution.default: _convolution,
    **dict.fromkeys((aten.linear.default, aten.addmm.default, aten.mm.default, aten.matmul.default), _linear),
    **dict.fromkeys((aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor), _binary),
    aten._native_batch_norm_legit_no_training.default: _batch_norm,
    aten.embedding.default: _embedding,
    aten.mean.dim: mean,
    **dict.fromkeys(_AVERAGES, average_pool),
    **dict.fromkeys(_POOLS, max_pool),
    aten.cat.default: _concatenate,
    aten.constant_pad_nd.default: _pad,
    **dict.fromkeys((*MOVES, *SPLITS, operator.getitem), _move),
}
