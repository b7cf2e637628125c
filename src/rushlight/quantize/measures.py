"""Measures the difference between two tensors: signal-to-noise ratio, cosine, largest error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.utils import _pytree as pytree


@dataclass(frozen=True)
class Difference:
    """The difference between an actual value and the expected value.

    Attributes:
        snr_db: 10 log10(expected² / error²). It is infinite for equal values, and minus infinite if the
            actual value has NaN or infinity and the expected one does not.
        cosine: the cosine similarity of the flattened values.
        max_error: the largest absolute error.
        peak: the largest absolute expected value.
    """

    snr_db: float
    cosine: float
    max_error: float
    peak: float

    def to_dict(self) -> dict[str, float | None]:
        """Returns plain data for JSON. NaN and infinity are None, because JSON has no such numbers."""
        return {key: value if math.isfinite(value) else None for key, value in vars(self).items()}


class Meter:
    """Accumulates the difference over many pairs of tensors."""

    def __init__(self) -> None:
        self.count = 0
        self._signal = self._error = self._dot = self._other = 0.0
        self._max_error = self._peak = 0.0
        self._broken = False

    def add(self, expected: torch.Tensor, actual: torch.Tensor) -> None:
        """Adds two tensors of the same shape. Positions at which `expected` is not finite are ignored."""
        a, b = expected.detach().to(torch.float64).flatten(), actual.detach().to(torch.float64).flatten()
        self.count += 1
        usable = torch.isfinite(a)
        if not bool(usable.all()):
            a, b = a[usable], b[usable]
        if a.numel() == 0:
            return
        if not bool(torch.isfinite(b).all()):
            self._broken = True
            return
        error = b - a
        self._signal += float(a.dot(a))
        self._other += float(b.dot(b))
        self._dot += float(a.dot(b))
        self._error += float(error.dot(error))
        self._max_error = max(self._max_error, float(error.abs().max()))
        self._peak = max(self._peak, float(a.abs().max()))

    def absorb(self, other: Meter) -> None:
        """Adds the pairs of another meter."""
        self.count += other.count
        self._signal += other._signal
        self._error += other._error
        self._dot += other._dot
        self._other += other._other
        self._max_error = max(self._max_error, other._max_error)
        self._peak = max(self._peak, other._peak)
        self._broken = self._broken or other._broken

    def result(self) -> Difference:
        """Returns the difference over all pairs."""
        if self._broken:
            return Difference(-math.inf, math.nan, math.inf, self._peak)
        if self._error == 0:
            return Difference(math.inf, 1.0, 0.0, self._peak)
        snr = 10 * math.log10(self._signal / self._error) if self._signal else -math.inf
        norms = math.sqrt(self._signal * self._other)
        return Difference(snr, self._dot / norms if norms else 0.0, self._max_error, self._peak)


def tensors_of(value: object) -> list[torch.Tensor]:
    """Returns the floating-point tensors among the outputs of a model, in order."""
    return [
        leaf
        for leaf in pytree.tree_leaves(value)
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    ]


def difference(expected: object, actual: object) -> Difference:
    """Returns the difference between two outputs of a model, over all floating-point tensors."""
    meter = Meter()
    for a, b in zip(tensors_of(expected), tensors_of(actual), strict=True):
        meter.add(a, b)
    return meter.result()


class Agreement:
    """Counts how often the index of the largest entry along the last dimension is equal (top-1)."""

    def __init__(self) -> None:
        self.same = self.rows = 0

    def add(self, expected: torch.Tensor, actual: torch.Tensor) -> None:
        """Adds two tensors of the same shape [..., N]. Nothing is counted if N is less than 2."""
        if expected.dim() < 2 or expected.shape[-1] < 2:
            return
        equal = expected.argmax(-1) == actual.argmax(-1)
        self.same += int(equal.sum())
        self.rows += equal.numel()

    def share(self) -> float | None:
        """Returns the fraction of equal indices from 0 to 1, or None if nothing was counted."""
        return self.same / self.rows if self.rows else None
