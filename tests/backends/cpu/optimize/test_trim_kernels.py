"""Taps of a convolution that only read padding are removed."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, operations, run
from torch import nn

from rushlight.backends.cpu.plan.tables import DepthwiseConv2d, Gemm


def kernel_of(program: bytes) -> tuple[int, int]:
    """Returns the kernel size of the only convolution."""
    windows = [step.window for step in operations(program, Gemm)]
    windows += [step.window for step in operations(program, DepthwiseConv2d)]
    (window,) = windows
    return window.kernel_h, window.kernel_w


@pytest.mark.parametrize(
    ("conv", "size", "kernel"),
    [
        (nn.Conv2d(16, 8, 3, padding=24, dilation=24), (20, 20), (1, 1)),
        (nn.Conv2d(16, 8, 3, padding=(24, 12), dilation=(24, 12)), (20, 20), (1, 3)),
        (nn.Conv2d(16, 16, 3, padding=9, dilation=9, groups=16), (9, 10), (1, 3)),
        (nn.Conv2d(16, 8, 5, padding=2), (1, 1), (1, 1)),
        (nn.Conv2d(16, 8, 5, stride=2, padding=2), (2, 2), (2, 2)),
        (nn.Conv2d(16, 8, 3, padding=19, dilation=19), (20, 20), (3, 3)),
        (nn.Conv2d(16, 8, (3, 1), padding=(7, 0), dilation=(7, 1)), (3, 4), (1, 1)),
        (nn.Conv2d(16, 8, 4, padding=(5, 6), dilation=3), (2, 2), (2, 2)),
        (nn.Conv2d(16, 8, 3, padding=2, dilation=3), (3, 3), (2, 2)),
    ],
    ids=str,
)
def test_taps_over_the_padding_are_removed(
    conv: nn.Conv2d, size: tuple[int, int], kernel: tuple[int, int]
) -> None:
    model, inputs = nn.Sequential(conv, nn.ReLU()), (torch.randn(2, 16, *size),)
    program, _ = lower(model, inputs)
    assert kernel_of(program) == kernel
    assert_close(run(program, inputs), expected(model, inputs))


def test_sizes_that_are_not_known_keep_the_kernel() -> None:
    model, inputs = nn.Conv2d(16, 8, 3, padding=24, dilation=24), (torch.randn(1, 16, 20, 20),)
    height = torch.export.Dim("height", min=4, max=40)
    program, _ = lower(model, inputs, dynamic_shapes=({2: height},))
    assert kernel_of(program) == (3, 1)
    for rows in (20, 40):
        x = (torch.randn(1, 16, rows, 20),)
        assert_close(run(program, x), expected(model, x))
