"""Kernels of operators of language models agree with the operators in eager PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import rushlight.ir.delta_rule_ops
import rushlight.ir.image_ops
import rushlight.ir.llm_ops  # registers the operators
from rushlight.runtime import RushlightError, call_kernel

assert rushlight.ir.llm_ops.__doc__ and rushlight.ir.image_ops.__doc__ and rushlight.ir.delta_rule_ops.__doc__
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


def quantized(heads: int, tokens: int, is_seq_at_dim_2: bool) -> list[torch.Tensor]:
    """Returns int8 numbers with 8 elements for each token and head, their zero points and their scales."""
    sizes = [2, heads, tokens] if is_seq_at_dim_2 else [2, tokens, heads]
    numbers, zero_points = (torch.randint(-100, 100, [*sizes, n], dtype=torch.int8) for n in (8, 1))
    return [numbers, zero_points, torch.rand(*sizes, 1) / 50]


@pytest.mark.parametrize("is_seq_at_dim_2", [False, True])
@pytest.mark.parametrize("options", [(None, 0.0, True, None), (MASK[:5], 0.0, False, 0.7)])
def test_attention_of_quantized_tensors(options: tuple[Any, ...], is_seq_at_dim_2: bool) -> None:
    triples = [quantized(heads, n, is_seq_at_dim_2) for heads, n in ((4, 5), (2, 48), (2, 48))]
    arguments = [*(numbers for numbers, _, _ in triples), 7, *options]
    arguments += [*(item for triple in triples for item in triple[1:]), is_seq_at_dim_2]
    out = torch.full(triples[0][0].shape, 9.0)
    call_kernel("llama::custom_quantized_sdpa.out", [*arguments, out])
    torch.testing.assert_close(out, llama.custom_quantized_sdpa(*arguments))


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize(("shape", "size"), [((3, 8, 12), 4), ((1, 5, 5), 5), ((2, 0, 4), 2)])
def test_tiles_of_images(shape: tuple[int, ...], size: int, dtype: torch.dtype) -> None:
    image = torch.randint(0, 100, shape).to(dtype)
    expected = torch.ops.preprocess.tile_crop(image, size)
    out = torch.zeros_like(expected)
    call_kernel("preprocess::tile_crop.out", [image, size, out])
    assert torch.equal(out, expected)


def test_images_that_are_no_multiple_of_tiles_are_refused() -> None:
    with pytest.raises(RushlightError, match="no multiple of tiles of 3 pixels"):
        call_kernel("preprocess::tile_crop.out", [torch.zeros(1, 6, 4), 3, torch.zeros(2, 1, 3, 3)])


@pytest.mark.parametrize("tokens", [0, 1, 5])
@pytest.mark.parametrize("sizes", [(2, 4, 2, 3, 5), (1, 2, 2, 4, 1), (1, 3, 1, 2, 0)])
@pytest.mark.parametrize("name", ["gated_delta_rule", "channelwise_gated_delta_rule"])
def test_gated_delta_rule(name: str, sizes: tuple[int, ...], tokens: int) -> None:
    batch, heads, groups, rows, columns = sizes
    query = torch.randn(batch, heads, tokens, rows)
    key, value = (torch.randn(batch, groups, tokens, size) for size in (rows, columns))
    beta, state = torch.rand(batch, groups, tokens), torch.randn(batch, groups, rows, columns)
    for decay in (torch.rand(batch, groups, tokens), torch.rand(batch, groups, tokens, rows)):
        arguments = (query, key, value, decay, beta, state)
        outs = (torch.full((batch, heads, tokens, columns), 9.0), torch.full_like(state, 9.0))
        call_kernel(f"llama::{name}.out", [*arguments, *outs])
        torch.testing.assert_close(outs, getattr(llama, name)(*arguments))


@pytest.mark.parametrize("changed", range(6))
def test_a_gated_delta_rule_of_other_shapes_is_refused(changed: int) -> None:
    shapes = [[1, 3, 2, 4], [1, 3, 2, 4], [1, 3, 2, 5], [1, 3, 2], [1, 3, 2], [1, 3, 4, 5]]
    shapes[changed] = [1, 2, *shapes[changed][2:]]
    outs = [torch.zeros(1, 3, 2, 5), torch.zeros(1, 3, 4, 5)]
    with pytest.raises(RushlightError, match="the gated delta rule needs a query"):
        call_kernel("llama::gated_delta_rule.out", [*map(torch.zeros, shapes), *outs])


@pytest.mark.parametrize("shape", [(2, 3, 16), (1, 1), (256,), (0, 4), (3, 28), (2, 1, 112)])
def test_hadamard_transform(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    out = torch.empty_like(x)
    call_kernel("llama::fast_hadamard_transform.out", [x, out])
    torch.testing.assert_close(out, llama.fast_hadamard_transform(x))


def test_hadamard_matrix_of_order_28() -> None:
    rows = llama.fast_hadamard_transform(torch.eye(56)) * math.sqrt(2)
    assert torch.equal((rows @ rows.T).round(), 56 * torch.eye(56)) and (rows.abs() - 1).abs().max() < 1e-6
    # The image of the first unit vector is the first column of the Kronecker product.
    signs = "".join("+" if number > 0 else "-" for number in rows[0, ::2])
    assert signs == "+--------++++--+-++-+-++--++" and torch.equal(rows[0, ::2], rows[0, 1::2])


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
