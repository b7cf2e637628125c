"""Operators with parameters by channel on permuted views of results.

Dimension 1 of such a view is not the dimension of the outputs of the step that computes the result.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.backends.cpu.support import Function, assert_close, expected, kinds, lower, run
from torch import nn

from rushlight.backends.cpu.plan.tables import Copy, Gemm

# All dimensions but the first have eight elements, so that a wrong dimension does not change a shape.
FIRST: dict[str, Callable[[], nn.Module]] = {
    "pointwise": lambda: nn.Sequential(nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1)),
    "convolution": lambda: nn.Conv2d(8, 8, 3, padding=1),
    "depthwise": lambda: nn.Conv2d(8, 8, 3, padding=1, groups=8),
    "transposed": lambda: nn.Sequential(nn.Conv2d(8, 4, 2, 2), nn.ConvTranspose2d(4, 8, 2, 2)),
    "linear": lambda: nn.Linear(8, 8),
}
LAST: dict[str, Callable[[], nn.Module]] = {
    "norm": lambda: norm(2, 8),
    "mean": lambda: nn.AvgPool2d((1, 4)),
    "prelu": lambda: nn.PReLU(8, init=0.3),
    "depthwise": lambda: nn.Conv2d(8, 8, (3, 1), groups=8),
    "columns": lambda: nn.Linear(8, 5),
}
ORDERS = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2), (0, 3, 2, 1), (0, 2, 3, 1), (0, 3, 1, 2)]


def norm(dims: int, channels: int) -> nn.Module:
    layer = nn.BatchNorm2d(channels) if dims == 2 else nn.BatchNorm1d(channels)
    for values in (layer.weight, layer.bias, layer.running_mean):
        nn.init.uniform_(values, -1, 1)  # type: ignore[arg-type]
    nn.init.uniform_(layer.running_var, 0.5, 2)  # type: ignore[arg-type]
    return layer


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("first", FIRST)
def test_views_of_images(first: str, last: str) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(1, 8, 8, 8),)
    for order in ORDERS:
        permute = Function(lambda x, order=order: x.permute(order))
        model = nn.Sequential(FIRST[first](), permute, LAST[last]()).eval()
        program, _ = lower(model, inputs)
        assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize(
    ("inputs", "outputs", "channels", "shape"),
    [
        (2, 3, 3, (1, 3, 2)),
        (2, 2, 3, (1, 3, 2)),
        (5, 1, 3, (2, 3, 5)),
        (4, 6, 6, (3, 4)),
        (4, 3, 1, (2, 1, 4)),
    ],
)
def test_batch_norms_of_rows(inputs: int, outputs: int, channels: int, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(inputs, outputs), norm(1, channels)).eval()
    example = (torch.randn(shape),)
    program, _ = lower(model, example)
    assert_close(run(program, example), expected(model, example))


def test_a_batch_norm_of_a_result_itself_is_folded() -> None:
    inputs = (torch.randn(1, 8, 8, 8),)
    program, _ = lower(nn.Sequential(FIRST["convolution"](), norm(2, 8)).eval(), inputs)
    assert kinds(program) == [Copy, Gemm, Copy]
