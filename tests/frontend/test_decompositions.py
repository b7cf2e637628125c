"""Operators by decompositions of our own, compiled and run beside eager."""

import pytest
import torch

import rushlight

X = torch.randn(2, 4, 4)
NAN = torch.tensor([[3.0, float("nan"), 1.0, 2.0], [float("nan")] * 4])
CASES = {
    "put": (lambda x: x.put(torch.tensor([[1], [-2]]), torch.tensor([[8.0], [9.0]])), X),
    "put accumulates": (lambda x: x.put(torch.tensor([1, 1]), torch.tensor([8.0, 9.0]), True), X),
    "dist": (lambda x: torch.dist(x, x.mT), X),
    "dist 1": (lambda x: torch.dist(x, x[:1], 1), X),
    "ldexp": (lambda x: torch.ldexp(x, torch.tensor([-3, 0, 1, 20])), X),
    "nanmedian": (lambda x: torch.nanmedian(x), NAN),
    "nanmedian of a dim": (lambda x: torch.nanmedian(x, 1), NAN[:1]),
    "nanmedian keeps a dim": (lambda x: torch.nanmedian(x, 1, True).values, NAN),
    "nanmedian of integers": (lambda x: torch.nanmedian(x.long(), 1).values, X * 9),
    "householder_product": (lambda x: torch.linalg.householder_product(x[:, :, :3], x[:, 0, :2]), X),
}


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def run(function, x):
    return rushlight.load(rushlight.compile(Module(function), (x,), partitioner=()).buffer)(x)


@pytest.mark.parametrize("name", CASES)
def test_as_eager(name):
    function, x = CASES[name]
    torch.testing.assert_close(
        run(function, x), tuple(function(x)) if name == "nanmedian of a dim" else function(x), equal_nan=True
    )


def test_exponential():
    samples = run(lambda x: x.exponential_(4.0), torch.empty(20000))
    assert samples.min() >= 0
    # Mean and standard deviation of this distribution are 1 / lambd.
    assert abs(samples.mean() - 0.25) < 0.02
    assert abs(samples.std() - 0.25) < 0.02
