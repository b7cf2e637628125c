"""Scales, shifts and clamps that a product applies to its input (prologues)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import (
    Function,
    assert_close,
    damaged,
    expected,
    lower,
    plan_of,
    refusals,
    run,
)
from torch import nn

from rushlight.backends.cpu.plan.tables import Elementwise


def norm(channels: int, rank: int = 2) -> nn.Module:
    layer = nn.BatchNorm2d(channels) if rank == 2 else nn.BatchNorm1d(channels)
    for values in (layer.weight, layer.bias, layer.running_mean):
        nn.init.uniform_(values, -1, 1)  # type: ignore[arg-type]
    nn.init.uniform_(layer.running_var, 0.5, 2)  # type: ignore[arg-type]
    return layer


class Around(nn.Module):
    """The mean of `inner(y)` times y, with y = first(x).

    y is read twice, so that `inner` cannot overwrite it.
    """

    def __init__(self, first: nn.Module, *inner: nn.Module) -> None:
        super().__init__()
        self.first, self.inner = first, nn.Sequential(*inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        return self.inner(y).mean(1, keepdim=True) * y


class Gated(nn.Module):
    """Channels multiplied with gates of each image, with and without a shift."""

    def __init__(self, shifts: bool) -> None:
        super().__init__()
        self.first, self.gate, self.last = nn.Conv2d(6, 24, 3), nn.Conv2d(24, 24, 1), nn.Conv2d(24, 18, 1)
        self.shifts = shifts

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        gate = torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))
        inside = y + gate if self.shifts else y * gate
        return self.last(inside).mean(1, keepdim=True) + y


class Dense(nn.Module):
    """A block of DenseNet: each layer reads the results of all earlier layers."""

    def __init__(self, layers: int = 6) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 1)
        widths = [32 + 16 * i for i in range(layers)]
        self.layers = nn.ModuleList(
            nn.Sequential(
                norm(width),
                nn.ReLU(),
                nn.Conv2d(width, 32, 1),
                norm(32),
                nn.ReLU(),
                nn.Conv2d(32, 16, 3, padding=1),
            )
            for width in widths
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = [self.stem(x)]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return torch.cat(found, 1).mean(1)


FIRST = nn.Conv2d(6, 24, 3)
# Models, shapes of inputs, and the number of remaining chain steps.
CASES: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "norm": (Around(FIRST, nn.ReLU(), norm(24), nn.Conv2d(24, 40, 1)), (2, 6, 9, 7), 2),
    "norm_relu": (Around(FIRST, norm(24), nn.ReLU(), nn.Conv2d(24, 40, 1)), (2, 6, 9, 7), 1),
    "norm_relu6": (Around(FIRST, norm(24), nn.ReLU6(), nn.Conv2d(24, 17, 1, bias=False)), (1, 6, 30, 33), 1),
    "hardtanh": (Around(FIRST, nn.Hardtanh(-0.5, 0.75), nn.Conv2d(24, 40, 1)), (1, 6, 5, 5), 1),
    "rows": (
        Around(nn.Conv1d(6, 24, 3), norm(24, 1), nn.ReLU(), nn.Conv1d(24, 9, 1)),
        (2, 6, 50),
        1,
    ),
    "gates": (Gated(shifts=False), (3, 6, 8, 11), 1),
    "shifts": (Gated(shifts=True), (3, 6, 8, 11), 1),
    "dense": (Dense(), (2, 3, 20, 24), 0),
    # The shift must not be added to the zeros of the padding.
    "window": (Around(FIRST, norm(24), nn.ReLU(), nn.Conv2d(24, 8, 3, padding=1)), (1, 6, 9, 7), 2),
    "stride": (
        nn.Sequential(FIRST, nn.MaxPool2d(2), norm(24), nn.ReLU(), nn.Conv2d(24, 8, 1, 2)),
        (1, 6, 9, 8),
        1,
    ),
    "sigmoid": (Around(FIRST, norm(24), nn.Sigmoid(), nn.Conv2d(24, 8, 1)), (1, 6, 9, 7), 2),
    "groups": (Around(FIRST, norm(24), nn.ReLU(), nn.Conv2d(24, 8, 1, groups=2)), (1, 6, 9, 7), 2),
    # The result shares the memory of the input.
    "in_place": (
        nn.Sequential(FIRST, nn.MaxPool2d(2), norm(24), nn.ReLU(), nn.Conv2d(24, 8, 1)),
        (1, 6, 9, 8),
        1,
    ),
    "read_twice": (
        Around(FIRST, norm(24), nn.ReLU(), Function(lambda x: x * x.mean((2, 3), keepdim=True))),
        (1, 6, 9, 7),
        -1,
    ),
}


def chains_of(program: bytes) -> int:
    return sum(isinstance(step.operation, Elementwise) for step in plan_of(program).steps)


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_products_apply_what_is_before_them(name: str, threads: int) -> None:
    torch.manual_seed(0)
    model, shape, chains = CASES[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(model, inputs)
    assert not outside
    assert_close(run(program, inputs, threads), expected(model, inputs))
    if chains >= 0:
        assert chains_of(program) == chains


def test_a_dense_block_takes_its_own_memory_and_that_of_a_layer() -> None:
    inputs = (torch.randn(1, 3, 32, 32),)
    program, _ = lower(Dense(), inputs)
    whole, between = 32 + 6 * 16, 32
    assert plan_of(program).arena_bytes <= (whole + between) * 32 * 32 * 4


def test_sizes_that_are_known_when_the_plan_runs() -> None:
    model = CASES["norm_relu"][0]
    height, width = torch.export.Dim("height", min=4, max=40), torch.export.Dim("width", min=4, max=40)
    program, outside = lower(model, (torch.randn(2, 6, 9, 7),), ({2: height, 3: width},))
    assert not outside
    assert chains_of(program) == 1
    for size in ((9, 7), (40, 40), (4, 31)):
        inputs = (torch.randn(2, 6, *size),)
        assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.damage
def test_a_damaged_plan_gives_an_error_or_a_result() -> None:
    model, shape, _ = CASES["norm_relu6"]
    inputs = (torch.randn(shape),)
    assert refusals(damaged(lower(model, inputs)[0], 600, 1), inputs) > 60
