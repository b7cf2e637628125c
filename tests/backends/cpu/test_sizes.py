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


class Experts(nn.Module):
    """Rows that are divided among experts; the number of rows of each expert depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: torch.Tensor, scale: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        rows = counts.tolist()
        for count in rows:
            torch._check(count >= 0)
            torch._check(count <= 10)
        torch._check(sum(rows) == x.shape[0])
        parts = x.split(rows)
        return torch.cat([layer(part) for layer, part in zip(self.layers, parts, strict=True)]) * scale


@pytest.mark.parametrize("counts", [(3, 0, 7), (10, 0, 0), (1, 8, 1)])
def test_parts_of_sizes_that_depend_on_the_data(counts: tuple[int, ...]) -> None:
    model = Experts().eval()
    x, scale = torch.randn(10, 8), torch.randn(10, 1)
    program, _ = lower(model, (x, scale, torch.tensor([3, 3, 4])))
    inputs = (x, scale, torch.tensor(counts))
    assert_close(run(program, inputs), expected(model, inputs), 2e-6)
