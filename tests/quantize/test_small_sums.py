"""Weights whose sums of neighbouring products fit in 16 bits: runtime/microkernels/gemm/int8_small_sums.h."""

from __future__ import annotations

import pytest
import torch
from torchao.quantization.pt2e.quantizer import QuantizationConfig

from rushlight.quantize import dynamic_int8, static_int8

MOST = 128


def largest_sum(weight: torch.Tensor) -> int:
    """Returns the largest sum of positive or negative numbers in two pairs, four elements apart."""
    largest = 0
    for column in weight.to(torch.int32).movedim(1, -1).flatten(1).tolist():
        for start in range(0, len(column), 8):
            for first in (start, start + 2):
                four = column[first : first + 2] + column[first + 4 : first + 6]
                largest = max(largest, sum(n for n in four if n > 0), -sum(n for n in four if n < 0))
    return largest


def quantized(weight: torch.Tensor, config: QuantizationConfig) -> torch.Tensor:
    spec = config.weight
    observer = spec.observer_or_fake_quant_ctr(
        dtype=spec.dtype,
        quant_min=spec.quant_min,
        quant_max=spec.quant_max,
        qscheme=spec.qscheme,
        ch_axis=0,
    )
    observer(weight)
    scales, _ = observer.calculate_qparams()
    return torch.round(weight / scales.reshape(-1, *[1] * (weight.dim() - 1))).clamp(-127, 127)


@pytest.mark.parametrize("inputs", [3, 8, 13, 64])
def test_scales_leave_space_for_four_products(inputs: int) -> None:
    torch.manual_seed(inputs)
    for size in (1, 3):
        weight = torch.randn(400, inputs, size, size)
        assert 122 <= largest_sum(quantized(weight, static_int8())) <= MOST
        assert 122 <= largest_sum(quantized(weight.abs(), static_int8())) <= MOST  # neighbours of one sign
    for config in (static_int8(), dynamic_int8()):
        assert 122 <= largest_sum(quantized(torch.randn(400, inputs), config)) <= MOST


def test_weights_without_neighbours_keep_their_range() -> None:
    depthwise = torch.randn(16, 1, 3, 3, generator=torch.Generator().manual_seed(0))
    assert quantized(depthwise, static_int8()).abs().amax((1, 2, 3)).eq(127).all()
    sparse = torch.zeros(8, 16, 1, 1)
    sparse[:, ::8] = 1
    assert quantized(sparse, static_int8()).max() >= 126
