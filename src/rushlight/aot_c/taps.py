"""The positions and weights of the source elements of resized images, computed as the portable kernels do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

COPIES = ("nearest", "exact")
"""The kinds of resampling that copy source elements."""

Real: TypeAlias = type[Any]
"""np.float32 or np.float64. The type annotations of numpy do not describe arithmetic between scalars."""


@dataclass
class Taps:
    """The source elements of each result element along a dim.

    Attributes:
        width: the number of source elements for a result element.
        index: the positions in the source, `width` for each result element.
        weight: the weights of these positions.
    """

    width: int
    index: list[int]
    weight: list[float]


def _step(real: Real, source: int, size: int, align: bool, scale: float | None) -> Any:
    if align:
        return real(source - 1) / real(size - 1) if size > 1 else real(0)
    if scale is not None and scale > 0:
        return real(1.0 / scale)
    return real(source) / real(size)


def _cubic(x: Any, a: Any) -> Any:
    """Returns the value of the cubic convolution kernel with the free parameter `a` (Keys, 1981)."""
    one = type(x)
    x = abs(x)
    if x < 1:
        return ((a + one(2)) * x - (a + one(3))) * x * x + one(1)
    if x < 2:
        return ((x - one(5)) * x + one(8)) * x * a - one(4) * a
    return one(0)


def taps_of(real: Real, kind: str, source: int, size: int, align: bool, scale: float | None) -> Taps:
    """Computes the taps of a dim with the same arithmetic as the portable kernel.

    Args:
        real: the type of the weights.
        kind: `nearest`, `exact`, `linear` or `cubic`.
        source: the size of the dim in the source.
        size: the size of the dim in the result.
        align: the argument `align_corners`.
        scale: the scale factor; None means `size / source`.
    """
    step = _step(real, source, size, align, scale)
    taps = Taps({"nearest": 1, "exact": 1, "linear": 2, "cubic": 4}[kind], [], [])

    def add(position: int, weight: Any) -> None:
        taps.index.append(position)
        taps.weight.append(float(weight))

    half, zero, one = real(0.5), real(0), real(1)
    for i in range(size):
        if kind in COPIES:
            place = (real(i) + half) * step if kind == "exact" else real(i) * step
            add(min(int(np.floor(place)), source - 1), one)
            continue
        place = real(i) * step
        if kind == "linear":
            if not align:
                place = max(zero, (real(i) + half) * step - half)
            if size == source:
                place = real(i)
            first = min(int(place), source - 1)
            share = min(max(place - real(first), zero), one)
            add(first, one - share)
            add(first if size == source else min(first + 1, source - 1), share)
        else:
            if not align:
                place = (real(i) + half) * step - half
            first = min(int(np.floor(place)), source - 1)
            share = min(max(place - real(first), zero), one)
            for j in range(-1, 3):
                add(min(max(first + j, 0), source - 1), _cubic(share - real(j), real(-0.75)))
    return taps


def antialiased_taps(real: Real, kind: str, source: int, size: int, align: bool, scale: float | None) -> Taps:
    """Computes the taps of a dim whose weights cover the whole source, from the arguments of `taps_of`."""
    step = _step(real, source, size, align, scale)
    half, zero, one = real(0.5), real(0), real(1)
    reach = one if kind == "linear" else real(2)
    radius, inverse = (reach * step, one / step) if step >= 1 else (reach, one)
    taps = Taps(int(np.ceil(radius)) * 2 + 1, [], [])
    for i in range(size):
        center = step * (real(i) + half)
        first = max(int(center - radius + half), 0)
        count = min(max(min(int(center + radius + half), source) - first, 0), taps.width)
        weights = []
        for j in range(count):
            x = (real(j + first) - center + half) * inverse
            weights.append(max(zero, one - abs(x)) if kind == "linear" else _cubic(x, real(-0.5)))
        total = zero
        for weight in weights:
            total = total + weight
        weights = [weight / total if total != 0 else weight for weight in weights]
        taps.index += [min(first + j, source - 1) for j in range(taps.width)]
        taps.weight += [float(weight) for weight in weights] + [0.0] * (taps.width - count)
    return taps
