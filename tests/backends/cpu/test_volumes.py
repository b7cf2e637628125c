"""Convolutions and pooling of volumes agree with eager PyTorch. Steps for images compute them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from tests.backends.cpu.test_plan import kinds  # type: ignore[attr-defined]
from torch import nn

from rushlight.backends.cpu.plan.tables import (
    Copy,
    DepthwiseConv2d,
    Gemm,
    GroupNormStatistics,
    Pool2d,
    Winograd,
)

VOLUME = (1, 16, 5, 9, 7)
BATCH = (2, 16, 5, 9, 7)
FEW = (1, 3, 6, 10, 9)

CONVOLUTIONS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "plain": (nn.Conv3d(16, 8, 3), VOLUME),
    "padded": (nn.Conv3d(16, 24, 3, padding=1), VOLUME),
    "batch": (nn.Conv3d(16, 24, 3, padding=1), BATCH),
    "strided": (nn.Conv3d(16, 9, 3, stride=2, padding=1), VOLUME),
    "strided_batch": (nn.Conv3d(16, 9, 3, stride=(2, 1, 2), padding=1, bias=False), BATCH),
    "dilated": (nn.Conv3d(16, 9, (2, 3, 2), dilation=(3, 2, 1), padding=(1, 2, 0)), VOLUME),
    "few_channels": (nn.Conv3d(3, 12, (3, 5, 5), stride=(1, 2, 2), padding=(1, 2, 2)), FEW),
    "one_channel": (nn.Conv3d(1, 12, 3, padding=1), (2, 1, 6, 10, 9)),
    "pixels": (nn.Conv3d(16, 24, 1), BATCH),
    "pixels_strided": (nn.Conv3d(16, 24, 1, stride=2), BATCH),
    "frames": (nn.Conv3d(16, 24, (1, 3, 3), padding=(0, 1, 1)), BATCH),
    "frames_strided": (nn.Conv3d(16, 24, (1, 3, 3), stride=(2, 1, 1)), VOLUME),
    "depth": (nn.Conv3d(16, 24, (3, 1, 1), padding=(1, 0, 0)), BATCH),
    "depth_strided": (nn.Conv3d(16, 24, (3, 1, 1), stride=(2, 1, 1), dilation=(2, 1, 1)), BATCH),
    "depth_only_of_some": (nn.Conv3d(16, 24, (3, 1, 1), stride=(1, 2, 1), padding=(1, 0, 0)), BATCH),
    "deep": (nn.Conv3d(16, 5, (9, 2, 2), padding=(4, 0, 0)), VOLUME),
    "grouped": (nn.Conv3d(16, 24, 3, padding=1, groups=4), BATCH),
    "grouped_frames": (nn.Conv3d(16, 24, (1, 3, 3), padding=(0, 1, 1), groups=4), BATCH),
    "grouped_depth": (nn.Conv3d(16, 16, (5, 1, 1), padding=(2, 0, 0), groups=16), VOLUME),
    "depthwise": (nn.Conv3d(16, 16, 3, stride=(1, 2, 2), padding=1, groups=16), BATCH),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str) -> None:
    module, shape = CONVOLUTIONS[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(module, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


TRANSPOSED: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "twice": (nn.ConvTranspose3d(16, 8, 2, 2), BATCH),
    "overlapping": (nn.ConvTranspose3d(16, 8, 4, 2, 1), VOLUME),
    "overlapping_batch": (nn.ConvTranspose3d(16, 9, 3, 2, 1, output_padding=1), BATCH),
    "few_channels": (nn.ConvTranspose3d(3, 5, 5, 3, 2, output_padding=1), FEW),
    "plain": (nn.ConvTranspose3d(16, 8, 3, padding=1, bias=False), VOLUME),
    "images": (nn.ConvTranspose3d(16, 8, (1, 3, 3), (1, 2, 2), (0, 1, 1)), BATCH),
    "depth": (nn.ConvTranspose3d(16, 8, (4, 1, 1), (2, 1, 1), (1, 0, 0)), BATCH),
    "gaps": (nn.ConvTranspose3d(16, 8, 2, 3), BATCH),
    "one": (nn.ConvTranspose3d(16, 8, 1), BATCH),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolution(name: str) -> None:
    module, shape = TRANSPOSED[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(module, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


@pytest.mark.parametrize("groups", [2, 16])
def test_a_grouped_transposed_convolution_stays_outside(groups: int) -> None:
    module, inputs = nn.ConvTranspose3d(16, 16, 2, 2, groups=groups), (torch.randn(VOLUME),)
    program, outside = lower(module, inputs)
    assert len(outside) == 1
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


@pytest.mark.parametrize("norm", [nn.InstanceNorm3d(16, affine=True), nn.GroupNorm(4, 16)])
def test_norms(norm: nn.Module) -> None:
    """Norms of volumes in the layout of a convolution, which steps for images compute."""
    for parameter in norm.parameters():
        nn.init.uniform_(parameter, 0.5, 1.5)
    module, inputs = nn.Sequential(nn.Conv3d(16, 16, 3), norm, nn.LeakyReLU()), (torch.randn(BATCH),)
    program, outside = lower(module, inputs)
    assert outside == []
    assert Counter(kinds(program))[GroupNormStatistics] == 1
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


POOLS: dict[str, nn.Module] = {
    "max": nn.MaxPool3d(2),
    "max_overlapping": nn.MaxPool3d(3, (1, 2, 1), 1),
    "max_dilated": nn.MaxPool3d((2, 3, 2), 1, dilation=(3, 1, 2)),
    "max_ceil": nn.MaxPool3d((2, 2, 3), ceil_mode=True),
    "max_of_frames": nn.MaxPool3d((1, 2, 2)),
    "max_along_depth": nn.MaxPool3d((3, 1, 1), 1, (1, 0, 0)),
    "average": nn.AvgPool3d(2),
    "average_padded": nn.AvgPool3d(3, 2, 1),
    "average_of_what_is_inside": nn.AvgPool3d(3, 2, 1, count_include_pad=False),
    "average_ceil": nn.AvgPool3d((2, 3, 2), ceil_mode=True, padding=(0, 1, 1)),
    "average_along_depth": nn.AvgPool3d((2, 1, 1)),
    "nothing": nn.MaxPool3d(1),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling(name: str) -> None:
    module, inputs = POOLS[name], (torch.randn(BATCH),)
    program, outside = lower(module, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


@pytest.mark.parametrize(
    "module", [nn.MaxPool3d(2, return_indices=True), nn.AvgPool3d(2, divisor_override=3)]
)
def test_what_stays_outside(module: nn.Module) -> None:
    inputs: tuple[Any, ...] = (torch.randn(VOLUME),)
    program, outside = lower(module, inputs)
    assert outside
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


class Residual(nn.Module):
    """Two convolutions with batch norms and a sum, as in a ResNet for videos."""

    def __init__(self, width: int, has_groups: bool = False) -> None:
        super().__init__()
        groups = width if has_groups else 1
        self.first = nn.Conv3d(width, width, 3, padding=1, groups=groups, bias=False)
        self.second = nn.Conv3d(width, width, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm3d(width) for _ in range(2))
        for norm in self.norms:
            norm.running_mean.uniform_(-1, 1)  # type: ignore[operator, union-attr]
            norm.running_var.uniform_(0.5, 2)  # type: ignore[operator, union-attr]
        self.pool = nn.MaxPool3d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norms[0](self.first(x)))
        return self.pool(torch.relu(self.norms[1](self.second(y)) + x))


@pytest.mark.parametrize("has_groups", [False, True])
def test_residual_block(has_groups: bool) -> None:
    model, inputs = Residual(16, has_groups).eval(), (torch.randn(1, 16, 4, 8, 8),)
    program, outside = lower(model, inputs)
    found = Counter(kinds(program))
    assert outside == [] and found[Pool2d] == 2
    assert found[DepthwiseConv2d] == 3 if has_groups else found[Gemm] + found[Winograd] == 2
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


def test_frames_are_read_where_they_lie() -> None:
    model = nn.Sequential(nn.Conv3d(16, 16, (3, 1, 1)), nn.ReLU(), nn.Conv3d(16, 16, 3, padding=(0, 1, 1)))
    inputs = (torch.randn(1, 16, 9, 8, 8).to(memory_format=torch.channels_last_3d),)
    program, _ = lower(model, inputs)
    assert Copy not in kinds(program)[1:-1]
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)


@pytest.mark.parametrize("module", [Residual(16), nn.Conv3d(16, 24, 3, 2, 1), nn.AvgPool3d(2)])
def test_dynamic_sizes(module: nn.Module) -> None:
    module.eval()
    sizes = {i: torch.export.Dim(f"d{i}", min=5, max=12) for i in (2, 3, 4)}
    program, outside = lower(module, (torch.randn(1, 16, 6, 9, 7),), (sizes,))
    assert set(outside) <= {"aten.sym_size.int"}
    for shape in ((5, 5, 5), (6, 9, 7), (12, 5, 12)):
        inputs = (torch.randn(1, 16, *shape),)
        assert_close(run(program, inputs), expected(module, inputs), 2e-6)
