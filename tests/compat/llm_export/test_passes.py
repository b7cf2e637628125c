"""The passes over exported language models."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch.export import Dim, export
from torch.fx import GraphModule
from torch.nn.functional import scaled_dot_product_attention

from rushlight.compat.llm_export.passes import RemoveRedundantTransposesPass, ReplaceSDPAWithCustomSDPAPass


def count(module: GraphModule) -> Counter[str]:
    return Counter(str(node.target) for node in module.graph.nodes if node.op == "call_function")


class Permuted(torch.nn.Module):
    def __init__(self, first: list[int], second: list[int]) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.permute(self.first)
        return y.permute(self.second) + 1, y * 2


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ([0, 2, 1], [0, 2, 1], 1),
        ([1, 2, 0], [2, 0, 1], 1),
        ([-2, -1, 0], [-1, 0, 1], 1),
        ([1, 2, 0], [1, 2, 0], 2),
    ],
)
def test_permutes_that_undo_each_other(first: list[int], second: list[int], left: int) -> None:
    model, x = Permuted(first, second), torch.randn(2, 3, 4)
    module = export(model, (x,)).module()
    assert isinstance(module, GraphModule)
    result = RemoveRedundantTransposesPass()(module)
    assert result is not None and result.modified == (left == 1)
    assert count(result.graph_module)["aten.permute.default"] == left
    torch.testing.assert_close(result.graph_module(x), model(x))


class Transposed(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.transpose(1, -1).transpose(2, 1)
        return y + 1, x.transpose(0, 1).transpose(0, 2)


def test_transposes() -> None:
    model, x = Transposed(), torch.randn(2, 3, 4)
    module = export(model, (x,)).module()
    assert isinstance(module, GraphModule)
    result = RemoveRedundantTransposesPass()(module)
    assert result is not None and count(result.graph_module)["aten.transpose.int"] == 2
    torch.testing.assert_close(result.graph_module(x), model(x))


class Attention(torch.nn.Module):
    def __init__(self, causal: bool = False, scale: float | None = None) -> None:
        super().__init__()
        self.causal, self.scale = causal, scale

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        return scaled_dot_product_attention(
            query, key, key, attn_mask=mask, is_causal=self.causal, scale=self.scale, enable_gqa=True
        )


# `ExportPass` refuses the call of the guards that `module()` inserts, as ExecuTorch's class does.


def replaced(
    model: torch.nn.Module, inputs: tuple[torch.Tensor | None, ...], assume_causal_mask: bool = False
) -> GraphModule:
    module = export(model, inputs).module(check_guards=False)
    assert isinstance(module, GraphModule)
    result = ReplaceSDPAWithCustomSDPAPass(assume_causal_mask)(module)
    assert result is not None
    return result.graph_module


BAND = torch.tril(torch.ones(6, 6, dtype=torch.bool)) & torch.triu(torch.ones(6, 6, dtype=torch.bool), -2)


@pytest.mark.parametrize(
    ("model", "mask"),
    [
        (Attention(), None),
        (Attention(causal=True, scale=0.3), None),
        (Attention(), BAND),
        (Attention(), BAND.view(1, 1, 6, 6)),
        (Attention(scale=2.0), torch.randn(1, 6, 6)),
    ],
)
def test_attention_is_replaced(model: torch.nn.Module, mask: torch.Tensor | None) -> None:
    inputs = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 6, 8), mask
    module = replaced(model, inputs)
    assert count(module)["llama.custom_sdpa.default"] == 1
    assert "aten.scaled_dot_product_attention.default" not in count(module)
    torch.testing.assert_close(module(*inputs), model(*inputs))


def test_a_causal_mask_is_assumed() -> None:
    inputs = torch.randn(1, 4, 6, 8), torch.randn(1, 4, 6, 8), torch.randn(6, 6)
    module = replaced(Attention(), inputs, assume_causal_mask=True)
    torch.testing.assert_close(module(*inputs), Attention(causal=True)(*inputs[:2]))


@pytest.mark.parametrize(
    "shapes",
    [
        [(4, 6, 8), (4, 6, 8)],  # three dimensions
        [(1, 4, 1, 8), (1, 4, 6, 8)],  # keys after the last token
        [(2, 4, 6, 8), (2, 4, 6, 8), (2, 1, 6, 6)],  # a mask for each element of the batch
    ],
)
def test_other_attention_stays(shapes: list[tuple[int, ...]]) -> None:
    inputs = tuple(torch.randn(shape) for shape in shapes)
    module = replaced(Attention(), inputs)
    assert count(module)["aten.scaled_dot_product_attention.default"] == 1
    torch.testing.assert_close(module(*inputs), Attention()(*inputs))


def test_symbolic_tokens() -> None:
    tokens, inputs = Dim("tokens", min=2, max=9), (torch.randn(1, 2, 6, 8), torch.randn(1, 2, 6, 8))
    module = export(Attention(causal=True), inputs, dynamic_shapes=({2: tokens}, {2: tokens})).module(
        check_guards=False
    )
    assert isinstance(module, GraphModule)
    result = ReplaceSDPAWithCustomSDPAPass()(module)
    assert result is not None and count(result.graph_module)["llama.custom_sdpa.default"] == 1
    longer = torch.randn(1, 2, 9, 8), torch.randn(1, 2, 9, 8)
    torch.testing.assert_close(result.graph_module(*longer), Attention(causal=True)(*longer))
