"""Any quantizer can exclude parts of the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer
from rushlight.quantize import (
    ComposableQuantizer,
    ExcludeFromQuantization,
    QuantizationError,
    quantize,
    static_int8,
)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
        self.body = torch.nn.Conv2d(4, 4, 3)
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.max_pool2d(self.stem(x), 2)
        return self.head(self.body(y).mean((2, 3)))


def quantized(quantizer: Any) -> set[str]:
    """Returns the operators that read integers and have integer weights or results."""
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 12, 12),)
    program = quantize(Net(), inputs, quantizer, [inputs])

    def is_one(node: torch.fx.Node, word: str) -> bool:
        return str(node.target).startswith(f"quantized_decomposed.{word}")

    return {
        node.name
        for node in program.graph.nodes
        if node.op == "call_function"
        and any(is_one(arg, "dequantize_per_tensor") for arg in node.all_input_nodes)
        and (
            any(is_one(arg, "dequantize_per_channel") for arg in node.all_input_nodes)
            or any(is_one(user, "quantize") for user in node.users)
        )
    }


ALL = {"conv2d", "max_pool2d", "conv2d_1", "mean", "linear"}


@pytest.mark.parametrize(
    ("how", "left"),
    [
        ({}, set()),
        # A layer with the name in reports, which is that of the last fused operator.
        ({"layers": ["stem.1.relu"]}, {"conv2d", "max_pool2d"}),
        ({"modules": ["head"]}, {"linear"}),
        ({"modules": ["stem", "head"]}, {"conv2d", "max_pool2d", "linear"}),
        ({"types": ["Conv2d"]}, {"conv2d", "max_pool2d", "conv2d_1", "mean"}),
        ({"types": [torch.nn.Linear]}, {"linear"}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_is_named_stays(how: dict[str, Any], left: set[str]) -> None:
    assert (
        quantized(ExcludeFromQuantization(XNNPACKQuantizer().set_global(static_int8()), **how)) == ALL - left
    )


def test_any_quantizer_will_do() -> None:
    composed = ComposableQuantizer([XNNPACKQuantizer().set_global(static_int8())])
    assert quantized(ExcludeFromQuantization(composed, modules=["head"])) == ALL - {"linear"}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"layers": ["stem.conv2d_7"]}, "no layer 'stem.conv2d_7' .*its quantized layers are .*head.linear"),
        ({"layers": ["head"]}, r"no layer 'head' .*use modules=\['head'\]"),
        ({"modules": ["tail"]}, "no module 'tail' .*its modules are .*head"),
        ({"types": ["LSTM"]}, "no module of type 'LSTM' .*have the types .*Linear"),
    ],
)
def test_names_that_are_not_there(how: dict[str, Any], message: str) -> None:
    with pytest.raises(QuantizationError, match=f"the model has {message}"):
        quantized(ExcludeFromQuantization(XNNPACKQuantizer().set_global(static_int8()), **how))


def test_nothing_is_left_to_quantize() -> None:
    quantizer = ExcludeFromQuantization(XNNPACKQuantizer().set_global(static_int8()), types=["Net"])
    with pytest.raises(QuantizationError, match="nothing to quantize"):
        quantized(quantizer)
