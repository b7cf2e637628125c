"""Convolutions of images with few channels, which gather whole windows of the image."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, run
from torch import nn

from rushlight.backends.cpu.plan.tables import Gemm

CONVOLUTIONS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "one channel": (nn.Conv2d(1, 20, 5), (1, 1, 28, 28)),
    "spectrogram": (nn.Conv2d(1, 64, (10, 4), 2, (5, 1)), (1, 1, 49, 10)),
    "three channels": (nn.Conv2d(3, 24, 3, padding=1), (1, 3, 32, 32)),
    "seven channels": (nn.Conv2d(7, 9, (2, 3), (1, 2), (1, 0)), (1, 7, 11, 12)),
    "large window": (nn.Conv2d(3, 33, 7, 2, 3), (1, 3, 40, 40)),
    "patches": (nn.Conv2d(3, 40, 8, 8), (1, 3, 32, 32)),
    "gaps between windows": (nn.Conv2d(2, 8, 2, 5), (1, 2, 33, 32)),
    "dilation": (nn.Conv2d(3, 16, 3, 1, (2, 4), (2, 4)), (1, 3, 20, 19)),
    "dilated columns": (nn.Conv2d(2, 16, (2, 3), dilation=(1, 3)), (1, 2, 20, 19)),
    "blocks that end in other images": (nn.Conv2d(3, 16, 3, padding=1), (7, 3, 9, 11)),
    "many blocks": (nn.Conv2d(1, 8, 3, padding=1), (3, 1, 64, 30)),
    "one pixel": (nn.Conv2d(5, 17, 6), (2, 5, 6, 6)),
    "one column": (nn.Conv2d(1, 16, (3, 1)), (1, 1, 50, 1)),
    "more padding than pixels": (nn.Conv2d(2, 16, 9, padding=4), (1, 2, 2, 3)),
    "signal": (nn.Conv1d(1, 16, 5, 2), (4, 1, 60)),
}


@pytest.mark.parametrize("layout", ["rows", "pixels"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_small_images(name: str, layout: str) -> None:
    torch.manual_seed(0)
    model, shape = CONVOLUTIONS[name]
    image = torch.randn(shape)
    if layout == "pixels" and image.dim() == 4:
        image = image.contiguous(memory_format=torch.channels_last)
    program, outside = lower(nn.Sequential(model, nn.ReLU()), (image,))
    assert outside == []
    assert Gemm in kinds(program)
    for threads in (1, 2):
        assert_close(run(program, (image,), threads), expected(nn.Sequential(model, nn.ReLU()), (image,)))


@pytest.mark.parametrize("many", [False, True])
def test_images_of_dynamic_sizes(many: bool) -> None:
    torch.manual_seed(0)
    model = nn.Conv2d(3, 16, 3, 2, 1)
    sizes = {i: torch.export.Dim(f"d{i}", min=3 if i else 1, max=70) for i in (0, 2, 3)}
    program, outside = lower(model, (torch.randn(2, 3, 20, 20),), (sizes,))
    assert outside == []
    for shape in [(9, 3, 70, 70), (8, 3, 33, 34)] if many else [(1, 3, 3, 4), (3, 3, 7, 5), (1, 3, 10, 70)]:
        inputs = (torch.randn(shape),)
        assert_close(run(program, inputs), expected(model, inputs))
