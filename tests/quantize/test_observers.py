"""Observers check the fields of the specification that torchao passes to them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.quantize import QuantizationError
from rushlight.quantize.groups import GramMatrixObserver, GroupWeightObserver
from rushlight.quantize.observers import PerTokenObserver


@pytest.mark.parametrize("kind", [PerTokenObserver, GramMatrixObserver, GroupWeightObserver])
def test_fields_that_an_observer_does_not_support_are_refused(kind: Any) -> None:
    assert kind(dtype=torch.int8, is_dynamic=False, ch_axis=None)
    for field, value in {"dtype": torch.uint8, "is_dynamic": True, "ch_axis": 1}.items():
        with pytest.raises(QuantizationError, match=f"{kind.__name__} does not support {field}="):
            kind(**{field: value})
    with pytest.raises(QuantizationError, match=f"{kind.__name__} has no option averaging_constant"):
        kind(averaging_constant=0.01)


@pytest.mark.parametrize("kind", [PerTokenObserver, GramMatrixObserver])
def test_other_ranges_are_refused(kind: Any) -> None:
    with pytest.raises(QuantizationError, match="does not support quant_min=-127; use -128"):
        kind(quant_min=-127)
