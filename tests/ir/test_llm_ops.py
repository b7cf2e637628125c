"""Operators of language models, in eager PyTorch and in programs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import export
from torch.nn.functional import scaled_dot_product_attention

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir import llm_ops
from rushlight.runtime import load

llama: Any = torch.ops.llama


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


def reference(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start: int,
    causal: bool,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    end = start + query.shape[1]
    q, k, v = (item.transpose(1, 2) for item in (query, key[:, :end], value[:, :end]))
    added = torch.zeros(query.shape[1], end) if mask is None else mask[:, :end]
    if causal:
        behind = torch.arange(end) > torch.arange(start, end)[:, None]
        added = added.masked_fill(behind, -torch.inf)
    return scaled_dot_product_attention(q, k, v, added, enable_gqa=True).transpose(1, 2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [0, 7, 10])
@pytest.mark.parametrize("heads", [2, 6])
def test_attention(heads: int, masked: int, causal: bool) -> None:
    query, key, value = rows(2, 3, heads, 8), rows(2, 10, 2, 8), rows(2, 10, 2, 8)
    mask = rows(3, masked) if masked else None
    result = llama.custom_sdpa(query, key, value, 4, mask, 0.0, causal)
    torch.testing.assert_close(result, reference(query, key, value, 4, causal, mask))


def quantized(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns int8 numbers, zero points and scales, with one scale for each token and head."""
    low, high = values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)
    scales = (high - low) / 255
    zero_points = (-128 - torch.round(low / scales)).clamp(-128, 127)
    numbers = (torch.round(values / scales) + zero_points).clamp(-128, 127)
    return numbers.to(torch.int8), zero_points.to(torch.int8), scales


class QuantizedAttention(torch.nn.Module):
    def __init__(self, heads_first: bool) -> None:
        super().__init__()
        self.heads_first = heads_first

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        query, key, value, *qparams = parts
        result: torch.Tensor = llama.custom_quantized_sdpa(
            query, key, value, 4, None, 0.0, True, None, *qparams, self.heads_first
        )
        return result


@pytest.mark.parametrize("heads_first", [False, True])
def test_quantized_attention(heads_first: bool) -> None:
    originals = [rows(2, 3, 6, 8), rows(2, 10, 2, 8), rows(2, 10, 2, 8)]
    parts = [quantized(item) for item in originals]
    query, key, value = ((numbers.float() - zeros) * scales for numbers, zeros, scales in parts)
    expected = reference(query, key, value, 4, True, None)
    order = [[part[0] for part in parts], *([zeros, scales] for _, zeros, scales in parts)]
    inputs = [item.transpose(1, 2) if heads_first else item for items in order for item in items]
    result = QuantizedAttention(heads_first)(inputs)
    torch.testing.assert_close(result, expected.transpose(1, 2) if heads_first else expected)
    program = export(QuantizedAttention(heads_first), (inputs,))
    model = load(to_edge_transform_and_lower(program).to_executorch().buffer)
    torch.testing.assert_close(model(inputs), result)


def test_updates() -> None:
    cache, value = torch.zeros(2, 6, 1, 2), rows(2, 2, 1, 2)
    assert llama.update_cache(value, cache, 3).shape == (1,)
    assert torch.equal(cache[:, 3:5], value) and not cache[:, :3].any() and not cache[:, 5:].any()
    cache.zero_()
    llama.update_cache_with_indices(value, cache, 0, torch.tensor([[5, 0], [-1, 2]]))
    assert torch.equal(cache[0, [5, 0]], value[0]) and torch.equal(cache[1, 2], value[1, 1])
    assert int(cache.ne(0).any(-1).sum()) == 3


def test_the_transform_is_its_own_inverse() -> None:
    x = rows(3, 2, 16)
    result = llama.fast_hadamard_transform(x)
    torch.testing.assert_close(llama.fast_hadamard_transform(result), x)
    torch.testing.assert_close(result[..., 0], x.sum(-1) / 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: llm_ops.update_cache(rows(1, 2, 1, 2), rows(1, 4, 1, 2), 3),
            "2 tokens from position 3 exceed",
        ),
        (lambda: llm_ops.update_cache(rows(1, 2, 2, 2), rows(1, 4, 1, 2), 0), "may differ only in dim 1"),
        (lambda: llm_ops.update_cache(rows(1, 2, 2), rows(1, 4, 1, 2), 0), "4 dimensions and the same dtype"),
        (
            lambda: llm_ops.update_cache_with_indices(
                rows(1, 2, 1, 2), rows(1, 4, 1, 2), 0, torch.zeros(1, 3, dtype=torch.int64)
            ),
            r"indices must be int64 of shape \[1, 2\]",
        ),
        (
            lambda: llm_ops.custom_sdpa(rows(1, 2, 3, 2), rows(1, 4, 2, 2), rows(1, 4, 2, 2), 0),
            "3 heads of size 2 do not match 2 key heads",
        ),
        (
            lambda: llm_ops.custom_sdpa(rows(1, 2, 2, 2), rows(1, 4, 2, 2), rows(1, 4, 2, 2), 0, None, 0.5),
            "drpout_p is 0.5",
        ),
        (
            lambda: llm_ops.custom_quantized_sdpa(*3 * (torch.zeros(1, 2, 2, 4, dtype=torch.int8),), 0),
            "the query needs scales and zero points",
        ),
        (
            lambda: llm_ops.custom_quantized_sdpa(
                *3 * (rows(1, 2, 2, 4),), 0, q_scales=rows(1, 2, 2, 1), q_zero_points=rows(1, 2, 2)
            ),
            r"the query must be int8 .* shape \[1, 2, 2, 1\]; it is torch.float32 with .* and \[1, 2, 2\]",
        ),
        (lambda: llm_ops.fast_hadamard_transform(rows(2, 12)), "rows of 12 is not supported"),
    ],
)
def test_what_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


class Layer(torch.nn.Module):
    """Attention that stores the keys and values of all earlier tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = torch.nn.Buffer(torch.zeros(1, 8, 2, 4))
        self.values = torch.nn.Buffer(torch.zeros(1, 8, 2, 4))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        start = position.item()
        torch._check(start >= 0)  # type: ignore[operator]
        torch._check(start < 8)  # type: ignore[operator]
        result: torch.Tensor = llama.sdpa_with_kv_cache(
            query, key, value, self.keys, self.values, start, 1, None, 0.0, True
        )
        return result


@pytest.mark.parametrize("partitioner", [None, XnnpackPartitioner, CpuPartitioner])
def test_programs_remember_tokens(partitioner: Any) -> None:
    tokens = [(rows(1, 1, 4, 4), rows(1, 1, 2, 4), rows(1, 1, 2, 4)) for _ in range(4)]
    program = export(Layer(), (*tokens[0], torch.tensor(0)))
    manager = to_edge_transform_and_lower(program, partitioner=[partitioner()] if partitioner else None)
    model = load(manager.to_executorch().buffer)
    eager = Layer()
    for position, token in enumerate(tokens):
        expected = eager(*token, torch.tensor(position))
        torch.testing.assert_close(model(*token, torch.tensor(position)), expected)
    keys = torch.cat([key for _, key, _ in tokens], 1)
    assert torch.equal(eager.keys[:, :4], keys)
