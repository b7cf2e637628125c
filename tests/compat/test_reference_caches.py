"""The configuration of caches, a cache of one sequence, and a cache that several sequences share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from rushlight.compat.reference_caches import (
    MAX_SEQS,
    AttendSpec,
    CacheConfig,
    CacheSizing,
    CellReferenceCache,
    ContiguousReferenceCache,
    LayerKind,
    LayerPolicy,
    MaskKind,
    causal_mask,
    flatten_step,
)


def make(window: int = 0, sizing: CacheSizing = CacheSizing.DYNAMIC) -> ContiguousReferenceCache:
    policy = LayerPolicy.ring(window) if window else LayerPolicy.flat()
    return ContiguousReferenceCache(CacheConfig(2, 2, 4, 8, sizing, layers=[policy, LayerPolicy.flat()]))


def step(cache: ContiguousReferenceCache, count: int, layer: int = 0) -> AttendSpec:
    """Stores tokens whose keys are their places."""
    start = cache.used(layer)
    k = torch.arange(float(start), start + count).reshape(1, 1, -1, 1).expand(1, 2, count, 4)
    keys, values, spec = cache.update_and_fetch(layer, k, -k, torch.arange(start, start + count).unsqueeze(1))
    assert keys[0, 0, :, 0].tolist() == list(range(start + count)) and torch.equal(values, -keys)
    return spec


def test_the_policy_of_each_layer() -> None:
    one = CacheConfig(3, 1, 4, 8, layers=[LayerPolicy.ring(2)])
    assert [one.policy_for(layer).window for layer in range(3)] == [2, 2, 2]
    each = CacheConfig(2, 1, 4, 8, layers=[LayerPolicy.flat(), LayerPolicy.ring(5)])
    assert [each.policy_for(layer).window for layer in range(2)] == [0, 5]


@pytest.mark.parametrize(("kind", "window"), [(LayerKind.FLAT, 4), (LayerKind.FLAT, -1), (LayerKind.RING, 0)])
def test_a_window_that_does_not_fit_the_kind(kind: LayerKind, window: int) -> None:
    with pytest.raises(ValueError, match=f"cannot have window={window}"):
        LayerPolicy(kind, window)


def test_wrong_sizes() -> None:
    with pytest.raises(ValueError, match="must be positive, not 0"):
        CacheConfig(1, 1, 4, 0)
    with pytest.raises(ValueError, match="3 layers need one policy or 3, not 2"):
        CacheConfig(3, 1, 4, 8, layers=[LayerPolicy.flat()] * 2)


def test_causal_mask() -> None:
    queries, keys = torch.tensor([2, 4]), torch.tensor([0, 4, 2, 1])
    assert causal_mask(queries, keys, 0).int().tolist() == [[1, 0, 1, 1], [1, 1, 1, 1]]
    assert causal_mask(queries, keys, 2).int().tolist() == [[0, 0, 1, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("sizing", CacheSizing)
def test_the_masks_of_steps(sizing: CacheSizing) -> None:
    cache = make(sizing=sizing)
    assert step(cache, 3).kind is MaskKind.CAUSAL
    assert step(cache, 1).kind is MaskKind.NONE
    spec = step(cache, 2)
    assert spec.kind is MaskKind.EXPLICIT and spec.mask is not None
    assert spec.mask.int().tolist() == [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
    assert (cache.used(0), cache.used(1)) == (6, 0)
    cache.reset()
    assert cache.used(0) == 0 and step(cache, 2).kind is MaskKind.CAUSAL


def test_a_window_needs_a_mask_when_it_is_shorter_than_the_sequence() -> None:
    cache = make(window=3)
    assert step(cache, 3).kind is MaskKind.CAUSAL
    spec = step(cache, 1)
    assert spec.mask is not None and spec.mask.int().tolist() == [[0, 1, 1, 1]]
    spec = step(cache, 2)
    assert spec.mask is not None and spec.mask.int().tolist() == [[0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1]]
    assert step(cache, 6, layer=1).kind is MaskKind.CAUSAL


def test_a_full_cache() -> None:
    cache = make()
    step(cache, 7)
    with pytest.raises(RuntimeError, match="layer 0 has 7 tokens and gets 2 more than 8 allow"):
        step(cache, 2)
    assert step(cache, 1).kind is MaskKind.NONE


def test_the_dtype_and_the_size_of_values() -> None:
    cache = ContiguousReferenceCache(CacheConfig(1, 2, 4, 8, dtype=torch.float16))
    k, v, position = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 5), torch.arange(3).unsqueeze(1)
    keys, values, _ = cache.update_and_fetch(0, k, v, position)
    assert torch.equal(keys, k.half()) and torch.equal(values, v.half())


@pytest.mark.parametrize(("k", "v"), [((1, 1, 3, 4), (1, 1, 3, 4)), ((1, 2, 3, 4), (1, 2, 2, 4))])
def test_shapes_that_do_not_fit(k: tuple[int, ...], v: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"the cache needs keys \[1, 2, 3, 4\], not"):
        make().update_and_fetch(0, torch.zeros(k), torch.zeros(v), torch.arange(3).unsqueeze(1))


CAPACITY = 8


def shared(*windows: int) -> CellReferenceCache:
    policies = [LayerPolicy.ring(window) if window else LayerPolicy.flat() for window in windows or (0,)]
    return CellReferenceCache(CacheConfig(len(policies), 1, 2, CAPACITY, layers=policies))


def store(
    cache: CellReferenceCache, positions: list[int], layer: int = 0
) -> tuple[list[float], list[list[int]]]:
    """Stores tokens whose keys are 10 + their positions. Returns all keys and the mask."""
    position = torch.tensor(positions).unsqueeze(1)
    k = (10.0 + position).expand(1, 1, -1, 2)
    keys, values, spec = cache.update_and_fetch(layer, k, 2 * k, position)
    assert spec.kind is MaskKind.EXPLICIT and spec.mask is not None and torch.equal(values, 2 * keys)
    return keys[0, 0, :, 0].tolist(), spec.mask.int().tolist()


def call(cache: CellReferenceCache, sequences: list[int], positions: list[int]) -> list[list[int]]:
    cache.begin_step(sequences)
    return store(cache, positions)[1]


def test_sequences_of_one_step_do_not_see_each_other() -> None:
    cache = shared()
    assert call(cache, [0, 0, 5], [0, 1, 0]) == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert call(cache, [5, 0], [1, 2]) == [[0, 0, 1, 1, 0], [1, 1, 0, 0, 1]]
    assert (cache.seq_len(0), cache.seq_len(5), cache.free_cells()) == (3, 2, 3)
    assert cache.can_extend(3) and not cache.can_extend(4)


def test_a_copied_sequence_shares_cells() -> None:
    cache = shared()
    call(cache, [0, 0, 0], [0, 1, 2])
    cache.seq_cp(0, 1, upto=2)
    assert (cache.seq_len(1), cache.free_cells()) == (2, CAPACITY - 3)
    assert call(cache, [1], [2]) == [[1, 1, 0, 1]]
    cache.seq_rm(0)
    assert (cache.seq_len(0), cache.seq_len(1), cache.free_cells()) == (0, 3, CAPACITY - 3)
    cache.seq_cp(1, MAX_SEQS - 1)
    assert cache.seq_len(MAX_SEQS - 1) == 3
    assert call(cache, [MAX_SEQS - 1], [3]) == [[1, 1, 1, 1]], "the token takes the free cell 2"


def test_removed_positions_and_free_cells_at_the_end() -> None:
    cache = shared()
    call(cache, [0] * 5, [0, 1, 2, 3, 4])
    cache.seq_rm(0, 0, 2)
    cache.seq_rm(0, 4)
    assert (cache.seq_len(0), cache.free_cells()) == (2, CAPACITY - 2)
    cache.begin_step([1])
    assert store(cache, [0]) == ([10, 11, 12, 13], [[1, 0, 0, 0]])
    cache.reset()
    assert cache.free_cells() == CAPACITY and call(cache, [0], [0]) == [[1]]


def test_layers_with_the_same_window_share_a_mask() -> None:
    cache = shared(0, 2, 2)
    cache.begin_step([0, 0, 0])
    assert store(cache, [0, 1, 2])[1] == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    k = torch.zeros(1, 1, 3, 2)
    masks = [cache.update_and_fetch(layer, k, k, torch.arange(3).unsqueeze(1))[2].mask for layer in (1, 2)]
    assert masks[0] is masks[1] and masks[0] is not None
    assert masks[0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]


def test_each_call_of_the_model_needs_a_step() -> None:
    cache = shared(0, 0)
    with pytest.raises(RuntimeError, match="call begin_step before the model"):
        store(cache, [0])
    with pytest.raises(ValueError, match="at least one token"):
        cache.begin_step([])
    with pytest.raises(RuntimeError, match="9 tokens do not fit in 8 free cells"):
        cache.begin_step([0] * 9)
    cache.begin_step([0, 0])
    with pytest.raises(ValueError, match="declared 2 tokens, but the model got 1"):
        store(cache, [0])
    with pytest.raises(RuntimeError, match="call begin_step"):
        store(cache, [0, 1])
    call(cache, [0], [0])
    with pytest.raises(RuntimeError, match="layer 0 got tokens twice"):
        store(cache, [0])
    cache.seq_rm(3)  # The next layer of the same call has no step either.
    with pytest.raises(RuntimeError, match="call begin_step"):
        store(cache, [0], layer=1)


def test_wrong_arguments() -> None:
    cache = shared()
    calls: tuple[Callable[[], object], ...] = (
        lambda: cache.begin_step([MAX_SEQS]),
        lambda: cache.seq_cp(0, MAX_SEQS),
        lambda: cache.seq_cp(MAX_SEQS, 0),
        lambda: cache.seq_rm(-1),
        lambda: cache.seq_len(MAX_SEQS),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"is not in \[0, 63\)"):
            call()
    with pytest.raises(ValueError, match="batch_size=1, not 2"):
        CellReferenceCache(CacheConfig(1, 1, 2, 8, batch_size=2))
    cache.begin_step([0])
    with pytest.raises(NotImplementedError, match="a token has 3 positions"):
        k = torch.zeros(1, 1, 1, 2)
        cache.update_and_fetch(0, k, k, torch.zeros(1, 3, dtype=torch.int64))


def test_flatten_step() -> None:
    tokens, positions, sequences, last = flatten_step(
        {3: (torch.tensor([[7, 8, 9]]), 5), 0: (torch.tensor([[1, 2]]), 0)}
    )
    assert tokens.tolist() == [[7, 8, 9, 1, 2]] and positions.tolist() == [[5], [6], [7], [0], [1]]
    assert sequences == [3, 3, 3, 0, 0] and last.tolist() == [2, 4]
