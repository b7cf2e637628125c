"""The reference implementation of the operators of `quantized_ops`, in torch.

Sums are exact. Scaling is in float32. Rounding is to nearest, ties to even.

A quantized tensor q with a scale and a zero point represents the numbers (q - zero_point) * scale. The
arguments `..._quant_min` and `..._quant_max`, or `..._min` and `..._max`, are the bounds of its integers;
results are clamped to them. The weights of `quantized_convolution` and `quantized_linear` have one scale for
each output channel, and the zero point 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from rushlight.ir.affine import dequantize_tensor, quantize_tensor


def add(
    a: Tensor,
    a_scale: float,
    a_zero_point: int,
    a_quant_min: int,
    a_quant_max: int,
    b: Tensor,
    b_scale: float,
    b_zero_point: int,
    b_quant_min: int,
    b_quant_max: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Tensor:
    """Adds two quantized tensors and quantizes the result."""
    real = dequantize_tensor(a, a_scale, a_zero_point) + dequantize_tensor(b, b_scale, b_zero_point)
    return quantize_tensor(real, out_scale, out_zero_point, out_quant_min, out_quant_max, a.dtype)


def mul(
    a: Tensor,
    a_scale: float,
    a_zero_point: int,
    a_quant_min: int,
    a_quant_max: int,
    b: Tensor,
    b_scale: float,
    b_zero_point: int,
    b_quant_min: int,
    b_quant_max: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Tensor:
    """Multiplies two quantized tensors and quantizes the result."""
    real = dequantize_tensor(a, a_scale, a_zero_point) * dequantize_tensor(b, b_scale, b_zero_point)
    return quantize_tensor(real, out_scale, out_zero_point, out_quant_min, out_quant_max, a.dtype)


def _without_zero_point(q: Tensor, zero_point: int) -> Tensor:
    """Subtracts the zero point. The result is float64, so that sums are exact."""
    return q.to(torch.float64) - zero_point


def _scaled(total: Tensor, scales: Tensor, dim: int) -> Tensor:
    shape = [1] * total.dim()
    shape[dim] = -1
    return total.to(torch.float32) * scales.reshape(shape)


def quantized_convolution(
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    weight: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_scale: float,
    output_zero_point: int,
    output_min: int,
    output_max: int,
) -> Tensor:
    """Convolves a quantized input [N, C, ...] with a quantized weight and quantizes the result."""
    total = torch.ops.aten.convolution.default(
        _without_zero_point(input, input_zero_point),
        weight.to(torch.float64),
        None,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
    )
    real = _scaled(total, weight_scales * input_scale, 1)
    if bias is not None:
        real = real + bias.reshape([-1] + [1] * (real.dim() - 2))
    return quantize_tensor(real, output_scale, output_zero_point, output_min, output_max, input.dtype)


def quantized_linear(
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    weight: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None,
    output_scale: float,
    output_zero_point: int,
    output_min: int,
    output_max: int,
) -> Tensor:
    """Computes a linear layer of a quantized input [..., K] and weight [N, K], and quantizes the result."""
    total = F.linear(_without_zero_point(input, input_zero_point), weight.to(torch.float64))
    real = _scaled(total, weight_scales * input_scale, -1)
    if bias is not None:
        real = real + bias
    return quantize_tensor(real, output_scale, output_zero_point, output_min, output_max, input.dtype)


def quantized_lookup(input: Tensor, table: Tensor) -> Tensor:
    """Replaces each 8-bit element by its entry in a table of 256 elements."""
    return table[input.to(torch.int64) - torch.iinfo(input.dtype).min]


def quantized_mean(
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    dim: Sequence[int],
    keepdim: bool,
    output_scale: float,
    output_zero_point: int,
    output_min: int,
    output_max: int,
) -> Tensor:
    """Computes the mean of a quantized tensor over dimensions and quantizes the result."""
    real = dequantize_tensor(input, input_scale, input_zero_point).mean(tuple(dim), keepdim)
    return quantize_tensor(real, output_scale, output_zero_point, output_min, output_max, input.dtype)


def quantized_avg_pool2d(
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    output_scale: float,
    output_zero_point: int,
    output_min: int,
    output_max: int,
) -> Tensor:
    """Computes the average pooling of a quantized tensor and quantizes the result."""
    real = F.avg_pool2d(
        dequantize_tensor(input, input_scale, input_zero_point),
        list(kernel_size),
        list(stride),
        list(padding),
        ceil_mode,
        count_include_pad,
    )
    return quantize_tensor(real, output_scale, output_zero_point, output_min, output_max, input.dtype)


def exponentials(scale: float) -> Tensor:
    """Returns the table `exponentials` of `quantized_softmax` for an input with this scale: int32 [256]."""
    steps = torch.arange(256, dtype=torch.float64)
    return torch.round(torch.exp(-steps * scale) * 2**23).to(torch.int32)


def quantized_softmax(
    input: Tensor,
    exponentials: Tensor,
    dim: int,
    output_scale: float,
    output_zero_point: int,
    output_min: int,
    output_max: int,
) -> Tensor:
    """Computes softmax of a quantized tensor along a dimension and quantizes the result."""
    numbers = input.to(torch.int64)
    if numbers.numel() == 0:
        return input.clone()
    powers = exponentials[numbers.amax(dim, keepdim=True) - numbers]
    total = powers.sum(dim, keepdim=True, dtype=torch.int64)
    inverse = torch.where(total == 0, 0.0, 1.0 / total.to(torch.float32))
    real = powers.to(torch.float32) * inverse
    return quantize_tensor(real, output_scale, output_zero_point, output_min, output_max, input.dtype)


def unpack(weight: Tensor, bits: int) -> Tensor:
    """Unpacks bytes [R, C] to int8 [R, C * 8 / bits]; see `pack`."""
    if bits == 4:
        parts = [weight >> 4, weight & 15]
    else:
        parts = [(weight >> shift) & 3 for shift in (0, 2, 4, 6)]
    values = torch.stack(parts, -1).flatten(-2).to(torch.int8)
    return values - (1 << (bits - 1))


def pack(weight: Tensor, bits: int) -> Tensor:
    """Packs int8 [R, C] with 4-bit or 2-bit numbers to uint8 [R, C * bits / 8].

    8 (4 bits) or 2 (2 bits) is added to each number. With 4 bits, the number with the even index is in the
    upper half of a byte. With 2 bits, the first number is in the lowest bits.
    """
    raised = (weight + (1 << (bits - 1))).to(torch.uint8)
    if bits == 4:
        return (raised[:, 0::2] << 4) | raised[:, 1::2]
    return raised[:, 0::4] | (raised[:, 1::4] << 2) | (raised[:, 2::4] << 4) | (raised[:, 3::4] << 6)


def _grouped(weight: Tensor, scales: Tensor, zero_points: Tensor | None) -> Tensor:
    """Dequantizes integers [R, C] with scales [R], [1] or [R, G]. The result has the dtype of the scales."""
    scales = scales.reshape(-1, 1) if scales.dim() < 2 else scales
    rows, columns = weight.shape
    groups = weight.reshape(rows, scales.shape[1], columns // scales.shape[1]).to(scales.dtype)
    if zero_points is not None:
        zero_points = zero_points.reshape(-1, 1) if zero_points.dim() < 2 else zero_points
        groups = groups - zero_points.unsqueeze(-1).to(scales.dtype)
    return (groups * scales.unsqueeze(-1)).reshape(rows, columns)


def _embedding(
    weight: Tensor, scales: Tensor, zeros: Tensor | None, indices: Tensor, dtype: torch.dtype | None
) -> Tensor:
    rows: Tensor = torch.ops.aten.embedding.default(_grouped(weight, scales, zeros), indices)
    return rows if dtype is None else rows.to(dtype)


def embedding_byte(
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    weight_quant_min: int,
    weight_quant_max: int,
    indices: Tensor,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Selects and dequantizes rows of an 8-bit table."""
    return _embedding(weight, weight_scales, weight_zero_points, indices, dtype)


