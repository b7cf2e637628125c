"""Comparators that treat NaN as 0."""

from __future__ import annotations

import math

import pytest
import torch

from rushlight.compat.comparators import L1Comparator, MSEComparator, SNRComparator
from rushlight.devtools.inspector import numerical_comparator as plain

A, B = torch.tensor([math.nan, 1.0]), torch.tensor([2.0, 1.0])


@pytest.mark.parametrize(
    ("kind", "other", "expected"),
    [
        (L1Comparator, plain.L1Comparator, 2.0),
        (MSEComparator, plain.MSEComparator, 2.0),
        (SNRComparator, plain.SNRComparator, 10 * math.log10(0.5 / 2)),
    ],
)
def test_nan_is_zero(
    kind: type[plain.NumericalComparatorBase], other: type[plain.NumericalComparatorBase], expected: float
) -> None:
    assert kind().element_compare(A, B) == pytest.approx(expected)
    assert math.isnan(other().element_compare(A, B))
    finite = torch.tensor([4.0, 1.0])
    assert kind().element_compare(finite, B) == other().element_compare(finite, B)


def test_infinity_stays_if_there_is_no_nan() -> None:
    infinite = torch.tensor([math.inf, 1.0])
    assert L1Comparator().element_compare(infinite, B) == math.inf
