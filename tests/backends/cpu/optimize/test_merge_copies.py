"""Resized and copied images are written in the layout that the next step needs."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, plan_of, run
from torch import nn

from rushlight.backends.cpu.plan.tables import Copy, Resize2d


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


class Shuffled(nn.Module):
    """A convolution, a change of the order of its results, and another convolution."""

    def __init__(self, change: nn.Module, channels: int) -> None:
        super().__init__()
        self.first, self.change = nn.Conv2d(8, 36, 1), change
        self.last = nn.Conv2d(channels, 5, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.change(self.first(x)))


class Windows(nn.Module):
    """Divides an image into windows and exchanges their rows and columns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        return x.view(n, c, h // 2, 2, w // 3, 3).permute(0, 1, 2, 4, 3, 5).reshape(n, c, h, w)


CHANGES: dict[str, tuple[nn.Module, int]] = {
    "shuffle 2": (nn.PixelShuffle(2), 9),
    "shuffle 3": (nn.PixelShuffle(3), 4),
    "shuffle 6": (nn.PixelShuffle(6), 1),
    "unshuffle 2": (nn.PixelUnshuffle(2), 144),
    "unshuffle 3": (nn.PixelUnshuffle(3), 324),
    "channels": (nn.ChannelShuffle(4), 36),
    "windows": (Windows(), 36),
}


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("name", CHANGES)
def test_images_in_another_order_are_copied_once(name: str, batch: int) -> None:
    torch.manual_seed(0)
    change, channels = CHANGES[name]
    model, inputs = Shuffled(change, channels), (torch.randn(batch, 8, 6, 12),)
    program, outside = lower(model, inputs)
    assert outside == []
    # The input becomes channels-last, one copy changes the order, and the result becomes row-major.
    assert kinds(program).count(Copy) == 3
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


@pytest.mark.parametrize("factor", [2, 3, 4])
@pytest.mark.parametrize("channels", [3, 32, 37])
def test_pixel_shuffles_of_many_channels(channels: int, factor: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(4, channels * factor**2, 1), nn.PixelShuffle(factor), nn.Conv2d(channels, 6, 1)
    )
    inputs = (torch.randn(2, 4, 5, 7),)
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))
