"""Selects the algorithm of each convolution and product, and packs the weights."""

from __future__ import annotations

from typing import Any

import torch

from rushlight.backends.cpu.cost import grouped_product_cycles
from rushlight.backends.cpu.optimize.block_gemm import block_gemm, block_gemms
from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.optimize.select_int8 import int4_gemm, int8_operation, weight_only_gemm
from rushlight.backends.cpu.options import Options
from rushlight.backends.cpu.pack.panels import (
    pack_panels,
    padded,
    product_weights,
    winograd_taps,
    winograd_weights,
    winograd_weights_stride2,
)
from rushlight.backends.cpu.plan.int8 import (
    Int4Linear,
    Int8Convolution,
    WeightOnlyLinear,
    WeightOnlyRecurrentLayer,
)
from rushlight.backends.cpu.plan.node import Convolution, PlanNode, RecurrentLayer
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.backends.cpu.plan.sizes import Symbols, same
from rushlight.backends.cpu.plan.tables import (
    DepthwiseConv2d,
    Gemm,
    GroupedConv2d,
    Recurrent,
    WeightOnlyRecurrent,
    Winograd,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant, stored_constant

# Larger weights are not transformed: transformed numbers must be finite for inputs up to 1e19.
_MAX_WEIGHT = 1e8


def select_algorithms(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Replaces each convolution, product and recurrent layer by an operation of the schema."""
    of_blocks = block_gemms(steps, context)
    for step in steps:
        step.operation = _selected(step, step in of_blocks, context)
    return steps


def _selected(step: PlanNode, has_blocks: bool, context: Context) -> Operation[Tensor]:
    operation = step.operation
    if isinstance(operation, Int8Convolution):
        return int8_operation(operation, context)
    if isinstance(operation, Int4Linear):
        return int4_gemm(operation)
    if isinstance(operation, WeightOnlyLinear):
        return weight_only_gemm(operation)
    if isinstance(operation, Convolution):
        return block_gemm(operation, context) if has_blocks else _convolution(operation, context)
    if isinstance(operation, RecurrentLayer):
        return _recurrent(operation, context)
    return operation


def _recurrent(layer: RecurrentLayer, context: Context) -> Operation[Tensor]:
    operands: dict[str, Any] = {
        "projected": layer.projected,
        "bias": layer.bias,
        "first_state": layer.first_state,
        "first_cell": layer.first_cell,
        "output": layer.output,
        "last_state": layer.last_state,
        "last_cell": layer.last_cell,
        "is_gru": layer.is_gru,
        "hidden": layer.hidden,
        "is_backward": layer.is_backward,
    }
    if isinstance(layer, WeightOnlyRecurrentLayer):
        return WeightOnlyRecurrent(
            **operands,
            weight=constant(layer.grouped.stored()),
            weight_scale=constant(layer.grouped.scales.float().flatten()),
            bits=layer.grouped.bits,
            group=layer.grouped.group,
        )
    weights = pack_panels(layer.weight.t()[None], context.options.target)
    return Recurrent(**operands, weight=stored_constant(weights, layer.weight_dtype))


def _convolution(convolution: Convolution, context: Context) -> Operation[Tensor]:
    if convolution.is_depthwise:
        return _depthwise(convolution)
    if convolution.has_small_groups and convolution.residual is None:
        return _grouped(convolution)
    m = winograd_size(convolution, context.options, context.symbols)
    return _winograd(convolution, m, context.options) if m else _gemm(convolution, context.options)


def _depthwise(convolution: Convolution) -> DepthwiseConv2d[Tensor]:
    weights = convolution.weight.view(convolution.weight.shape[0], -1).t()
    return DepthwiseConv2d(
        input=convolution.input,
        weight=stored_constant(weights.flatten(), convolution.weight_dtype),
        bias=None if convolution.bias is None else constant(convolution.bias),
        output=convolution.output,
        window=convolution.window,
        epilogue=convolution.epilogue,
    )


def _grouped(convolution: Convolution) -> GroupedConv2d[Tensor]:
    weights = convolution.weight.permute(1, 2, 3, 0).contiguous()
    return GroupedConv2d(
        input=convolution.input,
        weight=stored_constant(weights.flatten(), convolution.weight_dtype),
        bias=None if convolution.bias is None else constant(convolution.bias),
        output=convolution.output,
        window=convolution.window,
        groups=convolution.groups,
        epilogue=convolution.epilogue,
    )


def _winograd(convolution: Convolution, m: int, options: Options) -> Winograd[Tensor]:
    outputs, channels = convolution.weight.shape[:2]
    groups = convolution.groups
    keeps_taps = stores_taps(convolution, options)
    if convolution.stride == (2, 2):
        weights = winograd_weights_stride2(convolution.weight, groups, options.target)
    elif keeps_taps:
        weights = winograd_taps(convolution.weight, groups, options.target)
    else:
        weights = winograd_weights(convolution.weight, groups, m, options.target)
    return Winograd(
        input=convolution.input,
        weight=stored_constant(weights, convolution.weight_dtype),
        bias=None if convolution.bias is None else constant(padded(convolution.bias)),
        residual=convolution.residual,
        more_inputs=convolution.more_inputs,
        output=convolution.output,
        m=m,
        pad_h=convolution.padding[0],
        pad_w=convolution.padding[1],
        stride=convolution.stride[0],
        channels=channels,
        outputs=outputs // groups,
        epilogue=convolution.epilogue,
        transforms_weight=keeps_taps,
        groups=groups,
    )


def _gemm(convolution: Convolution, options: Options) -> Gemm[Tensor]:
    outputs, channels = convolution.weight.shape[:2]
    weights = product_weights(convolution.weight, convolution.groups, options.target)
    return Gemm(
        input=convolution.input,
        weight=stored_constant(weights, convolution.weight_dtype),
        bias=None if convolution.bias is None else constant(padded(convolution.bias)),
        residual=convolution.residual,
        more_inputs=convolution.more_inputs,
        output=convolution.output,
        window=convolution.window,
        groups=convolution.groups,
        channels=channels,
        outputs=outputs // convolution.groups,
        epilogue=convolution.epilogue,
        rounds_input=convolution.rounds_input,
    )


def stores_taps(convolution: Convolution, options: Options) -> bool:
    """Returns whether the file contains the untransformed weights of a Winograd convolution.

    This is necessary for 16-bit weights, because transformed weights would be too inexact in 16 bits.
    """
    return options.compact or convolution.weight_dtype is not torch.float32


def winograd_size(convolution: Convolution, options: Options, symbols: Symbols) -> int:
    """Returns m of Winograd's F(m x m, 3 x 3); 0 if a direct convolution is estimated to be faster.

    The errors, relative to the largest result, are about 1e-7 for m = 2 (less than the error of a direct
    convolution), up to 4e-6 for m = 3, and up to 1e-5 for m = 4. With the precision "highest" or stride 2, m
    is at most 2.
    """
    outputs, channels, *kernel = convolution.weight.shape
    groups = convolution.groups
    outputs //= groups
    is_strided = convolution.stride == (2, 2)
    if kernel != [3, 3] or convolution.dilation != (1, 1) or max(convolution.padding) > 2:
        return 0
    if channels < 16 or outputs < 16 or not (convolution.stride == (1, 1) or is_strided):
        return 0
    if is_strided and stores_taps(convolution, options):
        return 0
    if not convolution.weight.abs().max() <= _MAX_WEIGHT:  # false for NaN too
        return 0
    source, residual = convolution.input, convolution.residual
    if not is_strided and any(
        not same(out, size + 2 * padding - 2)
        for out, size, padding in zip(
            convolution.output.sizes[1:3], source.sizes[1:3], convolution.padding, strict=True
        )
    ):
        return 0
    if residual is not None and not residual.has_layout_of(convolution.output):
        return 0
    images, height, width = (symbols.upper(size) for size in convolution.output.sizes[:3])
    target = options.target
    costs = {0: grouped_product_cycles(groups, images * height * width, 9 * channels, outputs, target)}
    for m in (2,) if options.is_highest or is_strided else (2, 3, 4):
        tiles = images * -(-height // m) * -(-width // m)
        inputs, points = (25, 9) if is_strided else ((m + 2) ** 2, (m + 2) ** 2)
        products = inputs * grouped_product_cycles(groups, tiles, channels, outputs, target)
        vectors = groups * tiles * (inputs * channels + points * outputs) / target.vector
        costs[m] = products + vectors * target.transform_cycles
    return min(costs, key=lambda m: costs[m])
