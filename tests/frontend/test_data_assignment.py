"""`frontend/data_assignment.py`: assignments to `Tensor.data` have the results of eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import rushlight
from rushlight.ir.errors import ExportError


def views_keep_the_old_data(x: torch.Tensor) -> Any:
    y = x * 2
    view = y.view(-1)
    y.data = x + 1
    return y, view, y.view(-1) + view


def later_writes(x: torch.Tensor) -> Any:
    y, z = x * 2, x + 1
    y.data = z
    y.add_(3)
    z.mul_(2)
    return y, z, x


def several_assignments(x: torch.Tensor) -> Any:
    y, a, b = x * 2, x + 1, x - 1
    y.data = a
    first = y + 0
    y.data = b
    return first, y, a, b


def assignments_of_each_other(x: torch.Tensor) -> Any:
    y, z = x * 2, x - 5
    y.data = x + 1
    z.data = y
    y.data = x + 2
    return y, z


def other_sizes(x: torch.Tensor) -> Any:
    y = x * 2
    y.data = x[:1].sum(1)
    return y + y.numel()


class Model(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    "function",
    [views_keep_the_old_data, later_writes, several_assignments, assignments_of_each_other, other_sizes],
)
def test_results_of_eager(function: Callable[[torch.Tensor], Any]) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    module = rushlight.load(rushlight.compile(Model(function), (x,)).buffer)
    torch.testing.assert_close(module(x), function(x.clone()))


class State(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.data = self.total + x
        return self.total


def test_assignments_to_buffers_are_refused() -> None:
    """torch.export does not record that the buffer has another value in the next call."""
    with pytest.raises(ExportError, match=r"test_data_assignment.py:\d+.*'b_total'.*copy_\(\)"):
        rushlight.compile(State(), (torch.ones(3),))
