"""Quantized weights that are converted, concatenated and assigned to models."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torchao.quantization import IntxUnpackedToInt8Tensor
from torchao.quantization.quantize_.workflows.int4.int4_tensor import Int4Tensor

from rushlight.compat.llm_export.int4 import ExportableInt4Tensor
from rushlight.compat.llm_export.recipe import QuantConfig
from rushlight.compat.llm_export.weight_conversion import (
    assign_state_dict,
    fuse_along_output,
    identity,
    maybe_cast,
    to_default,
    to_exportable,
)
from rushlight.compat.llm_export.weight_quantization import dequantize_weight, quantize_weight

INT4 = QuantConfig(4, 16, False, "min_max")
BITS4: torch.dtype = torch.int4  # type: ignore[attr-defined]
INT8 = QuantConfig(8, 16, False, "min_max")


def unpacked_int4(rows: int = 4) -> torch.Tensor:
    integers = torch.randint(-8, 8, (rows, 32), dtype=torch.int8)
    return IntxUnpackedToInt8Tensor(
        integers, torch.rand(rows, 2), torch.zeros(rows, 2), BITS4, (1, 16), torch.float32, None
    )


def test_conversions() -> None:
    torch.manual_seed(0)
    int4, int8 = quantize_weight(torch.randn(4, 32), INT4), quantize_weight(torch.randn(4, 32), INT8)
    unpacked = unpacked_int4()
    assert identity("w", int4) is int4
    for convert, kind in ((to_exportable, IntxUnpackedToInt8Tensor), (to_default, ExportableInt4Tensor)):
        assert type(convert("w", int4)) is ExportableInt4Tensor
        assert convert("w", int8) is int8
        assert type(convert("w", unpacked)) is kind
    torch.testing.assert_close(
        dequantize_weight(to_default("w", unpacked)), dequantize_weight(unpacked), atol=0, rtol=0
    )


def test_dtypes() -> None:
    exportable = to_default("w", unpacked_int4())
    assert maybe_cast(exportable, torch.float16).dtype is torch.float16
    assert maybe_cast(torch.ones(2), torch.float16).dtype is torch.float16
    int4, integers = quantize_weight(torch.randn(4, 32), INT4), torch.arange(3)
    for kept in (int4, integers):
        assert maybe_cast(kept, torch.float16) is kept
    assert maybe_cast(exportable, None) is exportable


@pytest.mark.parametrize("kind", ["plain", "int4", "int8"])
def test_concatenation(kind: str) -> None:
    torch.manual_seed(0)
    weights = [torch.randn(rows, 32) for rows in (4, 2, 6)]
    if kind != "plain":
        weights = [to_default("w", quantize_weight(w, INT4 if kind == "int4" else INT8)) for w in weights]
    fused = fuse_along_output(weights)
    assert type(fused) is type(weights[0]) and fused.shape == (12, 32)
    values = [w if kind == "plain" else dequantize_weight(w) for w in (fused, *weights)]
    assert torch.equal(values[0], torch.cat(values[1:]))
    assert fuse_along_output(weights[:1]) is weights[0]


def test_what_cannot_be_concatenated() -> None:
    int4 = quantize_weight(torch.randn(4, 32), INT4)
    exportable, plain = to_default("w", int4), torch.randn(4, 32)
    with pytest.raises(ValueError, match="there are no weights"):
        fuse_along_output([])
    with pytest.raises(TypeError, match="different classes.*ExportableInt4Tensor, Tensor"):
        fuse_along_output([exportable, plain])
    with pytest.raises(TypeError, match="class Int4Tensor cannot"):
        assert type(int4) is Int4Tensor
        fuse_along_output([int4, int4])
    other = to_default("w", quantize_weight(torch.randn(4, 32), QuantConfig(4, 32, False, "min_max")))
    with pytest.raises(ValueError, match="different values of group_size: 16 and 32"):
        fuse_along_output([exportable, other])


def test_weights_are_assigned() -> None:
    model = nn.Sequential(nn.Linear(32, 4), nn.Linear(4, 2, bias=False)).to("meta")
    weights = {"0.weight": unpacked_int4(), "0.bias": torch.zeros(4), "0.steps": torch.arange(2)}
    with pytest.raises(RuntimeError, match=r"have no values: 1\.weight"):
        assign_state_dict(model, weights)
    assign_state_dict(model, {**weights, "1.weight": torch.ones(2, 4)})
    assert type(model[0].weight.data) is ExportableInt4Tensor
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert torch.equal(dict(model.named_buffers())["0.steps"], torch.arange(2))
