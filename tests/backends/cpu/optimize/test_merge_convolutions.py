"""Convolutions that are merged because their results are adjacent in memory."""

from __future__ import annotations

import torch
from tests.backends.cpu.optimize.test_read_several_inputs import Skip, conv
from tests.backends.cpu.support import assert_close, expected, lower, operations, run
from torch import nn

from rushlight.backends.cpu.plan.tables import Gemm


def products(program: bytes) -> list[int]:
    """Returns the outputs of all products."""
    return [gemm.outputs for gemm in operations(program, Gemm)]


def test_phases_of_a_transposed_convolution() -> None:
    """There are two rows of two phases, each with 32 outputs."""
    model, inputs = Skip(conv(3, padding=1)), (torch.randn(1, 3, 44, 36),)
    program, _ = lower(model, inputs)
    assert products(program)[-2:] == [64, 64]
    assert_close(run(program, inputs), expected(model, inputs))


class Branches(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.first, self.layers = nn.Conv2d(3, 16, 1), nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return torch.cat([torch.relu(layer(x)) for layer in self.layers], 1).amax(1)


def test_branches_of_a_concatenation() -> None:
    torch.manual_seed(0)
    model, inputs = Branches(nn.Conv2d(16, 5, 1), nn.Conv2d(16, 9, 1)), (torch.randn(2, 3, 6, 7),)
    program, _ = lower(model, inputs)
    assert products(program) == [16, 14]
    assert_close(run(program, inputs), expected(model, inputs))


def test_other_windows_and_biases_stay_apart() -> None:
    layers = nn.Conv2d(16, 5, 1), nn.Conv2d(16, 9, 3, padding=1), nn.Conv2d(16, 4, 3, padding=1, bias=False)
    model, inputs = Branches(*layers), (torch.randn(1, 3, 6, 7),)
    program, _ = lower(model, inputs)
    assert products(program) == [16, 5, 9, 4]
    assert_close(run(program, inputs), expected(model, inputs))
