"""The results have NaN and infinities at the same places as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import rushlight
from rushlight.backends.xnnpack import XnnpackPartitioner
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower

SPECIAL = torch.tensor([float("nan"), float("inf"), float("-inf")])


class _Function(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class _Matrix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(7, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ self.matrix)


MATRIX = (6, 40)
PICTURE = (2, 6, 9, 7)
ONE: dict[str, tuple[Any, tuple[int, ...]]] = {
    "abs": (torch.abs, MATRIX),
    "avg_pool": (nn.AvgPool2d(3, 2), PICTURE),
    "clamp": (lambda x: x.clamp(-0.5, 0.25), MATRIX),
    "clamp_min": (lambda x: x.clamp(min=0.1), MATRIX),
    "elu": (F.elu, MATRIX),
    "hardswish": (F.hardswish, MATRIX),
    "hardtanh": (lambda x: F.hardtanh(x, -0.3, 0.8), MATRIX),
    "leaky_relu": (F.leaky_relu, MATRIX),
    "max_pool": (nn.MaxPool2d(3, 2, padding=1), PICTURE),
    "max_dim": (lambda x: x.max(2)[0], PICTURE),
    "mean": (lambda x: x.mean((2, 3), keepdim=True), PICTURE),
    "mean_relu": (lambda x: torch.relu(x.mean((2, 3), keepdim=True)), PICTURE),
    "prelu": (nn.PReLU(6), PICTURE),
    "relu": (F.relu, MATRIX),
    "sigmoid": (torch.sigmoid, MATRIX),
    "softmax": (lambda x: torch.softmax(x, -1), MATRIX),
    "tanh": (torch.tanh, MATRIX),
}
TWO: dict[str, Any] = {
    "add": torch.add,
    "add_relu": lambda x, y: torch.relu(x + y),
    "div": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "sub": torch.sub,
}


def with_specials(shape: tuple[int, ...]) -> torch.Tensor:
    x = torch.randn(shape)
    positions = torch.randperm(x.numel())[: max(3, x.numel() // 12)]
    x.view(-1)[positions] = SPECIAL.repeat(len(positions) // 3 + 1)[: len(positions)]
    return x


def assert_as_eager(function: Any, inputs: tuple[torch.Tensor, ...], dtype: torch.dtype) -> None:
    module = (function if isinstance(function, nn.Module) else _Function(function)).eval()
    with torch.no_grad():
        expected = module.float()(*inputs)
    module, inputs = module.to(dtype), tuple(item.to(dtype) for item in inputs)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()]
    )
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    got = rushlight.load(bytes(edge.to_executorch().buffer))(*inputs)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(got.float(), expected, atol=tolerance, rtol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", ONE)
def test_of_one_input(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    function, shape = ONE[name]
    assert_as_eager(function, (with_specials(shape),), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", TWO)
def test_of_two_inputs(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    assert_as_eager(TWO[name], (with_specials(MATRIX), with_specials(MATRIX)), dtype)


WEIGHTED: dict[str, Any] = {
    "bilinear": nn.Upsample(size=(13, 10), mode="bilinear"),
    "bilinear_corners": nn.Upsample(size=(20, 5), mode="bilinear", align_corners=True),
    "convolution": nn.Conv2d(6, 8, 3, padding=1, stride=(2, 1), dilation=(1, 2)),
    "convolution_relu": nn.Sequential(nn.Conv2d(6, 8, 3, bias=False), nn.ReLU()),
    "depthwise_relu6": nn.Sequential(nn.Conv2d(6, 12, 3, groups=6, padding=1), nn.ReLU6()),
    "grouped": nn.Conv2d(6, 4, 3, groups=2),
    "grouped_transposed": nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2),
    "grouped_transposed_relu": nn.Sequential(nn.ConvTranspose2d(6, 4, 3, groups=2, dilation=2), nn.ReLU()),
    "linear_relu": nn.Sequential(nn.Linear(7, 5), nn.ReLU()),
    "matrix": _Matrix(),
    "max_pool_ceil": nn.MaxPool2d(3, 2, padding=1, ceil_mode=True),
    "max_pool_ceil_of_one_axis": nn.MaxPool2d((2, 3), 2, ceil_mode=True),
    "transposed": nn.ConvTranspose2d(6, 4, 2, 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", WEIGHTED)
def test_with_windows_or_weights(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(PICTURE)
    x[0, 1, 4, 4], x[1, 3, 2, 2], x[1, 5, 7, 5] = SPECIAL
    assert_as_eager(WEIGHTED[name], (x,), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_weights_and_biases_that_are_nan(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    convolution = nn.Conv2d(6, 12, 3, groups=6)
    with torch.no_grad():
        convolution.weight[3, 0, 1, 2] = float("nan")
        assert convolution.bias is not None
        convolution.bias[5] = float("-inf")
        convolution.bias[8] = float("nan")
    assert_as_eager(nn.Sequential(convolution, nn.ReLU6()), (torch.randn(PICTURE),), dtype)


def test_convolutions_with_relu_keep_nan() -> None:
    torch.manual_seed(0)
    for function in (
        nn.Sequential(nn.Conv2d(6, 8, 3, padding=1), nn.ReLU6()),
        nn.Sequential(nn.Conv2d(6, 6, 3, groups=6), nn.ReLU()),
        nn.Sequential(nn.ConvTranspose2d(6, 4, 2, 2), nn.ReLU()),
    ):
        x = torch.randn(PICTURE)
        x[0, 1, 4, 4] = float("nan")
        assert_as_eager(function, (x,), torch.float32)


@pytest.mark.parametrize("bounds", [(0.5, -0.5), (float("nan"), 1.0)])
def test_bounds_that_are_no_range_are_left_to_a_kernel(bounds: tuple[float, float]) -> None:
    module, inputs = _Function(lambda x: torch.abs(x).clamp(*bounds)), (with_specials(MATRIX),)
    exported = torch.export.export(module, inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert len(get_non_lowered_nodes(edge.exported_program().graph)) == 1
    got = rushlight.load(bytes(edge.to_executorch().buffer))(*inputs)
    torch.testing.assert_close(got, module(*inputs), equal_nan=True)
