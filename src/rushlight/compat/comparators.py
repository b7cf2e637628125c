"""Comparators that treat NaN as 0, as in ExecuTorch. Rushlight's own comparators return NaN."""

from __future__ import annotations

import torch

from rushlight.devtools.inspector import numerical_comparator as plain


def _numbers(value: object) -> torch.Tensor:
    """Converts a value to float64. If it contains NaN, NaN becomes 0 and infinity the largest number."""
    numbers = plain.as_float(value)
    return torch.nan_to_num(numbers) if bool(numbers.isnan().any()) else numbers


class L1Comparator(plain.L1Comparator):
    """The sum of the absolute differences."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the distance."""
        return super().element_compare(_numbers(a), _numbers(b))


class MSEComparator(plain.MSEComparator):
    """The mean of the squared differences."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the distance."""
        return super().element_compare(_numbers(a), _numbers(b))


class SNRComparator(plain.SNRComparator):
    """The signal-to-noise ratio in dB."""

    def element_compare(self, a: object, b: object) -> float:
        """Returns the ratio."""
        return super().element_compare(_numbers(a), _numbers(b))
