"""Quantization: describe, calibrate or train, convert, and look at what it did. See docs/quantization.md."""

from __future__ import annotations

from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationConfig,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

from rushlight.quantize.errors import QuantizationError
from rushlight.quantize.flow import calibrate, convert_pt2e, prepare_pt2e, prepare_qat_pt2e, quantize
from rushlight.quantize.specs import (
    dynamic_int8,
    dynamic_int8_weight_int4,
    get_symmetric_quantization_config,
    static_int8,
    static_int16,
    weight_only_int4,
    weight_only_int8,
)

__all__ = [
    "ComposableQuantizer",
    "DerivedQuantizationSpec",
    "FixedQParamsQuantizationSpec",
    "QuantizationAnnotation",
    "QuantizationConfig",
    "QuantizationError",
    "QuantizationSpec",
    "Quantizer",
    "SharedQuantizationSpec",
    "calibrate",
    "convert_pt2e",
    "dynamic_int8",
    "dynamic_int8_weight_int4",
    "get_symmetric_quantization_config",
    "prepare_pt2e",
    "prepare_qat_pt2e",
    "quantize",
    "static_int8",
    "static_int16",
    "weight_only_int4",
    "weight_only_int8",
]
