"""Layers whose rows are a multiple of 4 KB apart, which changes the tiles of loops, agree with float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.backends.cpu.support import Function
from torch import nn

import rushlight

Inputs = tuple[torch.Tensor, ...]


class Last(nn.Module):
    """The states of a recurrent layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.layer(x)[0]
        return states


def image(channels: int, size: int) -> Inputs:
    return (torch.randn(1, channels, size, size),)


# Makes a layer and its inputs for a number of features or channels.
LAYERS: dict[str, Callable[[int], tuple[nn.Module, Inputs]]] = {
    "linear": lambda n: (nn.Sequential(nn.Linear(n, 70), nn.GELU()), (torch.randn(50, n),)),
    "wide linear": lambda n: (nn.Linear(96, n, bias=False), (torch.randn(31, 96),)),
    "product": lambda n: (Function(torch.matmul), (torch.randn(40, n), torch.randn(n, 33))),
    "transposed product": lambda n: (Function(F.linear), (torch.randn(40, n), torch.randn(33, n))),
    "batch of products": lambda n: (Function(torch.bmm), (torch.randn(2, 20, n), torch.randn(2, n, 17))),
    "convolution 1 x 1": lambda n: (nn.Conv2d(n, 40, 1), image(n, 7)),
    "convolution 1 x 1 with stride": lambda n: (nn.Conv2d(n, 40, 1, 2), image(n, 9)),
    "convolution 3 x 3": lambda n: (nn.Conv2d(n, 24, 3, padding=1), image(n, 6)),
    "convolution 3 x 3 with stride": lambda n: (nn.Conv2d(n // 4, 24, 3, 2, padding=1), image(n // 4, 11)),
    "transposed convolution": lambda n: (nn.ConvTranspose2d(n, 16, 2, 2), image(n, 4)),
    "depthwise convolution": lambda n: (nn.Conv2d(n, n, 3, padding=1, groups=n), image(n, 6)),
    "grouped convolution": lambda n: (nn.Conv2d(n, n, 3, padding=1, groups=n // 16), image(n, 5)),
    "attention": lambda n: (
        Function(F.scaled_dot_product_attention),
        (torch.randn(1, 2, 40, 64), torch.randn(1, 2, n, 64), torch.randn(1, 2, n, 64)),
    ),
    "LSTM": lambda n: (Last(nn.LSTM(n, 48, batch_first=True)), (torch.randn(2, 4, n),)),
    "layer norm": lambda n: (nn.LayerNorm(n), (torch.randn(9, n),)),
    "softmax": lambda n: (nn.Softmax(0), (torch.randn(n, 19),)),
}
# The dtype, the options of the compiler, and the tolerance relative to the largest result.
FORMS: dict[str, tuple[torch.dtype, dict[str, Any], float]] = {
    "float32": (torch.float32, {}, 3e-6),
    "high": (torch.float32, {"float32_matmul_precision": "high"}, 1e-3),
    "kernels": (torch.float32, {"partitioner": ()}, 3e-6),
    "bfloat16": (torch.bfloat16, {}, 1e-2),
    "float16": (torch.float16, {}, 2e-3),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("features", [1024, 2048])
@pytest.mark.parametrize("layer", LAYERS)
def test_results(layer: str, features: int, form: str) -> None:
    dtype, options, tolerance = FORMS[form]
    module, inputs = LAYERS[layer](features)
    module, inputs = module.eval().to(dtype), tuple(x.to(dtype) for x in inputs)
    result = rushlight.load(rushlight.compile(module, inputs, **options).buffer)(*inputs)
    exact = module.double()(*(x.double() for x in inputs))
    largest = float(exact.abs().max())
    torch.testing.assert_close(result.double(), exact, rtol=0, atol=tolerance * largest)
