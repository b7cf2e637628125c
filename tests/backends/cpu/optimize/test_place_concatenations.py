"""Concatenations whose parts are computed directly in the memory of the result."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function, assert_close, expected, lower, plan_of, run
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.plan.tables import Copy


class Joined(nn.Module):
    """A concatenation of the results of all layers, and a convolution after it."""

    def __init__(self, *layers: nn.Module, channels: int) -> None:
        super().__init__()
        self.layers, self.head = nn.ModuleList(layers), nn.Conv2d(channels, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.cat([layer(x) for layer in self.layers], 1))


class Dense(nn.Module):
    """Each layer reads the results of all earlier layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(6, 16, 1)
        self.layers = nn.ModuleList(nn.Conv2d(16 + 16 * i, 16, 3, padding=1) for i in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = [self.stem(x)]
        for layer in self.layers:
            found.append(layer(torch.relu(torch.cat(found, 1))))
        return torch.relu(torch.cat(found, 1))


class Decoder(nn.Module):
    """A level of a U-Net. With `padded`, the skip connection is padded first."""

    def __init__(self, padded: bool = False) -> None:
        super().__init__()
        self.padded = padded
        self.first, self.pool = nn.Conv2d(6, 17, 3, padding=0 if padded else 1), nn.MaxPool2d(2)
        self.deep, self.grow = nn.Conv2d(17, 9, 1), nn.ConvTranspose2d(9, 5, 2, 2)
        self.last = nn.Conv2d(22, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        if self.padded:
            x = F.pad(x, (1, 1, 1, 1), value=2.0)
        return self.last(torch.cat((x, self.grow(self.deep(self.pool(x)))), 1))


KINDS = Joined(
    nn.Conv2d(6, 5, 1),
    nn.Conv2d(6, 17, 3, padding=1),
    nn.Sequential(nn.Conv2d(6, 18, 1), nn.Conv2d(18, 19, 3, padding=1)),
    nn.Conv2d(6, 6, 3, padding=1, groups=6),
    nn.Sequential(nn.Conv2d(6, 7, 1), nn.MaxPool2d(3, 1, 1)),
    nn.Sequential(nn.Conv2d(6, 3, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear")),
    nn.Sequential(nn.Conv2d(6, 3, 1), Function(lambda x: torch.sigmoid(x) * x)),
    channels=60,
)
TOKENS = nn.Sequential(
    nn.Linear(24, 24), Function(lambda x: torch.cat((torch.ones(1, 1, 24), x), 1)), nn.LayerNorm(24)
)


def _padded_part(x: torch.Tensor) -> torch.Tensor:
    """The padding step writes the whole part. It must run before the step that writes the interior."""
    y = torch.relu(x)
    return torch.cat((y[:, :1], F.pad(y[:, 1:].repeat_interleave(2, 1), (0, 0, 0, 1))), 1) * 2


# Models, shapes of inputs, and the number of remaining copies: of inputs, outputs and constants.
CASES: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "decoder": (Decoder(), (1, 6, 20, 24), 2),
    "decoder_padded": (Decoder(padded=True), (2, 6, 20, 24), 4),
    "dense": (Dense(), (2, 6, 20, 20), 1),
    "kinds": (KINDS, (2, 6, 20, 18), 2),
    "read_elsewhere": (
        nn.Sequential(
            nn.Conv2d(6, 6, 1), Function(lambda x: torch.cat((x, x.flip(1), x), 1) + x.mean((2, 3)).sum())
        ),
        (1, 6, 9, 7),
        -1,
    ),
    "padded_part": (_padded_part, (1, 4, 32), -1),
    "tokens": (TOKENS, (1, 9, 24), 1),
}


def copies_of(program: bytes) -> int:
    return sum(isinstance(step.operation, Copy) for step in plan_of(program).steps)


@pytest.mark.parametrize("name", CASES)
def test_parts_are_computed_in_their_places(name: str) -> None:
    torch.manual_seed(0)
    model, shape, copies = CASES[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))
    if copies >= 0:
        assert not outside
        assert copies_of(program) == copies


def _views(program: bytes) -> set[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Returns the sizes, strides and offset of each value of a plan without symbols."""
    plan = plan_of(program)

    def numbers(indices: list[int]) -> tuple[int, ...]:
        return tuple(plan.expressions[index].code[1] for index in indices)

    return {(numbers(v.sizes), numbers(v.strides), numbers([v.offset])[0]) for v in plan.values}


def test_inputs_of_3_and_5_channels_are_slices_of_the_result() -> None:
    """The example in the docstring of the pass."""
    model = Joined(nn.Conv2d(6, 3, 1), nn.Conv2d(6, 5, 3, padding=1), channels=8)
    program, _ = lower(model, (torch.randn(1, 6, 2, 2),))
    views = _views(program)
    assert ((1, 2, 2, 3), (1, 16, 8, 1), 0) in views
    assert ((1, 2, 2, 5), (1, 16, 8, 1), 3) in views


def test_adjacent_channels_are_a_slice_of_their_image() -> None:
    """The second example in the docstring of the pass: the mean reads 8 of the 10 channels."""
    head = Function(lambda x: torch.cat((x[:, 0:3], x[:, 3:8]), 1).mean((2, 3)))
    inputs = (torch.randn(1, 6, 2, 2),)
    model = nn.Sequential(nn.Conv2d(6, 10, 1), head)
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))
    assert any(sizes[-1] == 8 and 10 in strides for sizes, strides, _ in _views(program))


class Skips(nn.Module):
    """A U-Net with three levels and 16 channels at the top."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 16, 32, 64)
        self.down = nn.ModuleList(
            nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1), nn.Conv2d(o, o, 1))
            for i, o in zip(widths, widths[1:], strict=False)
        )
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * o, o, 2, stride=2) for o in (32, 16))
        self.up = nn.ModuleList(nn.Conv2d(2 * o, o, 3, padding=1) for o in (32, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = self.down[0](x)
        middle = self.down[1](F.max_pool2d(top, 2))
        y = self.down[2](F.max_pool2d(middle, 2))
        y = self.up[0](torch.cat((middle, self.grow[0](y)), 1))
        return self.up[1](torch.cat((top, self.grow[1](y)), 1)).mean(1)


def test_maps_that_wait_long_do_not_hold_the_place_of_the_whole() -> None:
    inputs = (torch.randn(1, 3, 64, 64),)
    model = Skips()
    program, outside = lower(model, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(model, inputs))
    # The activation of the top level, the upsampled activation of the level below, the result.
    largest = 16 * 64 * 64 * 4
    assert plan_of(program).arena_bytes <= 3.1 * largest


def test_parts_without_elements_have_no_place() -> None:
    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        empty = x[None, :, -1:0, 1:1:1]
        empty *= empty
        return y

    inputs = (torch.randn(1, 1, 1), torch.randn(()))
    program, _ = lower(model, inputs)
    assert_close(run(program, inputs), expected(model, inputs))
