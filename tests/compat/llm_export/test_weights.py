"""Quantization of the weights of language models before the export."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torchao.quantization import IntxUnpackedToInt8Tensor

from rushlight.compat.llm_export.weights import quantize_model_
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import load

INT4: torch.dtype = torch.int4  # type: ignore[attr-defined]


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model: Any = nn.Module()
        self.model.embed_tokens = nn.Embedding(20, 64)
        self.lm_head = nn.Linear(64, 20, bias=False)

    def forward(self, words: torch.Tensor) -> Any:
        return self.lm_head(self.model.embed_tokens(words))


def weight(layer: nn.Module) -> Any:
    return layer.get_parameter("weight")


@pytest.mark.parametrize(
    ("kind", "bits", "block", "dynamic"),
    [
        ("4w", INT4, 32, False),
        ("8w", torch.int8, 64, False),
        ("8da4w", INT4, 32, True),
        ("8da8w", torch.int8, 64, True),
    ],
)
def test_kinds_of_linear_layers(kind: str, bits: torch.dtype, block: int, dynamic: bool) -> None:
    torch.manual_seed(0)
    model, words = Words(), torch.tensor([[3, 19, 0]])
    expected = model(words)
    quantize_model_(model, qlinear_config=kind)
    quantized = weight(model.lm_head)
    assert isinstance(quantized, IntxUnpackedToInt8Tensor)
    assert quantized.target_dtype == bits and tuple(quantized.block_size) == (1, block)
    assert (quantized.activation_quantization is not None) == dynamic
    assert not isinstance(weight(model.model.embed_tokens), IntxUnpackedToInt8Tensor)
    program = to_edge_transform_and_lower(export(model, (words,))).to_executorch()
    result = load(program.buffer)(words)
    torch.testing.assert_close(result, model(words), rtol=1e-2, atol=1e-2)
    assert (result - expected).abs().max() < (0.6 if bits == INT4 else 0.1)


def test_embeddings_and_groups() -> None:
    model = Words()
    quantize_model_(model, "8w", qembedding_config="4w", qembedding_group_size=16)
    assert tuple(weight(model.model.embed_tokens).block_size) == (1, 16)
    assert weight(model.lm_head).target_dtype == torch.int8


@pytest.mark.parametrize(("linear", "tied"), [("8w", True), ("4w", False)])
def test_tied_weights(linear: str, tied: bool) -> None:
    model = Words()
    quantize_model_(model, linear, qembedding_config="8w", tie_word_embeddings=True)
    assert (weight(model.lm_head) is weight(model.model.embed_tokens)) == tied


def test_weights_that_cannot_be_tied() -> None:
    with pytest.raises(ValueError, match="tie_word_embeddings=True needs the layers model.embed_tokens"):
        quantize_model_(nn.Linear(64, 32), "8w", qembedding_config="8w", tie_word_embeddings=True)


def test_rows_that_the_group_size_does_not_divide() -> None:
    with pytest.raises(RuntimeError, match=r"lm_head has a weight of shape \[20, 64\].* group size of 24"):
        quantize_model_(Words(), "4w", 24)
    model = Words()
    quantize_model_(model, "4w", 24, skip_incompatible_shapes=True)
    assert not isinstance(weight(model.lm_head), IntxUnpackedToInt8Tensor)


def test_unknown_kinds() -> None:
    with pytest.raises(ValueError, match="qlinear_config is '3w'; it must be one of 4w, 8w, 8da4w, 8da8w"):
        quantize_model_(Words(), "3w")
    with pytest.raises(ValueError, match="qembedding_config is '8da4w'; it must be 4w or 8w"):
        quantize_model_(Words(), qembedding_config="8da4w")
    with pytest.raises(ValueError, match="qembedding_group_size is 5; it must be even"):
        quantize_model_(Words(), qembedding_config="4w", qembedding_group_size=5)
