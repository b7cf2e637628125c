"""Windows, padding by reflection and replication, extremes and variances agree with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import Function, assert_close, expected, run
from torch.nn import functional as F

import rushlight
from rushlight.format.pte import read_pte

X = torch.linspace(-3, 4, 2 * 6 * 14 * 15).sin().reshape(2, 6, 14, 15)
WEIGHT = torch.linspace(-1, 1, 8 * 6 * 9).cos().reshape(8, 6, 3, 3)

Values = tuple[torch.Tensor, ...]
ON_THE_BACKEND: dict[str, Callable[[torch.Tensor], torch.Tensor | Values]] = {
    "unfold": lambda x: x.unfold(2, 4, 2).relu() * 2,
    "unfold twice": lambda x: (x.unfold(2, 4, 2).unfold(3, 5, 3) * 2).sum((-1, -2)),
    "unfold a convolution": lambda x: F.conv2d(x, WEIGHT).unfold(3, 3, 3).exp(),
    "unfold and multiply": lambda x: x.unfold(3, 6, 2) @ torch.ones(6, 4),
    "read windows twice": lambda x: (lambda u: (u * 2 + u, u + 1))(torch.relu(x).unfold(2, 4, 2)),
    "im2col": lambda x: F.unfold(F.conv2d(x, WEIGHT), 3) * 2 + 1,
    "im2col with options": lambda x: F.unfold(F.conv2d(x, WEIGHT), (3, 2), 2, (1, 2), (2, 1)) * 2,
    "reflect": lambda x: F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), WEIGHT),
    "reflect on one side": lambda x: F.pad(F.conv2d(x, WEIGHT), (3, 2, 0, 4), mode="reflect") * 2,
    "replicate": lambda x: F.conv2d(F.pad(x, (1, 2, 3, 0), mode="replicate"), WEIGHT),
    "maximum": lambda x: x.max(1, keepdim=True)[0] * x,
    "maximum without its dimension": lambda x: x.max(-1)[0] * 2 + 1,
    "minimum": lambda x: torch.min(x, 2).values.exp(),
    "adaptive maximum": lambda x: F.adaptive_max_pool2d(x, 1) * x,
    "adaptive maximum of windows": lambda x: F.adaptive_max_pool2d(x[..., :14], (7, 2)) * 2,
    "uneven maxima": lambda x: F.adaptive_max_pool2d(x, (5, 4)) * 2,
    "uneven means": lambda x: F.adaptive_avg_pool2d(x * 2, (3, 4)) * 2,
    "variance of channels": lambda x: torch.relu(x.var(1) + x[:, 0]),
    "deviation": lambda x: x.std((2, 3), keepdim=True) * x,
    "variance and mean": lambda x: torch.var_mean(x, 1, keepdim=True),
    "variance of all": lambda x: x.var() * x,
    "variance with a correction": lambda x: x.var((0, 3), correction=4).exp(),
    "large mean": lambda x: (x + 100).var(1, keepdim=True, unbiased=False) * x,
    "large mean of all": lambda x: torch.var_mean(x + 100, (1, 2, 3))[0] + 1,
}
ON_KERNELS: dict[str, Callable[[torch.Tensor], torch.Tensor | Values]] = {
    "indices of maxima": lambda x: x.max(1)[1],
    "many uneven windows": lambda x: F.adaptive_max_pool2d(x, (9, 8)) * 2,
    "no degree of freedom": lambda x: x[:1, :1, :1, :1].var() + x.sum() * 0,
    "a dimension that is reflected far": lambda x: F.pad(x, (14, 14, 13, 13), mode="reflect") * 2,
}


@pytest.mark.parametrize("name", ON_THE_BACKEND)
def test_the_backend_computes(name: str) -> None:
    model = Function(ON_THE_BACKEND[name])
    program = rushlight.compile(model, (X,)).buffer
    (method,) = read_pte(program).program.execution_plan
    assert (len(method.operators), len(method.delegates)) == (0, 1)
    for threads in (1, 2):
        assert_close(run(program, (X,), threads), expected(model, (X,)))


@pytest.mark.parametrize("name", ON_KERNELS)
def test_kernels_compute_the_rest(name: str) -> None:
    model = Function(ON_KERNELS[name])
    program = rushlight.compile(model, (X,)).buffer
    (method,) = read_pte(program).program.execution_plan
    assert method.operators
    for got, want in zip(run(program, (X,)), expected(model, (X,)), strict=True):
        torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-5, atol=1e-5)


def test_not_finite_numbers_stay_where_they_are() -> None:
    x = X.clone()
    x[0, 2, 3, 4], x[1, 1, 0, 0] = float("nan"), float("inf")
    model = Function(lambda x: (x.max(1)[0] * 2, F.pad(x, (1, 1, 1, 1), mode="reflect") * 2, x.var(1) * 2))
    program = rushlight.compile(model, (X,)).buffer
    for got, want in zip(run(program, (x,)), expected(model, (x,)), strict=True):
        torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dims", [(1,), (2, 3), (0, 1, 2, 3)])
def test_equal_numbers_have_no_variance(dims: tuple[int, ...]) -> None:
    x = torch.full((2, 3, 7, 5), 0.1)
    model = Function(lambda x: (x.var(dims) * 2, torch.var_mean(x, dims)[0] * 2, x.std(dims, keepdim=True)))
    for got in run(rushlight.compile(model, (x,)).buffer, (x,)):
        assert not got.any()
