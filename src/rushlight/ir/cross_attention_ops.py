"""The operator `executorch::update_cross_attn_cache`, which writes keys or values of an encoder into a cache.

The schema does not say that the cache changes, so that branches of `torch.cond` may call the operator.
`ApplyCacheUpdatesPass` replaces the operator when a program is compiled.
"""

from __future__ import annotations

import torch
from torch.library import Library

_NAME = "update_cross_attn_cache"
_LIBRARY = Library("executorch", "FRAGMENT")


def update_cross_attn_cache(value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    """Writes the first positions of a cache, in place.

    Args:
        value: [batch, heads, tokens, size].
        cache: [batch, heads, positions, size] of the same dtype, with at least as many positions as there are
            tokens. It is changed.

    Returns:
        A copy of the changed cache.

    Raises:
        RuntimeError: the shapes or dtypes are wrong.
    """
    result = updated_cache(value, cache)
    cache.copy_(result)
    return result


def updated_cache(value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    """Returns the new contents of the cache, without changing it."""
    _check(value, cache)
    return torch.slice_scatter(cache, value, 2, 0, value.shape[2])


def _fake(value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    _check(value, cache)
    return torch.empty_like(cache)


def _check(value: torch.Tensor, cache: torch.Tensor) -> None:
    if value.dim() != 4 or cache.dim() != 4 or value.dtype != cache.dtype:
        raise RuntimeError(
            f"executorch::{_NAME}: value and cache must have 4 dimensions and the same dtype; they are "
            f"{value.dtype} {list(value.shape)} and {cache.dtype} {list(cache.shape)}"
        )
    for dim in (0, 1, 3):
        torch._check(
            value.shape[dim] == cache.shape[dim],
            lambda: (
                f"executorch::{_NAME}: a value {list(value.shape)} and a cache {list(cache.shape)} may "
                "differ only in dim 2"
            ),
        )
    torch._check(
        value.shape[2] <= cache.shape[2],
        lambda: (
            f"executorch::{_NAME}: {value.shape[2]} tokens exceed the cache of {cache.shape[2]} positions"
        ),
    )


if not hasattr(torch.ops.executorch, _NAME):
    _LIBRARY.define(f"{_NAME}(Tensor value, Tensor cache) -> Tensor")
    _LIBRARY.impl(_NAME, update_cross_attn_cache, "CompositeExplicitAutograd")
    _LIBRARY.impl(_NAME, _fake, "Meta")
