"""Optimized poolings, compared with eager PyTorch."""

from __future__ import annotations

import math

import pytest
import torch
from tests.ops.optimized_check import check
from torch.nn import functional

pytestmark = pytest.mark.threads

# shape, kernel, stride, padding, dilation, ceil_mode
CASES = [
    ((1, 64, 56, 56), 3, 2, 1, 1, False),
    ((2, 3, 7, 7), 2, 2, 0, 1, False),
    ((3, 17, 19), 3, 1, 1, 1, False),
    ((1, 2, 5, 5), 5, 1, 2, 1, False),
    ((1, 2, 9, 6), 3, 2, 0, 1, True),
    ((1, 2, 10, 11), 2, 2, 1, 1, True),
    ((1, 2, 13, 14), 3, 1, 1, 2, False),
    ((1, 2, 13, 14), 3, 2, 1, 3, True),
    ((1, 2, 13, 14), 4, 3, 2, 1, False),
    ((2, 1, 1, 1), 1, 1, 0, 1, False),
    ((0, 1, 8, 8), 2, 2, 0, 1, False),
    ((1, 1, 300, 4), 3, 2, 1, 1, False),
]


@pytest.mark.parametrize("shape,kernel,stride,padding,dilation,ceil_mode", CASES)
def test_max_pool2d(
    shape: tuple[int, ...], kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> None:
    x = torch.randint(-9, 9, shape).float()  # with many ties
    want = functional.max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode)  # type: ignore[arg-type]
    lists = [[kernel, kernel], [stride, stride], [padding, padding], [dilation, dilation]]
    check("aten::max_pool2d_with_indices.out", [x, *lists, ceil_mode], *want, rtol=0, atol=0)


def test_pooling_of_channels_last_images() -> None:
    x = torch.randn(2, 5, 12, 11).to(memory_format=torch.channels_last)
    want = [t.to(memory_format=torch.channels_last) for t in functional.max_pool2d_with_indices(x, 3, 2, 1)]  # type: ignore[arg-type]
    check("aten::max_pool2d_with_indices.out", [x, [3, 3], [2, 2], [1, 1], [1, 1], False], *want)
    mean = functional.avg_pool2d(x, 2).to(memory_format=torch.channels_last)
    check("aten::avg_pool2d.out", [x, [2, 2], [2, 2], [0, 0], False, True, None], mean)


def test_max_pool2d_of_not_finite_elements() -> None:
    x = torch.randn(1, 2, 20, 21)
    x[0, 0, 3, 4] = x[0, 0, 3, 5] = x[0, 1, 0, 0] = math.nan
    x[0, 1, 8:14, 8:14] = -math.inf
    x[0, 0, 10:] = -math.inf
    want = functional.max_pool2d_with_indices(x, 3, 2, 1)  # type: ignore[arg-type]
    check("aten::max_pool2d_with_indices.out", [x, [3, 3], [2, 2], [1, 1], [1, 1], False], *want)


@pytest.mark.parametrize("shape,kernel,stride,padding,dilation,ceil_mode", [c for c in CASES if c[4] == 1])
@pytest.mark.parametrize("count_padding", [True, False])
@pytest.mark.parametrize("divisor", [None, 5])
def test_avg_pool2d(
    shape: tuple[int, ...],
    kernel: int,
    stride: int,
    padding: int,
    dilation: int,
    ceil_mode: bool,
    count_padding: bool,
    divisor: int | None,
) -> None:
    x = torch.randn(shape)
    options = (ceil_mode, count_padding, divisor)
    want = functional.avg_pool2d(x, kernel, stride, padding, *options)
    check("aten::avg_pool2d.out", [x, [kernel] * 2, [stride] * 2, [padding] * 2, *options], want)


@pytest.mark.parametrize("shape", [(1, 1280, 7, 7), (3, 5, 4), (2, 3, 1, 9), (1, 1, 64, 65)], ids=str)
@pytest.mark.parametrize("output_size", [[1, 1], [2, 3], [1, 4]])
def test_adaptive_avg_pool2d(shape: tuple[int, ...], output_size: list[int]) -> None:
    x = torch.randn(shape)
    want = functional.adaptive_avg_pool2d(x, output_size)  # type: ignore[arg-type]
    check("aten::_adaptive_avg_pool2d.out", [x, output_size], want)
