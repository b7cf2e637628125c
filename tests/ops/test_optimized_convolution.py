"""Optimized convolutions, compared with float64."""

from __future__ import annotations

import itertools
import math
import random
from typing import NamedTuple

import pytest
import torch
from tests.ops.optimized_check import check
from torch.nn import functional


class Case(NamedTuple):
    shape: tuple[int, ...]  # of the input
    outputs: int
    kernel: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1


# Layers of MobileNetV2 and V3, ResNet, EfficientNet, ViT, ConvNeXt and audio networks.
NETWORKS = [
    Case((1, 3, 112, 112), 32, (3, 3), 2, 1),
    Case((1, 3, 96, 96), 64, (7, 7), 2, 3),
    Case((1, 16, 56, 56), 96, (1, 1)),
    Case((1, 96, 56, 56), 96, (3, 3), 2, 1, 1, 96),
    Case((1, 96, 28, 28), 96, (3, 3), 1, 1, 1, 96),
    Case((1, 72, 28, 28), 72, (5, 5), 2, 2, 1, 72),
    Case((1, 120, 14, 14), 120, (5, 5), 1, 2, 1, 120),
    Case((1, 96, 7, 7), 96, (7, 7), 1, 3, 1, 96),
    Case((1, 160, 7, 7), 960, (1, 1)),
    Case((1, 960, 1, 1), 240, (1, 1)),
    Case((2, 64, 28, 28), 64, (3, 3), 1, 1),
    Case((1, 256, 7, 7), 256, (3, 3), 1, 1),
    Case((1, 64, 14, 14), 128, (1, 1), 2),
    Case((1, 3, 64, 64), 192, (16, 16), 16),
    Case((1, 1, 1000), 64, (10,), 5),
    Case((1, 64, 200), 64, (3,), 1, 1),
    Case((1, 32, 65), 32, (31,), 1, 15, 1, 32),
    Case((1, 32, 33, 33), 32, (3, 3), 1, 6, 6),
    Case((1, 64, 14, 14), 64, (3, 3), 1, 1, 1, 8),
]
AWKWARD = [
    Case((1, 1, 1, 1), 1, (1, 1)),
    Case((3, 5, 1, 7), 17, (1, 3), 1, 1),
    Case((1, 7, 17, 3), 13, (3, 2), 2, 2),
    Case((1, 2, 3, 3), 2, (3, 3), 1, 2, 1, 2),
    Case((1, 4, 5, 5), 8, (3, 3), 3, 1, 1, 4),
    Case((2, 6, 11, 13), 6, (3, 3), 2, 1, 2, 6),
    Case((5, 11, 31, 29), 3, (5, 4), 1, 4, 2),
    Case((7, 13, 9), 5, (3, 3), 1, 1),
    Case((3, 20), 4, (5,), 2),
    # Computed with Winograd's algorithm.
    Case((3, 17, 13, 15), 19, (3, 3), 1, 1),
    Case((1, 16, 12, 40), 33, (3, 3), 1, 0),
    Case((2, 31, 30, 9), 16, (3, 3), 1, 2),
    Case((1, 128, 14, 14), 64, (3, 3), 1, 1),
    Case((0, 3, 8, 8), 4, (3, 3)),
    Case((1, 3, 300, 5), 2, (3, 3), 1, 1),
    Case((1, 2, 6, 700), 2, (2, 9), 2, 3, 1, 2),
]
VOLUMES = [
    Case((1, 3, 6, 20, 20), 16, (3, 3, 3), 1, 1),
    Case((2, 8, 5, 9, 11), 12, (3, 1, 2), 2, 1, 1, 4),
    Case((1, 6, 4, 7, 7), 12, (2, 3, 3), 1, 2, 2, 6),
    Case((2, 5, 4, 6, 3), 7, (1, 1, 1)),
    Case((1, 5, 4, 6, 3), 7, (1, 1, 1), 2),
    Case((1, 4, 1, 6, 6), 3, (3, 3, 3), 1, 1),
    Case((3, 7, 8, 8), 4, (7, 2, 2), 1, 0, 1),
    Case((1, 2, 3, 2, 2), 2, (1, 3, 3), 3, 4),
    Case((0, 3, 4, 4, 4), 2, (3, 3, 3)),
    Case((1, 16, 3, 14, 14), 16, (1, 3, 3), 1, 1),
]


def compare(case: Case, with_bias: bool) -> None:
    dims = len(case.kernel)
    channels = case.shape[-dims - 1]
    x = torch.randn(case.shape)
    w = torch.randn(case.outputs, channels // case.groups, *case.kernel)
    bias = torch.randn(case.outputs) if with_bias else None
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[dims - 1]
    want = convolve(
        x.double(), w.double(), None if bias is None else bias.double(), case.stride, case.padding,
        case.dilation, case.groups,
    )  # fmt: skip
    lists = [[case.stride] * dims, [case.padding] * dims, [case.dilation] * dims]
    args = [x, w, bias, *lists, False, [0] * dims, case.groups]
    check("aten::convolution.out", args, want, rtol=1e-5, atol=4e-6 * math.sqrt(w[0].numel()))


@pytest.mark.parametrize("case", NETWORKS + AWKWARD + VOLUMES, ids=str)
@pytest.mark.parametrize("with_bias", [True, False])
def test_convolution(case: Case, with_bias: bool) -> None:
    compare(case, with_bias)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 3e38])
@pytest.mark.parametrize("where", ["input", "weight"])
def test_special_numbers_reach_no_other_outputs(where: str, value: float) -> None:
    x, w = torch.randn(1, 16, 12, 14), torch.randn(17, 16, 3, 3)
    (x if where == "input" else w)[0, 3, 1, 2] = value
    want = functional.conv2d(x, w, None, 1, 1)
    args = [x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1]
    check("aten::convolution.out", args, want, rtol=1e-5, atol=1e-4)