def embedding_4bit(
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    weight_quant_min: int,
    weight_quant_max: int,
    indices: Tensor,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Selects and dequantizes rows of a table with two 4-bit numbers in each byte."""
    return _embedding(unpack(weight, 4), weight_scales, weight_zero_points, indices, dtype)


def embedding_2bit(
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    weight_quant_min: int,
    weight_quant_max: int,
    indices: Tensor,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Selects and dequantizes rows of a table with four 2-bit numbers in each byte."""
    return _embedding(unpack(weight, 2), weight_scales, weight_zero_points, indices, dtype)


def mixed_mm(
    input: Tensor, weight: Tensor, weight_scales: Tensor, weight_zero_points: Tensor | None
) -> Tensor:
    """Multiplies a float input [M, K] by a quantized weight [K, N]."""
    return input @ _grouped(weight, weight_scales, weight_zero_points).to(input.dtype)


def mixed_linear(
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Multiplies a float input [..., K] by the transpose of a quantized weight [N, K]."""
    result: Tensor = F.linear(input, _grouped(weight, weight_scales, weight_zero_points).to(input.dtype))
    return result if dtype is None else result.to(dtype)


def linear_4bit(
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """Multiplies a float input [..., K] by the transpose of a 4-bit weight [N, K], and adds the bias."""
    real = _grouped(unpack(weight, 4), weight_scales, weight_zero_points)
    return F.linear(input, real.to(input.dtype), bias)


def choose_qparams_per_token_symmetric(
    input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Returns the scale and zero point of each vector along the last dimension of a float32 tensor."""
    most = input.new_zeros((*input.shape[:-1], 1))
    if input.shape[-1] != 0:
        most = input.abs().amax(-1, keepdim=True)
    scale = (most / ((quant_max - quant_min) / 2)).clamp(min=eps)
    return scale, torch.full_like(scale, 128 if dtype is torch.uint8 else 0, dtype=torch.int64)


def _choose(
    input: Tensor, per_token: bool, symmetric: bool, low: int, high: int, eps: float
) -> tuple[Tensor, Tensor]:
    library = torch.ops.quantized_decomposed
    chosen: tuple[Tensor, Tensor]
    if per_token and symmetric:
        chosen = choose_qparams_per_token_symmetric(input, low, high, eps, torch.int8)
    elif per_token:
        scale, zero = library.choose_qparams_per_token_asymmetric.default(input, torch.int8)
        chosen = scale.to(torch.float32), zero.to(torch.float32)
    elif symmetric:
        chosen = library.choose_qparams_symmetric.tensor(input, low, high, eps, torch.int8)
    else:
        chosen = library.choose_qparams.tensor(input, low, high, eps, torch.int8)
    return chosen


def dynamic_linear(
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None,
    per_token: bool,
    symmetric: bool,
    quant_min: int,
    quant_max: int,
    eps: float,
) -> Tensor:
    """Quantizes a float input per tensor or token, and multiplies it by the transpose of an int8 weight."""
    scale, zero = _choose(input, per_token, symmetric, quant_min, quant_max, eps)
    scale, zero = scale.to(torch.float32), zero.to(torch.float32)
    rounded = torch.clamp(torch.round(input * (1.0 / scale)) + zero, quant_min, quant_max) - zero
    result = F.linear(rounded.to(torch.float64), _grouped(weight, weight_scales, None).to(torch.float64))
    result = (result * scale).to(torch.float32)
    return result if bias is None else result + bias


def dynamic_linear_4bit(
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    bias: Tensor | None,
    per_token: bool,
    symmetric: bool,
    quant_min: int,
    quant_max: int,
    eps: float,
) -> Tensor:
    """Quantizes a float input per tensor or token, and multiplies it by the transpose of a 4-bit weight."""
    return dynamic_linear(
        input, unpack(weight, 4), weight_scales, bias, per_token, symmetric, quant_min, quant_max, eps
    )
