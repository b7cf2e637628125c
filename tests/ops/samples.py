"""Tensors for operator tests. Every call returns new tensors with the same values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import torch

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, float("inf"), -float("inf"), float("nan")]


def tensor(
    dtype: torch.dtype, *shape: int, seed: int = 0, low: float = -4.0, high: float = 4.0
) -> torch.Tensor:
    """Returns numbers between low and high, or between 0 and high for unsigned dtypes."""
    generator = torch.Generator().manual_seed(seed * 7919 + sum(shape))
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    if dtype.is_complex:
        real = torch.rand((*shape, 2), generator=generator, dtype=torch.float64) * (high - low) + low
        return torch.view_as_complex(real).to(dtype)
    if dtype.is_floating_point:
        return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)
    floor = max(int(low), torch.iinfo(dtype).min)
    return torch.randint(floor, max(int(high), floor) + 1, shape, generator=generator).to(dtype)


def special(dtype: torch.dtype) -> torch.Tensor:
    """Returns zeros of both signs, rounding ties, infinities and NaN, or the extremes of an integer dtype."""
    if dtype == torch.bool:
        return torch.tensor([True, False])
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        return torch.tensor([limits.min, limits.min + 1, 0, 1, 2, limits.max - 1, limits.max], dtype=dtype)
    bounds = torch.finfo(dtype)
    return torch.tensor([*SPECIAL, bounds.max, bounds.min, bounds.tiny], dtype=dtype)


def pairs(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns all pairs of elements as two vectors."""
    first, second = torch.meshgrid(a, b, indexing="ij")
    return first.flatten(), second.flatten()


# Shapes that broadcast: with a scalar, along one or several dims, on either side, without elements.
BROADCASTS = [
    ((3, 4), ()),
    ((), (3, 4)),
    ((), ()),
    ((2, 3, 4), (4,)),
    ((3, 1), (1, 5)),
    ((2, 1, 4, 1), (3, 1, 5)),
    ((1,), (2, 2)),
    ((0, 3), (1, 3)),
    ((2, 3, 300), (3, 1)),
    ((1000,), (1000,)),
]


def mixed(dtypes: Iterable[torch.dtype]) -> Iterator[tuple[torch.dtype, torch.dtype]]:
    """Returns pairs of dtypes: each with itself and with some neighbours."""
    listed = list(dtypes)
    for i, dtype in enumerate(listed):
        yield dtype, dtype
        for step in (1, 3, 7):
            if listed[(i + step) % len(listed)] != dtype:
                yield dtype, listed[(i + step) % len(listed)]


def channels_last(value: torch.Tensor) -> torch.Tensor:
    """Returns rank 4 tensors in channels-last order, and others unchanged."""
    return value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value


def product(*choices: Iterable[object]) -> Iterator[tuple[object, ...]]:
    return itertools.product(*choices)