def test_random_geometries() -> None:
    source = random.Random(7)
    done = 0
    while done < 60:
        groups = source.choice([1, 1, 2, 3, 8])
        depthwise = source.random() < 0.4
        channels = groups if depthwise else groups * source.randint(1, 4)
        kernel = (source.randint(1, 5), source.randint(1, 5))
        case = Case(
            (source.randint(1, 2), channels, source.randint(1, 40), source.randint(1, 40)),
            groups * source.randint(1, 6), kernel, source.randint(1, 4), source.randint(0, 5),
            source.randint(1, 3), groups,
        )  # fmt: skip
        if any(
            s + 2 * case.padding < case.dilation * (k - 1) + 1
            for s, k in zip(case.shape[2:], kernel, strict=True)
        ):
            continue
        compare(case, source.random() < 0.5)
        done += 1


class Transposed(NamedTuple):
    shape: tuple[int, ...]
    outputs: int  # of all groups
    kernel: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    output_padding: int = 0
    dilation: int = 1
    groups: int = 1


@pytest.mark.parametrize(
    "case",
    [
        Transposed((1, 64, 14, 14), 32, (2, 2), 2),
        Transposed((2, 16, 9, 7), 8, (4, 4), 2, 1),
        Transposed((1, 5, 6, 6), 3, (3, 3), 2, 1, 1),
        Transposed((1, 4, 5, 8), 6, (3, 2), 1, 0, 0, 2, 2),
        Transposed((1, 4, 5, 8), 4, (5, 3), 3, 2, 2, 1, 4),
        Transposed((1, 3, 7, 5), 2, (1, 1), 3),
        Transposed((1, 3, 7, 5), 2, (3, 3), 4, 1, 3, 2),
        Transposed((1, 6, 4, 4), 3, (3, 3), 2, 0, 1, 4, 3),
        Transposed((1, 8, 33), 4, (16,), 8, 4),
        Transposed((0, 3, 4, 4), 3, (2, 2), 2),
        Transposed((1, 3, 4, 4), 3, (3, 3), 1, 2),
        Transposed((1, 8, 4, 6, 5), 6, (2, 2, 2), 2),
        Transposed((2, 8, 3, 4, 5), 8, (3, 3, 3), 2, 1, 1, 1, 4),
        Transposed((1, 4, 3, 4, 4), 2, (3, 2, 3), 1, 2, 0, 2, 2),
        Transposed((1, 3, 2, 4, 4), 3, (1, 2, 1), 3, 0, 2),
        Transposed((1, 3, 3, 3, 3), 3, (4, 4, 4), 3, 4, 0, 2, 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("with_bias", [True, False])
def test_transposed_convolution(case: Transposed, with_bias: bool) -> None:
    dims = len(case.kernel)
    x, w = torch.randn(case.shape), torch.randn(case.shape[1], case.outputs // case.groups, *case.kernel)
    bias = torch.randn(case.outputs) if with_bias else None
    lists = [[value] * dims for value in (case.stride, case.padding, case.dilation, case.output_padding)]
    stride, padding, dilation, output_padding = lists
    want = torch.convolution(
        x.double(), w.double(), None if bias is None else bias.double(), stride, padding, dilation, True,
        output_padding, case.groups,
    )  # fmt: skip
    args = [x, w, bias, stride, padding, dilation, True, output_padding, case.groups]
    check("aten::convolution.out", args, want, atol=4e-6 * math.sqrt(w.numel()))


@pytest.mark.parametrize("case", [c for c in NETWORKS + AWKWARD if len(c.shape) == 4], ids=str)
@pytest.mark.parametrize("weights", ["channels_last", "contiguous_format"])
def test_channels_last(case: Case, weights: str) -> None:
    x = torch.randn(case.shape).to(memory_format=torch.channels_last)
    w = torch.randn(case.outputs, case.shape[1] // case.groups, *case.kernel)
    w = w.to(memory_format=getattr(torch, weights))
    bias = torch.randn(case.outputs)
    want = functional.conv2d(
        x.double(), w.double(), bias.double(), case.stride, case.padding, case.dilation, case.groups
    ).to(memory_format=torch.channels_last)
    lists = [[case.stride] * 2, [case.padding] * 2, [case.dilation] * 2]
    args = [x, w, bias, *lists, False, [0, 0], case.groups]
    check("aten::convolution.out", args, want, rtol=1e-5, atol=4e-6 * math.sqrt(w[0].numel()))


def test_mixed_memory_formats() -> None:
    x, w = torch.randn(2, 5, 9, 11), torch.randn(7, 5, 3, 3)
    want = functional.conv2d(x, w, padding=1)
    for images, weights, out in itertools.product([torch.contiguous_format, torch.channels_last], repeat=3):
        args = [x.to(memory_format=images), w.to(memory_format=weights), None, [1, 1], [1, 1], [1, 1]]
        check("aten::convolution.out", [*args, False, [0, 0], 1], want.to(memory_format=out), atol=1e-5)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("groups", [1, 4])
def test_not_finite_elements_stay_in_their_window(value: float, groups: int) -> None:
    x, w = torch.randn(1, 4, 9, 10), torch.rand(4, 4 // groups, 3, 3) + 0.1
    x[0, 1, 0, 9] = value
    want = functional.conv2d(x, w, padding=1, groups=groups)
    check(
        "aten::convolution.out", [x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], groups], want, atol=1e-4
    )
