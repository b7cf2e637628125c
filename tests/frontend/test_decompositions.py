"""Operators with Rushlight's own decompositions agree with eager PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim, export

import rushlight
from rushlight.exir import to_edge

X = torch.randn(2, 4, 4)
WEIGHT = torch.randn(3, 4, 4)
LABELS = torch.tensor([[1, -1, 2, 0], [0, 3, -1, -1], [-1, 0, 0, 0], [3, 2, 1, 0]])
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
    "bilinear": (lambda x: torch.nn.functional.bilinear(x, x.mT, WEIGHT, torch.ones(3)), X),
    "trilinear": (lambda x: torch._trilinear(x, x, x[0], [], [], [0], [1]), X),
    "copy_strided": (lambda x: x.mT.index_fill(1, torch.tensor([1, 2]), 0.25), X),
    "index_fill": (lambda x: x.index_fill(1, torch.tensor([1, -1]), 0.25), X),
    "index_fill with a tensor": (lambda x: x.index_fill(-1, torch.tensor(-2), x[0, 0, 0]), X),
    "index_fill of a number": (lambda x: x[0, 0, 0].index_fill(0, torch.tensor([-1]), 2.0), X),
    "remainder of a number": (lambda x: 5 % x, X),
    "remainder of a number by integers": (lambda x: 5.5 % (x * 3).int(), X.sign()),
    "shift of a number": (lambda x: 3 << x.abs().long(), X),
    "right shift of a number": (lambda x: 300 >> x.abs().int(), X),
    "searchsorted of a number": (lambda x: torch.searchsorted(x[0, 0].sort().values, 0.1, side="right"), X),
    "searchsorted of a number in integers": (lambda x: torch.searchsorted(torch.arange(4), 1.5) + 0 * x, X),
    "addmv": (lambda x: torch.addmv(x[0, 0], x[0], x[1, 0], beta=0.5, alpha=2), X),
    "int_mm": (lambda x: torch._int_mm(x.to(torch.int8), x.to(torch.int8)), torch.randn(32, 32) * 9),
    "conv_tbc": (lambda x: torch.conv_tbc(x, torch.ones(3, 4, 2), torch.ones(2), 1), X),
    "multilabel_margin_loss": (lambda x: torch.nn.functional.multilabel_margin_loss(x, LABELS), X[0]),
    "multilabel_margin_loss of a number": (
        lambda x: torch.nn.functional.multilabel_margin_loss(x[0, 0], LABELS[3, 3]),
        X[0],
    ),
    "multilabel_margin_loss of a row": (
        lambda x: torch.nn.functional.multilabel_margin_loss(x, LABELS[0], reduction="sum"),
        X[0, 0],
    ),
    "circular padding": (lambda x: torch.nn.functional.pad(x, (3, 1, 0, 2), "circular"), X),
    "circular padding that removes elements": (
        lambda x: torch.nn.functional.pad(x, (-1, 2, 1, -2), "circular"),
        X,
    ),
    "householder_product": (lambda x: torch.linalg.householder_product(x[:, :, :3], x[:, 0, :2]), X),
}


class Module(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


@pytest.mark.parametrize(
    "mode, shape", [("linear", (1, 2, 2)), ("bilinear", (1, 1, 2, 8)), ("trilinear", (1, 1, 2, 3, 9))]
)
def test_a_size_that_a_factor_leaves_is_copied(mode: str, shape: tuple[int, ...]) -> None:
    """ATen's kernels copy dimensions whose size does not change, such as size 2 with a factor of 1.3."""
    x = torch.randn(shape)
    model = Module(lambda x: torch.nn.functional.interpolate(x, scale_factor=1.3, mode=mode))
    torch.testing.assert_close(
        rushlight.load(to_edge(export(model, (x,))).to_executorch().buffer)(x), model(x)
    )


def run(function: Any, x: Any) -> Any:
    return rushlight.load(rushlight.compile(Module(function), (x,), partitioner=()).buffer)(x)


@pytest.mark.parametrize("name", CASES)
def test_as_eager(name: str) -> None:
    function, x = CASES[name]
    torch.testing.assert_close(
        run(function, x), tuple(function(x)) if name == "nanmedian of a dim" else function(x), equal_nan=True
    )


class LogSumExp(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.logsumexp((0, -1), keepdim=True), x.logsumexp(1), x.logsumexp(0), x.logsumexp(-1)


@pytest.mark.parametrize("partitioner", [(), None], ids=["kernels", "default"])
def test_logsumexp_of_dynamic_dims(partitioner: Any) -> None:
    shapes = {"x": {0: Dim("batch", min=0, max=6), 1: Dim("width", min=0, max=4)}}
    program = export(LogSumExp(), (torch.randn(3, 2, 5),), dynamic_shapes=shapes)
    module = rushlight.load(rushlight.compile(program, partitioner=partitioner).buffer)
    for batch, width in ((0, 2), (3, 0), (1, 1), (6, 4)):
        x = torch.randn(batch, width, 5) * 50
        torch.testing.assert_close(module(x), LogSumExp()(x))
