"""Ranges of activations: their error compared with the full range, for any order of the data."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.quantize import QuantizationError
from rushlight.quantize.observers import CheckedHistogramObserver

NORMAL = torch.randn(6, 4000, generator=torch.Generator().manual_seed(0))


def observer(scheme: torch.qscheme = torch.per_tensor_affine) -> CheckedHistogramObserver:
    return CheckedHistogramObserver(
        dtype=torch.int8, quant_min=-128, quant_max=127, qscheme=scheme, eps=2.0**-12
    )


def found(parts: Any, scheme: torch.qscheme = torch.per_tensor_affine) -> tuple[float, int]:
    seen = observer(scheme)
    for part in parts:
        assert seen(part) is part
    scale, zero = seen.calculate_qparams()
    return float(scale), int(zero)


def loss(x: torch.Tensor, scale: float, zero: int) -> float:
    q = torch.clamp(torch.round(x / scale) + zero, -128, 127)
    return float((x - (q - zero) * scale).square().mean())


@pytest.mark.parametrize(
    ("values", "gain"),
    [(NORMAL, 1.02), (NORMAL.relu(), 1.0), (NORMAL**5, 1.0), (-NORMAL.abs(), 1.0), (NORMAL * 0.1, 1.02)],
    ids=["normal", "relu", "long tails", "negative", "small"],
)
def test_it_loses_less_than_the_whole_range(values: torch.Tensor, gain: float) -> None:
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = (high - low) / 255
    whole = loss(values, scale, round(-128 - low / scale))
    assert loss(values, *found(values)) * gain <= whole


def test_values_that_end_at_a_clamp_keep_it() -> None:
    values = (NORMAL * 3 + 2).clamp(0, 6)
    scale, zero = found(values)
    assert scale == pytest.approx(6 / 255) and zero == -128


def test_the_order_and_size_of_batches_do_not_matter() -> None:
    parts = [part * 3.0**i for i, part in enumerate(NORMAL)]
    expected = found(parts)
    assert found(reversed(parts)) == expected
    assert found([torch.cat(parts)]) == expected
    assert found([NORMAL[0, :0], *parts]) == expected


def test_symmetric_ranges_have_zero_in_the_middle() -> None:
    scale, zero = found(NORMAL.relu(), torch.per_tensor_symmetric)
    assert zero == 0 and 0.02 < scale < 0.04


@pytest.mark.parametrize(
    ("value", "scale", "zero"),
    [(1000.0, 1000 / 255, -128), (-1000.0, 1000 / 255, 127), (0.0, 2.0**-12, -128)],
)
def test_one_value(value: float, scale: float, zero: int) -> None:
    assert found([torch.full((3,), value)]) == (pytest.approx(scale), zero)


@pytest.mark.parametrize("factor", [1e30, 1e-30])
def test_any_magnitude_is_borne(factor: float) -> None:
    scale, _ = found(NORMAL * factor)
    assert scale == pytest.approx(max(found(NORMAL)[0] * factor, 2.0**-12), rel=0.1)


def test_what_was_seen_is_saved() -> None:
    seen, other = observer(), observer()
    seen(NORMAL)
    other.load_state_dict(seen.state_dict())
    assert other.calculate_qparams() == seen.calculate_qparams()


def test_no_data_and_bad_data() -> None:
    strict = observer()
    strict.strict = True
    with pytest.raises(QuantizationError, match="no data was seen"):
        strict.calculate_qparams()
    with pytest.raises(QuantizationError, match="1 of 2 values are not finite"):
        observer()(torch.tensor([1.0, float("inf")]))
