"""Selects the algorithm of convolutions and linear layers with int8 or int4 weights, and packs weights."""

from __future__ import annotations

import math

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.pack.int8 import int8_columns, int8_packing, int8_weights, merge_groups
from rushlight.backends.cpu.plan.int8 import Int4Linear, Int8Convolution, WeightOnlyLinear, int8_range
from rushlight.backends.cpu.plan.operation import Operation
from rushlight.backends.cpu.plan.tables import (
    Int4Gemm,
    Int8DepthwiseConv2d,
    Int8Gemm,
    Int8GroupedConv2d,
    Int8Sum,
    WeightOnlyGemm,
)
from rushlight.backends.cpu.plan.tensor import Tensor, constant
from rushlight.backends.cpu.target import Target
from rushlight.ir.quantization import QuantParams

_WINOGRAD_PIXELS = 150
"""With fewer output pixels, Winograd's algorithm is slower, because it must read its larger weights."""


def int8_operation(convolution: Int8Convolution, context: Context) -> Operation[Tensor]:
    """Converts an int8 convolution to an operation of the schema."""
    options = context.options
    if convolution.is_depthwise:
        return _depthwise(convolution)
    if not options.compact and _has_groups_of_a_vector(convolution, options.target):
        return _grouped(convolution)
    return _gemm(convolution, context)


def _result_params(convolution: Int8Convolution) -> QuantParams:
    """Returns the quantization parameters of the result; the scale is 1 if the result is float32."""
    return QuantParams(1.0, 0) if convolution.result is None else convolution.result


def _multiplier(convolution: Int8Convolution) -> Tensor:
    """Returns the factor of each output channel from a sum of products to the scale of the result."""
    return constant((convolution.scales.double() / _result_params(convolution).scale).float())


def _offset(convolution: Int8Convolution) -> Tensor | None:
    """Returns the bias in the scale of the result."""
    if convolution.bias is None:
        return None
    return constant((convolution.bias.double() / _result_params(convolution).scale).float())


def _depthwise(convolution: Int8Convolution) -> Int8DepthwiseConv2d[Tensor]:
    outputs = convolution.weight.shape[0]
    return Int8DepthwiseConv2d(
        input=convolution.input,
        weight=constant(convolution.weight.reshape(outputs, -1).t().flatten()),
        offset=_offset(convolution),
        multiplier=_multiplier(convolution),
        output=convolution.output,
        window=convolution.window,
        input_zero_point=convolution.zero,
        range=int8_range(_result_params(convolution)),
    )


def _grouped(convolution: Int8Convolution) -> Int8GroupedConv2d[Tensor]:
    return Int8GroupedConv2d(
        input=convolution.input,
        weight=constant(int8_columns(convolution.weight, 1).flatten()),
        offset=_offset(convolution),
        multiplier=_multiplier(convolution),
        output=convolution.output,
        window=convolution.window,
        channels=convolution.weight.shape[1],
        input_zero_point=convolution.zero,
        range=int8_range(_result_params(convolution)),
    )


def _gemm(convolution: Int8Convolution, context: Context) -> Int8Gemm[Tensor]:
    options = context.options
    outputs, channels = convolution.weight.shape[:2]
    merged = 1 if options.compact else _groups_to_merge(convolution, options.target)
    groups = convolution.groups // merged
    weight = merge_groups(convolution.weight, convolution.groups, merged)
    packing = int8_packing(weight, groups, options.target, is_winograd=_may_be_winograd(convolution, context))
    return Int8Gemm(
        input=convolution.input,
        weight=constant(int8_weights(weight, groups, packing)),
        offset=_offset(convolution),
        residual=convolution.residual,
        row_scale=convolution.row_scale,
        row_zero_point=convolution.row_zero_point,
        multiplier=_multiplier(convolution),
        output=convolution.output,
        window=convolution.window,
        groups=groups,
        channels=channels * merged,
        outputs=outputs // groups,
        packing=packing,
        input_zero_point=convolution.zero,
        range=int8_range(_result_params(convolution)),
        epilogue=convolution.epilogue,
        sum=_sum(convolution),
    )


