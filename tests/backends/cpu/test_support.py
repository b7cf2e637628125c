"""Operators that plans do not support run on kernels, and agree with eager PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from torch import nn
from torch.nn import functional as F

CASES = {
    "no rows of weights": (nn.Linear(0, 7), torch.randn(3, 0)),
    "no columns of weights": (nn.Linear(7, 0), torch.randn(3, 7)),
    "no weights in 16 bits": (nn.Linear(0, 7).bfloat16(), torch.randn(3, 0).bfloat16()),
    "areas without output": (lambda x: F.interpolate(x, scale_factor=0.5, mode="area"), torch.randn(1, 3, 1)),
    "a pool without output": (lambda x: F.adaptive_avg_pool2d(x, (0, 2)), torch.randn(1, 3, 4, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_empty_tensors(name: Any) -> None:
    model, x = CASES[name]
    program, _ = lower(model, (x,))
    assert_close(run(program, (x,)), expected(model, (x,)))


def test_a_negative_divisor_is_left_to_kernels() -> None:
    x = torch.randn(1, 2, 4, 4)
    model = lambda x: F.avg_pool2d(x, 2, divisor_override=-2)  # noqa: E731
    program, _ = lower(model, (x,))
    assert_close(run(program, (x,)), expected(model, (x,)))


def test_a_size_that_is_computed_with() -> None:
    """The position of the quantile, 0.3 * (size - 1), cannot be computed in the plan."""
    batch = torch.export.Dim("batch", min=1, max=6)
    model = lambda x: torch.quantile(x * 2.0, 0.3, 0)  # noqa: E731
    program, _ = lower(model, (torch.randn(2, 3),), dynamic_shapes=(({0: batch},),))
    for count in (1, 5, 6):
        x = torch.randn(count, 3)
        assert_close(run(program, (x,)), expected(model, (x,)))


def test_a_recurrent_network_of_16_bits_with_its_batch_first() -> None:
    """Its result, which torch lays out with time first, is converted as it lies here."""
    network = nn.LSTM(5, 4, batch_first=True).bfloat16()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: Any) -> Any:
            return self.network(x)[0].half()

    x = torch.randn(2, 3, 5).bfloat16()
    program, _ = lower(Model(), (x,))
    assert_close(run(program, (x,)), expected(Model(), (x,)), 2e-2)
