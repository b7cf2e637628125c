"""Resized images are written in the layout that the next step needs."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, plan_of, run
from torch import nn

from rushlight.backends.cpu.plan.tables import Resize2d


class Segmentation(nn.Module):
    """An upsampled map of classes."""

    def __init__(self, classes: int, mode: str) -> None:
        super().__init__()
        self.conv, self.mode = nn.Conv2d(16, classes, 1), mode

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.interpolate(self.conv(x), (17, 23), mode=self.mode)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("classes", [1, 2, 21])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_segmentation_needs_no_copy(mode: str, classes: int, batch: int) -> None:
    model, inputs = Segmentation(classes, mode), (torch.randn(batch, 16, 5, 6),)
    program, _ = lower(model, inputs)
    assert isinstance(plan_of(program).steps[-1].operation, Resize2d)
    assert_close(run(program, inputs), expected(model, inputs))


class TwoReaders(Segmentation):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return torch.cat([y, nn.functional.max_pool2d(y, 3, 1, 1)], 1)


class Joined(Segmentation):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([super().forward(x), super().forward(x * 2)], 1).flatten(1)


@pytest.mark.parametrize("kind", [TwoReaders, Joined])
def test_other_readers_get_their_values(kind: type[Segmentation]) -> None:
    model, inputs = kind(3, "bilinear"), (torch.randn(1, 16, 5, 6),)
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))
