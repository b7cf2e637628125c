"""Transposed convolutions, which are several convolutions that write every second pixel of the output."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from torch import nn

LAYERS: dict[str, nn.Module] = {
    "doubling": nn.ConvTranspose2d(24, 40, 4, 2, 1),
    "few outputs": nn.ConvTranspose2d(64, 3, 4, 2, 1),
    "many outputs": nn.ConvTranspose2d(16, 70, 3, 2, 1, output_padding=1),
    "wide strides": nn.ConvTranspose2d(16, 33, 5, 3),
    "groups": nn.ConvTranspose2d(24, 48, 4, 2, 1, groups=3),
    "without bias": nn.ConvTranspose2d(20, 17, 2, 2, bias=False),
    "one axis": nn.ConvTranspose2d(16, 24, (3, 4), (1, 2), (1, 1)),
}


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 4), (5, 13), (3, 14), (6, 15)])
@pytest.mark.parametrize("name", LAYERS)
def test_small_images(name: str, size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    layer = LAYERS[name]
    assert isinstance(layer, nn.ConvTranspose2d)
    model = nn.Sequential(nn.ReLU(), layer, nn.LeakyReLU(0.2))
    inputs = (torch.randn(3, layer.in_channels, *size),)
    program, outside = lower(model, inputs)
    assert outside == []
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


def test_dynamic_sizes() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(16, 20, 4, 2, 1))
    sizes = {i: torch.export.Dim(f"d{i}", min=1, max=30) for i in (0, 2, 3)}
    program, _ = lower(model, (torch.randn(2, 16, 8, 8),), (sizes,))
    for shape in [(1, 16, 1, 1), (3, 16, 30, 13), (2, 16, 4, 30)]:
        inputs = (torch.randn(shape),)
        assert_close(run(program, inputs), expected(model, inputs))
