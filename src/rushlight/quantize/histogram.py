"""Finds the range of activations with the smallest quantization error, from a histogram of all values."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torchao.quantization.pt2e.observer import UniformQuantizationObserverBase

_BINS = 4096
"""The largest number of bins."""

_FRACTIONS = 2.0 ** (-torch.arange(128, dtype=torch.float64) / 16)
"""The candidates for the bounds of the range, relative to the smallest and to the largest value."""


class HistogramObserver(UniformQuantizationObserverBase):  # type: ignore[misc]
    """Counts values, and chooses the range with the smallest squared error of rounding and clipping.

    The borders of the bins are multiples of a power of two, so that the result does not depend on the order
    of the data.
    """

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.low, self.high = math.inf, -math.inf
        self._counts = torch.zeros(0, dtype=torch.float64)
        self._exponent = 0  # the width of a bin is 2 ** exponent
        self._first = 0  # the lower border of the first bin, as a multiple of the width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Counts the values of x. They must be finite."""
        if x.numel():
            values = x.detach().to(torch.float32)
            low, high = (float(bound) for bound in torch.aminmax(values))
            self._extend_bins(low, high)
            first, last = self._bin_of(low), self._bin_of(high)
            scaled = values * 2.0**-self._exponent
            found = torch.histc(scaled, last - first + 1, first, last + 1)
            self._counts[first - self._first : last - self._first + 1] += found.cpu()
        return x

    def absorb(self, other: HistogramObserver) -> None:
        """Adds the counts of another observer of the same value.

        The result is equal to the counts of one observer that has seen all data.
        """
        if other._counts.numel():
            self._extend_bins(other.low, other.high, other._exponent)
            bins = (torch.arange(other._counts.numel()) + other._first) >> (self._exponent - other._exponent)
            self._counts.index_add_(0, bins - self._first, other._counts)

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the scale and the zero point."""
        low, high = (torch.tensor(bound, dtype=torch.float32) for bound in self._range())
        return self._calculate_qparams(low, high)  # type: ignore[no-any-return]

    def get_extra_state(self) -> dict[str, object]:
        """Returns the counts, for state_dict."""
        return {key: vars(self)[key] for key in ("low", "high", "_counts", "_exponent", "_first")}

    def set_extra_state(self, state: Mapping[str, object]) -> None:
        """Restores the counts that `state_dict` of another observer returned."""
        for key, value in state.items():
            setattr(self, key, value)

    def _bin_of(self, value: float) -> int:
        return math.floor(value * 2.0**-self._exponent)

    def _extend_bins(self, low: float, high: float, min_exponent: int | None = None) -> None:
        """Extends the bins to the values from `low` to `high`, and merges bins if there are too many.

        The exponent of the new bins is at least `min_exponent`.
        """
        before = self._exponent, self._first
        self.low, self.high = min(self.low, low), max(self.high, high)
        finest = max(self.high - self.low, 2.0**-12 * max(abs(self.low), abs(self.high)), 2.0**-90) / _BINS
        exponent = math.frexp(finest)[1]
        self._exponent = max(exponent, self._exponent) if self._counts.numel() else exponent
        if min_exponent is not None:
            self._exponent = max(self._exponent, min_exponent)
        while self._bin_of(self.high) - self._bin_of(self.low) >= _BINS:
            self._exponent += 1
        self._first = self._bin_of(self.low)
        counts = torch.zeros(self._bin_of(self.high) - self._first + 1, dtype=torch.float64)
        bins = (torch.arange(self._counts.numel()) + before[1]) >> (self._exponent - before[0])
        self._counts = counts.index_add_(0, bins - self._first, self._counts)

    def _range(self) -> tuple[float, float]:
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        if low == high or not self._counts.numel():
            return self.low, self.high
        if self.qscheme == torch.per_tensor_symmetric:
            highs = max(-low, high) * _FRACTIONS
            lows = -highs
        else:
            grid = torch.meshgrid(low * _FRACTIONS, high * _FRACTIONS, indexing="ij")
            lows, highs = (bounds.flatten() for bounds in grid)
        best = int(self._losses(lows, highs).argmin())
        return float(lows[best]), float(highs[best])

    def _losses(self, lows: torch.Tensor, highs: torch.Tensor) -> torch.Tensor:
        """The squared errors of ranges.

        Values outside the range have the squared distance to its bound. Other values have step^2 / 12, except
        values in the bins at zero, which have no error.
        """
        places = torch.arange(self._counts.numel(), dtype=torch.float64) + self._first
        values = ((places + 0.5) * 2.0**self._exponent).clamp(self.low, self.high)
        none = torch.zeros(1, dtype=torch.float64)
        sums = [torch.cat((none, (self._counts * values**power).cumsum(0))) for power in range(3)]
        start, end = torch.searchsorted(values, lows), torch.searchsorted(values, highs, right=True)

        def clipping_errors(
            bound: torch.Tensor, since: torch.Tensor | int, until: torch.Tensor | int
        ) -> torch.Tensor:
            count, one, two = (total[until] - total[since] for total in sums)
            return two - 2 * bound * one + bound.square() * count

        steps = (highs - lows) / (self.quant_max - self.quant_min)
        zeros = self._counts[(places == 0) | (places == -1)].sum()
        rounded = (sums[0][end] - sums[0][start] - zeros).clamp_min(0)
        clipped = clipping_errors(lows, 0, start) + clipping_errors(highs, end, -1)
        errors: torch.Tensor = clipped + rounded * steps.square() / 12
        return errors
