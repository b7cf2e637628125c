"""Weights that the model computes only from parameters are stored in the plan."""

from __future__ import annotations

import pytest
import torch
from tests.backends.cpu.support import Function, assert_close, expected, kinds, run
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.plan.tables import Gemm
from rushlight.format.pte import read_pte


class Standardized(nn.Conv2d):
    """A convolution with standardized weights (https://arxiv.org/abs/1903.10520)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.weight.reshape(1, self.out_channels, -1)
        weight = F.batch_norm(rows, None, None, training=True, momentum=0.0).reshape_as(self.weight)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


class Moments(nn.Conv2d):
    """A convolution with standardized weights, which an operator with two results computes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        deviation, mean = torch.std_mean(self.weight, dim=(1, 2, 3), keepdim=True)
        return F.conv2d(x, (self.weight - mean) / (deviation + 1e-5), self.bias, self.stride, self.padding)


@pytest.mark.parametrize("layer", [Standardized, Moments])
def test_weights_from_operators_of_several_results(layer: type[nn.Conv2d]) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(layer(16, 32, 3, padding=1), nn.ReLU(), layer(32, 8, 1)).eval()
    inputs = (torch.randn(1, 16, 14, 14),)
    program = rushlight.compile(model, inputs).buffer
    (method,) = read_pte(program).program.execution_plan
    assert (len(method.operators), len(method.delegates)) == (0, 1)
    assert_close(run(program, inputs), expected(model, inputs))


class Positions(nn.Module):
    """Attention with a bias for pairs of positions, which a small network computes from their distance."""

    def __init__(self) -> None:
        super().__init__()
        places = torch.arange(49.0)
        self.register_buffer("distances", (places[:, None] - places)[..., None].expand(49, 49, 2))
        self.network = nn.Sequential(nn.Linear(2, 384), nn.ReLU(), nn.Linear(384, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = self.network(self.distances).permute(2, 0, 1)
        return torch.softmax(x @ x.transpose(-1, -2) + bias, -1) @ x


def test_a_small_result_of_large_intermediate_results() -> None:
    torch.manual_seed(0)
    model, inputs = Positions().eval(), (torch.randn(4, 3, 49, 32),)
    program = rushlight.compile(model, inputs).buffer
    assert Gemm not in kinds(program)
    assert_close(run(program, inputs), expected(model, inputs))


def test_a_large_result_is_not_stored() -> None:
    inputs = (torch.randn(64, 64, 128),)
    model = Function(lambda x: torch.ones(64, 64, 1).expand(64, 64, 128) * 2 + x)
    program = rushlight.compile(model, inputs).buffer
    assert len(program) < 1 << 18
    assert_close(run(program, inputs), expected(model, inputs))


class Doubled(nn.Module):
    """Constants of a dtype that plans do not support. The plan and the caller read them."""

    table: torch.Tensor
    steps: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(4, 4, dtype=torch.float64))
        self.register_buffer("steps", torch.arange(4, dtype=torch.int16))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        largest, places = self.table.max(-1)
        halves = (self.table.t() + 1).split(2)
        steps = self.steps * 2
        y = x.sin().cos() * largest.float() + steps
        return F.linear(y, halves[0].float()), largest, places, halves[1], steps


def test_constants_of_other_dtypes_inside_and_outside_of_plans() -> None:
    torch.manual_seed(0)
    model, inputs = Doubled().eval(), (torch.randn(3, 4),)
    program = rushlight.compile(model, inputs).buffer
    assert len(read_pte(program).program.execution_plan[0].delegates) == 1
    assert_close(run(program, inputs), expected(model, inputs))
