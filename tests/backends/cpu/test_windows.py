"""Windows of convolutions and pooling that are larger than usual."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, run
from torch import nn

import rushlight
from rushlight.backends.cpu.plan.tables import Pool2d

POOLS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "mean": (nn.AvgPool2d(200, 30), (1, 4, 256, 256)),
    "mean of more than the image": (nn.AvgPool2d(1280, ceil_mode=True), (1, 8, 7, 7)),
    "mean with padding": (nn.AvgPool2d(150, 30, 70), (2, 4, 160, 170)),
    "maximum": (nn.MaxPool2d(200, 4), (1, 4, 256, 256)),
    "maximum with dilation": (nn.MaxPool2d((130, 140), 9, (60, 70), 2), (1, 4, 200, 210)),
    "adaptive": (nn.AdaptiveAvgPool2d(2), (1, 4, 512, 512)),
    "volume": (nn.MaxPool3d((2, 150, 150)), (1, 2, 4, 160, 160)),
}
BEYOND: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "mean": (nn.AvgPool1d(5000), (1, 2, 10000)),
    "maximum": (nn.MaxPool1d(5000, 100), (1, 2, 10000)),
    "convolution": (nn.Conv1d(2, 3, 5000), (1, 2, 5100)),
    "stride": (nn.Conv1d(2, 3, 2, 70000), (1, 2, 140002)),
    "transposed": (nn.ConvTranspose1d(2, 3, 5000, 7), (1, 2, 30)),
}


@pytest.mark.parametrize("name", POOLS)
def test_large_windows_of_pooling(name: str) -> None:
    torch.manual_seed(0)
    model, shape = POOLS[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(model, inputs)
    assert outside == []
    assert Pool2d in kinds(program)
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


@pytest.mark.parametrize("name", BEYOND)
def test_kernels_compute_windows_that_plans_cannot_hold(name: str) -> None:
    torch.manual_seed(0)
    model, shape = BEYOND[name]
    inputs = (torch.randn(shape),)
    program = rushlight.compile(model.eval(), inputs).buffer
    assert_close(run(program, inputs), expected(model, inputs))
