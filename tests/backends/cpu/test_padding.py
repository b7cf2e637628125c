"""Zero padding is fused into the next convolution if no other operator reads the padded image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from tests.backends.cpu.test_plan import kinds  # type: ignore[attr-defined]
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.plan.tables import Copy

IMAGE = (2, 16, 9, 12)
ROW = (2, 16, 23)


class Padded(nn.Module):
    def __init__(self, layer: nn.Module, pads: tuple[int, ...], value: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Conv2d(16, 16, 1) if len(pads) == 4 else nn.Conv1d(16, 16, 1)
        self.layer, self.pads, self.value = layer, pads, value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.layer(F.pad(x, self.pads, value=self.value))


FUSED: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "causal": (Padded(nn.Conv1d(16, 24, 3), (2, 0)), ROW),
    "causal_dilated": (Padded(nn.Conv1d(16, 24, 3, dilation=8), (16, 0)), ROW),
    "causal_depthwise": (Padded(nn.Conv1d(16, 16, 5, groups=16), (4, 0)), ROW),
    "strided": (Padded(nn.Conv2d(16, 24, 3, 2), (0, 1, 0, 1)), IMAGE),
    "strided_depthwise": (Padded(nn.Conv2d(16, 16, 5, 2, groups=16), (1, 2, 2, 1)), IMAGE),
    "grouped": (Padded(nn.Conv2d(16, 32, 3, groups=4), (2, 0, 1, 1)), IMAGE),
    "even": (Padded(nn.Conv2d(16, 32, 3), (1, 1, 1, 1)), IMAGE),
    "even_wide": (Padded(nn.Conv2d(16, 8, 7), (3, 3, 3, 3)), IMAGE),
    "more": (Padded(nn.Conv2d(16, 24, 5, padding=1), (1, 2, 3, 0)), IMAGE),
    "width": (Padded(nn.Conv2d(16, 24, (1, 4)), (3, 0, 0, 0)), IMAGE),
}


@pytest.mark.parametrize("name", FUSED)
def test_padding_is_part_of_a_convolution(name: str) -> None:
    module, shape = FUSED[name]
    inputs = (torch.randn(shape),)
    program, outside = lower(module, inputs)
    assert outside == []
    assert sum(kind is Copy for kind in kinds(program)) <= 2  # the copies of the input and the output
    assert_close(run(program, inputs), expected(module, inputs), 2e-6)


def _twice(layer: nn.Module) -> Callable[[torch.Tensor], Any]:
    def function(x: torch.Tensor) -> Any:
        padded = F.pad(torch.relu(x), (1, 1, 1, 1))
        return layer(padded), padded * 2

    return function


KEPT: dict[str, Any] = {
    "ones": Padded(nn.Conv2d(16, 24, 3), (1, 1, 1, 1), value=1.0),
    "beyond_the_window": Padded(nn.Conv2d(16, 24, 3), (3, 0, 0, 3)),
    "read_twice": _twice(nn.Conv2d(16, 24, 3)),
    "channels": lambda x: F.conv2d(F.pad(x * 2, (1, 1, 1, 1, 0, 2)), torch.ones(4, 18, 3, 3)),
    "cut": Padded(nn.Conv2d(16, 24, 3, padding=1), (-1, -1, -2, -1)),
    "cut_and_padded": Padded(nn.Conv2d(16, 24, 3, padding=1), (-1, 1, 1, -2)),
    "cut_concatenation": lambda x: F.conv2d(
        F.pad(torch.cat([x * 2, x + 1], 1), (-1, -1, -1, -1)), torch.ones(4, 32, 3, 3)
    ),
    "pooled": lambda x: F.max_pool2d(F.pad(x * 2, (0, 1, 0, 1)), 3, 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_padding_stays(name: str) -> None:
    inputs = (torch.randn(IMAGE),)
    program, outside = lower(KEPT[name], inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(KEPT[name], inputs), 2e-6)
