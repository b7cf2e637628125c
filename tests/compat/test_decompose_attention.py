"""Tests of the decomposition of attention, against eager PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim, export

from rushlight.compat.transforms.attention import DecomposeScaledDotProductAttentionPass

SDPA = torch.ops.aten.scaled_dot_product_attention.default


class Attention(torch.nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, **self.options)


def tensors(heads: int = 2, keys: int = 5) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(2, 4, 3, 8), torch.randn(2, heads, keys, 8), torch.randn(2, heads, keys, 8)]


BOOL = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])


@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        ({}, tensors(4)),
        ({"scale": 0.25}, [*tensors(4), torch.randn(3, 5)]),
        ({}, [*tensors(4), BOOL]),
        ({"is_causal": True}, tensors(4)),
        ({"enable_gqa": True}, tensors(2)),
    ],
)
def test_results(options: Any, inputs: Any) -> None:
    model = Attention(**options)
    module = export(model, tuple(inputs)).module()
    stack = next(node for node in module.graph.nodes if node.target is SDPA).meta.get("nn_module_stack")
    result = DecomposeScaledDotProductAttentionPass()(module)
    assert result is not None and result.modified and result.graph_module is module
    calls = [node for node in module.graph.nodes if node.op == "call_function"]
    assert SDPA not in {node.target for node in calls}
    assert all(node.meta.get("nn_module_stack") == stack for node in calls)
    torch.testing.assert_close(module(*inputs), model(*inputs))


def test_dynamic_sizes() -> None:
    model, inputs, keys = Attention(is_causal=True), tensors(4), Dim("keys", min=2, max=9)
    shapes = {"q": None, "k": {2: keys}, "v": {2: keys}, "mask": None}
    module = export(model, (*inputs, None), dynamic_shapes=shapes).module()
    DecomposeScaledDotProductAttentionPass()(module)
    others = tensors(4, keys=7)
    torch.testing.assert_close(module(*others, None), model(*others))


def test_what_cannot_be_decomposed() -> None:
    module = export(Attention(enable_gqa=True), tuple(tensors(2))).module()
    node = next(node for node in module.graph.nodes if node.target is SDPA)
    node.kwargs = {**node.kwargs, "enable_gqa": False}
    with pytest.raises(ValueError, match="enable_gqa=True"):
        DecomposeScaledDotProductAttentionPass()(module)
    module = export(Attention(dropout_p=0.5), tuple(tensors(4))).module()
    with pytest.raises(ValueError, match="eval mode"):
        DecomposeScaledDotProductAttentionPass()(module)
