"""The simplification of symbolic sizes keeps the remainders of integer divisions."""

from __future__ import annotations

import pytest
import sympy
import torch
from tests.backends.cpu.support import assert_close, expected, lower, run
from torch import nn
from torch.utils._sympy.functions import FloorDiv

from rushlight.backends.cpu.plan.sizes import simplify

S = sympy.Symbol("s", integer=True, positive=True)


@pytest.mark.parametrize(
    ("size", "simple"),
    [
        (FloorDiv(S - 1, 2) + 1, FloorDiv(S - 1, 2) + 1),
        (FloorDiv(3 * S + 2, 3), FloorDiv(3 * S + 2, 3)),
        (FloorDiv(S, 4), FloorDiv(S, 4)),
        (FloorDiv(S**2, S), S),
        (FloorDiv(6 * S + 4, 2), 3 * S + 2),
    ],
)
def test_quotients_with_a_remainder_stay(size: sympy.Expr, simple: sympy.Expr) -> None:
    assert simplify(size) == simple


def test_strided_convolutions_of_dynamic_images_are_taken() -> None:
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(16, 8, 3, 2))
    sizes = {i: torch.export.Dim(f"d{i}", min=24, max=64) for i in (2, 3)}
    program, outside = lower(model, (torch.randn(1, 3, 33, 40),), (sizes,))
    assert set(outside) <= {"aten.sym_size.int"}
    for height, width in ((24, 24), (25, 64), (33, 47)):
        inputs = (torch.randn(1, 3, height, width),)
        assert_close(run(program, inputs), expected(model, inputs), 2e-6)
