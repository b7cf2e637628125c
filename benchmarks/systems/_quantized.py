"""The quantization that both systems are given: by calibration for pictures, when running for tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.models import Case


def is_dynamic(case: Case) -> bool:
    """Whether ranges of activations are found when the program runs."""
    return not any(value.dim() == 4 for value in case.inputs)


def quantized(
    case: Case, quantizer: Any, prepare: Callable[..., Any], convert: Callable[..., Any]
) -> torch.export.ExportedProgram:
    """The int8 program, calibrated over the inputs and noisy copies of them."""
    prepared = prepare(torch.export.export(case.module, case.inputs).module(), quantizer)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        prepared(*case.inputs)
        for _ in range(0 if is_dynamic(case) else 2):
            prepared(*(value + 0.1 * torch.randn(value.shape, generator=generator) for value in case.inputs))
        return torch.export.export(convert(prepared), case.inputs)
