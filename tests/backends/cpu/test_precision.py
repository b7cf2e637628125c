"""Errors of single layers in full float32 against float64, compared with those of eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import Function, Inputs, lower, run
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.partitioner import Partitioner

LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "deep": (nn.Linear(3072, 768), (197, 3072)),
    "deep, few rows": (nn.Linear(3072, 768), (4, 3072)),
    "deep, one row": (nn.Linear(3072, 768), (1, 3072)),
    "one row, few columns": (nn.Linear(3072, 20), (1, 3072)),
    "pixels": (nn.Conv2d(2048, 256, 1), (1, 2048, 7, 7)),
    "windows": (nn.Conv2d(128, 128, 5, padding=2), (1, 128, 14, 14)),
    "windows, deep taps": (nn.Conv2d(400, 64, 3, dilation=2), (1, 400, 12, 12)),
    "windows, transformed": (nn.Conv2d(512, 512, 3, padding=1), (1, 512, 7, 7)),
    "windows two apart, transformed": (nn.Conv2d(256, 256, 3, 2, padding=1), (1, 256, 28, 28)),
}


def error_of(got: torch.Tensor, want: torch.Tensor) -> float:
    return float((got.double() - want).abs().max() / want.abs().max())


@pytest.mark.parametrize("name", LAYERS)
def test_errors_are_at_most_four_times_those_of_eager(name: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS[name]
    layer = copy.deepcopy(layer).requires_grad_(False)
    inputs: Inputs = (torch.randn(shape),)
    want = copy.deepcopy(layer).double()(inputs[0].double())
    program, outside = lower(layer, inputs)
    assert not outside
    (got,) = run(program, inputs)
    assert error_of(got, want) <= 4 * error_of(layer(*inputs), want)


class Residual(nn.Module):
    """A sum of a large number and a product of many small numbers, as in a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1536, 384, bias=False)
        nn.init.normal_(self.layer.weight, std=0.001)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + self.layer(y)


@pytest.mark.parametrize("rows", [1, 8, 128])
def test_a_residual_is_added_to_the_whole_sum(rows: int) -> None:
    torch.manual_seed(0)
    model = Residual().requires_grad_(False)
    inputs = (torch.randn(rows, 384), torch.randn(rows, 1536))
    want = copy.deepcopy(model).double()(*(item.double() for item in inputs))
    program, _ = lower(model, inputs)
    (got,) = run(program, inputs)
    assert error_of(got, want) <= 2 * error_of(model(*inputs), want)


BIASED: dict[str, tuple[nn.Linear | nn.Conv2d, tuple[int, ...]]] = {
    "rows": (nn.Linear(256, 80), (300, 256)),
    "one row": (nn.Linear(256, 80), (1, 256)),
    "deep": (nn.Linear(1024, 80), (300, 1024)),
    "stem": (nn.Conv2d(3, 64, 7, 2, 3), (1, 3, 40, 40)),
    "windows": (nn.Conv2d(64, 64, 5, padding=2), (1, 64, 20, 20)),
    "windows, transformed": (nn.Conv2d(64, 64, 3, padding=1), (1, 64, 20, 20)),
    "groups of 8": (nn.Conv2d(64, 64, 3, padding=1, groups=8), (1, 64, 20, 20)),
    "groups of 32": (nn.Conv2d(64, 64, 3, padding=1, groups=2), (1, 64, 20, 20)),
    "each channel": (nn.Conv2d(64, 64, 5, padding=2, groups=64), (1, 64, 20, 20)),
}
PARTITIONERS: dict[str, list[Partitioner]] = {
    "CpuBackend": [CpuPartitioner()],
    "XnnpackBackend": [XnnpackPartitioner()],
    "kernels": [],
}


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("name", BIASED)
def test_a_large_bias_does_not_round_the_products(name: str, partitioner: str) -> None:
    """The last layer of a detector has a bias of about -4.6 (https://arxiv.org/abs/1708.02002)."""
    torch.manual_seed(0)
    layer, shape = BIASED[name]
    layer = copy.deepcopy(layer).requires_grad_(False)
    layer.weight *= 0.1
    assert layer.bias is not None
    layer.bias.fill_(-4.6).add_(torch.rand_like(layer.bias))
    inputs: Inputs = (torch.randn(shape),)
    want = copy.deepcopy(layer).double()(inputs[0].double())
    program = rushlight.compile(layer, inputs, partitioner=PARTITIONERS[partitioner])
    (got,) = run(program.buffer, inputs)
    assert error_of(got, want) <= 4 * error_of(layer(*inputs), want)


# Sums of positive numbers, whose rounding errors do not cancel.
LONG_SUMS: dict[str, tuple[Callable[..., torch.Tensor], tuple[tuple[int, ...], ...]]] = {
    "product": (torch.matmul, ((40, 5000), (5000, 48))),
    "transposed product": (lambda a, b: a @ b.mT, ((2, 40, 5000), (2, 48, 5000))),
    "product of one row": (torch.matmul, ((2, 1, 5000), (2, 5000, 64))),
    "product with one column": (torch.matmul, ((2, 64, 5000), (2, 5000, 1))),
    "convolution with computed weights": (
        lambda x, w: F.conv2d(x, w * 2),
        ((1, 1024, 9, 9), (16, 1024, 2, 2)),
    ),
    "attention": (F.scaled_dot_product_attention, ((1, 2, 20, 32), (1, 2, 5000, 32), (1, 2, 5000, 32))),
    "attention of one query": (
        F.scaled_dot_product_attention,
        ((1, 2, 1, 32), (1, 2, 5000, 32), (1, 2, 5000, 32)),
    ),
    "mean of pixels": (
        lambda x: (x.to(memory_format=torch.channels_last) * 2).mean((2, 3)),
        ((1, 6, 150, 150),),
    ),
    "sum of rows": (lambda x: (x + 1).sum(0), ((30000, 5),)),
    "sum of two dimensions": (lambda x: (x + 1).sum((0, 2)), ((150, 4, 200, 3),)),
    "variance": (lambda x: (x + 1).var((0, 2, 3)), ((4, 6, 70, 70),)),
}
PATHS: dict[str, list[Partitioner]] = {
    "CpuBackend": [CpuPartitioner()],
    "XnnpackBackend": [XnnpackPartitioner()],
    "kernels": [],
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", LONG_SUMS)
def test_long_sums_are_precise_on_every_path(name: str, path: str) -> None:
    torch.manual_seed(0)
    function, shapes = LONG_SUMS[name]
    inputs = tuple(torch.rand(shape) for shape in shapes)
    want = function(*(item.double() for item in inputs))
    program = rushlight.compile(Function(function), inputs, partitioner=PATHS[path]).buffer
    (got,) = run(program, inputs)
    assert error_of(got, want) <= max(4 * error_of(function(*inputs), want), 5e-7)
