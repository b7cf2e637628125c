"""Images whose pixels share too few sets of the cache have unused elements between their pixels."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, operations, plan_of, run
from torch import nn

from rushlight.backends.cpu.plan.evaluate import numbers
from rushlight.backends.cpu.plan.tables import DepthwiseConv2d


class Block(nn.Module):
    """A 1 x 1 convolution, a depthwise convolution and a 1 x 1 convolution."""

    def __init__(self, channels: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(8, channels, 1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=channels),
            nn.Hardswish(),
            nn.Conv2d(channels, 8, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layers(x)
        return result


class Shared(Block):
    """The input of the depthwise convolution is also added to the result of another convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.again = nn.Conv2d(8, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        image = self.layers[:2](x)
        depthwise = self.layers[2](image)
        return self.layers[4](depthwise * image.mean((2, 3), keepdim=True)) + self.layers[4](
            self.again(x) + image
        )


class Flat(Block):
    """A linear layer, which needs dense memory, reads the input of the depthwise convolution too."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.linear = nn.Linear(channels * 36, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        image = self.layers[:2](x)
        rows = self.linear(image.permute(0, 2, 3, 1).flatten(1))
        return self.layers[2:](image) + rows[:, :, None, None]


def pixel_strides(program: bytes) -> list[int]:
    """Returns the pixel strides of the inputs of depthwise convolutions."""
    plan = plan_of(program)
    inputs = [plan.values[operation.input] for operation in operations(program, DepthwiseConv2d)]
    return [numbers(plan)[image.strides[2]] for image in inputs]


@pytest.mark.parametrize(
    ("channels", "stride"), [(256, 272), (512, 528), (1024, 1040), (128, 128), (264, 264), (384, 384)]
)
@pytest.mark.parametrize(("kernel", "step"), [(3, 1), (3, 2), (5, 1), (7, 1)])
def test_pixels_of_few_sets_are_spread(channels: int, stride: int, kernel: int, step: int) -> None:
    model, inputs = Block(channels, kernel, step), (torch.randn(2, 8, 6, 6),)
    program, _ = lower(model, inputs)
    assert pixel_strides(program) == [stride]
    assert_close(run(program, inputs), expected(model, inputs))


def test_a_window_of_one_pixel_reads_dense_pixels() -> None:
    model, inputs = Block(512, kernel=1), (torch.randn(1, 8, 6, 6),)
    program, _ = lower(model, inputs)
    assert pixel_strides(program) in ([512], [])
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize(("kind", "stride"), [(Shared, 272), (Flat, 256)])
def test_all_readers_must_support_the_pixel_stride(kind: type[Block], stride: int) -> None:
    model, inputs = kind(256), (torch.randn(1, 8, 6, 6),)
    program, _ = lower(model, inputs)
    assert pixel_strides(program) == [stride]
    assert_close(run(program, inputs), expected(model, inputs))