def _has_groups_of_a_vector(convolution: Int8Convolution, target: Target) -> bool:
    """Returns whether the step becomes an Int8GroupedConv2d.

    Its microkernels compute a vector of outputs, which belong to one or more whole groups. Larger groups fill
    the panels of an Int8Gemm, which computes two vectors at a time.
    """
    outputs, channels = convolution.weight.shape[0] // convolution.groups, convolution.weight.shape[1]
    return (
        convolution.groups > 1
        and convolution.result is not None
        and convolution.residual is None
        and outputs == channels
        and channels in (4, 8, 16)
        and channels <= target.int8_lanes
    )


def _groups_to_merge(convolution: Int8Convolution, target: Target) -> int:
    """Returns how many adjacent groups become one group.

    The zeros between the merged groups take additional multiplications. However, a microkernel computes a
    whole panel of outputs, so that few outputs leave most of its lanes unused, and each group has a cost of
    its own.
    """
    groups = convolution.groups
    outputs, channels = convolution.weight.shape[0] // groups, convolution.weight.shape[1]
    panel = 2 * target.int8_lanes
    return max(
        count
        for count in range(1, groups + 1)
        if groups % count == 0
        and (
            count == 1
            or outputs * count <= target.int8_lanes
            or (outputs * count <= panel and channels * count <= panel)
        )
    )


def _sum(convolution: Int8Convolution) -> Int8Sum | None:
    if convolution.sum is None:
        return None
    factor, residual_factor = convolution.sum.factors
    return Int8Sum(
        residual_zero_point=convolution.sum.zero,
        output=int8_range(convolution.sum.result),
        factor=factor,
        residual_factor=residual_factor,
    )


def _may_be_winograd(convolution: Int8Convolution, context: Context) -> bool:
    """Returns whether the runtime may compute the step by Winograd's algorithm with int16 products."""
    pixels = math.prod(context.symbols.upper(size) for size in convolution.output.sizes[:3])
    return (
        convolution.result is not None
        and convolution.groups == 1
        and convolution.kernel == (3, 3)
        and all(step == 1 for step in (*convolution.stride, *convolution.dilation))
        and convolution.weight.shape[1] % (2 * context.options.target.int8_lanes) == 0
        and pixels >= _WINOGRAD_PIXELS
    )


def weight_only_gemm(linear: WeightOnlyLinear) -> WeightOnlyGemm[Tensor]:
    """Converts a linear layer with 8-bit or 4-bit weights to an operation of the schema."""
    outputs, inputs = linear.grouped.values.shape
    return WeightOnlyGemm(
        input=linear.input,
        weight=constant(linear.grouped.stored()),
        bias=None if linear.bias is None else constant(linear.bias.float()),
        residual=linear.residual,
        weight_scale=constant(linear.grouped.scales.float().flatten()),
        output=linear.output,
        bits=linear.grouped.bits,
        channels=inputs,
        outputs=outputs,
        group=linear.grouped.group,
        epilogue=linear.epilogue,
    )


def int4_gemm(linear: Int4Linear) -> Int4Gemm[Tensor]:
    """Converts a linear layer with int8 inputs and 4-bit weights to an operation of the schema."""
    numbers, scales = linear.grouped.values, linear.grouped.scales
    outputs, inputs = numbers.shape
    sums = (numbers.unflatten(1, (scales.shape[1], -1)).sum(2) * scales.double()).sum(1)
    return Int4Gemm(
        input=linear.input,
        weight=constant(linear.grouped.stored()),
        bias=None if linear.bias is None else constant(linear.bias.float()),
        residual=linear.residual,
        row_scale=linear.row_scale,
        row_zero_point=linear.row_zero_point,
        weight_scale=constant(scales.float().flatten()),
        weight_sum=constant(sums.float()),
        output=linear.output,
        channels=inputs,
        outputs=outputs,
        group=linear.grouped.group,
        epilogue=linear.epilogue,
    )
