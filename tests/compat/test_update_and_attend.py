"""Attention, and the operator `kvcache::update_and_attend` in eager and exported models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from rushlight.compat.reference_caches import (
    AttendSpec,
    CacheConfig,
    CellReferenceCache,
    ContiguousReferenceCache,
    MaskKind,
    flatten_step,
)
from rushlight.compat.update_and_attend import REGISTRY, attend, update_and_attend

HEADS, KEY_HEADS, SIZE = 4, 2, 8
CONFIG = CacheConfig(n_layers=2, n_kv_heads=KEY_HEADS, head_dim=SIZE, capacity=16)


class Model(nn.Module):
    """Two layers of attention, with a cache or, if there are no positions, over all tokens."""

    def __init__(self) -> None:
        super().__init__()
        widths = (HEADS * SIZE, KEY_HEADS * SIZE, KEY_HEADS * SIZE)
        self.layers = nn.ModuleList(
            nn.ModuleList(nn.Linear(HEADS * SIZE, width, bias=False) for width in widths) for _ in range(2)
        )

    def forward(self, x: torch.Tensor, position: torch.Tensor | None = None) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, nn.ModuleList)
            q, k, v = (part(x).unflatten(-1, (-1, SIZE)).transpose(1, 2) for part in layer)
            if position is None:
                y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            else:
                y = update_and_attend(q, k, v, position, number, SIZE**-0.5, torch.float32)
            x = x + y.transpose(1, 2).flatten(2)
        return x


@pytest.fixture
def model() -> Iterator[Model]:
    torch.manual_seed(0)
    yield Model().eval()
    REGISTRY.uninstall("test")


def positions(start: int, end: int) -> torch.Tensor:
    return torch.arange(start, end).unsqueeze(1)


def test_an_exported_model_has_no_state_and_uses_the_cache_in_use(model: Model) -> None:
    x = torch.randn(1, 6, HEADS * SIZE)
    program = torch.export.export(model, (x[:, :3], positions(0, 3))).run_decompositions({})
    assert not program.graph_signature.buffers_to_mutate
    calls = [n for n in program.graph.nodes if n.target is torch.ops.kvcache.update_and_attend.default]
    assert len(calls) == 2
    REGISTRY.install("test", ContiguousReferenceCache(CONFIG))
    with REGISTRY.active("test"):
        results = [program.module()(x[:, i : i + 3], positions(i, i + 3)) for i in (0, 3)]
    torch.testing.assert_close(torch.cat(results, 1), model(x))


def test_sequences_in_one_call(model: Model) -> None:
    sequences = {0: torch.randn(1, 4, HEADS * SIZE), 7: torch.randn(1, 3, HEADS * SIZE)}
    cache = CellReferenceCache(CONFIG)
    REGISTRY.install("test", cache)
    for start, stop in ((0, 2), (2, 4)):
        parts = {name: (x[:, start:stop], start) for name, x in sequences.items()}
        tokens, places, owners, last = flatten_step(parts)
        cache.begin_step(owners)
        with REGISTRY.active("test"):
            result = model(tokens, places)[0, last]
        for row, x in zip(result, sequences.values(), strict=True):
            torch.testing.assert_close(row, model(x[:, :stop])[0, -1])


def test_the_size_of_values_and_the_dtype_of_the_result() -> None:
    q = k = torch.randn(1, 4, 3, SIZE, device="meta")
    result = update_and_attend(q, k, k[..., :5], positions(0, 3), 0, 0.5, torch.float16)
    assert result.shape == (1, 4, 3, 5) and result.dtype == torch.float16


def test_no_cache_in_use(model: Model) -> None:
    x = torch.randn(1, 2, HEADS * SIZE)
    with pytest.raises(KeyError, match="there is no cache 'other'"), REGISTRY.active("other"):
        pass
    REGISTRY.install("test", ContiguousReferenceCache(CONFIG))
    with pytest.raises(RuntimeError, match="no cache is in use"):
        model(x, positions(0, 2))
    with REGISTRY.active("test"):
        REGISTRY.uninstall("test")
        with pytest.raises(RuntimeError, match="no cache is in use"):
            REGISTRY.current()


def expected(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Softmax(q k^T / 2) v, with two heads of queries for each head of keys."""
    k, v = (part.repeat_interleave(2, dim=1) for part in (k, v))
    scores = (q @ k.transpose(2, 3) / 2).masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


Q, K, V = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 6)


def test_masks_and_dtypes() -> None:
    chosen = torch.tensor([[1, 0, 1, 0, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1]]).bool()
    result = attend(Q, K, V, AttendSpec(MaskKind.EXPLICIT, chosen), 0.5, torch.float32)
    torch.testing.assert_close(result, expected(Q, K, V, chosen))
    result = attend(Q, K, V, AttendSpec(MaskKind.NONE), 0.5, torch.float32)
    torch.testing.assert_close(result, expected(Q, K, V, torch.ones(3, 5, dtype=torch.bool)))
    k, v = K[:, :, :3], V[:, :, :3]
    result = attend(Q, k, v, AttendSpec(MaskKind.CAUSAL), 0.5, torch.float64)
    assert result.dtype == torch.float64
    torch.testing.assert_close(result.float(), expected(Q, k, v, torch.ones(3, 3).tril().bool()))


def test_causal_attention_needs_as_many_keys_as_queries() -> None:
    with pytest.raises(ValueError, match="3 queries and 5 keys need an EXPLICIT mask"):
        attend(Q, K, V, AttendSpec(MaskKind.CAUSAL), 0.5, torch.float32)
