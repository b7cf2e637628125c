"""A mean of the result of a product is computed before the product."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function, assert_close, expected, kinds, lower, run
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.plan.tables import Gemm, Pool2d

FIRST = nn.Sequential(nn.Conv2d(5, 16, 3), nn.ReLU())


def model(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(FIRST, *layers)


# Models, and whether the mean is computed first.
CASES: dict[str, tuple[Any, bool]] = {
    "transition": (model(nn.Conv2d(16, 8, 1), nn.AvgPool2d(2, 2)), True),
    "rest": (model(nn.Conv2d(16, 8, 1, bias=False), nn.AvgPool2d(3, 2)), True),
    "norm": (model(nn.Conv2d(16, 8, 1), nn.BatchNorm2d(8), nn.AvgPool2d((2, 3))), True),
    "then": (model(nn.Conv2d(16, 8, 1), nn.AvgPool2d(2, 2), nn.ReLU()), True),
    "relu": (model(nn.Conv2d(16, 8, 1), nn.ReLU(), nn.AvgPool2d(2, 2)), False),
    "window": (model(nn.Conv2d(16, 8, 3), nn.AvgPool2d(2, 2)), False),
    "padding": (model(nn.Conv2d(16, 8, 1), nn.AvgPool2d(3, 2, 1)), False),
    "beyond": (model(nn.Conv2d(16, 8, 1), nn.AvgPool2d(2, 2, ceil_mode=True)), False),
    "divisor": (model(nn.Conv2d(16, 8, 1), nn.AvgPool2d(2, 2, divisor_override=3)), False),
    "larger": (model(nn.Conv2d(16, 8, 1), nn.AvgPool2d(3, 1)), False),
    "read_twice": (
        model(nn.Conv2d(16, 8, 1), Function(lambda x: F.avg_pool2d(x, 2) + F.max_pool2d(x, 2))),
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mean_comes_before_its_product(name: str) -> None:
    torch.manual_seed(0)
    network, is_before = CASES[name]
    inputs = (torch.randn(2, 5, 15, 17),)
    program, outside = lower(network, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(network, inputs))
    found = kinds(program)
    assert ((Pool2d, Gemm) in list(zip(found, found[1:], strict=False))) == is_before
