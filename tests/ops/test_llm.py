"""Kernels of operators of language models agree with the operators in eager PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import rushlight.ir.llm_ops  # registers the operators
from rushlight.runtime import RushlightError, call_kernel

assert rushlight.ir.llm_ops.__doc__
llama = torch.ops.llama
MASK = torch.where(torch.arange(48) % 5 == 3, -math.inf, 0.0).expand(40, 48).contiguous()


def tensors(tokens: int, heads: int, key_heads: int, batch: int = 2) -> list[torch.Tensor]:
    shapes = (batch, tokens, heads, 8), (batch, 48, key_heads, 8), (batch, 48, key_heads, 8)
    return [torch.randn(shape) for shape in shapes]


@pytest.mark.parametrize(
    "options",
    [(None, 0.0, True, None), (None, 0.0, False, None), (MASK, 0.0, False, 0.7), (None, 0.0, True, 0.1)],
)
@pytest.mark.parametrize(("tokens", "start"), [(1, 0), (1, 47), (5, 7), (40, 3)])
@pytest.mark.parametrize("heads", [(4, 2), (2, 2), (3, 1)])
def test_attention(options: tuple[Any, ...], tokens: int, start: int, heads: tuple[int, int]) -> None:
    mask, *rest = options
    arguments = [*tensors(tokens, *heads), start, None if mask is None else mask[:tokens], *rest]
    out = torch.full_like(arguments[0], 9.0)
    call_kernel("llama::custom_sdpa.out", [*arguments, out])
    torch.testing.assert_close(out, llama.custom_sdpa(*arguments))


def test_tokens_that_see_nothing() -> None:
    query, key, value = tensors(3, 4, 2)
    out = torch.full_like(query, 9.0)
    mask = torch.full((3, 48), -math.inf)
    call_kernel("llama::custom_sdpa.out", [query, key, value, 2, mask, 0.0, False, None, out])
    assert out.abs().max() == 0


def test_attention_with_caches() -> None:
    query, key_cache, value_cache = tensors(3, 4, 2)
    key, value = torch.randn(2, 3, 2, 8), torch.randn(2, 3, 2, 8)
    caches = [key_cache.clone(), value_cache.clone()]
    out = torch.empty_like(query)
    rest = [9, 3, None, 0.0, True, None]
    call_kernel("llama::sdpa_with_kv_cache.out", [query, key, value, *caches, *rest, out])
    expected = llama.sdpa_with_kv_cache(query, key, value, key_cache, value_cache, *rest)
    torch.testing.assert_close(out, expected)
    assert torch.equal(caches[0], key_cache) and torch.equal(caches[1], value_cache)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.float64])
def test_update_cache(dtype: torch.dtype) -> None:
    value, cache = (torch.randn(2, n, 3, 4).mul(50).to(dtype) for n in (5, 9))
    expected, out = cache.clone(), torch.zeros(1, dtype=dtype)
    call_kernel("llama::update_cache.out", [value, cache, 4, out])
    llama.update_cache(value, expected, 4)
    assert torch.equal(cache, expected)
    indices = torch.tensor([[0, 8, -1, 9, 3], [4, 2, 1, 0, 7]])
    call_kernel("llama::update_cache_with_indices.out", [value, cache, 0, indices, out])
    llama.update_cache_with_indices(value, expected, 0, indices)
    assert torch.equal(cache, expected)


@pytest.mark.parametrize("shape", [(2, 3, 16), (1, 1), (256,), (0, 4)])
def test_hadamard_transform(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    out = torch.empty_like(x)
    call_kernel("llama::fast_hadamard_transform.out", [x, out])
    torch.testing.assert_close(out, llama.fast_hadamard_transform(x))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("custom_sdpa", [*tensors(3, 4, 2), 46, None, 0.0, False, None]),
        ("custom_sdpa", [*tensors(3, 4, 2), -1, None, 0.0, False, None]),
        ("custom_sdpa", [*tensors(3, 4, 3), 0, None, 0.0, False, None]),
        ("custom_sdpa", [*tensors(3, 4, 2), 0, None, 0.5, False, None]),
        ("custom_sdpa", [*tensors(3, 4, 2), 9, MASK[:3, :11].contiguous(), 0.0, False, None]),
        ("update_cache", [torch.zeros(1, 3, 2, 4), torch.zeros(1, 8, 2, 4), 6]),
        ("update_cache", [torch.zeros(1, 3, 2, 4), torch.zeros(1, 8, 1, 4), 0]),
        (
            "update_cache_with_indices",
            [torch.zeros(1, 3, 2, 4), torch.zeros(1, 8, 2, 4), 0, torch.zeros(1, 2).long()],
        ),
        ("fast_hadamard_transform", [torch.zeros(2, 12)]),
    ],
)
def test_what_is_refused(name: str, arguments: list[Any]) -> None:
    with pytest.raises(RushlightError):
        call_kernel(f"llama::{name}.out", [*arguments, torch.empty_like(arguments[0])])
