"""The operator `kvcache::update_and_attend`, which reads and changes a cache outside of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from rushlight.compat.reference_caches import AttendSpec, Cache, MaskKind


class CacheRegistry:
    """Caches by name, of which one is in use."""

    def __init__(self) -> None:
        self._caches: dict[str, Cache] = {}
        self._active: str | None = None

    def install(self, cache_key: str, cache: Cache) -> None:
        """Adds a cache, or replaces the one with the same name."""
        self._caches[cache_key] = cache

    def uninstall(self, cache_key: str) -> None:
        """Removes a cache, if there is one with this name."""
        self._caches.pop(cache_key, None)
        if self._active == cache_key:
            self._active = None

    @contextmanager
    def active(self, cache_key: str) -> Iterator[None]:
        """Uses a cache within a `with` statement.

        Raises:
            KeyError: there is no cache with this name.
        """
        if cache_key not in self._caches:
            raise KeyError(f"there is no cache {cache_key!r}; the caches are {sorted(self._caches)}")
        before, self._active = self._active, cache_key
        try:
            yield
        finally:
            self._active = before

    def current(self) -> Cache:
        """Returns the cache in use.

        Raises:
            RuntimeError: there is none.
        """
        if self._active is None:
            raise RuntimeError("no cache is in use; call the model within REGISTRY.active(name)")
        return self._caches[self._active]


REGISTRY = CacheRegistry()
"""The caches of this process."""


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    spec: AttendSpec,
    scale: float,
    out_dtype: torch.dtype,
) -> torch.Tensor:
    """Computes attention in float32.

    Args:
        q: the queries, [batch, heads, queries, size]. The heads are a multiple of those of the keys.
        k: the keys, [batch, key heads, keys, size].
        v: the values, [batch, key heads, keys, value size].
        spec: the mask.
        scale: the factor of the products of queries and keys.
        out_dtype: the dtype of the result.

    Returns:
        The weighted sums of the values, [batch, heads, queries, value size].

    Raises:
        ValueError: the mask is CAUSAL, but the numbers of queries and keys differ.
    """
    causal = spec.kind is MaskKind.CAUSAL
    if causal and q.shape[2] != k.shape[2]:
        raise ValueError(
            f"{q.shape[2]} queries and {k.shape[2]} keys need an EXPLICIT mask, not a CAUSAL one"
        )
    result = torch.nn.functional.scaled_dot_product_attention(
        q.float(),
        k.float(),
        v.float(),
        attn_mask=spec.mask if spec.kind is MaskKind.EXPLICIT else None,
        is_causal=causal,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return result.to(out_dtype)


@torch.library.custom_op("kvcache::update_and_attend", mutates_args=())
def update_and_attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    position: torch.Tensor,
    layer_id: int,
    scale: float,
    out_dtype: torch.dtype,
) -> torch.Tensor:
    """Stores keys and values in the cache in use (`update_and_fetch`), and computes attention (`attend`)."""
    keys, values, spec = REGISTRY.current().update_and_fetch(layer_id, k, v, position)
    return attend(q, keys, values, spec, scale, out_dtype)


@update_and_attend.register_fake
def _fake(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    position: torch.Tensor,
    layer_id: int,
    scale: float,
    out_dtype: torch.dtype,
) -> torch.Tensor:
    return q.new_empty(*q.shape[:3], v.shape[3], dtype=out_dtype)
