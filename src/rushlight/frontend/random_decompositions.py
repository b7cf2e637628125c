"""Decompositions of operators that draw random numbers into `rand`, `randn` and `randint`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from rushlight.frontend.decompositions import Decomposition


def _without_generator(op: OpOverload) -> Decomposition:
    """Replaces an overload with a generator by `op`. torch.export accepts only None as the generator."""

    def decomposed(*args: Any, generator: torch.Generator | None = None, **options: Any) -> object:
        return op(*args, **options)

    return decomposed


def _exponential(
    x: torch.Tensor, lambd: float = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Samples by the inverse distribution function. The logarithm is finite, because `rand` is below 1."""
    return torch.neg(torch.log1p(torch.neg(torch.rand_like(x)))) / lambd


def _uniform(
    x: torch.Tensor, low: float = 0.0, high: float = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    return torch.rand_like(x) * (high - low) + low


def _normal(
    x: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    return torch.randn_like(x) * std + mean


def _normal_of_tensors(
    mean: Any, std: Any = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    shapes = [item.shape for item in (mean, std) if isinstance(item, torch.Tensor)]
    like = mean if isinstance(mean, torch.Tensor) else std
    samples: torch.Tensor = torch.randn(torch.broadcast_shapes(*shapes), dtype=like.dtype) * std + mean
    return samples


def _log_normal(
    x: torch.Tensor, mean: float = 1.0, std: float = 2.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    return torch.exp(_normal(x, mean, std))


def _cauchy(
    x: torch.Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    return torch.tan((torch.rand_like(x) - 0.5) * torch.pi) * sigma + median


def _bernoulli(
    x: torch.Tensor, p: torch.Tensor | float = 0.5, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    is_one: torch.Tensor = torch.rand(x.shape) < p
    return is_one.to(x.dtype)


def _randint_like(
    x: torch.Tensor, *bounds: int, dtype: torch.dtype | None = None, **options: object
) -> torch.Tensor:
    low, high = bounds if len(bounds) == 2 else (0, *bounds)
    return torch.randint(low, high, x.shape, dtype=dtype or x.dtype)


def _multinomial(
    x: torch.Tensor, num_samples: int, replacement: bool = False, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Draws indices with probabilities proportional to the weights `x`, whose sum may be any number.

    Without replacement, it selects the largest quotients of weights and exponentially distributed samples.
    """
    x = x.to(torch.float32) if x.dtype.itemsize < 4 else x
    if replacement and num_samples != 1:
        ends = torch.cumsum(x, -1)
        # The samples are above 0 and at most the sum, so that an element of weight 0 is never drawn.
        drawn = torch.neg(torch.rand((*x.shape[:-1], num_samples), dtype=x.dtype)) + 1.0
        return torch.searchsorted(ends, drawn * ends[..., -1:])
    samples = torch.clamp(_exponential(x), min=torch.finfo(x.dtype).tiny)
    return torch.topk(x / samples, num_samples).indices


def _window_starts(samples: torch.Tensor, size: int, count: int, window: int) -> torch.Tensor:
    """Returns the first rows of the windows of fractional pooling, whose distances are pseudorandom.

    Args:
        samples: numbers in [0, 1), [batch, channels].
        size: the rows of the image.
        count: the rows of the result.
        window: the rows of a window.

    Returns:
        int64 [batch, channels, count]. The last window ends at the last row.

    Source: Graham, "Fractional Max-Pooling" (2014).
    """
    last = torch.full((*samples.shape, 1), size - window, dtype=torch.int64)
    if count == 1:
        return last
    distance = (size - window) / (count - 1)
    samples = samples[..., None]
    steps = torch.arange(count - 1, dtype=samples.dtype) + samples
    starts = (steps * distance).to(torch.int64) - (samples * distance).to(torch.int64)
    return torch.cat([starts, last], -1)


def _fractional_max_pool(
    x: torch.Tensor, kernel_size: Sequence[int], output_size: Sequence[int], samples: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes the largest element of each window, and its index in the image.

    Args:
        x: images or volumes, [batch, channels, *sizes] or [channels, *sizes].
        kernel_size: the sizes of a window.
        output_size: the sizes of the result.
        samples: numbers in [0, 1), [batch, channels, dims]. Of two dimensions, the width comes first.

    Returns:
        The elements, and their indices in int64, both [batch, channels, *output_size] or without the batch.
    """
    dims = len(output_size)
    images = x if x.dim() == dims + 2 else x[None]
    columns = (1, 0) if dims == 2 else range(dims)
    index: torch.Tensor | None = None
    for dim, column in enumerate(columns):
        size, count, window = images.shape[2 + dim], output_size[dim], kernel_size[dim]
        starts = _window_starts(samples[..., column], size, count, window)
        rows = starts[..., None] + torch.arange(window)
        shape = [1] * (2 * dims)
        shape[dim], shape[dims + dim] = count, window
        rows = rows.reshape(*rows.shape[:2], *shape)
        index = rows if index is None else index * size + rows
    assert index is not None
    result = (*images.shape[:2], *output_size)
    index = index.reshape(*result, -1).expand(*result, -1)
    elements = torch.gather(images.flatten(2), 2, index.flatten(2)).reshape(index.shape)
    values, positions = elements.max(-1)
    indices = torch.gather(index, -1, positions[..., None])[..., 0]
    return (values, indices) if images is x else (values[0], indices[0])


RANDOM: dict[OpOverload, Decomposition] = {
    torch.ops.aten.exponential.default: _exponential,
    torch.ops.aten.uniform.default: _uniform,
    torch.ops.aten.normal_functional.default: _normal,
    torch.ops.aten.normal.Tensor_float: _normal_of_tensors,
    torch.ops.aten.normal.float_Tensor: _normal_of_tensors,
    torch.ops.aten.normal.Tensor_Tensor: _normal_of_tensors,
    torch.ops.aten.log_normal.default: _log_normal,
    torch.ops.aten.cauchy.default: _cauchy,
    torch.ops.aten.bernoulli.p: _bernoulli,
    torch.ops.aten.bernoulli.Tensor: _bernoulli,
    torch.ops.aten.randint_like.default: _randint_like,
    torch.ops.aten.randint_like.low_dtype: _randint_like,
    torch.ops.aten.multinomial.default: _multinomial,
    torch.ops.aten.rand.generator: _without_generator(torch.ops.aten.rand.default),
    torch.ops.aten.rand_like.generator: _without_generator(torch.ops.aten.rand_like.default),
    torch.ops.aten.randn.generator: _without_generator(torch.ops.aten.randn.default),
    torch.ops.aten.randn_like.generator: _without_generator(torch.ops.aten.randn_like.default),
    torch.ops.aten.randint.generator: _without_generator(torch.ops.aten.randint.default),
    torch.ops.aten.randint.low_generator: _without_generator(torch.ops.aten.randint.low),
    torch.ops.aten.randint_like.generator: _randint_like,
    torch.ops.aten.randint_like.low_generator_dtype: _randint_like,
    torch.ops.aten.randperm.generator: _without_generator(torch.ops.aten.randperm.default),
    torch.ops.aten.fractional_max_pool2d.default: _fractional_max_pool,
    torch.ops.aten.fractional_max_pool3d.default: _fractional_max_pool,
}
