"""Arithmetic of affine quantization: real = (quantized - zero_point) * scale."""

from __future__ import annotations

import torch


def quantize_tensor(
    values: torch.Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> torch.Tensor:
    """Quantizes a float32 tensor of any shape. Rounds to nearest, ties to even; NaN becomes 0."""
    rounded = torch.round(values * (1.0 / scale)) + zero_point
    return rounded.nan_to_num(0.0).clamp(quant_min, quant_max).to(dtype)


def dequantize_tensor(quantized: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """Dequantizes a tensor of any shape to float32."""
    return (quantized.to(torch.float32) - zero_point) * scale
