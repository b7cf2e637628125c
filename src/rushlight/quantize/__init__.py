"""Quantization: configure, calibrate or train, convert, and measure the accuracy.

See docs/quantization.md.
"""

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

from rushlight.quantize.comparison import compare
from rushlight.quantize.errors import QuantizationError, QuantizationWarning
from rushlight.quantize.exclusion import ExcludeFromQuantization
from rushlight.quantize.flow import (
    calibrate,
    convert_pt2e,
    export_float,
    prepare_pt2e,
    prepare_qat_pt2e,
    quantize,
)
from rushlight.quantize.layer_sensitivity import Hybrid, Sensitivity, hybrid, sensitivity
from rushlight.quantize.report import Report
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
    "Hybrid",
    "ExcludeFromQuantization",
    "QuantizationAnnotation",
    "QuantizationConfig",
    "QuantizationError",
    "QuantizationWarning",
    "QuantizationSpec",
    "Quantizer",
    "Report",
    "Sensitivity",
    "SharedQuantizationSpec",
    "calibrate",
    "compare",
    "convert_pt2e",
    "dynamic_int8",
    "dynamic_int8_weight_int4",
    "export_float",
    "get_symmetric_quantization_config",
    "hybrid",
    "prepare_pt2e",
    "prepare_qat_pt2e",
    "quantize",
    "sensitivity",
    "static_int16",
    "static_int8",
    "weight_only_int4",
    "weight_only_int8",
]
