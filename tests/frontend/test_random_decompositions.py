"""Operators that draw random numbers: the distributions of their samples, and results for given samples."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

import rushlight


class Module(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def run(function: Any, *inputs: torch.Tensor) -> Any:
    return rushlight.load(rushlight.compile(Module(function), inputs, partitioner=()).buffer)(*inputs)


def test_exponential() -> None:
    samples = run(lambda x: x.exponential_(4.0), torch.empty(20000))
    assert samples.min() >= 0
    # The mean and the standard deviation of this distribution are 1 / lambd.
    assert abs(samples.mean() - 0.25) < 0.02
    assert abs(samples.std() - 0.25) < 0.02


# The mean and the standard deviation of samples.
DISTRIBUTIONS = {
    "uniform": (lambda x: x.uniform_(1, 3), 2, 0.577),
    "normal in place": (lambda x: x.normal_(2, 3), 2, 3),
    "normal of a mean": (lambda x: torch.normal(x.zero_() + 1, 2.0), 1, 2),
    "normal of a deviation": (lambda x: torch.normal(1.0, x.zero_() + 2), 1, 2),
    "normal of both": (lambda x: torch.normal(x.zero_(), x[:1].zero_() + 2), 0, 2),
    "log_normal": (lambda x: x.log_normal_(0, 0.5).log(), 0, 0.5),
    "cauchy": (lambda x: x.cauchy_(1, 2).sub(1).div(2).atan(), 0, 0.907),
    "bernoulli of a number": (lambda x: x.bernoulli_(0.25), 0.25, 0.433),
    "bernoulli of a tensor": (lambda x: x.bernoulli_(torch.tensor(0.25)), 0.25, 0.433),
    "randint_like": (lambda x: torch.randint_like(x, 4), 1.5, 1.118),
    "randint_like from": (lambda x: torch.randint_like(x, 2, 6), 3.5, 1.118),
    "rand without generator": (lambda x: torch.rand(x.shape, generator=None), 0.5, 0.289),
    "rand_like without generator": (lambda x: torch.rand_like(x, generator=None), 0.5, 0.289),
    "randn without generator": (lambda x: torch.randn(x.shape, generator=None), 0, 1),
    "randn_like without generator": (lambda x: torch.randn_like(x, generator=None), 0, 1),
    "randint without generator": (lambda x: torch.randint(4, x.shape, generator=None), 1.5, 1.118),
    "randint from without generator": (lambda x: torch.randint(2, 6, x.shape, generator=None), 3.5, 1.118),
    "randint_like without generator": (lambda x: torch.randint_like(x, 4, generator=None), 1.5, 1.118),
    "randint_like from without generator": (
        lambda x: torch.randint_like(x, 2, 6, generator=None),
        3.5,
        1.118,
    ),
    "randperm without generator": (lambda x: torch.randperm(len(x), generator=None) / len(x), 0.5, 0.289),
    "multinomial": (lambda x: torch.multinomial(ODDS.expand(len(x), 3), 1), 1.25, 0.829),
    "multinomial of 16 bits": (lambda x: torch.multinomial(ODDS.half().expand(len(x), 3), 1), 1.25, 0.829),
    "multinomial with replacement": (lambda x: torch.multinomial(ODDS, len(x), True), 1.25, 0.829),
}
ODDS: torch.Tensor = torch.tensor([1.0, 1.0, 2.0])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name: str) -> None:
    function, mean, deviation = DISTRIBUTIONS[name]
    samples = run(function, torch.zeros(20000)).float()
    assert abs(samples.mean() - mean) < 0.05 * max(deviation, 1)
    assert abs(samples.std() - deviation) < 0.05 * max(deviation, 1)


@pytest.mark.parametrize("replacement", [False, True])
def test_nothing_without_weight_is_drawn(replacement: Any) -> None:
    weights = torch.tensor([[0.0, 3.0, 0.0, 1.0, 0.0]] * 50)
    drawn = run(lambda x: torch.multinomial(x, 2, replacement), weights)
    assert set(drawn.flatten().tolist()) == {1, 3}
    if not replacement:
        assert (drawn.sum(1) == 4).all()


# The shape of the image, the sizes of the window and those of the result.
FRACTIONAL = {
    "images": ((2, 3, 13, 17), (2, 3), (5, 7)),
    "an image without batch": ((3, 9, 9), (2, 2), (4, 1)),
    "a window of one element": ((1, 2, 6, 7), (1, 1), (6, 7)),
    "volumes": ((2, 3, 9, 10, 11), (2, 3, 1), (4, 5, 6)),
    "a volume without batch": ((2, 8, 9, 8), (3, 3, 3), (2, 1, 4)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FRACTIONAL)
def test_fractional_max_pool(name: str, dtype: torch.dtype) -> None:
    shape, window, size = FRACTIONAL[name]
    dims = len(size)
    pool = F.fractional_max_pool2d if dims == 2 else F.fractional_max_pool3d
    x = torch.randn(shape, dtype=dtype)
    samples = torch.rand(shape[0] if len(shape) == dims + 2 else 1, shape[-dims - 1], dims, dtype=dtype)

    def pooled(x: torch.Tensor, samples: torch.Tensor) -> Any:
        return pool(x, window, size, return_indices=True, _random_samples=samples)

    values, indices = run(pooled, x, samples)
    expected, positions = pooled(x, samples)
    assert torch.equal(values, expected)
    assert torch.equal(indices, positions)


def test_fractional_max_pool_draws_windows() -> None:
    """The windows differ between calls, and each result is an element of the image."""
    x = torch.arange(400.0).reshape(1, 1, 20, 20)
    model = torch.nn.FractionalMaxPool2d(2, output_ratio=0.7)
    program = rushlight.load(rushlight.compile(model, (x,), partitioner=()).buffer)
    results = [program(x) for _ in range(8)]
    assert all(result.shape == (1, 1, 14, 14) and result[0, 0, -1, -1] == 399 for result in results)
    assert len({tuple(result.flatten().tolist()) for result in results}) > 1
