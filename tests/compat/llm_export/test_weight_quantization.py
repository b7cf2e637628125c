"""Weights and models that are quantized as a recipe says."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor

from rushlight.compat.llm_export.int4 import ExportableInt4Tensor
from rushlight.compat.llm_export.recipe import QuantConfig, QuantRecipe, QuantRule
from rushlight.compat.llm_export.weight_conversion import assign_state_dict
from rushlight.compat.llm_export.weight_quantization import (
    dequantize_weight,
    quantize_model,
    quantize_stream,
    quantize_weight,
)
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import load


@pytest.mark.parametrize("method", ["min_max", "hqq"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("bits", "limit"), [(4, 0.12), (5, 0.06), (6, 0.03), (8, 0.01)])
def test_the_error_fits_the_number_of_bits(bits: int, limit: float, symmetric: bool, method: str) -> None:
    if method == "hqq" and not symmetric:
        return
    torch.manual_seed(0)
    weight = torch.randn(16, 64) + (0 if symmetric else 0.5)
    tensor = quantize_weight(weight, QuantConfig(bits, 16, symmetric, method))
    assert type(tensor) is (Int4Tensor if bits == 4 else IntxUnpackedToInt8Tensor)
    assert tensor.shape == weight.shape and tensor.dtype is torch.bfloat16
    values = dequantize_weight(tensor)
    assert values.dtype is torch.float32 and dequantize_weight(tensor, torch.float16).dtype is torch.float16
    assert (values - weight).norm() / weight.norm() < limit


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (QuantConfig(3, 16, True, "min_max"), "bits is 3"),
        (QuantConfig(4, 16, True, "gptq"), "'gptq'; it must be 'min_max' or 'hqq'"),
        (QuantConfig(8, 16, False, "hqq"), "needs symmetric=True"),
        (QuantConfig(8, 24, True, "min_max"), "shape .16, 64. cannot be quantized in groups of 24"),
    ],
)
def test_what_is_refused(config: QuantConfig, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quantize_weight(torch.randn(16, 64), config)
    with pytest.raises(TypeError, match="class Tensor cannot be dequantized"):
        dequantize_weight(torch.randn(3))


class Model(nn.Module):
    offset: torch.Tensor
    cache: torch.Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(32, 16, bias=False), nn.Linear(16, 4, bias=False)
        self.register_buffer("offset", torch.arange(4))
        self.register_buffer("cache", torch.zeros(4), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu()) + self.offset


RECIPE = QuantRecipe([QuantRule(r"first\.weight", QuantConfig(4, 16, False, "min_max"))])


def test_a_model_is_quantized_and_compiled() -> None:
    torch.manual_seed(0)
    model, x = Model(), torch.randn(2, 32)
    state = quantize_model(model, RECIPE, dtype=torch.float32)
    assert list(state) == ["first.weight", "second.weight", "offset"]
    assert (
        type(state["first.weight"]) is ExportableInt4Tensor and state["first.weight"].dtype is torch.float32
    )
    assert torch.equal(state["second.weight"], model.second.weight)
    assert torch.equal(state["offset"], model.offset)
    empty = Model().to("meta")
    empty.cache = None
    assign_state_dict(empty, state)
    program = torch.export.export(empty, (x,))
    result = load(to_edge_transform_and_lower(program).to_executorch().buffer)(x)
    torch.testing.assert_close(result, empty(x), atol=1e-4, rtol=1e-4)


def test_weights_are_quantized_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("first.weight", torch.randn(16, 32)), ("positions", torch.arange(3)), ("bias", torch.randn(3))]
    stream = quantize_stream(iter(pairs), RECIPE, torch.float16)
    first = next(stream)
    assert first[0] == "first.weight" and type(first[1]) is Int4Tensor
    rest = dict(stream)
    assert rest["positions"].dtype is torch.int64 and rest["bias"].dtype is torch.float16
    assert quantize_model(nn.Module(), RECIPE) == {}
    quantize_model(Model(), RECIPE, verbose=True)
    assert "first.weight: ExportableInt4Tensor" in capsys.readouterr().out
