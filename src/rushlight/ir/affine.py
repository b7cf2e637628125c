"""The arithmetic of affine quantization: integers that stand for (quantized - zero_point) * scale."""

from __future__ import annotations

import torch


def quantize_tensor(
    values: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> torch.Tensor:
    """Quantizes float32 numbers of any shape: to the nearest integer, ties to even; NaN becomes 0."""
    rounded = torch.round(values * (1.0 / scale)) + zero_point
    return rounded.nan_to_num(0.0).clamp(quant_min, quant_max).to(dtype)


def dequantize_tensor(quantized: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """The float32 numbers that a quantized tensor of any shape stands for."""
    return (quantized.to(torch.float32) - zero_point) * scale
