"""Convolutions and linear layers with few outputs, which are dot products on processors with long vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, run
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Gemm

Finish: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
OUTPUTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13)


class Layer(nn.Module):
    """Applies a layer and a function of its result and its input."""

    def __init__(self, layer: nn.Module, function: Finish) -> None:
        super().__init__()
        self.layer = layer
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(x)
        return self.function(self.layer(x), x)


LAYERS: dict[str, tuple[nn.Module, tuple[int, ...], Finish]] = {
    "sigmoid": (nn.Conv2d(48, 3, 3, padding=1), (2, 48, 13, 11), lambda y, _: torch.sigmoid(y)),
    "clamp": (nn.Conv2d(32, 2, 5, 2, 2), (1, 32, 20, 21), lambda y, _: F.relu6(y + 1)),
    "residual": (nn.Conv2d(40, 1, 3, padding=1), (1, 40, 9, 9), lambda y, x: torch.tanh(y + x[:, :1])),
    "without bias": (nn.Conv2d(64, 4, 1, bias=False), (1, 64, 12, 12), lambda y, _: y * 2),
    "linear": (nn.Linear(300, 3), (4, 25, 300), lambda y, _: y.softmax(-1)),
    "concatenation": (nn.Conv2d(32, 3, 3, 1, 1), (1, 32, 10, 10), lambda y, x: torch.cat([y, x[:, 5:9]], 1)),
    "transposed": (nn.ConvTranspose2d(64, 3, 4, 2, 1), (1, 64, 9, 7), lambda y, _: torch.tanh(y)),
    "dilation": (nn.Conv2d(17, 3, 3, dilation=3), (1, 17, 16, 16), lambda y, _: y),
    "signal": (nn.Conv1d(64, 1, 9, padding=4), (2, 64, 50), lambda y, _: torch.tanh(y)),
    "image": (nn.Conv2d(3, 2, 7, 2, 3), (1, 3, 20, 20), lambda y, _: y.abs()),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    torch.manual_seed(0)
    layer, shape, function = LAYERS[name]
    model, inputs = Layer(layer, function), (torch.randn(shape),)
    program, outside = lower(model, inputs)
    assert outside == []
    assert Gemm in kinds(program)
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_numbers_of_outputs(outputs: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(70, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 1))
    inputs = (torch.randn(1, 70, 8, 9).contiguous(memory_format=torch.channels_last),)
    program, outside = lower(model, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(model, inputs))


def test_two_images_that_are_concatenated() -> None:
    torch.manual_seed(0)
    convolution = nn.Conv2d(72, 3, 3, padding=1)
    model = lambda x, y: convolution(torch.cat([torch.relu(x), torch.relu(y)], 1))  # noqa: E731
    inputs = (torch.randn(1, 40, 8, 8), torch.randn(1, 32, 8, 8))
    program, outside = lower(model, inputs)
    assert outside == []
    assert_close(run(program, inputs), expected(model, inputs))


def test_dynamic_sizes() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1))
    sizes = {i: torch.export.Dim(f"d{i}", min=1, max=40) for i in (0, 2, 3)}
    program, _ = lower(model, (torch.randn(2, 64, 8, 8),), (sizes,))
    for shape in [(1, 64, 1, 1), (1, 64, 1, 2), (3, 64, 5, 40)]:
        inputs = (torch.randn(shape),)
        assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(dtype))
    inputs = (torch.randn(1, 64, 8, 8),)
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(weights=dtype))
    assert_close(run(program, inputs), expected(model, inputs))
