"""The quantizers of language models."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import export
from torchao.quantization.pt2e.quantizer import ComposableQuantizer

from rushlight.compat.llm_export.quantizers import (
    DynamicQuantLinearOptions,
    EmbeddingQuantOptions,
    PT2EQuantOptions,
    get_pt2e_quantization_params,
    get_pt2e_quantizers,
)
from rushlight.quantize import convert_pt2e, prepare_pt2e


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("embedding", PT2EQuantOptions(quantize_embedding=EmbeddingQuantOptions())),
        ("xnnpack_dynamic", PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions())),
        (
            "xnnpack_dynamic_qc4, embedding",
            PT2EQuantOptions(EmbeddingQuantOptions(), DynamicQuantLinearOptions(is_qc4=True)),
        ),
    ],
)
def test_options_of_a_text(text: str | None, expected: PT2EQuantOptions | None) -> None:
    assert get_pt2e_quantization_params(text) == expected


def test_options_that_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="pt2e_quantize='embedding' and quantization_mode='8da4w' exclude"):
        get_pt2e_quantization_params("embedding", "8da4w")
    with pytest.raises(RuntimeError, match="has both xnnpack_dynamic and xnnpack_dynamic_qc4"):
        get_pt2e_quantization_params("xnnpack_dynamic,xnnpack_dynamic_qc4")
    with pytest.raises(RuntimeError, match="group_size of EmbeddingQuantOptions must be -1, not 32"):
        EmbeddingQuantOptions(group_size=32)
    with pytest.raises(ValueError, match="needs is_per_channel=True"):
        get_pt2e_quantizers(PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions(is_per_channel=False)))


class Words(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 8)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, words: torch.Tensor) -> Any:
        return self.linear(self.embedding(words))


@pytest.mark.parametrize(
    ("text", "bounds"), [("xnnpack_dynamic", (-127, 127)), ("embedding,xnnpack_dynamic_qc4", (-8, 7))]
)
def test_quantized_layers(text: str, bounds: tuple[int, int]) -> None:
    inputs = (torch.tensor([[1, 2, 9]]),)
    quantizers = get_pt2e_quantizers(get_pt2e_quantization_params(text))
    prepared = prepare_pt2e(export(Words(), inputs).module(), ComposableQuantizer(quantizers))
    prepared(*inputs)
    calls = {str(node.target): node for node in convert_pt2e(prepared).graph.nodes}
    assert any("choose_qparams" in name for name in calls)
    assert tuple(calls["quantized_decomposed.dequantize_per_channel.default"].args[4:6]) == bounds
    assert len(quantizers) == (2 if "embedding" in text else 1)


def test_no_options() -> None:
    assert get_pt2e_quantizers(None) == []


def test_names_without_a_quantizer_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no quantizer 'xnnpack_dynamik'; the names are embedding"):
        get_pt2e_quantization_params("xnnpack_dynamik,embedding")


def test_a_missing_library_of_operators_is_an_error() -> None:
    with pytest.raises(OSError, match="no_such_library"):
        get_pt2e_quantizers(None, "no_such_library.so")
